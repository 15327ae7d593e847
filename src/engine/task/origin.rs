//! Where a task comes from: the place of its spawn, and its name if it was given one.
//!
//! A task without a name has no memory for one: the type of the name is a part of the type of the task's
//! cell, and that of no name takes no bytes. Rejected: a field of the header, which every task would pay for;
//! and a table of names by id, which would cost a lock at the start and at the end of a named task.

use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;

/// The place and the name that the caller of a spawn gives to the task.
pub trait Origin {
    /// The type of the name, as the task keeps it.
    type Name: Name;

    /// What the program has spawned, if the task polls an `F`: the lists of tasks show the name and the size
    /// of this type.
    type Future<F>;

    /// Returns the place of the spawn, and the name.
    fn into_parts(self) -> (&'static Location<'static>, Self::Name);
}

/// The name of a task, as it lies in the task's memory. Its destructor calls no user code.
pub trait Name: Send + Sync + 'static {
    /// Returns the name, if the task was given one.
    fn get(&self) -> Option<Arc<str>>;
}

/// A task without a name.
impl Origin for &'static Location<'static> {
    type Name = ();
    type Future<F> = F;

    #[inline]
    fn into_parts(self) -> (&'static Location<'static>, ()) {
        (self, ())
    }
}

/// A task with a name.
impl<O: Origin<Name = ()>> Origin for (O, Arc<str>) {
    type Name = Arc<str>;
    type Future<F> = O::Future<F>;

    fn into_parts(self) -> (&'static Location<'static>, Arc<str>) {
        let (origin, name) = self;
        (origin.into_parts().0, name)
    }
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

impl Name for () {
    fn get(&self) -> Option<Arc<str>> {
        None
    }
}

impl Name for Arc<str> {
    fn get(&self) -> Option<Arc<str>> {
        Some(self.clone())
    }
}
