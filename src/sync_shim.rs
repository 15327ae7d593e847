//! Floor 0: the one place that chooses between std (with parking_lot) and loom.
//!
//! Everything above takes its atomics, cells, locks and threads from here, so that the loom models run
//! the production code and not a copy of it. Rejected: re-exporting loom's whole surface (tokio's shim
//! has 1,000 lines); what is not listed here is not used.

#[cfg(not(all(test, liten_loom)))]
mod imp {
    pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard};
    pub(crate) use std::sync::{Arc, atomic};
    pub(crate) use std::thread;

    pub(crate) fn park_timeout(limit: std::time::Duration) {
        thread::park_timeout(limit);
    }

    /// std's cell with loom's closure interface, so that loom can watch each access.
    #[derive(Debug)]
    pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        pub(crate) const fn new(value: T) -> Self {
            Self(std::cell::UnsafeCell::new(value))
        }

        pub(crate) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
            f(self.0.get())
        }

        pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            f(self.0.get())
        }
    }
}

#[cfg(all(test, liten_loom))]
mod imp {
    pub(crate) use loom::cell::UnsafeCell;
    pub(crate) use loom::sync::atomic;
    pub(crate) use loom::thread;
    use std::ops::{Deref, DerefMut};
    /// std's, because loom's knows no `Weak`. What it costs: an object that is passed on by the last
    /// drop alone, without any other synchronisation, would be reported as a race. Nothing here relies
    /// on that.
    pub(crate) use std::sync::Arc;
    use std::time::{Duration, Instant};

    /// loom knows no time: a timed park may end at any moment, so it ends at once.
    pub(crate) fn park_timeout(_limit: Duration) {
        thread::yield_now();
    }

    /// loom's mutex with parking_lot's interface: a panicking model fails anyway, so poison says nothing.
    #[derive(Debug)]
    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    /// The guard is taken out while a [`Condvar`] waits.
    pub(crate) struct MutexGuard<'a, T>(Option<loom::sync::MutexGuard<'a, T>>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(loom::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            MutexGuard(Some(self.0.lock().expect("a model panicked under this lock")))
        }

        pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
            self.0.try_lock().ok().map(|guard| MutexGuard(Some(guard)))
        }
    }

    impl<T> Deref for MutexGuard<'_, T> {
        type Target = T;
        fn deref(&self) -> &T {
            self.0.as_ref().expect("not waiting")
        }
    }

    impl<T> DerefMut for MutexGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            self.0.as_mut().expect("not waiting")
        }
    }

    /// loom's condition variable with parking_lot's interface; a timed wait waits without a limit.
    #[derive(Debug)]
    pub(crate) struct Condvar(loom::sync::Condvar);

    pub(crate) struct WaitResult;

    impl WaitResult {
        pub(crate) fn timed_out(&self) -> bool {
            false
        }
    }

    impl Condvar {
        pub(crate) fn new() -> Self {
            Self(loom::sync::Condvar::new())
        }

        pub(crate) fn notify_one(&self) {
            self.0.notify_one();
        }

        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }

        pub(crate) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
            let inner = guard.0.take().expect("not waiting yet");
            guard.0 = Some(self.0.wait(inner).expect("a model panicked under this lock"));
        }

        pub(crate) fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, _: Duration) -> WaitResult {
            self.wait(guard);
            WaitResult
        }

        pub(crate) fn wait_until<T>(
            &self,
            guard: &mut MutexGuard<'_, T>,
            _: Instant,
        ) -> WaitResult {
            self.wait(guard);
            WaitResult
        }
    }
}

pub(crate) use imp::*;
