//! A thread-local that holds a value, borrowed or not, for the duration of a call.
//!
//! A worker lends itself to the code it polls, so that a wake inside a poll finds the worker's own
//! queue. The slot is one pointer without a destructor: a read is one thread-relative load, which is
//! what a wake can afford. Rejected: `RefCell<Option<Rc<_>>>` (a borrow flag, a lazy-registration check
//! and a destructor per thread).
#![allow(unsafe_code)]

use crate::engine::sync_shim::LocalKey;
use std::cell::Cell;
use std::ptr;

/// Runs `f` with `value` in a place that `replace` writes to, which returns what was there before. That comes
/// back afterwards, also if `f` unwinds.
#[inline]
pub(crate) fn while_replaced<T: Copy, R>(
    replace: impl Fn(T) -> T,
    value: T,
    f: impl FnOnce() -> R,
) -> R {
    struct Restore<T: Copy, P: Fn(T) -> T> {
        before: T,
        replace: P,
    }
    impl<T: Copy, P: Fn(T) -> T> Drop for Restore<T, P> {
        fn drop(&mut self) {
            (self.replace)(self.before);
        }
    }
    let _restore = Restore { before: replace(value), replace };
    f()
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
    pub(crate) fn set<R>(&self, value: &T, f: impl FnOnce() -> R) -> R {
        while_replaced(|value| self.value.replace(value), ptr::from_ref(value), f)
    }

    /// Calls `f` with the value lent by the innermost running [`Scoped::set`] of this thread's slot, or
    /// `None`.
    #[inline]
    pub(crate) fn with<R>(key: &'static LocalKey<Self>, f: impl FnOnce(Option<&T>) -> R) -> R {
        // Only the load is done inside `LocalKey::with`: a large closure makes a function of it that is
        // called through pointers, for some 30 instructions.
        let value = key.with(|slot| slot.value.get());
        // SAFETY: a non-null pointer was stored by `set`, whose caller borrows the value until `set`
        // returns; `set` restores the old pointer before it returns, also on unwind. The slot is this
        // thread's, so that call is on this thread too and this one is nested in it. The reference cannot
        // leave `f`, because its lifetime is chosen by this function.
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
        SLOT.with(|slot| slot.set(&value, f))
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
