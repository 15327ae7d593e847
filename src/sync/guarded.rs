//! Data beside the permits that guard it: what [`Mutex`](super::Mutex) and
//! [`RwLock`](super::RwLock) are made of.
//!
//! All `unsafe` of both locks is in this file, and in `guarded/locks.rs`, which says where each lock has its
//! data. Their guards are made of these parts:
//!
//! | part | what it has | what it allows |
//! |---|---|---|
//! | [`Held`] | a way to the lock, and permits, which it releases on drop | with all permits: to use the data
//! |
//! | [`Exclusive`] | all permits, and a pointer | to change what the pointer points to |
//! | [`Shared`] | one permit, and a pointer | to read what the pointer points to |
//!
//! Why no data race is possible: a `Held` with all permits was made after all of them were acquired, or took
//! them over from another `Held`. So at most one `Held` has all permits at a time, and no other has any then.
//!
//! Why the pointers are valid: a pointer is made from the data to which a `Held` gives access, by a function
//! of the user that has to work for any lifetime. So it points into that data, or to something that is
//! `'static`. It is kept together with the `Held`, which keeps the lock in memory.
//!
//! The permits of a lock are never closed.
//!
//! Rejected: references in the guards in place of pointers. A guard that is passed to a function promises
//! that its references are valid until that function returns, but it releases the lock before.
#![allow(unsafe_code)]

mod locks;

use super::permits::{Closed, Owner, Permits};
use super::try_lock_error::TryLockError;
use crate::engine::sync_shim::const_fn;
use std::cell::UnsafeCell;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::Arc;

/// A number of permits: one, or those of a lock that has more than one.
pub(super) trait Count: Copy {
    fn permits(self) -> usize;
}

/// One permit, known to the compiler.
#[derive(Debug, Clone, Copy)]
pub(super) struct One;

impl Count for One {
    #[inline]
    fn permits(self) -> usize {
        1
    }
}

impl Count for u32 {
    #[inline]
    fn permits(self) -> usize {
        self as usize
    }
}

/// Data, and permits for it. A guard with all of them may change the data, a guard with one may read it.
pub(super) struct Guarded<T: ?Sized, A> {
    all: A,
    permits: Permits,
    data: UnsafeCell<T>,
}

// SAFETY: with one permit only one thread at a time uses the data, so that it need only be `Send`.
unsafe impl<T: ?Sized + Send> Sync for Guarded<T, One> {}
// SAFETY: as above; and several threads read it at the same time, for which it is `Sync`.
unsafe impl<T: ?Sized + Send + Sync> Sync for Guarded<T, u32> {}

impl<T> Guarded<T, One> {
    const_fn! {
        /// Returns data with one permit: one guard at a time can use it.
        pub(super) fn exclusive(data: T) -> Self {
            Self { all: One, permits: Permits::new(1, Owner::Mutex), data: UnsafeCell::new(data) }
        }
    }
}

impl<T> Guarded<T, u32> {
    const_fn! {
        /// Returns data with `readers` permits: as many guards can read it at the same time.
        pub(super) fn shared(data: T, readers: u32) -> Self {
            let permits = Permits::new(readers as usize, Owner::RwLock);
            Self { all: readers, permits, data: UnsafeCell::new(data) }
        }
    }
}

impl<T: ?Sized, A> Guarded<T, A> {
    pub(super) fn get_mut(&mut self) -> &mut T {
        self.data.get_mut()
    }

    pub(super) fn into_inner(self) -> T
    where
        T: Sized,
    {
        self.data.into_inner()
    }
}

/// A lock.
///
/// # Safety
///
/// `guarded` always returns the same one, which lies inside the lock.
pub(super) unsafe trait Lock {
    type Data: ?Sized;
    type All: Count;
    const OWNER: Owner;

    fn guarded(&self) -> &Guarded<Self::Data, Self::All>;
}

/// A way to a lock's permits: a reference to the lock or to the permits themselves, or an `Arc`.
///
/// # Safety
///
/// `permits` always returns the same permits, also after the way was moved. If the way leads to a lock, they
/// are those of its [`Lock::guarded`].
pub(super) unsafe trait Way {
    /// Whether a guard cannot outlive the lock, and therefore mostly stays in the task that it is made in.
    const STAYS: bool;

    fn permits(&self) -> &Permits;
}

// SAFETY: a reference leads to the same place wherever it is moved.
unsafe impl Way for &Permits {
    const STAYS: bool = true;

    #[inline]
    fn permits(&self) -> &Permits {
        self
    }
}

// SAFETY: as above, and what `Lock` promises.
unsafe impl<L: Lock + ?Sized> Way for &L {
    const STAYS: bool = true;

    #[inline]
    fn permits(&self) -> &Permits {
        &self.guarded().permits
    }
}

// SAFETY: as above: the lock lies in the `Arc`'s own memory.
unsafe impl<L: Lock + ?Sized> Way for Arc<L> {
    const STAYS: bool = false;

