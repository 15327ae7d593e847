//! Models of the channel: no change and no end is missed.

use super::*;
use crate::engine::sync_shim::thread;
use crate::runtime::block_on::wait_outside;

fn changed(receiver: &mut Receiver<u32>) -> Result<u32, error::RecvError> {
    wait_outside("a model", receiver.changed())?;
    Ok(*receiver.borrow())
}

/// The receiver is told of a value that is sent before it looks, while it joins, or afterwards.
#[test]
fn no_change_is_missed() {
    ::loom::model(|| {
        let (sender, mut receiver) = channel(0);
        let sends = thread::spawn(move || {
            sender.send(1).expect("a receiver");
            // The end would tell, too.
            sender
        });
        assert_eq!(changed(&mut receiver).expect("open"), 1);
        drop(sends.join().expect("no panic"));
    });
}

/// Two senders that end at once: the closing comes after both values.
#[test]
fn the_last_sender_closes_behind_all_values() {
    // Three threads with two locks: all orders would take hours.
    let mut builder = ::loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| {
        let (sender, mut receiver) = channel(0);
        let sends =
            |sender: Sender<u32>| thread::spawn(move || sender.send_modify(|value| *value += 1));
        let both = [sends(sender.clone()), sends(sender)];
        let mut last = 0;
        while let Ok(value) = changed(&mut receiver) {
            last = value;
        }
        assert_eq!(last, 2);
        both.into_iter().for_each(|thread| thread.join().expect("no panic"));
    });
}

/// What is counted as seen was seen: after the first look there is a change if the value is another.
#[test]
fn a_value_that_was_seen_is_that_of_its_version() {
    ::loom::model(|| {
        let (sender, mut receiver) = channel(0);
        let sends = thread::spawn(move || {
            sender.send(1).expect("a receiver");
            sender
        });
        let seen = *receiver.borrow_and_update();
        let sender = sends.join().expect("no panic");
        assert_eq!(receiver.has_changed().expect("open"), seen == 0);
        drop(sender);
    });
}

#[test]
fn the_last_receiver_is_waited_for() {
    ::loom::model(|| {
        let (sender, receiver) = channel(0);
        let drops = |receiver: Receiver<u32>| thread::spawn(move || drop(receiver));
        let both = [drops(receiver.clone()), drops(receiver)];
        wait_outside("a model", sender.closed());
        assert!(sender.is_closed());
        both.into_iter().for_each(|thread| thread.join().expect("no panic"));
    });
}
