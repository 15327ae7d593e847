//! What the functions do first that take a future, or a function, from the program.
//!
//! A future goes through some functions from there to the memory of its task. In a debug build the frame of
//! each of them has a copy of it, so that one of 128 KiB did not fit into a stack of 2 MiB. Therefore the
//! first of them puts a large future into a box, and the others hand on a pointer. Functions for the blocking
//! pool, and roots, are treated in the same way. The size of a type is a constant, so only one of the two
//! ways is compiled.
//!
//! tokio has boxes from the same sizes on. So what fits into a stack on tokio fits here.
//!
//! Rejected: to write the future into the memory of its task at once, which would save the second allocation.
//! The functions that poll, cancel and read a task would have to do without values of the type of that
//! memory, each of which is a copy of the future's size in a debug build. And roots have no such memory.
//!
//! This is public for the package named `tokio`, whose functions stand before those of this crate.

pub use crate::boxed_if_large;
pub use crate::engine::task::origin::{Name, Origin};
use std::marker::PhantomData;
use std::panic::Location;

/// The size of the largest value that is handed on as it is.
const LARGEST: usize = if cfg!(debug_assertions) { 2 * 1024 } else { 16 * 1024 };

/// Returns whether a value of the type `T` is to be put into a box.
pub const fn is_large<T>() -> bool {
    size_of::<T>() > LARGEST
}

/// The origin of a task that polls a box, while the program has spawned the `T` in it.
pub struct Boxed<O, T> {
    origin: O,
    spawned: PhantomData<T>,
}

impl<O, T> Boxed<O, T> {
    /// Returns the origin of a task that comes from `origin`, but for the box.
    pub fn new(origin: O) -> Self {
        Self { origin, spawned: PhantomData }
    }
}

impl<O: Origin, T> Origin for Boxed<O, T> {
    type Name = O::Name;
    type Future<F> = T;

    fn into_parts(self) -> (&'static Location<'static>, O::Name) {
        self.origin.into_parts()
    }
}

/// Evaluates an expression in which a value lies in a box if it is large.
///
/// The first word says what the value is. A `function` comes into a `Box`, a `root` into a pinned one. So
/// does a `task`, whose origin says then that the program has spawned what is in the box.
#[doc(hidden)]
#[macro_export]
macro_rules! boxed_if_large {
    (function $f:ident: $F:ty => $then:expr) => {
        if const { $crate::runtime::door::is_large::<$F>() } {
            let $f = ::std::boxed::Box::new($f);
            $then
        } else {
            $then
        }
    };
    (root $future:ident: $F:ty => $then:expr) => {
        if const { $crate::runtime::door::is_large::<$F>() } {
            let $future = ::std::boxed::Box::pin($future);
            $then
        } else {
            $then
        }
    };
    (task $future:ident: $F:ty, $origin:ident => $then:expr) => {
        if const { $crate::runtime::door::is_large::<$F>() } {
            let $future = ::std::boxed::Box::pin($future);
            let $origin = $crate::runtime::door::Boxed::<_, $F>::new($origin);
            $then
        } else {
            $then
        }
    };
}
