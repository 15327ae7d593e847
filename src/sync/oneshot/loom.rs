//! Models of the two halves: each order of what they may do at once.
//!
//! Values and wakers count their drops, so that one that is lost or dropped twice shows. loom follows the
//! accesses to the cell's three places up to the one that frees it.

use super::error::{RecvError, TryRecvError};
use super::{Receiver, channel};
use crate::engine::sync_shim::atomic::{AtomicUsize, Ordering};
use crate::engine::sync_shim::{Arc, thread};
use crate::engine::wakers::tests::Count;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc as StdArc;
use std::task::{Context, Poll, Waker};

/// Counts, by drop, how often it was there.
#[derive(Debug)]
struct Value(Arc<AtomicUsize>);

impl Drop for Value {
    fn drop(&mut self) {
        // Ordering: Relaxed: a count, read after the threads were joined.
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn poll<T>(receiver: &mut Receiver<T>, waker: &Waker) -> Poll<Result<T, RecvError>> {
    Pin::new(receiver).poll(&mut Context::from_waker(waker))
}

fn drops(count: &Arc<AtomicUsize>) -> usize {
    // Ordering: Relaxed, see `Value`.
    count.load(Ordering::Relaxed)
}

fn new_bell() -> StdArc<Count> {
    StdArc::default()
}

/// Asserts that only its owner keeps the waker of `bell`.
fn assert_released(bell: &StdArc<Count>) {
    assert_eq!(StdArc::strong_count(bell), 1, "a waker is left");
}

/// The receiver is polled while the value is sent: it has the value, or is woken and has it then.
#[test]
fn a_poll_against_a_send_loses_neither_value_nor_wake() {
    ::loom::model(|| {
        let (sender, mut receiver) = channel();
        let (bell, count) = (new_bell(), Arc::new(AtomicUsize::new(0)));
        let value = Value(count.clone());
        let sending = thread::spawn(move || sender.send(value).expect("nothing closes"));
        let first = poll(&mut receiver, &bell.waker());
        if first.is_ready() {
            drop(receiver);
            sending.join().expect("no panic");
            assert_eq!(bell.get(), 0);
        } else {
            sending.join().expect("no panic");
            assert_eq!(bell.get(), 1, "left before the send, and not woken");
            assert!(poll(&mut receiver, &bell.waker()).is_ready());
        }
        drop(first);
        assert_eq!(drops(&count), 1);
        assert_released(&bell);
    });
}

/// The task of the receiver changes while the value is sent: one of the two is woken, and the last one unless
/// its poll has the value.
#[test]
fn a_waker_is_replaced_against_a_send() {
    ::loom::model(|| {
        let (sender, mut receiver) = channel();
        let (old, new) = (new_bell(), new_bell());
        assert!(poll(&mut receiver, &old.waker()).is_pending());
        let sending = thread::spawn(move || sender.send(42).expect("nothing closes"));
        let second = poll(&mut receiver, &new.waker());
        sending.join().expect("no panic");
        match second {
            Poll::Ready(result) => {
                assert_eq!(result, Ok(42));
                assert_eq!(new.get(), 0);
            }
            Poll::Pending => {
                assert_eq!((old.get(), new.get()), (0, 1));
                assert_eq!(poll(&mut receiver, &new.waker()), Poll::Ready(Ok(42)));
            }
        }
        assert_released(&old);
        assert_released(&new);
    });
}

/// The same waker again, compared while the sender takes it out; and the cell is freed by either half.
#[test]
fn the_same_waker_again_against_a_send() {
    ::loom::model(|| {
        let (sender, mut receiver) = channel();
        let bell = new_bell();
        assert!(poll(&mut receiver, &bell.waker()).is_pending());
        let sending = thread::spawn(move || sender.send(42).expect("nothing closes"));
        let second = poll(&mut receiver, &bell.waker());
        let got = second.is_ready();
        if got {
            // While the sender may still be at the waker.
            drop(receiver);
            sending.join().expect("no panic");
        } else {
            sending.join().expect("no panic");
            assert_eq!(poll(&mut receiver, &bell.waker()), Poll::Ready(Ok(42)));
        }
        assert_eq!(bell.get(), 1);
        assert_released(&bell);
    });
}

/// Either the value comes back to the sender, or the receiver that has closed still gets it.
#[test]
fn a_send_against_a_close_gives_the_value_to_one_of_them() {
    ::loom::model(|| {
        let (mut sender, mut receiver) = channel();
        let (asks, waits, count) = (new_bell(), new_bell(), Arc::new(AtomicUsize::new(0)));
        assert!(sender.poll_closed(&mut Context::from_waker(&asks.waker())).is_pending());
        assert!(poll(&mut receiver, &waits.waker()).is_pending());
        let value = Value(count.clone());
        let sending = thread::spawn(move || sender.send(value).is_ok());
        receiver.close();
        let received = receiver.try_recv();
        assert!(!matches!(received, Err(TryRecvError::Empty)), "it is closed");
        let is_received = received.is_ok();
        drop((received, receiver));
        assert_eq!(sending.join().expect("no panic"), is_received);
        assert_eq!(drops(&count), 1);
        assert_eq!(
            (asks.get(), waits.get()),
            (usize::from(!is_received), usize::from(is_received))
        );
        assert_released(&asks);
        assert_released(&waits);
    });
}

/// The value is dropped once, by the sender if it comes back and by the receiver otherwise; polled before
/// or not.
#[test]
fn a_send_against_the_drop_of_the_receiver_drops_the_value_once() {
    for polled in [false, true] {
        ::loom::model(move || {
            let (sender, mut receiver) = channel();
            let (bell, count) = (new_bell(), Arc::new(AtomicUsize::new(0)));
            if polled {
                assert!(poll(&mut receiver, &bell.waker()).is_pending());
            }
            let value = Value(count.clone());
            let sending = thread::spawn(move || sender.send(value).map_err(drop).is_ok());
            drop(receiver);
            let sent = sending.join().expect("no panic");
            assert_eq!(drops(&count), 1);
            assert_eq!(bell.get(), usize::from(sent && polled));
            assert_released(&bell);
        });
    }
}

/// Both halves are dropped, each with a waker in the cell: the other one is woken unless it was first.
#[test]
fn both_halves_are_dropped_at_once() {
    ::loom::model(|| {
        let (mut sender, mut receiver) = channel::<()>();
        let (asks, waits) = (new_bell(), new_bell());
        assert!(sender.poll_closed(&mut Context::from_waker(&asks.waker())).is_pending());
        assert!(poll(&mut receiver, &waits.waker()).is_pending());
        let dropping = thread::spawn(move || drop(sender));
        drop(receiver);
        dropping.join().expect("no panic");
        assert_eq!(asks.get() + waits.get(), 1, "the second half is woken, the first one is not");
        assert_released(&asks);
        assert_released(&waits);
    });
}

/// A sender that waits for the end of the receiver is woken, or sees it.
#[test]
fn closed_against_the_drop_of_the_receiver() {
    ::loom::model(|| {
        let (mut sender, receiver) = channel::<()>();
        let bell = new_bell();
        let dropping = thread::spawn(move || drop(receiver));
        let waker = bell.waker();
        let first = sender.poll_closed(&mut Context::from_waker(&waker));
        if first.is_pending() {
            dropping.join().expect("no panic");
            assert_eq!(bell.get(), 1, "left before the end, and not woken");
            assert!(sender.poll_closed(&mut Context::from_waker(&waker)).is_ready());
            assert!(sender.send(()).is_err());
        } else {
            assert!(sender.is_closed());
            assert!(sender.send(()).is_err());
            dropping.join().expect("no panic");
        }
        drop(waker);
        assert_released(&bell);
    });
}

/// The task of the sender changes while the receiver goes, which is closed before or not.
#[test]
fn a_waker_of_the_sender_is_replaced_against_the_end_of_the_receiver() {
    for closes in [false, true] {
        ::loom::model(move || {
            let (mut sender, mut receiver) = channel::<()>();
            let (old, new) = (new_bell(), new_bell());
            let mut ask = |bell: &StdArc<Count>| {
                sender.poll_closed(&mut Context::from_waker(&bell.waker())).is_ready()
            };
            assert!(!ask(&old));
            let ending = thread::spawn(move || {
                if closes {
                    receiver.close();
                }
                drop(receiver);
            });
            let seen = ask(&new);
            if !seen {
                ending.join().expect("no panic");
                assert_eq!((old.get(), new.get()), (0, 1));
                assert!(ask(&new));
            } else {
                drop(sender);
                ending.join().expect("no panic");
                assert_eq!(new.get(), 0);
            }
            assert_released(&old);
            assert_released(&new);
        });
    }
}

/// A receiver that is closed stays at the cell: it and the sender leave in either order.
#[test]
fn a_closed_receiver_and_its_sender_leave_at_once() {
    ::loom::model(|| {
        let (sender, mut receiver) = channel();
        let count = Arc::new(AtomicUsize::new(0));
        receiver.close();
        let value = Value(count.clone());
        let sending = thread::spawn(move || sender.send(value).map_err(drop).is_err());
        assert_eq!(poll(&mut receiver, Waker::noop()).map(|it| it.is_err()), Poll::Ready(true));
        assert!(sending.join().expect("no panic"));
        assert_eq!(drops(&count), 1);
    });
}

/// A wait that is given up: the receiver is dropped, after a poll, while the sender asks whether it is there.
#[test]
fn a_wait_is_given_up_against_a_sender_that_looks() {
    ::loom::model(|| {
        let (mut sender, mut receiver) = channel::<()>();
        let (asks, waits) = (new_bell(), new_bell());
        assert!(poll(&mut receiver, &waits.waker()).is_pending());
        let dropping = thread::spawn(move || drop(receiver));
        let mut ended = sender.is_closed();
        let waker = asks.waker();
        ended |= sender.poll_closed(&mut Context::from_waker(&waker)).is_ready();
        drop(sender);
        dropping.join().expect("no panic");
        drop(waker);
        // Not woken if it saw the end; nor if it was the first to go.
        assert!(asks.get() == 0 || !ended);
        assert!(waits.get() <= 1);
        assert_released(&asks);
        assert_released(&waits);
    });
}
