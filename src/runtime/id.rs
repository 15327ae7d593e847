//! Ids of runtimes.

use std::fmt;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};

static NEXT: AtomicU64 = AtomicU64::new(1);

/// Identifies a runtime, or a [`LocalSet`](crate::task::LocalSet), among all of the process, those that have
/// ended included.
///
/// # Examples
///
/// ```
/// use liten::runtime::{Handle, Runtime};
///
/// let runtime = Runtime::new().unwrap();
/// let id = runtime.block_on(async { Handle::current().id() });
/// assert_eq!(id, runtime.handle().id());
/// assert_ne!(id, Runtime::new().unwrap().handle().id());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Id(NonZeroU64);

impl Id {
    /// An id that nothing else has.
    pub(crate) fn next() -> Self {
        // Ordering: Relaxed, only the uniqueness of the RMW's result counts.
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(NonZeroU64::new(next).expect("a process does not make 2^64 runtimes"))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
