//! Where jobs and threads meet: the roster under its lock, the signal, and the loop of a thread.
//!
//! No job is left lying while a thread waits. Say that a free thread is *asleep* if it is in the wait of
//! `work`, and *under way* if it has left that wait (by signal, by timeout, for no reason) and does not
//! hold the lock yet. Claim: whenever nobody holds the lock,
//!
//! > if a thread is asleep, at least as many threads are under way as jobs are queued.
//!
//! * A thread falls asleep only if the queue is empty: holds.
//! * A job is queued while a thread is asleep: by the claim all queued jobs have somebody under way, and
//!   the sleeper is free besides, so free > queued, so `submit` answers `Signal`. The signal is sent under
//!   the lock, and moves a thread from asleep to under way: one more job, one more thread. If nobody is
//!   asleep, the claim says nothing.
//! * A thread under way gets the lock: it takes a job (one less of each), or the queue is empty (holds with
//!   any number).
//! * A busy or a new thread gets the lock and takes a job: one job less.
//! * A start fails: neither side changes, because a thread that has not begun is not under way.
//! * The close signals everybody, so nobody is asleep while jobs that must run are left; and nobody falls
//!   asleep after it.
//!
//! So what a signal says is in the roster and not in the signal. A thread that times out at the moment a
//! job is queued is under way: if it gets the lock first it ends, `submit` no longer counts on it, and the
//! job gets a thread of its own; if `submit` comes first the thread finds the job in spite of the timeout.
//! A signal that meets nobody asleep is not missed either: it can meet nobody only if all free threads are
//! under way.
//!
//! And if no thread is asleep? Then all free threads are under way or being started, all others are busy,
//! and each of them looks at the queue before it sleeps or ends. `loom.rs` plays this through.

use super::Job;
use super::roster::{Roster, Seek};
use crate::sync_shim::{Condvar, Mutex, MutexGuard};
use crate::wakers;
use std::time::Instant;

pub(super) struct Desk<J> {
    pub(super) roster: Mutex<Roster<J>>,
    /// There is a job for one thread, or the pool was closed. Signalled under the lock.
    pub(super) work: Condvar,
    /// A thread was let go.
    gone: Condvar,
}

impl<J: Job> Desk<J> {
    pub(super) fn new(max_threads: usize) -> Self {
        Self {
            roster: Mutex::new(Roster::new(max_threads)),
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
        mut wait: impl FnMut(MutexGuard<'a, Roster<J>>) -> (MutexGuard<'a, Roster<J>>, bool),
    ) {
        let mut roster = self.roster.lock();
        let mut timed_out = false;
        loop {
            match roster.seek(timed_out) {
                Seek::Run(job) => {
                    drop(roster);
                    wakers::guard(|| job.run());
                    roster = self.roster.lock();
                    roster.finished();
                    timed_out = false;
                }
                Seek::Wait => (roster, timed_out) = wait(roster),
                Seek::End => break,
            }
        }
        self.gone.notify_all();
    }

    /// Refuses jobs from now on, ends waiting threads, and cancels what is queued and need not run.
    pub(super) fn close(&self) {
        let jobs = {
            let mut roster = self.roster.lock();
            self.work.notify_all();
            roster.close(Job::must_run)
        };
        cancel(jobs);
    }

    /// A thread goes without having been let go.
    pub(super) fn abandon(&self) {
        let jobs = {
            let mut roster = self.roster.lock();
            self.gone.notify_all();
            roster.abandon()
        };
        cancel(jobs);
    }

    /// Waits until at most `left` threads are there, or until `deadline`; returns whether that is so.
    pub(super) fn wait_for_threads(&self, left: usize, deadline: Option<Instant>) -> bool {
        let mut roster = self.roster.lock();
        while roster.threads() > left {
            match deadline {
                None => self.gone.wait(&mut roster),
                Some(at) => {
                    if self.gone.wait_until(&mut roster, at).timed_out() {
                        return roster.threads() <= left;
                    }
                }
            }
        }
        true
    }
}

/// Without the lock: a job's end may run code that queues another one.
fn cancel<J: Job>(jobs: impl IntoIterator<Item = J>) {
    for job in jobs {
        wakers::guard(|| job.cancel());
    }
}
