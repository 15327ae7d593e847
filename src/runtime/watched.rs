//! What no runtime owns and a page shows all the same: the futures in `block_on`, and local executors that
//! the program makes, such as a [`LocalSet`](super::LocalSet).
//!
//! Both enter a list of the process, with the runtime that they belong to, and leave it when they end: a lock
//! for each call of `block_on`, and none for a poll. A future in `block_on` counts its polls in the list's
//! entry, so that an observer sees whether it is in one, and for how long.

use super::id::Id;
use super::local::LocalShared;
use crate::engine::scheduler::thread_number;
use crate::engine::sync_shim::{Arc, StaticMutex, thread_local};
use std::cell::Cell;
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};

static ROOTS: StaticMutex<Vec<std::sync::Arc<Root>>> = StaticMutex::new(Vec::new());
static EXECUTORS: StaticMutex<Vec<(Id, Arc<LocalShared>)>> = StaticMutex::new(Vec::new());

thread_local! {
    /// The system's number of the thread, once it has been asked for.
    static THREAD: Cell<Option<u32>> = const { Cell::new(None) };
}

/// A future in `block_on`.
#[derive(Debug)]
pub(crate) struct Root {
    pub(crate) runtime: Id,
    /// The system's number of the thread.
    pub(crate) thread: u32,
    /// The call of `block_on`.
    pub(crate) called_at: &'static Location<'static>,
    /// How many polls have begun, and how many have ended: odd in a poll.
    steps: AtomicU64,
}

impl Root {
    /// How many polls have begun and ended, if it is being polled.
    pub(crate) fn poll(&self) -> Option<u64> {
        // Ordering: Relaxed, a number for people.
        Some(self.steps.load(Ordering::Relaxed)).filter(|steps| steps % 2 == 1)
    }

    fn step(&self) {
        // Ordering: Relaxed for both: one thread counts, and for others it is a number for people.
        self.steps.store(self.steps.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

/// Keeps a future in the list, until it is dropped.
pub(super) struct Listed(std::sync::Arc<Root>);

impl Listed {
    pub(super) fn new(runtime: Id, called_at: &'static Location<'static>) -> Self {
        let thread = THREAD.get().unwrap_or_else(|| {
            let thread = thread_number();
            THREAD.set(Some(thread));
            thread
        });
        let steps = AtomicU64::new(0);
        let root = std::sync::Arc::new(Root { runtime, thread, called_at, steps });
        ROOTS.lock().push(root.clone());
        Self(root)
    }

    /// Says that the future is being polled, until the result is dropped.
    pub(super) fn polled(&self) -> impl Sized + use<'_> {
        struct Poll<'a>(&'a Root);
        impl Drop for Poll<'_> {
            fn drop(&mut self) {
                self.0.step();
            }
        }
        self.0.step();
        Poll(&self.0)
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        let mut roots = ROOTS.lock();
        if let Some(place) = roots.iter().position(|root| std::sync::Arc::ptr_eq(root, &self.0)) {
            roots.swap_remove(place);
        }
    }
}

/// The futures in a `block_on` of that runtime.
pub(crate) fn roots_of(runtime: Id) -> Vec<std::sync::Arc<Root>> {
    ROOTS.lock().iter().filter(|root| root.runtime == runtime).cloned().collect()
}

/// Enters an executor as one of that runtime.
pub(super) fn list_executor(runtime: Id, shared: &Arc<LocalShared>) {
    EXECUTORS.lock().push((runtime, shared.clone()));
}

/// The executor ends. Called before its tasks are dropped.
pub(super) fn forget_executor(shared: &Arc<LocalShared>) {
    let mut executors = EXECUTORS.lock();
    let place = executors.iter().position(|(_, other)| Arc::ptr_eq(other, shared));
    let gone = place.map(|place| executors.swap_remove(place));
    drop((executors, gone));
}

/// The local executors that the program has made in that runtime.
pub(crate) fn executors_of(runtime: Id) -> Vec<Arc<LocalShared>> {
    let executors = EXECUTORS.lock();
    let of = executors.iter().filter(|(id, _)| *id == runtime);
    of.map(|(_, shared)| shared.clone()).collect()
}
