//! What goes wrong in a runtime, told at once to those that listen: the panic of a task, and a slow poll.
//!
//! A panic is told of on the thread of the panic, and a slow poll on the driver thread. Neither may be kept
//! from its work, so a listener takes a note and leaves the rest to a thread of its own.

use super::slow_poll::SlowPoll;
use crate::engine::sync_shim::{Arc, Mutex};
use crate::engine::task::RunningTask;

/// Its functions are called under a lock that each of them shares, and while a panic unwinds: they are short,
/// run no code of the program's, and do not panic.
pub(crate) trait Listener: Send + Sync {
    fn panicked(&self, task: RunningTask);

    /// A poll is slow: whether this listener is to be told more of it, which costs the driver thread time.
    fn wants_slow_poll(&self) -> bool;

    /// What is known of that poll. Also if only others want it.
    fn slow_poll(&self, poll: &SlowPoll);
}

/// The listeners of one runtime.
pub(crate) struct Incidents(Mutex<Vec<Arc<dyn Listener>>>);

impl Incidents {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(Vec::new())))
    }

    pub(crate) fn add(&self, listener: Arc<dyn Listener>) {
        self.0.lock().push(listener);
    }

    pub(crate) fn remove(&self, listener: &Arc<dyn Listener>) {
        let mut listeners = self.0.lock();
        let found = listeners.iter().position(|other| Arc::ptr_eq(other, listener));
        let removed = found.map(|index| listeners.swap_remove(index));
        // Dropped without the lock.
        drop(listeners);
        drop(removed);
    }

    pub(crate) fn panicked(&self, task: RunningTask) {
        self.0.lock().iter().for_each(|listener| listener.panicked(task));
    }

    /// A poll is slow: whether [`slow_poll`](Self::slow_poll) is to be called.
    pub(super) fn want_slow_poll(&self) -> bool {
        // Each is asked, as each may count the poll.
        self.0.lock().iter().filter(|listener| listener.wants_slow_poll()).count() != 0
    }

    pub(super) fn slow_poll(&self, poll: &SlowPoll) {
        self.0.lock().iter().for_each(|listener| listener.slow_poll(poll));
    }
}
