//! Wakers for the tests and models of all modules, and the tests of the functions that call wakers.

use crate::engine::sync_shim::atomic::{AtomicBool, Ordering as ModelOrdering};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

/// Counts the calls of its waker. With std's atomic in models, too: the count must add no synchronisation
/// that the code under test lacks.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicUsize);

impl Count {
    #[cfg(not(liten_loom))]
    pub(crate) fn new() -> (Arc<Self>, Waker) {
        let count = Arc::new(Self::default());
        (count.clone(), count.waker())
    }

    pub(crate) fn waker(self: &Arc<Self>) -> Waker {
        Waker::from(self.clone())
    }

    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// How often its waker was called since the last time.
    #[cfg(not(liten_loom))]
    pub(crate) fn take(&self) -> usize {
        self.0.swap(0, Ordering::Relaxed)
    }
}

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Says whether its waker was called. What came before the call is seen after it.
#[derive(Debug)]
pub(crate) struct Flag(AtomicBool);

impl Flag {
    pub(crate) fn new() -> (Arc<Self>, Waker) {
        let flag = Arc::new(Self(AtomicBool::new(false)));
        (flag.clone(), Waker::from(flag))
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(ModelOrdering::Acquire)
    }

    /// Whether its waker was called since the last time.
    pub(crate) fn take(&self) -> bool {
        self.0.swap(false, ModelOrdering::AcqRel)
    }
}

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, ModelOrdering::Release);
    }
}

#[cfg(not(liten_loom))]
mod of_the_calls {
    use super::Count;
    use crate::engine::wakers::{guard, wake_all};
    use std::sync::Arc;
    use std::task::{Wake, Waker};

    struct Bad;

    impl Wake for Bad {
        fn wake(self: Arc<Self>) {
            panic!("a waker that panics");
        }
    }

    #[test]
    fn a_panicking_waker_does_not_keep_the_others_from_being_called() {
        let (count, waker) = Count::new();
        let mut wakers = vec![waker.clone(), Waker::from(Arc::new(Bad)), waker];
        wake_all(&mut wakers);
        assert!(wakers.is_empty());
        assert_eq!(count.get(), 2);
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
