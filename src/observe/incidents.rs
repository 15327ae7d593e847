//! What goes wrong in a runtime, told at once to those that listen: the panic of a task, and a slow poll.
//! Panics are counted, too, by the place of the spawn. So is what a program does again and again although it
//! goes wrong, while something looks at the process: attempts to connect, calls that a timeout ends, ticks
//! that are taken too late, and reads at the end of a stream.
//!
//! A panic is told of on the thread of the panic, and a slow poll on the driver thread. Neither may be kept
//! from its work, so a listener takes a note and leaves the rest to a thread of its own.

use super::slow_poll::SlowPoll;
use crate::engine::sync_shim::{Arc, Mutex, clock};
use crate::engine::task::RunningTask;
use std::fmt::Display;
use std::panic::Location;
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
    /// By the place of the spawn.
    connects: Mutex<Vec<Attempts>>,
    /// By the place of the call.
    timeouts: Mutex<Vec<Attempts>>,
    /// By the place of the spawn.
    ticks: Mutex<Vec<Attempts>>,
    ended_reads: Mutex<Vec<EndedReads>>,
}

/// The most places of each kind that are counted.
const PLACES: usize = 64;

/// The panics of the tasks of one place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Panics {
    /// The last one.
    pub(crate) task: RunningTask,
    pub(crate) at: Instant,
    pub(crate) count: u64,
}

/// What was tried at one place, counted from the first failure on.
#[derive(Debug, Clone)]
pub(crate) struct Attempts {
    pub(crate) place: &'static Location<'static>,
    pub(crate) made: u64,
    pub(crate) failed: u64,
    /// The last error.
    pub(crate) error: String,
}

/// Reads at the end of a stream by the tasks of one place, but for the first of each stream, by which the
/// program learns of the end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EndedReads {
    /// The last one that has read there.
    pub(crate) task: RunningTask,
    pub(crate) repeated: u64,
}

impl Incidents {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            listeners: Mutex::new(Vec::new()),
            panics: Mutex::new(Vec::new()),
            connects: Mutex::new(Vec::new()),
            timeouts: Mutex::new(Vec::new()),
            ticks: Mutex::new(Vec::new()),
            ended_reads: Mutex::new(Vec::new()),
        })
    }

    /// The attempts to connect, by the place of the spawn, of places with failures.
    pub(crate) fn connects(&self) -> Vec<Attempts> {
        self.connects.lock().clone()
    }

    /// The task has made a connection, or has failed to.
    pub(crate) fn connected(&self, task: RunningTask, error: Option<&dyn Display>) {
        count(&mut self.connects.lock(), task.spawned_at(), error);
    }

    /// The calls with a timeout, by their place, of places where one has passed.
    pub(crate) fn timeouts(&self) -> Vec<Attempts> {
        self.timeouts.lock().clone()
    }

    /// What is limited at that place was ready in time, or was not.
    pub(crate) fn timed(&self, place: &'static Location<'static>, has_elapsed: bool) {
        count(&mut self.timeouts.lock(), place, has_elapsed.then_some(&""));
    }

    /// The ticks of intervals, by the place of the spawn, of places where one was late.
    pub(crate) fn ticks(&self) -> Vec<Attempts> {
        self.ticks.lock().clone()
    }

    /// The task has taken a tick of an interval: more than a period too late, or not.
    pub(crate) fn ticked(&self, task: RunningTask, is_late: bool) {
        count(&mut self.ticks.lock(), task.spawned_at(), is_late.then_some(&""));
    }

    /// The reads at the end of a stream, by the place of the spawn.
    pub(crate) fn ended_reads(&self) -> Vec<EndedReads> {
        self.ended_reads.lock().clone()
    }

    /// The task has read, and there was nothing again: the stream has ended.
    pub(crate) fn read_end(&self, task: RunningTask) {
        let mut reads = self.ended_reads.lock();
        let same = |known: &EndedReads| known.task.spawned_at() == task.spawned_at();
        match reads.iter().position(same) {
            Some(place) => reads[place] = EndedReads { task, repeated: reads[place].repeated + 1 },
            None if reads.len() < PLACES => reads.push(EndedReads { task, repeated: 1 }),
            None => {}
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

fn count(all: &mut Vec<Attempts>, place: &'static Location<'static>, error: Option<&dyn Display>) {
    let same = |known: &Attempts| std::ptr::eq(known.place, place) || known.place == place;
    match (error, all.iter().position(same)) {
        (None, Some(known)) => all[known].made += 1,
        (Some(error), Some(known)) => {
            all[known].failed += 1;
            all[known].error = error.to_string();
        }
        // A place is counted from its first failure on, so that those that have none take no room.
        (Some(error), None) if all.len() < PLACES => {
            all.push(Attempts { place, made: 0, failed: 1, error: error.to_string() });
        }
        (_, None) => {}
    }
}
