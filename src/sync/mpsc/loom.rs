//! Models of the channels: no message and no wake is lost, whatever ends the channel meanwhile.

use super::*;
use crate::engine::sync_shim::{block_on, thread};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

fn recv(receiver: &mut Receiver<usize>) -> Option<usize> {
    block_on(receiver.recv())
}

fn recv_unbounded(receiver: &mut UnboundedReceiver<usize>) -> Option<usize> {
    block_on(receiver.recv())
}

#[test]
fn messages_of_two_senders_arrive_and_the_last_drop_ends_it() {
    ::loom::model(|| {
        let (sender, mut receiver) = unbounded_channel();
        let other = sender.clone();
        let thread = thread::spawn(move || other.send(1).expect("open"));
        sender.send(2).expect("open");
        drop(sender);
        let both = [recv_unbounded(&mut receiver), recv_unbounded(&mut receiver)];
        assert!(both == [Some(1), Some(2)] || both == [Some(2), Some(1)], "{both:?}");
        assert_eq!(recv_unbounded(&mut receiver), None);
        thread.join().expect("no panic");
    });
}

/// Whether the receiver takes them one by one or exchanges the queues.
#[test]
fn messages_of_one_sender_arrive_in_order() {
    ::loom::model(|| {
        let (sender, mut receiver) = unbounded_channel();
        let thread = thread::spawn(move || {
            (0..3).for_each(|number| sender.send(number).expect("open"));
        });
        assert_eq!(
            [(); 4].map(|()| recv_unbounded(&mut receiver)),
            [Some(0), Some(1), Some(2), None]
        );
        thread.join().expect("no panic");
    });
}

/// One message lies in a chunk of its own, behind a chunk that is full.
#[test]
fn a_message_in_the_second_chunk_waits_for_those_in_the_first() {
    // So large that a chunk has room for 32.
    type Large = [u8; 256];
    const CHUNK: u8 = 32;
    ::loom::model(|| {
        let (sender, mut receiver) = unbounded_channel::<Large>();
        (0..CHUNK).for_each(|number| sender.send([number; 256]).expect("open"));
        let thread = thread::spawn(move || sender.send([CHUNK; 256]).expect("open"));
        for number in 0..=CHUNK {
            let message = block_on(receiver.recv());
            assert_eq!(message.map(|message| message[0]), Some(number));
        }
        assert!(block_on(receiver.recv()).is_none());
        thread.join().expect("no panic");
    });
}

/// The second message waits for the room of the first.
#[test]
fn a_full_channel_lets_its_sender_block_on() {
    ::loom::model(|| {
        let (sender, mut receiver) = channel(1);
        let thread = thread::spawn(move || {
            block_on(sender.send(1)).expect("open");
            block_on(sender.send(2)).expect("open");
        });
        assert_eq!(recv(&mut receiver), Some(1));
        assert_eq!(recv(&mut receiver), Some(2));
        assert_eq!(recv(&mut receiver), None);
        thread.join().expect("no panic");
    });
}

/// Sent means received, or refused.
#[test]
fn closing_an_unbounded_channel_races_with_a_send() {
    ::loom::model(|| {
        let (sender, mut receiver) = unbounded_channel();
        let thread = thread::spawn(move || (sender.send(1).is_ok(), sender));
        receiver.close();
        let got = recv_unbounded(&mut receiver);
        let again = recv_unbounded(&mut receiver);
        let (sent, _sender) = thread.join().expect("no panic");
        assert_eq!((got.is_some(), again), (sent, None));
    });
}

/// The receiver of a closed channel waits for the permit that is out, whether it is used or not.
#[test]
fn closing_a_bounded_channel_waits_for_its_permits() {
    for uses in [false, true] {
        ::loom::model(move || {
            let (sender, mut receiver) = channel(2);
            let thread = thread::spawn(move || {
                let permit = sender.try_reserve().ok().filter(|_| uses);
                let sends = permit.map(|permit| permit.send(1)).is_some();
                (sends, sender)
            });
            receiver.close();
            let got = recv(&mut receiver);
            let (sent, _sender) = thread.join().expect("no panic");
            assert_eq!(got.is_some(), sent);
        });
    }
}

