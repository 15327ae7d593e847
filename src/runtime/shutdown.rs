//! The end of a runtime, step by step; see the header of runtime.rs.

use super::block_on;
use super::handle::{Flavor, Handle};
use crate::engine::recycler;
use crate::engine::sync_shim::clock;
use crate::engine::task::RunningTask;
use crate::engine::wakers::{self, WakeList};
use std::time::{Duration, Instant};

impl Handle {
    /// Takes no more pinned tasks, calls the function for slow polls no more, and keeps no memory for tasks
    /// to come.
    fn begin_end(&self) {
        self.inner.memory.end();
        self.inner.slow_polls.close();
        self.inner.pinned.close();
    }

    /// Takes no more blocking work, and tells threads of the pool that wait for something to read.
    fn close_pool(&self) {
        self.inner.blocking.close();
        let mut wakes = WakeList::new();
        self.inner.ending.set();
        self.inner.ending.wake(&mut wakes);
        wakes.wake();
    }

    /// Ends the runtime; waits for its threads, for `timeout` at most. A second call finds nothing to do.
    /// Returns what still runs.
    ///
    /// On one of the runtime's own threads nothing is waited for. Without a `timeout`, blocking work that
    /// ends its runtime cancels the work that is queued behind it.
    pub(super) fn shutdown(&self, timeout: Option<Duration>) -> Vec<RunningTask> {
        let running = self.shutdown_steps(timeout);
        // What the tasks have left that were dropped on this thread.
        recycler::trim_here();
        running
    }

    fn shutdown_steps(&self, timeout: Option<Duration>) -> Vec<RunningTask> {
        let inner = &*self.inner;
        // A deadline beyond the clock's range is none.
        let deadline = timeout.map(|timeout| clock::now().checked_add(timeout));
        let deadline = deadline.flatten().or(timeout.map(far));
        let is_own_thread = self.is_own_thread();
        let may_wait = !is_own_thread && timeout != Some(Duration::ZERO);
        self.begin_end();
        self.close_current_thread();
        self.close_pool();
        let scheduler = self.scheduler();
        if let Some(scheduler) = scheduler {
            scheduler.close();
        }
        let drained = may_wait && scheduler.is_none_or(|it| it.wait_for_tasks(deadline));
        // Before the threads end: what the user has called on them may wait for a timer.
        self.close_driver();
        if is_own_thread && timeout.is_none() {
            inner.blocking.cancel_left_in_job();
        }
        let ended = drained && scheduler.is_none_or(|it| it.wait_for_workers(deadline));
        if ended && inner.blocking.wait(deadline) && inner.pinned.wait(deadline) {
            if let Some(scheduler) = scheduler {
                scheduler.join_watchdog();
            }
            return Vec::new();
        }
        self.running_tasks()
    }

    /// Whether waiting for the runtime's end on this thread would be waiting for itself.
    fn is_own_thread(&self) -> bool {
        block_on::is_own_thread(self.address())
            || self.scheduler().is_some_and(|it| it.is_own_thread())
    }

    /// Drops the tasks of a runtime without workers: there is no other thread to do it. The pool is still
    /// open, so what a destructor gives to it runs, as it does on tokio.
    fn close_current_thread(&self) {
        if let Flavor::CurrentThread(current) = &self.inner.flavor {
            // Destructors of tasks may use the runtime for the last time.
            let _entered = self.enter();
            current.close();
        }
    }

    /// Ends the waits of futures outside the runtime's tasks: what waits for a source gets an error, and a
    /// timer that waits is told that the runtime has ended.
    fn close_driver(&self) {
        let mut wakes = Vec::new();
        self.inner.driver.close(&mut wakes);
        wakers::wake_all(&mut wakes);
    }
}

/// Thirty years from now, for timeouts that overflow the clock.
fn far(_: Duration) -> Instant {
    clock::now() + Duration::from_secs(60 * 60 * 24 * 365 * 30)
}
