//! `EnterGuard`: liten's, which panics as tokio's if guards are dropped out of order.

use super::Handle;
use crate::LITEN;
use std::cell::Cell;
use std::marker::PhantomData;

thread_local! {
    /// How many guards the thread has.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Leaves the runtime when it is dropped.
#[derive(Debug)]
#[must_use = "Creating and dropping a guard does nothing"]
pub struct EnterGuard<'a> {
    /// Looked at before the runtime is left.
    _place: Place,
    _guard: liten::runtime::EnterGuard<'a>,
    _handle: PhantomData<&'a Handle>,
}

impl<'a> EnterGuard<'a> {
    pub(super) fn new(guard: liten::runtime::EnterGuard<'a>) -> Self {
        EnterGuard { _place: Place::next(), _guard: guard, _handle: PhantomData }
    }
}

/// The place of a guard among those of its thread. It has no lifetime, or the compiler would insist that the
/// runtime outlives the guard.
#[derive(Debug)]
struct Place(usize);

impl Place {
    fn next() -> Self {
        // A thread that is ending keeps no order any more.
        let place = DEPTH.try_with(|depth| depth.replace(depth.get() + 1));
        Self(place.unwrap_or(0))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let depth = DEPTH.try_with(Cell::get).unwrap_or(self.0 + 1);
        if depth != self.0 + 1 && !std::thread::panicking() {
            panic!(
                "`EnterGuard` values dropped out of order. Guards returned by \
                 `tokio::runtime::Handle::enter()` must be dropped in the reverse order as they were \
                 acquired. ({LITEN})"
            );
        }
        let _ = DEPTH.try_with(|depth| depth.set(self.0));
    }
}
