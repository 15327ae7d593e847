//! Where jobs and threads meet: the [`PoolState`] under its lock, the condition variables, and the loop of a
//! thread.
//!
//! No job is left lying while a thread waits. Say that a free thread is *asleep* if it is in the wait of
//! `work`, and *under way* if it has left that wait (by signal, by timeout, for no reason) and does not
//! hold the lock yet. Claim: whenever no thread holds the lock,
//!
//! > if a thread is asleep, at least as many threads are under way as jobs are queued.
//!
//! * A thread falls asleep only if the queue is empty: holds.
//! * A job is queued while a thread is asleep: by the claim all queued jobs have a thread under way, and
//!   the sleeper is free besides, so free > queued, so `submit` answers `Signal`. The signal is sent under
//!   the lock, and moves a thread from asleep to under way: one more job, one more thread. If no thread
//!   is asleep, the claim says nothing.
//! * A thread under way gets the lock: it takes a job (one less of each), or the queue is empty (holds with
//!   any number).
//! * A busy or a new thread gets the lock and takes a job: one job less.
//! * A start fails: neither side changes, because a thread that has not begun is not under way.
//! * The close signals every thread, so none is asleep while jobs are left, those that it cancels included;
//!   and none falls asleep after it.
//!
//! So a signal carries no information of its own: what it announces is in the `PoolState`. A thread that
//! times out at the moment a job is queued is under way: if it gets the lock first it ends, `submit` no
//! longer counts on it, and the job gets a thread of its own; if `submit` comes first the thread finds the
//! job in spite of the timeout. A signal that finds no thread asleep is not missed either: it can find none
//! only if all free threads are under way.
//!
//! And if no thread is asleep? Then all free threads are under way or being started, all others are busy,
//! and each of them looks at the queue before it sleeps or ends. `loom.rs` plays this through.

use super::pool_state::{Job, NextStep, PoolState};
use crate::engine::recycler;
use crate::engine::sync_shim::{Condvar, Mutex, MutexGuard};
use crate::engine::wakers;
use std::time::Instant;

/// The [`PoolState`] behind its lock, and the signals that threads wait for.
pub(super) struct LockedState<J> {
    pub(super) state: Mutex<PoolState<J>>,
    /// There is a job for one thread, or the pool was closed. Signalled under the lock.
    pub(super) work: Condvar,
    /// A thread was let go.
    gone: Condvar,
}

impl<J: Job> LockedState<J> {
    pub(super) fn new(max_threads: usize) -> Self {
        Self {
            state: Mutex::new(PoolState::new(max_threads)),
            work: Condvar::new(),
            gone: Condvar::new(),
        }
    }

    /// The loop of a thread: runs jobs until it is let go.
    ///
    /// `wait` gives up the lock until `work` is signalled or the thread's idle time is over, and says
    /// whether the latter was the case.
    pub(super) fn serve<'a>(
        &'a self,
        mut wait: impl FnMut(MutexGuard<'a, PoolState<J>>) -> (MutexGuard<'a, PoolState<J>>, bool),
    ) {
        let mut state = self.state.lock();
        let mut timed_out = false;
        loop {
            state = match state.next_step(timed_out) {
                NextStep::Run(job) => self.unlocked(state, || job.run()),
                NextStep::Cancel(job) => self.unlocked(state, || job.cancel()),
                NextStep::Wait if recycler::is_kept_here() => {
                    // There may be many threads, and each would keep memory for as long as it waits.
                    drop(state);
                    recycler::trim_here();
                    state = self.state.lock();
                    continue;
                }
                NextStep::Wait => {
                    (state, timed_out) = wait(state);
                    continue;
                }
                NextStep::End => break,
            };
            timed_out = false;
        }
        self.gone.notify_all();
    }

    /// Ends a job, without the lock.
    fn unlocked<'a>(
        &'a self,
        state: MutexGuard<'a, PoolState<J>>,
        end: impl FnOnce(),
    ) -> MutexGuard<'a, PoolState<J>> {
        drop(state);
        wakers::guard(end);
        let mut state = self.state.lock();
        state.finished();
        state
    }

    /// Refuses jobs from now on, ends waiting threads, and has the threads cancel what is queued and need not
    /// run.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        self.work.notify_all();
        state.close(Job::must_run);
    }

    /// Cancels what the close has left to threads that come back. For a thread of the pool, in a job.
    pub(super) fn cancel_left(&self) {
        let jobs = self.state.lock().take_cancelled();
        for job in jobs {
            wakers::guard(|| job.cancel());
        }
    }

    /// A thread exits early: it panicked, or ended without permission.
    pub(super) fn abandon(&self) {
        let jobs = {
            let mut state = self.state.lock();
            self.gone.notify_all();
            state.abandon()
        };
        // Without the lock: a job's end may run code that comes back to the pool.
        for job in jobs {
            wakers::guard(|| job.cancel());
        }
    }

    /// Waits until at most `left` threads are there, or until `deadline`; returns whether that is so.
    pub(super) fn wait_for_threads(&self, left: usize, deadline: Option<Instant>) -> bool {
        let mut state = self.state.lock();
        while state.threads() > left {
            match deadline {
                None => self.gone.wait(&mut state),
                Some(at) => {
                    if self.gone.wait_until(&mut state, at).timed_out() {
                        return state.threads() <= left;
                    }
                }
            }
        }
        true
    }
}
