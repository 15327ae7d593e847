//! The primitives that loom and shuttle have alike: their locks, with parking_lot's interface.

use super::{clock, model, pause, times_out};
pub(crate) use model::sync::{RwLockReadGuard, RwLockWriteGuard, atomic};
pub(crate) use model::thread;
/// A lock that lives in a static, which neither has: no model follows what it guards.
pub(crate) use parking_lot::{Mutex as StaticMutex, MutexGuard as StaticMutexGuard};
use std::ops::{Deref, DerefMut};
use std::time::{Duration, Instant};

/// Said of a lock that is poisoned, which no test sees: the panic under it has failed the test already.
const POISONED: &str = "a model panicked under this lock";

/// A function that would be `const` with std's atomics.
macro_rules! plain_fn {
    ($(#[$meta:meta])* $vis:vis fn $($rest:tt)*) => {
        $(#[$meta])*
        $vis fn $($rest)*
    };
}
pub(crate) use plain_fn as const_fn;

#[derive(Debug)]
pub(crate) struct Mutex<T>(model::sync::Mutex<T>);

pub(crate) struct MutexGuard<'a, T> {
    /// Taken out while a [`Condvar`] waits.
    inner: Option<model::sync::MutexGuard<'a, T>>,
    mutex: &'a Mutex<T>,
}

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(model::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard { inner: Some(self.0.lock().expect(POISONED)), mutex: self }
    }

    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.0.try_lock().ok().map(|guard| MutexGuard { inner: Some(guard), mutex: self })
    }

    pub(crate) fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().expect(POISONED)
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.inner.as_ref().expect("not waiting")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.inner.as_mut().expect("not waiting")
    }
}

#[derive(Debug)]
pub(crate) struct RwLock<T>(model::sync::RwLock<T>);

impl<T> RwLock<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(model::sync::RwLock::new(value))
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().expect(POISONED)
    }

    pub(crate) fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
        self.0.try_read().ok()
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().expect(POISONED)
    }
}

/// Locks `lock` for reading. No thread is overtaken: these locks let none past a thread that waits to write.
pub(crate) fn read_or_overtake<T>(
    lock: &RwLock<T>,
    _: Duration,
) -> Option<(RwLockReadGuard<'_, T>, bool)> {
    Some((lock.read(), false))
}

/// A timed wait has no limit, or is over as soon as the others have had a chance to run; [`times_out`] says
/// which.
#[derive(Debug)]
pub(crate) struct Condvar(model::sync::Condvar);

pub(crate) struct WaitResult(bool);

impl WaitResult {
    pub(crate) fn timed_out(&self) -> bool {
        self.0
    }
}

impl Condvar {
    pub(crate) fn new() -> Self {
        Self(model::sync::Condvar::new())
    }

    pub(crate) fn notify_one(&self) {
        self.0.notify_one();
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }

    pub(crate) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        let inner = guard.inner.take().expect("not waiting yet");
        guard.inner = Some(self.0.wait(inner).expect(POISONED));
    }

    pub(crate) fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, limit: Duration) -> WaitResult {
        let times_out = times_out();
        if times_out {
            guard.inner = None;
            pause(limit);
            guard.inner = guard.mutex.lock().inner;
        } else {
            self.wait(guard);
        }
        WaitResult(times_out)
    }

    pub(crate) fn wait_until<T>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        deadline: Instant,
    ) -> WaitResult {
        self.wait_for(guard, deadline.saturating_duration_since(clock::now()))
    }
}

/// The lock of the lists of waiting futures: the same here.
pub(crate) use self::{Mutex as SpinMutex, MutexGuard as SpinMutexGuard};

/// Locks what is held for a short time.
pub(crate) fn lock_briefly<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}
