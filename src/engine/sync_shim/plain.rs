//! The primitives that both of the shipped ones take from std.

/// A flag that the whole process shares.
pub(crate) use std::sync::atomic::AtomicBool as ProcessFlag;
pub(crate) use std::sync::{Arc, atomic};
pub(crate) use std::thread::{self, LocalKey};
pub(crate) use std::thread_local;
/// One that the models follow, too.
pub(crate) use std::thread_local as modelled_thread_local;

/// A function that is `const`, because the atomics and locks in what it makes can be made so; the models'
/// cannot.
macro_rules! const_fn {
    ($(#[$meta:meta])* $vis:vis fn $($rest:tt)*) => {
        $(#[$meta])*
        $vis const fn $($rest)*
    };
}
pub(crate) use const_fn;

pub(crate) mod clock {
    use std::time::Instant;

    #[inline]
    pub(crate) fn now() -> Instant {
        Instant::now()
    }
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
