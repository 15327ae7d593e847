//! Models of the way from a wake to the thread that sleeps in the host: the word, the count of wakers, and
//! the native host as they are shipped.

use super::*;
use crate::component::{Host, NativeHost, Reactor};
use crate::engine::sync_shim::atomic::AtomicBool;
use crate::engine::sync_shim::thread;
use crate::engine::wakers::loom::Awaited;
use std::time::Duration;

/// The root is woken while it is polled, while its thread goes to the host, or while that blocks: it is
/// polled again, and sees what was written before.
#[test]
fn a_wake_is_not_lost_while_the_thread_goes_to_the_host() {
    ::loom::model(|| {
        let awaited = Awaited::new();
        let other = awaited.wake_beside();
        Reactor::with_host(NativeHost::new()).block_on(awaited.wait());
        other.join().expect("no panic");
    });
}

/// Two wakes, of which one finds the other's and leaves the interrupt to it: the root sees what both have
/// written.
#[test]
fn of_two_wakes_one_may_leave_the_interrupt_to_the_other() {
    let mut builder = ::loom::model::Builder::new();
    // Three threads and a lock: without a bound it goes on for minutes.
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let host = NativeHost::new();
        let root = Root::new(host.interrupter());
        assert!(root.take_woken());
        let flags = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
        let waker = root.waker();
        let others: Vec<_> = (0..2)
            .map(|i| {
                let (waker, flags) = (waker.clone(), flags.clone());
                thread::spawn(move || {
                    flags[i].store(true, Ordering::Relaxed);
                    waker.wake();
                })
            })
            .collect();
        let never = host.clock(Duration::MAX);
        while !flags.iter().all(|flag| flag.load(Ordering::Relaxed)) {
            if root.enter_host() {
                host.poll(&[&never]);
                root.leave_host();
            }
            root.take_woken();
        }
        for other in others {
            other.join().expect("no panic");
        }
    });
}

/// The last waker goes while the thread goes to the host or sleeps there. If it wakes before it goes, that
/// is heard; if not, the owner hears that no waker is left.
fn last_hand(wakes: bool) {
    ::loom::model(move || {
        let host = NativeHost::new();
        let root = Root::new(host.interrupter());
        assert!(root.take_woken());
        let own = root.waker();
        let hand = own.clone();
        let other = thread::spawn(move || {
            if wakes {
                hand.wake_by_ref();
            }
            drop(hand);
        });
        drop(own);
        let never = host.clock(Duration::MAX);
        loop {
            if !root.enter_host() {
                assert!(wakes && root.take_woken());
                break;
            }
            if root.is_lost() {
                assert!(!wakes, "a wake has come before the hand went");
                break;
            }
            host.poll(&[&never]);
            root.leave_host();
        }
        other.join().expect("no panic");
    });
}

#[test]
fn a_root_whose_last_waker_goes_hears_of_it() {
    last_hand(false);
}

#[test]
fn a_last_waker_that_wakes_before_it_goes_is_heard() {
    last_hand(true);
}

/// A pollable that another thread makes ready is not missed between the look and the sleep.
#[test]
fn an_event_is_not_missed_between_the_look_and_the_sleep() {
    ::loom::model(|| {
        let reactor = Reactor::with_host(NativeHost::new());
        let (pollable, event) = reactor.host().event();
        let other = thread::spawn(move || event.set());
        reactor.block_on(reactor.wait_for(pollable));
        assert!(reactor.is_empty());
        other.join().expect("no panic");
    });
}
