//! The error of a lock that is taken.

use crate::impls::impl_error;

/// The lock is taken; returned by the `try_` methods of [`Mutex`](super::Mutex) and
/// [`RwLock`](super::RwLock).
#[derive(Debug)]
pub struct TryLockError(pub(super) ());

impl_error!([] TryLockError, "operation would block");
