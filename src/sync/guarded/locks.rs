//! Where the two locks have their data.

use super::{Guarded, Lock, One};
use crate::sync::mutex::Mutex;
use crate::sync::permits::Owner;
use crate::sync::rwlock::RwLock;

// SAFETY: always this field.
unsafe impl<T: ?Sized> Lock for Mutex<T> {
    type Data = T;
    type All = One;
    const OWNER: Owner = Owner::Mutex;

    #[inline]
    fn guarded(&self) -> &Guarded<T, One> {
        &self.guarded
    }
}

// SAFETY: always this field.
unsafe impl<T: ?Sized> Lock for RwLock<T> {
    type Data = T;
    type All = u32;
    const OWNER: Owner = Owner::RwLock;

    #[inline]
    fn guarded(&self) -> &Guarded<T, u32> {
        &self.guarded
    }
}
