//! What tokio's files take from their own shim.

cfg_trace! {
    mod std {
        pub(super) mod atomic_usize;
        pub(super) mod unsafe_cell;
    }

    pub(crate) mod cell {
        pub(crate) use super::std::unsafe_cell::UnsafeCell;
    }
}

pub(crate) mod sync {
    use ::std::sync::{self, PoisonError};

    pub(crate) use ::std::sync::{Arc, MutexGuard};

    cfg_trace! {
        pub(crate) mod atomic {
            pub(crate) use crate::loom::std::atomic_usize::AtomicUsize;
        }
    }

    /// A lock that a panic does not poison.
    #[derive(Debug, Default)]
    pub(crate) struct Mutex<T>(sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) const fn new(value: T) -> Self {
            Self(sync::Mutex::new(value))
        }

        pub(crate) const fn const_new(value: T) -> Self {
            Self::new(value)
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }
}