    #[inline]
    fn permits(&self) -> &Permits {
        &self.guarded().permits
    }
}

/// The data of the lock to which `W`, a reference or an `Arc`, leads.
type Data<W> = <<W as Deref>::Target as Lock>::Data;
/// All permits of the lock to which `W` leads.
type All<W> = <<W as Deref>::Target as Lock>::All;

/// Permits that are released when this is dropped, and the way to the lock that they belong to.
pub(super) struct Held<W: Way, C: Count> {
    way: W,
    count: C,
}

impl<W: Way, C: Count> Drop for Held<W, C> {
    #[inline]
    fn drop(&mut self) {
        self.way.permits().forget_holder();
        self.way.permits().release(self.count.permits());
    }
}

impl<W: Way, C: Count> Held<W, C> {
    /// Returns the permits that were just acquired.
    #[inline]
    fn new(way: W, count: C, granted: Result<(), Closed>) -> Self {
        granted.unwrap_or_else(|Closed| unreachable!("a lock is never closed"));
        Self { way, count }
    }

    fn try_acquire(way: W, count: C) -> Result<Self, TryLockError> {
        match way.permits().try_acquire(count.permits()) {
            Ok(()) => Ok(Self { way, count }),
            Err(_) => Err(TryLockError(())),
        }
    }

    pub(super) fn way(&self) -> &W {
        &self.way
    }
}

impl<W: Way + Deref<Target: Lock>> Held<W, All<W>> {
    /// Waits for all permits.
    pub(super) async fn all(way: W) -> Self {
        let all = way.guarded().all;
        let granted = way.permits().acquire(all.permits()).await;
        way.permits().note_holder(W::Target::OWNER, W::STAYS);
        Self::new(way, all, granted)
    }

    /// Takes all permits if they are there.
    pub(super) fn try_all(way: W) -> Result<Self, TryLockError> {
        let all = way.guarded().all;
        let held = Self::try_acquire(way, all)?;
        held.way.permits().note_holder(W::Target::OWNER, W::STAYS);
        Ok(held)
    }

    #[inline]
    pub(super) fn get(&self) -> &Data<W> {
        // SAFETY: it holds all permits, so nothing else reaches the data while it is borrowed.
        unsafe { &*self.way.guarded().data.get() }
    }

    #[inline]
    pub(super) fn get_mut(&mut self) -> &mut Data<W> {
        // SAFETY: as above, and it is borrowed exclusively itself.
        unsafe { &mut *self.way.guarded().data.get() }
    }

    /// Returns a guard with a pointer to the data, which `map` can replace by a pointer to a part.
    pub(super) fn exclusive(self) -> Exclusive<W, All<W>, Data<W>> {
        Exclusive { data: self.way.guarded().data.get(), held: self }
    }
}

impl<W: Way + Deref<Target: Lock>> Held<W, One> {
    /// Waits for one permit.
    pub(super) async fn one(way: W) -> Self {
        let granted = way.permits().acquire(1).await;
        way.permits().note_reader();
        Self::new(way, One, granted)
    }

    /// Takes a permit if one is there.
    pub(super) fn try_one(way: W) -> Result<Self, TryLockError> {
        let held = Self::try_acquire(way, One)?;
        held.way.permits().note_reader();
        Ok(held)
    }

    /// Returns a guard that reads the data.
    pub(super) fn shared(self) -> Shared<W, Data<W>> {
        Shared { data: self.way.guarded().data.get(), held: self }
    }
}

impl<'a, L: Lock + ?Sized, C: Count> Held<&'a L, C> {
    /// Returns the same permits, with a way whose type does not name the type of the lock.
    fn narrow(self) -> Held<&'a Permits, C> {
        let held = ManuallyDrop::new(self);
        Held { way: &held.way.guarded().permits, count: held.count }
    }
}

/// All permits of a lock, and a pointer into its data.
pub(super) struct Exclusive<W: Way, A: Count, T: ?Sized> {
    data: *mut T,
    held: Held<W, A>,
}

// SAFETY: the pointer stands for an exclusive reference, which is `Send` where the data is.
unsafe impl<W: Way + Send, A: Count + Send, T: ?Sized + Send> Send for Exclusive<W, A, T> {}
// SAFETY: as above; shared, it only lends the data to be read.
unsafe impl<W: Way + Sync, A: Count + Sync, T: ?Sized + Sync> Sync for Exclusive<W, A, T> {}

impl<W: Way, A: Count, T: ?Sized> Exclusive<W, A, T> {
    pub(super) fn way(&self) -> &W {
        &self.held.way
    }

    pub(super) fn into_held(self) -> Held<W, A> {
        self.held
    }

    #[inline]
    pub(super) fn get(&self) -> &T {
        // SAFETY: it points into data that nothing else reaches while all permits are held.
        unsafe { &*self.data }
    }

    #[inline]
    pub(super) fn get_mut(&mut self) -> &mut T {
        // SAFETY: as above, and it is borrowed exclusively itself.
        unsafe { &mut *self.data }
    }

