//! Models of the notifications: none is lost, none comes to a future that needs none, and what was done
//! before one is seen after it.

use super::*;
use crate::engine::sync_shim::{UnsafeCell, atomic::AtomicBool, thread};
use crate::runtime::block_on::wait_outside;
use std::pin::pin;

/// A value that loom watches: read without a notification it would be a race.
struct Told {
    notify: Notify,
    value: UnsafeCell<u32>,
}

// SAFETY: the models check just this.
#[allow(unsafe_code)]
unsafe impl Sync for Told {}

impl Told {
    fn new() -> Arc<Self> {
        Arc::new(Self { notify: Notify::new(), value: UnsafeCell::new(0) })
    }

    fn write(&self) {
        // SAFETY: before the notification only the writer has it.
        #[allow(unsafe_code)]
        self.value.with_mut(|value| unsafe { *value = 7 });
    }

    fn assert_seen(&self) {
        // SAFETY: after the notification only readers have it.
        #[allow(unsafe_code)]
        self.value.with(|value| assert_eq!(unsafe { *value }, 7));
    }
}

fn wait(notify: &Notify) {
    wait_outside("a model", notify.notified());
}

/// Polls once and gives up; returns whether it was notified.
fn try_once(notify: &Notify) -> bool {
    pin!(notify.notified()).poll(&mut Context::from_waker(Waker::noop())).is_ready()
}

#[test]
fn a_notification_before_or_while_a_future_joins_reaches_it() {
    ::loom::model(|| {
        let told = Told::new();
        let waits = {
            let told = told.clone();
            thread::spawn(move || {
                wait(&told.notify);
                told.assert_seen();
            })
        };
        told.write();
        told.notify.notify_one();
        waits.join().expect("no panic");
        assert!(!try_once(&told.notify));
    });
}

/// The permit of two calls tells what both have done before.
#[test]
fn a_second_call_does_not_hide_what_the_first_has_told() {
    ::loom::model(|| {
        let shared = Arc::new((Notify::new(), AtomicBool::new(false)));
        let tells = {
            let shared = shared.clone();
            thread::spawn(move || {
                shared.1.store(true, Ordering::Relaxed);
                shared.0.notify_one();
            })
        };
        shared.0.notify_one();
        wait(&shared.0);
        let seen = shared.1.load(Ordering::Relaxed);
        tells.join().expect("no panic");
        assert!(seen || try_once(&shared.0), "one permit for both, without the news");
    });
}

/// A future that gives up while it is notified passes the notification on.
#[test]
fn a_future_that_gives_up_keeps_no_notification() {
    ::loom::model(|| {
        let notify = Arc::new(Notify::new());
        let gives_up = {
            let mut waits = Box::pin(notify.clone().notified_owned());
            assert!(!waits.as_mut().enable());
            thread::spawn(move || drop(waits))
        };
        notify.notify_one();
        wait(&notify);
        gives_up.join().expect("no panic");
        assert!(!try_once(&notify));
        // No future is taken to wait any more.
        notify.notify_one();
        assert!(try_once(&notify));
    });
}

/// One that was made before the question is reached by a call that comes after it.
#[test]
fn a_future_made_before_the_question_misses_no_call() {
    ::loom::model(|| {
        let shared = Arc::new((Notify::new(), AtomicBool::new(false)));
        let waits = {
            let shared = shared.clone();
            thread::spawn(move || {
                let notified = shared.0.notified();
                if !shared.1.load(Ordering::Relaxed) {
                    wait_outside("a model", notified);
                    assert!(shared.1.load(Ordering::Relaxed));
                }
            })
        };
        shared.1.store(true, Ordering::Relaxed);
        shared.0.notify_waiters();
        waits.join().expect("no panic");
        assert!(!try_once(&shared.0));
    });
}

/// Between the two steps of a call for all, a notification for one goes to a future of the new turn, and the
/// call does not take that future out.
#[test]
fn a_notification_for_one_goes_to_the_new_turn() {
    ::loom::model(|| {
        let notify = Arc::new(Notify::new());
        let mut old = Box::pin(notify.notified());
        assert!(!old.as_mut().enable());
        let late = {
            let notify = notify.clone();
            thread::spawn(move || {
                if notify.turn() == 0 {
                    return;
                }
                let mut new = pin!(notify.notified());
                assert!(!new.as_mut().enable());
                notify.notify_one();
                assert!(new.as_mut().enable());
            })
        };
        notify.notify_waiters();
        assert!(old.as_mut().enable());
        late.join().expect("no panic");
        assert!(!try_once(&notify));
    });
}

/// A call for all against a future that leaves and one for one: the notification for one is there afterwards.
#[test]
fn a_call_for_all_takes_no_notification_for_one() {
    ::loom::model(|| {
        let notify = Arc::new(Notify::new());
        let gives_up = {
            let notify = notify.clone();
            let mut old = Box::pin(notify.clone().notified_owned());
            assert!(!old.as_mut().enable());
            thread::spawn(move || {
                notify.notify_one();
                drop(old);
            })
        };
        notify.notify_waiters();
        let new = {
            let notify = notify.clone();
            // The notification goes to the old one before the call for all, which drops it with the
            // notification, or comes after it.
            thread::spawn(move || wait(&notify))
        };
        gives_up.join().expect("no panic");
        new.join().expect("no panic");
        assert!(!try_once(&notify));
    });
}
