//! A thread-local that holds a value, borrowed or not, for the duration of a call.
//!
//! A worker lends itself to the code it polls, so that a wake inside a poll finds the worker's own
//! queue. The slot is one pointer without a destructor: a read is one thread-relative load, which is
//! what a wake can afford. Rejected: `RefCell<Option<Rc<_>>>` (a borrow flag, a lazy-registration check
//! and a destructor per thread).
#![allow(unsafe_code)]

use crate::engine::sync_shim::LocalKey;
use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr;

/// Writes `value` to a place by `replace`, which returns what was there before. That comes back when the
/// result is dropped.
///
/// A value to be dropped and not a function that calls another one: such functions stand on each other when a
/// task panics in a debug build, and each is a call.
#[inline]
#[must_use = "the value before comes back when this is dropped"]
pub(crate) fn replaced<T: Copy, P: Fn(T) -> T>(replace: P, value: T) -> Replaced<T, P> {
    Replaced { before: replace(value), replace }
}

/// Made by [`replaced`].
pub(crate) struct Replaced<T: Copy, P: Fn(T) -> T> {
    before: T,
    replace: P,
}

impl<T: Copy, P: Fn(T) -> T> Drop for Replaced<T, P> {
    #[inline]
    fn drop(&mut self) {
        (self.replace)(self.before);
    }
}

/// A slot for a `&T` that is filled only while [`Scoped::set`] runs.
pub(crate) struct Scoped<T> {
    value: Cell<*const T>,
}

impl<T> Scoped<T> {
    pub(crate) const fn new() -> Self {
        Self { value: Cell::new(ptr::null()) }
    }

    /// Lends `value` to every [`Scoped::with`] below `f` on this thread; what was lent before comes back
    /// afterwards.
    pub(crate) fn set<R>(key: &'static LocalKey<Self>, value: &T, f: impl FnOnce() -> R) -> R {
        let _before = Self::replace(key, value);
        f()
    }

    /// Lends `value` to every [`Scoped::with`] on this thread, until the result is dropped.
    ///
    /// # Safety
    ///
    /// The result is dropped before `value`, and not forgotten.
    pub(crate) unsafe fn lend<'a>(
        key: &'static LocalKey<Self>,
        value: &'a T,
    ) -> impl Sized + use<'a, T> {
        (Self::replace(key, value), PhantomData::<&'a T>)
    }

    fn replace(key: &'static LocalKey<Self>, value: &T) -> impl Sized + use<T> {
        let replace = |value| key.with(|slot| slot.value.replace(value));
        replaced(replace, ptr::from_ref(value))
    }

    /// Calls `f` with the value lent by the innermost running [`Scoped::set`] of this thread's slot, or
    /// `None`.
    #[inline]
    pub(crate) fn with<R>(key: &'static LocalKey<Self>, f: impl FnOnce(Option<&T>) -> R) -> R {
        // Only the load is done inside `LocalKey::with`: a large closure makes a function of it that is
        // called through pointers, for some 30 instructions.
        let value = key.with(|slot| slot.value.get());
        // SAFETY: a non-null pointer was stored by `set`, whose caller borrows the value until `set` returns;
        // `set` restores the old pointer before it returns, also on unwind. Or by `lend`, whose caller
        // promises the same. The slot is this thread's, so that call is on this thread too and this one is
        // nested in it. The reference cannot leave `f`, because its lifetime is chosen by this function.
        f(unsafe { value.as_ref() })
    }
}

#[cfg(all(test, not(liten_shuttle)))]
mod tests {
    use super::Scoped;

    thread_local! {
        static SLOT: Scoped<i32> = const { Scoped::new() };
    }

    fn set<R>(value: i32, f: impl FnOnce() -> R) -> R {
        Scoped::set(&SLOT, &value, f)
    }

    fn lent() -> Option<i32> {
        Scoped::with(&SLOT, |value| value.copied())
    }

    #[test]
    fn the_inner_value_hides_the_outer_one_and_goes_again() {
        assert_eq!(lent(), None);
        set(1, || {
            set(2, || assert_eq!(lent(), Some(2)));
            assert_eq!(lent(), Some(1));
        });
        assert_eq!(lent(), None);
    }

    #[test]
    fn a_panic_takes_the_value_out_again() {
        let result = std::panic::catch_unwind(|| set(1, || panic!("inside")));
        assert!(result.is_err());
        assert_eq!(lent(), None);
    }
}
