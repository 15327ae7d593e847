//! Keeping, calling and dropping wakers that other code has made.
//!
//! | part | what it keeps | used by |
//! |---|---|---|
//! | [`WaitList`] | waiting futures, whose places are inside them; a future can leave | `sync`, tokens |
//! | [`Line`] | wakers without a future, for `poll_` functions; no waker can leave | readiness of sources |
//! | [`Batch`] | wakers taken out under a lock, until they are called without it | both |
//!
//! A waker is user code, so it may panic. Such a panic must neither reach the thread that calls the waker nor
//! keep other wakers from being called.

mod batch;
mod line;
mod wait_list;

pub(crate) use self::batch::Batch;
#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
pub(crate) use self::line::LINE_STEP;
pub(crate) use self::line::Line;
pub(crate) use self::wait_list::{Locked, Place, WaitList, is_before};

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

/// Wakes all of `wakers`, in order. The vector is empty then, and keeps its memory.
pub(crate) fn wake_all(wakers: &mut Vec<Waker>) {
    for waker in wakers.drain(..) {
        guard(|| waker.wake());
    }
}

/// Drops `wakers`. A panic of a destructor does not reach the caller, because the wakers are not the caller's
/// own.
#[inline]
pub(crate) fn drop_all(wakers: impl IntoIterator<Item = Waker>) {
    for waker in wakers {
        guard(|| drop(waker));
    }
}

/// Runs user code whose panic must not reach the caller.
pub(crate) fn guard(f: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
        discard(payload);
    }
}

/// Drops the payload of a panic. Its destructor may panic as well. That second payload is leaked, because its
/// destructor might panic, too, and so on for ever.
fn discard(payload: Box<dyn Any + Send>) {
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(second);
    }
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::{guard, wake_all};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Wake, Waker};

    struct Bad;

    impl Wake for Bad {
        fn wake(self: Arc<Self>) {
            panic!("a waker that panics");
        }
    }

    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_panicking_waker_does_not_keep_the_others_from_being_called() {
        let count = Arc::new(Count(AtomicUsize::new(0)));
        let mut wakers = vec![
            Waker::from(count.clone()),
            Waker::from(Arc::new(Bad)),
            Waker::from(count.clone()),
        ];
        wake_all(&mut wakers);
        assert!(wakers.is_empty());
        assert_eq!(count.0.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn a_payload_that_panics_when_dropped_ends_here_too() {
        struct Payload;
        impl Drop for Payload {
            fn drop(&mut self) {
                panic!("a payload that panics");
            }
        }
        guard(|| std::panic::panic_any(Payload));
    }
}
