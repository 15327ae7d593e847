//! A model of the thread that polls a root and its own driver in turn.

use super::*;
use crate::engine::sync_shim::atomic::{AtomicBool, Ordering};
use crate::engine::sync_shim::{ProcessFlag, thread};
use crate::engine::wakers::loom::Awaited;
use std::future::{Future, poll_fn};
use std::pin::pin;

/// The root is woken from another thread while its own one goes to sleep in the driver: it is polled again,
/// and sees what was written before.
#[test]
fn a_foreign_wake_reaches_a_thread_in_its_own_driver() {
    a_foreign_wake_is_answered(|_| ());
}

/// The same while the clock stands still.
#[test]
fn a_foreign_wake_reaches_a_thread_whose_clock_stands_still() {
    let stop = |driver: &Driver| assert!(driver.stop_clock().is_ok(), "it goes");
    ProcessFlag::while_set(|| a_foreign_wake_is_answered(stop));
}

fn a_foreign_wake_is_answered(prepare: fn(&Driver)) {
    ::loom::model(move || {
        let driver = Driver::new(1).expect("a selector");
        prepare(&driver);
        let awaited = Awaited::new();
        let mut root = pin!(awaited.wait());
        let other = thread::spawn(move || {
            let waker = awaited.set();
            // Twice, because the second one leaves the poller alone.
            for _ in 0..2 {
                waker.iter().for_each(Waker::wake_by_ref);
            }
        });
        let around = AroundSleeps { sleeps: &Sleeps::default(), hooks: None };
        drive(&driver, around, &|| OthersIdle::alone(true), |cx| root.as_mut().poll(cx));
        other.join().expect("no panic");
    });
}

/// The root wakes itself during its poll, beside another thread's wakes: it is polled again, although the
/// driver has not been told, and sees what the other thread has written.
#[test]
fn a_wake_of_its_own_does_not_hide_a_foreign_one() {
    ::loom::model(|| {
        let driver = Driver::new(1).expect("a selector");
        let flag = Arc::new(AtomicBool::new(false));
        let mut other = None;
        let mut root = pin!(poll_fn(|cx| {
            if other.is_none() {
                let (flag, waker) = (flag.clone(), cx.waker().clone());
                other = Some(thread::spawn(move || {
                    waker.wake_by_ref();
                    // Told by the second wake alone, which leaves the driver to the first.
                    flag.store(true, Ordering::Relaxed);
                    waker.wake();
                }));
                cx.waker().wake_by_ref();
            }
            if flag.load(Ordering::Relaxed) { Poll::Ready(()) } else { Poll::Pending }
        }));
        let around = AroundSleeps { sleeps: &Sleeps::default(), hooks: None };
        drive(&driver, around, &|| OthersIdle::alone(true), |cx| root.as_mut().poll(cx));
        other.expect("started by the first poll").join().expect("no panic");
    });
}

/// The root wakes itself, and nothing else ever will: it is polled again.
#[test]
fn a_wake_of_its_own_is_answered() {
    ::loom::model(|| {
        let driver = Driver::new(1).expect("a selector");
        let mut polled = false;
        let mut root = pin!(poll_fn(|cx| {
            cx.waker().wake_by_ref();
            if std::mem::replace(&mut polled, true) { Poll::Ready(()) } else { Poll::Pending }
        }));
        let around = AroundSleeps { sleeps: &Sleeps::default(), hooks: None };
        drive(&driver, around, &|| OthersIdle::alone(true), |cx| root.as_mut().poll(cx));
    });
}
