//! Where a task comes from: the place of its spawn, and its name if it was given one.
//!
//! A task without a name has no memory for one: the type of the name is a part of the type of the task's
//! cell, and that of no name takes no bytes. Rejected: a field of the header, which every task would pay for;
//! and a table of names by id, which would cost a lock at the start and at the end of a named task.

use std::panic::Location;
use std::sync::Arc;

/// What the caller of a spawn says of the task.
pub(crate) trait Origin {
    /// What the task keeps of its name.
    type Name: Name;

    fn into_parts(self) -> (&'static Location<'static>, Self::Name);
}

/// The name of a task, as it lies in the task's memory. Its destructor calls no user code.
pub(crate) trait Name: Send + Sync + 'static {
    fn get(&self) -> Option<Arc<str>>;
}

/// A task without a name.
impl Origin for &'static Location<'static> {
    type Name = ();

    #[inline]
    fn into_parts(self) -> (&'static Location<'static>, ()) {
        (self, ())
    }
}

/// A task with a name.
impl Origin for (&'static Location<'static>, Arc<str>) {
    type Name = Arc<str>;

    fn into_parts(self) -> Self {
        self
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
