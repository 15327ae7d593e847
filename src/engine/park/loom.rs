//! Models of the park word: a token is never lost, wherever the thread sleeps.

use super::*;
use crate::engine::sync_shim::atomic::AtomicBool;
use std::task::{Wake, Waker};

/// Wakes the thread of `parker`. Not by loom's own token, which is lost if it comes while the thread waits
/// for a lock.
pub(crate) fn waker_of(parker: &Parker) -> Waker {
    struct Sleeper(Unparker);
    impl Wake for Sleeper {
        fn wake(self: std::sync::Arc<Self>) {
            assert_eq!(self.0.unpark(), Unpark::Done);
        }
    }
    Waker::from(std::sync::Arc::new(Sleeper(parker.unparker())))
}

/// Whatever was published before `unpark` is seen after `park`, and `park` returns.
#[test]
fn what_was_published_before_unpark_is_seen_after_park() {
    ::loom::model(|| {
        let parker = Parker::new();
        let unparker = parker.unparker();
        let flag = Arc::new(AtomicBool::new(false));
        let seen = flag.clone();
        let other = thread::spawn(move || {
            // Relaxed on purpose: only the park word may carry it over.
            seen.store(true, Ordering::Relaxed);
            assert_eq!(unparker.unpark(), Unpark::Done);
        });
        parker.park();
        assert!(flag.load(Ordering::Relaxed));
        other.join().expect("no panic");
    });
}

/// Two unparks and one park: the second token is kept or coalesced, never a reason to hang.
#[test]
fn two_unparkers_wake_one_sleeper() {
    ::loom::model(|| {
        let parker = Parker::new();
        let others: Vec<_> = (0..2)
            .map(|_| {
                let unparker = parker.unparker();
                thread::spawn(move || {
                    assert_eq!(unparker.unpark(), Unpark::Done);
                })
            })
            .collect();
        parker.park();
        for other in others {
            other.join().expect("no panic");
        }
    });
}

/// A second token may come while the park that the first one ended is being left: it is acquired with it, or
/// ends the next park. Eaten unseen, it would leave the thread asleep beside what it announced.
#[test]
fn a_second_token_is_not_eaten_unseen() {
    ::loom::model(|| two_tokens(Parker::park));
}

/// Two threads publish something and leave a token each; this one begins with `sleep`, and sleeps until it
/// has seen both.
fn two_tokens(sleep: impl FnOnce(&Parker)) {
    let parker = Parker::new();
    let flags = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
    let others: Vec<_> = (0..2)
        .map(|i| {
            let (unparker, flags) = (parker.unparker(), flags.clone());
            thread::spawn(move || {
                // Relaxed on purpose, as above.
                flags[i].store(true, Ordering::Relaxed);
                assert_eq!(unparker.unpark(), Unpark::Done);
            })
        })
        .collect();
    sleep(&parker);
    while !flags.iter().all(|flag| flag.load(Ordering::Relaxed)) {
        parker.park();
    }
    for other in others {
        other.join().expect("no panic");
    }
}

/// A thread that goes to the poller is either told not to block, or its waker is told to wake the poller.
#[test]
fn a_seated_thread_is_never_left_behind() {
    ::loom::model(|| {
        let parker = Parker::new();
        let unparker = parker.unparker();
        let poller = Arc::new(AtomicBool::new(false));
        let signal = poller.clone();
        let other = thread::spawn(move || {
            if unparker.unpark() == Unpark::Poller {
                signal.store(true, Ordering::Release);
            }
        });
        parker.sit(|| {
            // The poller would block here until the signal comes: it must come.
            while !poller.load(Ordering::Acquire) {
                thread::yield_now();
            }
        });
        other.join().expect("no panic");
    });
}

/// Sleeps with and without a limit in turn, as the watchdog does, beside two unparkers: what comes while the
/// timed sleep ends is acquired with it or ends the next sleep.
#[test]
fn a_timed_park_eats_no_token_unseen() {
    ::loom::model(|| two_tokens(|parker| parker.park_timeout(Duration::from_millis(1))));
}

/// User code unparks the thread (std's token, not ours) while it sleeps: it goes on sleeping until our word
/// says otherwise.
#[test]
fn a_token_that_is_not_ours_ends_no_park() {
    ::loom::model(|| {
        let parker = Parker::new();
        let (unparker, sleeper) = (parker.unparker(), thread::current());
        let flag = Arc::new(AtomicBool::new(false));
        let seen = flag.clone();
        let other = thread::spawn(move || {
            sleeper.unpark();
            seen.store(true, Ordering::Relaxed);
            assert_eq!(unparker.unpark(), Unpark::Done);
        });
        parker.park();
        assert!(flag.load(Ordering::Relaxed), "it came back without a token of ours");
        other.join().expect("no panic");
    });
}

/// A thread leaves the seat because of an event, and sleeps on its own next, while it is unparked: whichever
/// sleep the token meets, the thread comes back, and the poller is to be woken for the first one only.
#[test]
fn a_token_follows_the_thread_from_the_seat_to_its_own_sleep() {
    ::loom::model(|| {
        let parker = Parker::new();
        let unparker = parker.unparker();
        let flag = Arc::new(AtomicBool::new(false));
        let seen = flag.clone();
        let other = thread::spawn(move || {
            seen.store(true, Ordering::Relaxed);
            unparker.unpark()
        });
        let has_sat = parker.sit(|| ());
        let in_the_seat = flag.load(Ordering::Relaxed);
        if !in_the_seat {
            parker.park();
            assert!(flag.load(Ordering::Relaxed));
        }
        let left = other.join().expect("no panic");
        // The other way round it may be: the token came just before the thread left the seat.
        assert!(left == Unpark::Done || (has_sat && in_the_seat));
    });
}
