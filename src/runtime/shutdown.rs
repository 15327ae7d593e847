//! The end of a runtime, step by step; see the header of runtime.rs.

use super::block_on;
use super::blocking_task::BlockingTasks;
use super::handle::{Flavor, Handle};
use crate::engine::cancellation::{CancellationToken, DropGuard, WaitForCancellationFutureOwned};
use crate::engine::impls::impl_debug;
use crate::engine::recycler;
use crate::engine::sync_shim::clock;
use crate::engine::task::RunningTask;
use crate::engine::wakers;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

impl Handle {
    /// Takes no more blocking work and no more pinned tasks, calls the function for slow polls no more, tells
    /// threads of the pool that wait for something to read, and keeps no memory for tasks to come.
    fn close_pools(&self) {
        self.inner.memory.end();
        self.inner.slow_polls.close();
        self.inner.blocking.close();
        self.inner.pinned.close();
        self.inner.ending.cancel();
    }

    /// Ends the runtime; waits for its threads, for `timeout` at most. A second call finds nothing to do.
    /// Returns what still runs.
    ///
    /// On one of the runtime's own threads nothing is waited for.
    pub(super) fn shutdown(&self, timeout: Option<Duration>) -> Vec<RunningTask> {
        let running = self.shut_down(timeout);
        // What the tasks have left that were dropped on this thread.
        recycler::trim_here();
        running
    }

    fn shut_down(&self, timeout: Option<Duration>) -> Vec<RunningTask> {
        let inner = &*self.inner;
        // A deadline beyond the clock's range is none.
        let deadline = timeout.map(|timeout| clock::now().checked_add(timeout));
        let deadline = deadline.flatten().or(timeout.map(far));
        let may_wait = !self.is_own_thread() && timeout != Some(Duration::ZERO);
        self.close_pools();
        let scheduler = self.scheduler();
        if let Some(scheduler) = scheduler {
            scheduler.close();
        }
        self.close_current_thread();
        let drained = may_wait && scheduler.is_none_or(|it| it.wait_for_tasks(deadline));
        // Before the threads end: what the user has called on them may wait for a timer.
        self.close_driver();
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

    /// Drops the tasks of a runtime without workers: there is no other thread to do it.
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

    /// As [`Handle::shutdown`] without a timeout, but the waiting is left to the future returned.
    pub(super) fn begin_shutdown(&self) -> Shutdown {
        if self.is_own_thread() {
            self.shutdown(Some(Duration::ZERO));
            return Shutdown { handle: self.clone(), ended: None };
        }
        let Some(scheduler) = self.scheduler() else {
            return Shutdown { handle: self.clone(), ended: self.begin_shutdown_here() };
        };
        if scheduler.start_watchdog().is_err() {
            // The system has no thread left that could wait.
            self.shutdown(None);
            return Shutdown { handle: self.clone(), ended: None };
        }
        self.close_pools();
        let (done, ended) = done();
        let handle = self.clone();
        scheduler.close_and_then(move || {
            handle.close_driver();
            if let Some(scheduler) = handle.scheduler() {
                scheduler.wait_for_workers(None);
            }
            handle.inner.blocking.wait(None);
            handle.inner.pinned.wait(None);
            drop(handle);
            drop(done);
        });
        Shutdown { handle: self.clone(), ended: Some(ended) }
    }

    /// As [`Handle::begin_shutdown`], for a runtime without a driver thread, which waits for the other
    /// threads elsewhere: here a thread of the blocking pool does. `None`: the shutdown is complete.
    fn begin_shutdown_here(&self) -> Option<Ended> {
        let inner = &self.inner;
        let (done, ended) = done();
        let wait = {
            let handle = self.clone();
            move || {
                handle.inner.blocking.wait(None);
                handle.inner.pinned.wait(None);
                drop(handle);
                drop(done);
            }
        };
        // Both pools are closed before their threads are counted, so that none is started after the count.
        inner.pinned.close();
        let alone = inner.pinned.threads() > 0;
        // The job that waits has a list of its own: the report must not name it among what holds up the end.
        let waits = BlockingTasks::new().close_and_then(&inner.blocking, wait, alone);
        // If the pool has not taken the job, there is no thread to wait for, or the system has none to give
        // that could wait: then this thread does.
        self.shutdown(waits.then_some(Duration::ZERO));
        waits.then_some(ended)
    }
}

/// Waits for the end of a runtime. Boxed, so that a [`Shutdown`] is `Unpin`.
type Ended = Pin<Box<WaitForCancellationFutureOwned>>;

/// Returns a guard, and the future that is ready when the guard is dropped. Not a channel: the channels are
/// above the runtime, which must not import them.
fn done() -> (DropGuard, Ended) {
    let ended = CancellationToken::new();
    (ended.clone().drop_guard(), Box::pin(ended.cancelled_owned()))
}

/// Thirty years from now, for timeouts that overflow the clock.
fn far(_: Duration) -> Instant {
    clock::now() + Duration::from_secs(60 * 60 * 24 * 365 * 30)
}

/// Waits for the end of a runtime; made by [`Runtime::shutdown`](super::Runtime::shutdown).
///
/// Ready when every task of the runtime has been dropped and its workers and blocking threads have ended.
///
/// # Cancel safety
///
/// Dropping it changes nothing: the runtime goes on ending.
#[must_use = "the runtime ends anyway, but only this future says when"]
pub struct Shutdown {
    handle: Handle,
    /// `None`: there is nothing to wait for, or it would wait for itself.
    ended: Option<Ended>,
}

impl Shutdown {
    /// Returns what holds up the end at the moment: tasks whose poll or destructor is not over, and
    /// blocking work that is not.
    pub fn running_tasks(&self) -> Vec<RunningTask> {
        self.handle.running_tasks()
    }
}

impl Future for Shutdown {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(ended) = &mut self.ended {
            // The driver thread is in its last steps then; it is not joined, because it may be the one that
            // polls.
            ready!(ended.as_mut().poll(cx));
            self.ended = None;
        }
        Poll::Ready(())
    }
}

impl_debug!([] Shutdown, this => "Shutdown" { running: this.running_tasks(), .. });