/// Two permits come back at once: one of the two threads sees that the channel is idle.
#[test]
fn the_last_permit_of_a_closed_channel_wakes_the_receiver() {
    // Three threads with two locks: all orders would take hours.
    let mut builder = ::loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| {
        let (sender, mut receiver) = channel(2);
        let one = sender.clone().try_reserve_owned().expect("open");
        let two = sender.clone().try_reserve_owned().expect("open");
        receiver.close();
        let thread = thread::spawn(move || one.release());
        let other = thread::spawn(move || two.release());
        assert_eq!(recv(&mut receiver), None);
        let _kept = (thread.join().expect("no panic"), other.join().expect("no panic"), sender);
    });
}

/// What a future had collected when the channel was closed comes back, and the receiver learns it.
#[test]
fn a_reservation_that_is_given_up_wakes_the_receiver_of_a_closed_channel() {
    ::loom::model(|| {
        let (sender, mut receiver) = channel::<usize>(2);
        let permit = sender.clone().try_reserve_owned().expect("open");
        let theirs = sender.clone();
        let thread = thread::spawn(move || {
            let _refused = block_on(theirs.reserve_many(2)).is_err();
        });
        receiver.close();
        drop(permit);
        assert_eq!(recv(&mut receiver), None);
        thread.join().expect("no panic");
    });
}

/// The message of a permit that outlives the receiver is dropped, not kept.
#[test]
fn a_permit_races_with_the_drop_of_the_receiver() {
    ::loom::model(|| {
        let (sender, receiver) = channel(1);
        let value = Arc::new(());
        let permit = sender.clone().try_reserve_owned().expect("open");
        let theirs = value.clone();
        let thread = thread::spawn(move || permit.send(theirs));
        drop(receiver);
        let _kept = thread.join().expect("no panic");
        assert_eq!(Arc::strong_count(&value), 1);
        assert!(sender.is_closed());
    });
}

/// The waker of the last poll is the one that counts.
#[test]
fn a_receiver_that_moves_is_woken_where_it_is() {
    ::loom::model(|| {
        let (sender, mut receiver) = unbounded_channel();
        let thread = thread::spawn(move || sender.send(1).expect("open"));
        let first = receiver.poll_recv(&mut Context::from_waker(Waker::noop()));
        let got = match first {
            Poll::Ready(value) => value,
            Poll::Pending => recv_unbounded(&mut receiver),
        };
        assert_eq!(got, Some(1));
        thread.join().expect("no panic");
    });
}

#[test]
fn an_upgrade_races_with_the_last_drop() {
    ::loom::model(|| {
        let (sender, mut receiver) = unbounded_channel();
        let weak = sender.downgrade();
        let thread = thread::spawn(move || {
            let upgraded = weak.upgrade();
            upgraded.map(|sender| sender.send(1).expect("open")).is_some()
        });
        drop(sender);
        let got = recv_unbounded(&mut receiver);
        let sent = thread.join().expect("no panic");
        assert_eq!(got.is_some(), sent);
    });
}

#[test]
fn a_sender_that_waits_for_the_end_learns_of_it() {
    ::loom::model(|| {
        let (sender, receiver) = unbounded_channel::<()>();
        let thread = thread::spawn(move || drop(receiver));
        block_on(sender.closed());
        assert!(sender.is_closed());
        thread.join().expect("no panic");
    });
}

/// Many at once: what comes between two looks is found by the next one.
#[test]
fn receiving_many_leaves_nothing_behind() {
    ::loom::model(|| {
        let (sender, mut receiver) = channel(2);
        let thread = thread::spawn(move || {
            for number in 0..2 {
                sender.try_send(number).expect("room for both");
            }
        });
        let mut all = Vec::new();
        while block_on(poll_fn(|cx| receiver.poll_recv_many(cx, &mut all, 2))) > 0 {}
        assert_eq!(all, [0, 1]);
        thread.join().expect("no panic");
    });
}
