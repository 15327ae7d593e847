//! The one lock that tokio's files take from their own shim.

pub(crate) mod sync {
    use std::sync::{self, MutexGuard, PoisonError};

    /// A lock that a panic does not poison.
    #[derive(Debug, Default)]
    pub(crate) struct Mutex<T>(sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) const fn new(value: T) -> Self {
            Self(sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }
}
