//! What goes wrong in a runtime, told at once to those that listen: the panic of a task, and a slow poll.
//! Panics are counted, too, by the place of the spawn. So are attempts to connect, most of which go well.
//!
//! A panic is told of on the thread of the panic, and a slow poll on the driver thread. Neither may be kept
//! from its work, so a listener takes a note and leaves the rest to a thread of its own.

use super::slow_poll::SlowPoll;
use crate::engine::sync_shim::{Arc, Mutex, clock};
use crate::engine::task::RunningTask;
use std::io;
use std::time::Instant;

/// Its functions are called under a lock that each of them shares, and while a panic unwinds: they are short,
/// run no code of the program's, and do not panic.
pub(crate) trait Listener: Send + Sync {
    fn panicked(&self, task: RunningTask);

    /// A poll is slow: whether this listener is to be told more of it, which costs the driver thread time.
    fn wants_slow_poll(&self) -> bool;

    /// What is known of that poll. Also if only others want it.
    fn slow_poll(&self, poll: &SlowPoll);
}

/// The listeners of one runtime, and how many panics there were.
pub(crate) struct Incidents {
    listeners: Mutex<Vec<Arc<dyn Listener>>>,
    panics: Mutex<Vec<Panics>>,
    connects: Mutex<Vec<Connects>>,
}

/// The most places whose panics, or attempts to connect, are counted.
const PLACES: usize = 64;

/// The panics of the tasks of one place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Panics {
    /// The last one.
    pub(crate) task: RunningTask,
    pub(crate) at: Instant,
    pub(crate) count: u64,
}

/// The attempts to connect of the tasks of one place, counted while something looks at the process, from
/// the first that has failed.
#[derive(Debug, Clone)]
pub(crate) struct Connects {
    /// The last one that has failed.
    pub(crate) task: RunningTask,
    pub(crate) made: u64,
    pub(crate) failed: u64,
    /// The last one.
    pub(crate) error: String,
}

impl Incidents {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            listeners: Mutex::new(Vec::new()),
            panics: Mutex::new(Vec::new()),
            connects: Mutex::new(Vec::new()),
        })
    }

    /// The attempts to connect, by the place of the spawn, of places with failures.
    pub(crate) fn connects(&self) -> Vec<Connects> {
        self.connects.lock().clone()
    }

    /// The task has made a connection, or has failed to.
    pub(crate) fn connected(&self, task: RunningTask, result: Result<(), &io::Error>) {
        let mut connects = self.connects.lock();
        let same = |known: &Connects| known.task.spawned_at() == task.spawned_at();
        let known = connects.iter().position(same);
        match (result, known) {
            (Ok(()), Some(place)) => connects[place].made += 1,
            (Err(error), Some(place)) => {
                let failed = connects[place].failed + 1;
                connects[place] =
                    Connects { task, failed, error: error.to_string(), ..connects[place] };
            }
            // A place is counted from its first failure on, so that those that have none take no room.
            (Err(error), None) if connects.len() < PLACES => {
                connects.push(Connects { task, made: 0, failed: 1, error: error.to_string() });
            }
            (_, None) => {}
        }
    }

    /// The panics, by the place of the spawn.
    pub(crate) fn panics(&self) -> Vec<Panics> {
        self.panics.lock().clone()
    }

    fn count_panic(&self, task: RunningTask) {
        let (at, mut panics) = (clock::now(), self.panics.lock());
        let same = |known: &Panics| known.task.spawned_at() == task.spawned_at();
        match panics.iter().position(same) {
            Some(place) => panics[place] = Panics { task, at, count: panics[place].count + 1 },
            None if panics.len() < PLACES => panics.push(Panics { task, at, count: 1 }),
            None => {}
        }
    }

    pub(crate) fn add(&self, listener: Arc<dyn Listener>) {
        self.listeners.lock().push(listener);
    }

    pub(crate) fn remove(&self, listener: &Arc<dyn Listener>) {
        let mut listeners = self.listeners.lock();
        let found = listeners.iter().position(|other| Arc::ptr_eq(other, listener));
        let removed = found.map(|index| listeners.swap_remove(index));
        // Dropped without the lock.
        drop(listeners);
        drop(removed);
    }

    pub(crate) fn panicked(&self, task: RunningTask) {
        self.count_panic(task);
        self.listeners.lock().iter().for_each(|listener| listener.panicked(task));
    }

    /// A poll is slow: whether [`slow_poll`](Self::slow_poll) is to be called.
    pub(super) fn want_slow_poll(&self) -> bool {
        // Each is asked, as each may count the poll.
        self.listeners.lock().iter().filter(|listener| listener.wants_slow_poll()).count() != 0
    }

    pub(super) fn slow_poll(&self, poll: &SlowPoll) {
        self.listeners.lock().iter().for_each(|listener| listener.slow_poll(poll));
    }
}