    pub(super) fn map<U: ?Sized>(mut self, f: impl FnOnce(&mut T) -> &mut U) -> Exclusive<W, A, U> {
        Exclusive { data: f(self.get_mut()), held: self.held }
    }

    pub(super) fn try_map<U: ?Sized>(
        mut self,
        f: impl FnOnce(&mut T) -> Option<&mut U>,
    ) -> Result<Exclusive<W, A, U>, Self> {
        match f(self.get_mut()) {
            Some(data) => Ok(Exclusive { data, held: self.held }),
            None => Err(self),
        }
    }

    /// Keeps one permit and releases the others.
    pub(super) fn downgrade<U: ?Sized>(self, f: impl FnOnce(&T) -> &U) -> Shared<W, U> {
        let data: *const U = f(self.get());
        self.downgrade_to(data)
    }

    pub(super) fn try_downgrade<U: ?Sized>(
        self,
        f: impl FnOnce(&T) -> Option<&U>,
    ) -> Result<Shared<W, U>, Self> {
        match f(self.get()).map(std::ptr::from_ref) {
            Some(data) => Ok(self.downgrade_to(data)),
            None => Err(self),
        }
    }

    fn downgrade_to<U: ?Sized>(self, data: *const U) -> Shared<W, U> {
        let held = ManuallyDrop::new(self.held);
        // SAFETY: never used or dropped again where it came from.
        let way = unsafe { std::ptr::read(&held.way) };
        let shared = Shared { data, held: Held { way, count: One } };
        shared.held.way.permits().forget_holder();
        shared.held.way.permits().release(held.count.permits() - 1);
        shared
    }
}

impl<'a, L: Lock + ?Sized, A: Count, T: ?Sized> Exclusive<&'a L, A, T> {
    pub(super) fn narrow(self) -> Exclusive<&'a Permits, A, T> {
        Exclusive { data: self.data, held: self.held.narrow() }
    }
}

/// One permit of a lock, and a pointer into its data.
pub(super) struct Shared<W: Way, T: ?Sized> {
    data: *const T,
    held: Held<W, One>,
}

// SAFETY: the pointer stands for a shared reference, which is `Send` where the data is `Sync`.
unsafe impl<W: Way + Send, T: ?Sized + Sync> Send for Shared<W, T> {}
// SAFETY: as above.
unsafe impl<W: Way + Sync, T: ?Sized + Sync> Sync for Shared<W, T> {}

impl<W: Way, T: ?Sized> Shared<W, T> {
    pub(super) fn way(&self) -> &W {
        &self.held.way
    }

    #[inline]
    pub(super) fn get(&self) -> &T {
        // SAFETY: it points into data that nothing changes while a permit is held.
        unsafe { &*self.data }
    }

    pub(super) fn map<U: ?Sized>(self, f: impl FnOnce(&T) -> &U) -> Shared<W, U> {
        Shared { data: f(self.get()), held: self.held }
    }

    pub(super) fn try_map<U: ?Sized>(
        self,
        f: impl FnOnce(&T) -> Option<&U>,
    ) -> Result<Shared<W, U>, Self> {
        match f(self.get()).map(std::ptr::from_ref) {
            Some(data) => Ok(Shared { data, held: self.held }),
            None => Err(self),
        }
    }
}

impl<'a, L: Lock + ?Sized, T: ?Sized> Shared<&'a L, T> {
    pub(super) fn narrow(self) -> Shared<&'a Permits, T> {
        Shared { data: self.data, held: self.held.narrow() }
    }
}

/// Implements `Deref`, `Debug` and `Display` for guards, each by means of the data.
macro_rules! guards {
    ($([$($generics:tt)*] $guard:ty => $data:ident;)*) => {
        $(
            impl<$($generics)*> std::ops::Deref for $guard {
                type Target = $data;

                #[inline]
                fn deref(&self) -> &$data {
                    self.inner.get()
                }
            }

            impl<$($generics)*> std::fmt::Debug for $guard
            where
                $data: std::fmt::Debug,
            {
                fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    std::fmt::Debug::fmt(&**self, f)
                }
            }

            impl<$($generics)*> std::fmt::Display for $guard
            where
                $data: std::fmt::Display,
            {
                fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    std::fmt::Display::fmt(&**self, f)
                }
            }
        )*
    };
}

/// As [`guards`], and implements `DerefMut`, for guards that may change their data.
macro_rules! guards_mut {
    ($([$($generics:tt)*] $guard:ty => $data:ident;)*) => {
        $crate::sync::guarded::guards!($([$($generics)*] $guard => $data;)*);
        $(
            impl<$($generics)*> std::ops::DerefMut for $guard {
                #[inline]
                fn deref_mut(&mut self) -> &mut $data {
                    self.inner.get_mut()
                }
            }
        )*
    };
}

pub(super) use {guards, guards_mut};

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;
