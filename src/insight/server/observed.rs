//! The runtimes that a page shows.

use crate::engine::sync_shim::Mutex;
use crate::runtime::Handle;
use crate::runtime::gauges::follow_gauges;
use crate::runtime::incidents::{follow_attempts, follow_executors, follow_panics};
use crate::runtime::weak_handle::WeakHandle;

/// Held weakly: a page keeps nothing of a runtime that has ended.
pub(super) struct Observed(Mutex<List>);

#[derive(Default)]
struct List {
    /// In the order in which they were named, each once.
    runtimes: Vec<WeakHandle>,
    ended: usize,
}

impl Observed {
    pub(super) fn new() -> Self {
        Self(Mutex::new(List::default()))
    }

    pub(super) fn add(&self, handle: &Handle) {
        follow_panics();
        follow_attempts();
        follow_executors();
        follow_gauges();
        // So that a program that makes one after the other needs no memory for those that are gone.
        drop(self.living());
        let mut list = self.0.lock();
        if list.runtimes.iter().all(|runtime| runtime.id() != handle.id()) {
            list.runtimes.push(WeakHandle::new(handle));
        }
    }

    /// Returns the runtimes that are alive, and the number that have ended.
    ///
    /// Does not hold the lock while it has handles: the thread that drops the last one of a runtime drops
    /// the user's hooks, and those may do anything.
    pub(super) fn living(&self) -> (Vec<Handle>, usize) {
        let runtimes = self.0.lock().runtimes.clone();
        let (mut living, mut gone) = (Vec::new(), Vec::new());
        for runtime in runtimes {
            match runtime.upgrade() {
                Some(handle) => living.push(handle),
                None => gone.push(runtime.id()),
            }
        }
        let mut list = self.0.lock();
        let before = list.runtimes.len();
        list.runtimes.retain(|runtime| !gone.contains(&runtime.id()));
        list.ended += before - list.runtimes.len();
        let ended = list.ended;
        drop(list);
        (living, ended)
    }
}
