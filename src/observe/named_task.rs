//! How a task is shown with its name.

use crate::engine::task::RunningTask;
use crate::short::{Place, short};
use std::fmt;

/// A task, to be shown with its name if that is known.
pub(crate) struct NamedTask<'a>(pub(crate) RunningTask, pub(crate) Option<&'a str>);

impl fmt::Display for NamedTask<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(task, name) = self;
        let Some(name) = name else {
            return task.fmt(f);
        };
        let (id, place) = (task.id(), Place(task.spawned_at()));
        write!(f, "task {id} {:?}, spawned at {place}", short(name))
    }
}
