//! Models of the broadcast channel: a receiver gets each value once and in order, or is told how many it has
//! missed; none waits for a value that was sent.

use super::error::{RecvError, TryRecvError};
use super::*;
use crate::engine::sync_shim::{block_on, thread};

/// Receives to the end; returns the values, and how many were missed.
fn drain(mut receiver: Receiver<u32>) -> (Vec<u32>, u64) {
    let (mut values, mut missed) = (Vec::new(), 0);
    loop {
        match block_on(receiver.recv()) {
            Ok(value) => values.push(value),
            Err(RecvError::Lagged(count)) => missed += count,
            Err(RecvError::Closed) => return (values, missed),
        }
    }
}

#[test]
fn each_value_comes_to_a_receiver_that_waits() {
    ::loom::model(|| {
        let (sender, mut receiver) = channel(2);
        let receives = thread::spawn(move || {
            assert_eq!(block_on(receiver.recv()), Ok(1));
            receiver
        });
        assert_eq!(sender.send(1).unwrap(), 1);
        // First: the end would wake it, too.
        let receiver = receives.join().expect("no panic");
        drop(sender);
        assert_eq!(drain(receiver), (Vec::new(), 0));
    });
}

/// A receiver that does not wait finds the value, or that nothing was sent.
#[test]
fn a_look_races_with_a_send() {
    ::loom::model(|| {
        let (sender, mut receiver) = channel(1);
        let sends = thread::spawn(move || {
            sender.send(1).unwrap();
            sender
        });
        let first = receiver.try_recv();
        assert!(matches!(first, Ok(1) | Err(TryRecvError::Empty)), "{first:?}");
        let _kept = sends.join().expect("no panic");
        assert_eq!(first.or_else(|_| receiver.try_recv()), Ok(1));
    });
}

/// There is room for one value: what is overwritten is counted.
#[test]
fn a_receiver_that_is_overtaken_knows_by_how_many() {
    ::loom::model(|| {
        let (sender, receiver) = channel(1);
        let receives = thread::spawn(move || drain(receiver));
        for value in 0..2 {
            sender.send(value).unwrap();
        }
        drop(sender);
        let (values, missed) = receives.join().expect("no panic");
        assert_eq!(values.len() as u64 + missed, 2);
        assert_eq!(values.last(), Some(&1));
        assert!(values.is_sorted());
    });
}

/// Two take the same value: the last one takes it out.
#[test]
fn two_receivers_share_a_value() {
    ::loom::model(|| {
        let (sender, first) = channel(1);
        let second = sender.subscribe();
        let receives = thread::spawn(move || drain(first));
        sender.send(7).unwrap();
        drop(second);
        assert!(sender.len() <= 1);
        drop(sender);
        assert_eq!(receives.join().expect("no panic"), (vec![7], 0));
    });
}

#[test]
fn the_last_receiver_that_goes_ends_the_wait_for_it() {
    ::loom::model(|| {
        let (sender, receiver) = channel::<u32>(1);
        let goes = thread::spawn(move || drop(receiver));
        block_on(sender.closed());
        assert_eq!(sender.receiver_count(), 0);
        assert!(sender.send(1).is_err());
        goes.join().expect("no panic");
    });
}

/// Either there is a sender again, or the receivers have been told that there is none.
#[test]
fn a_weak_sender_comes_back_or_not() {
    ::loom::model(|| {
        let (sender, receiver) = channel(1);
        let weak = sender.downgrade();
        let comes_back = thread::spawn(move || match weak.upgrade() {
            Some(sender) => sender.send(1).is_ok(),
            None => false,
        });
        drop(sender);
        let (values, missed) = drain(receiver);
        assert_eq!((values.len(), missed), (usize::from(comes_back.join().expect("no panic")), 0));
    });
}
