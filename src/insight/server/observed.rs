//! The runtimes that a page shows.

use crate::engine::sync_shim::Mutex;
use crate::runtime::Handle;
use crate::runtime::weak_handle::WeakHandle;

/// Held weakly: a page keeps nothing of a runtime that has ended.
#[derive(Default)]
pub(super) struct Observed(Mutex<List>);

#[derive(Default)]
struct List {
    /// In the order in which they were named, each once.
    runtimes: Vec<WeakHandle>,
    ended: usize,
}

impl Observed {
    pub(super) fn add(&self, handle: &Handle) {
        let mut list = self.0.lock();
        if list.runtimes.iter().all(|runtime| runtime.id() != handle.id()) {
            // So that a program that makes one after the other needs no memory for those that are gone.
            drop(list.living());
            list.runtimes.push(WeakHandle::new(handle));
        }
    }

    /// Those that have not ended, and how many have.
    pub(super) fn living(&self) -> (Vec<Handle>, usize) {
        let mut list = self.0.lock();
        (list.living(), list.ended)
    }
}

impl List {
    fn living(&mut self) -> Vec<Handle> {
        let before = self.runtimes.len();
        let mut living = Vec::new();
        self.runtimes.retain(|runtime| {
            let handle = runtime.upgrade();
            let lives = handle.is_some();
            living.extend(handle);
            lives
        });
        self.ended += before - self.runtimes.len();
        living
    }
}
