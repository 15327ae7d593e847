//! A bounded pool of threads for work that blocks (files, name resolution, long computations).
//!
//! The pool knows nothing of tasks: it runs [`Job`]s. Two parts:
//! * `pool_state.rs`, pure: the queue and the counts; decides which thread starts, runs a job, waits or ends.
//! * this file: the state under its lock, the signals, and the loop of a thread, which the loom models drive;
//!   and real threads, with names, an idle time, and an owner that joins them.
//!
//! A thread is started when a job finds no free thread, up to the maximum, and ends after an idle time. The
//! queue is unbounded, because a bounded one would have to block the caller, which is a worker. The number of
//! jobs has to be bounded by the program, which knows what they cost.
//!
//! A thread is started under the lock of the pool's state. Without it, other callers could meanwhile queue
//! jobs for that thread, and these would wait for ever if the start fails. The price is that the lock is held
//! for the tens of microseconds of a thread creation, at most `max_threads` times per burst.
//!
//! # The end
//!
//! When the pool is closed, the oldest of the queued jobs are run if a thread has been started or woken for
//! them. The others are cancelled by the pool's threads and not by the caller of `close`: their destructors
//! are user code, and the owner may have said how long it is ready to wait. If all threads are busy, the jobs
//! wait for one that comes back; if that is the one that waits for the end, it cancels them. Rejected: one
//! thread more than the maximum for this. It helps only a program all of whose threads wait for what a queued
//! job owns, and no other runtime ends then.
//!
//! No thread of the pool joins another one. Each runs the destructors of its thread-locals when it ends;
//! these may be slow, and one of them may own the runtime and wait for the pool. So threads end side by side,
//! and only the owner joins them. A thread that ends for want of work takes its own handle out of the list,
//! in the thread-local that was made first and so is dropped last. Thus handles do not pile up, and yet a
//! thread that still runs destructors is joined. If a system chooses another order, the owner does not wait
//! for the remaining destructors; nothing else is lost. Rejected: a chain in which each thread joins the one
//! that ended before it, as tokio does. Then the destructors run one after the other.
//!
//! Rejected: a condition variable per thread, to wake the one that slept least and so let the others time
//! out sooner (more state for a pool that is idle most of the time); and starting the threads beforehand
//! (most programs never need one).
//!
//! # No job is left lying while a thread waits
//!
//! Jobs and threads meet in the [`PoolState`] under its lock ([`LockedState`]). Say that a free thread is
//! *asleep* if it is in the wait of `work`, and *under way* if it has left that wait (by signal, by timeout,
//! for no reason) and does not hold the lock yet. Claim: whenever no thread holds the lock,
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

mod pool_state;

use crate::engine::slice::{self, Slices};
use crate::engine::sync_shim::thread::{self, JoinHandle};
use crate::engine::sync_shim::{Condvar, Mutex, MutexGuard, thread_local};
use crate::engine::thread_name::ThreadName;
use crate::engine::{recycler, wakers};
use crate::impls::impl_debug;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::io;
use std::mem;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(crate) use pool_state::{Job, PoolCounts};
use pool_state::{NextStep, PoolState, Submitted};

/// Wraps the whole life of a thread: the runtime enters its context here. Calls its argument once, to do the
/// thread's work.
pub(crate) type AroundThread = Arc<dyn Fn(&mut dyn FnMut()) + Send + Sync>;

pub(crate) struct Config {
    /// Zero counts as one.
    pub(crate) max_threads: usize,
    /// How long a thread waits for a job before it ends.
    pub(crate) keep_alive: Duration,
    /// The name of its threads, followed by `{kind}-{number}`.
    pub(crate) thread_name: ThreadName,
    pub(crate) kind: &'static str,
    /// `None` leaves it to std.
    pub(crate) stack_size: Option<usize>,
    pub(crate) around: AroundThread,
    /// Called by a thread that is about to wait while no job is queued or being done, with the pool's lock
    /// held; perhaps more than once, and not after the close.
    pub(crate) on_idle: Box<dyn Fn() + Send + Sync>,
}

/// Why a job was not taken; the job comes back.
pub(crate) enum SpawnError<J> {
    /// The pool has been closed.
    Closed(J),
    /// The pool has no thread, and the system does not give it one.
    NoThread(J, io::Error),
}

/// The pool. Its threads keep it alive, so its owner must [`close`](Pool::close) it.
pub(crate) struct Pool<J> {
    locked: LockedState<J>,
    config: Config,
    /// Locked after `locked.state`, never before it. Shared with the threads themselves, because the last
    /// thing that a thread does must not be to free the pool: that drops what the user has given to it.
    threads: Arc<Mutex<Threads>>,
}

/// Handles of threads, so that [`Pool::wait`] can join them.
#[derive(Default)]
struct Threads {
    /// By number, and joined in this order: one that depended on a hash could not be replayed.
    alive: BTreeMap<usize, Thread>,
    /// The pool has been closed: the handles stay for the caller of `wait`.
    closed: bool,
}

struct Thread {
    handle: JoinHandle<()>,
    /// `PoolState` does not count it any more.
    let_go: bool,
}

impl Thread {
    fn is_current(&self) -> bool {
        self.handle.thread().id() == thread::current().id()
    }
}

impl<J: Job> Pool<J> {
    pub(crate) fn new(config: Config) -> Arc<Self> {
        Arc::new(Self {
            locked: LockedState::new(config.max_threads.max(1)),
            config,
            threads: Arc::new(Mutex::new(Threads::default())),
        })
    }

    /// Queues `job` and sees to it that a thread comes for it.
    ///
    /// # Errors
    ///
    /// Gives the job back if the pool is closed, or if it has no thread and cannot start one. While other
    /// threads are alive, a failure to start one is none: the job waits for them, if it can.
    pub(crate) fn spawn(self: &Arc<Self>, job: J) -> Result<(), SpawnError<J>> {
        let waits = !job.needs_a_thread();
        let mut state = self.locked.state.lock();
        match state.submit(job) {
            Submitted::Signal => {
                self.locked.work.notify_one();
            }
            Submitted::Queued => {}
            Submitted::Closed(job) => return Err(SpawnError::Closed(job)),
            Submitted::Start(number) => {
                if let Err(error) = self.start(number) {
                    return match state.not_started(waits) {
                        Some(job) => Err(SpawnError::NoThread(job, error)),
                        None => Ok(()),
                    };
                }
            }
        }
        Ok(())
    }

    /// Takes no more jobs, ends idle threads at once, and has the queued jobs cancelled by threads of the
    /// pool, but for those that [must run](Job::must_run), or that a thread has been started or woken for.
    ///
    /// The exempted jobs and the running ones run to their end; [`wait`](Self::wait) waits for all of this.
    /// Closing twice does nothing more.
    pub(crate) fn close(&self) {
        self.threads.lock().closed = true;
        self.locked.close();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.threads.lock().closed
    }

    /// Waits until every thread of the pool has ended, or until `deadline`; returns whether they have.
    ///
    /// The threads are joined, so none of them exists afterwards. Called on a thread of the pool (by a job
    /// that drops the runtime, or by a thread-local that owns it) it waits for the other ones. The deadline
    /// bounds the waiting for jobs; what a thread does afterwards (destructors of thread-locals) is outside
    /// of it.
    pub(crate) fn wait(&self, deadline: Option<Instant>) -> bool {
        if !self.locked.wait_for_threads(usize::from(self.is_in_job()), deadline) {
            return false;
        }
        let threads = std::mem::take(&mut self.threads.lock().alive);
        for thread in threads.into_values() {
            if !thread.is_current() {
                // An error is a panic in `around`, which has been reported when it happened.
                let _ = thread.handle.join();
            }
        }
        true
    }

    /// After the close: if the calling thread is one of the pool's, and in a job, cancels what is left to be
    /// cancelled. It may be the only thread, and the rest of its job may wait for that work.
    pub(crate) fn cancel_left_in_job(&self) {
        if self.is_in_job() {
            let jobs = self.locked.state.lock().take_cancelled();
            cancel(jobs);
        }
    }

    /// Whether the calling thread is one of the pool's and has not been let go.
    fn is_in_job(&self) -> bool {
        self.threads.lock().alive.values().any(|it| it.is_current() && !it.let_go)
    }

    /// All that the pool says of itself, in one look: `first` is called with the job that has waited longest
    /// for a thread, and with the pool's lock held.
    pub(crate) fn counts<R>(&self, first: impl FnOnce(&J) -> R) -> PoolCounts<R> {
        self.locked.state.lock().counts(first)
    }

    /// Whether no job is queued or being done. If not, and the pool is open, `Config::on_idle` will be
    /// called.
    pub(crate) fn has_no_job(&self) -> bool {
        self.locked.state.lock().has_no_job()
    }

    /// Starts a thread that `PoolState` counts already. The caller holds its lock, and the thread needs it
    /// before it can look for its handle.
    fn start(self: &Arc<Self>, number: usize) -> io::Result<()> {
        let name = self.config.thread_name.of(&format_args!("{}-{number}", self.config.kind));
        let mut builder = thread::Builder::new().name(name);
        if let Some(size) = self.config.stack_size {
            builder = builder.stack_size(size);
        }
        let pool = Arc::clone(self);
        let handle = builder.spawn(move || pool.live(number))?;
        self.threads.lock().alive.insert(number, Thread { handle, let_go: false });
        Ok(())
    }

    /// The life of a thread.
    fn live(&self, number: usize) {
        LAST.set(Some(Last { number, threads: self.threads.clone() }));
        // Those of the worker that has started it.
        slice::choose(Slices::Usual);
        let mut guard = ThreadGuard { pool: self, number, ended: false };
        (self.config.around)(&mut || guard.work());
    }
}

thread_local! {
    /// On a thread of a pool; made before every other thread-local, so that it is dropped after them.
    static LAST: Cell<Option<Last>> = const { Cell::new(None) };
}

/// Takes a thread's handle out of the list when the thread is through with its thread-locals.
struct Last {
    number: usize,
    threads: Arc<Mutex<Threads>>,
}

impl Drop for Last {
    fn drop(&mut self) {
        let mut threads = self.threads.lock();
        if !threads.closed {
            let own = threads.alive.remove(&self.number);
            drop(threads);
            // Not under the lock, because it is a call to the system.
            drop(own);
        }
    }
}

impl_debug!([J] Pool<J>, this => "Pool" { name: this.config.thread_name, .. });

/// Counts a thread of the pool; its destructor takes the thread out of the count, whatever happens to it.
struct ThreadGuard<'a, J: Job> {
    pool: &'a Pool<J>,
    number: usize,
    /// `PoolState` has let the thread go.
    ended: bool,
}

impl<J: Job> ThreadGuard<'_, J> {
    fn work(&mut self) {
        if self.ended {
            return;
        }
        let Config { keep_alive, on_idle, .. } = &self.pool.config;
        let locked = &self.pool.locked;
        locked.serve(|mut state| {
            if state.has_no_job() {
                on_idle();
            }
            // A signal that came to nothing (a busy thread took the job) begins the idle time anew.
            let timed_out = locked.work.wait_for(&mut state, *keep_alive).timed_out();
            (state, timed_out)
        });
        self.end();
    }

    fn end(&mut self) {
        self.ended = true;
        // None if `wait` has taken the handle: then it joins this thread.
        if let Some(own) = self.pool.threads.lock().alive.get_mut(&self.number) {
            own.let_go = true;
        }
    }
}

impl<J: Job> Drop for ThreadGuard<'_, J> {
    fn drop(&mut self) {
        if !self.ended {
            // `around` panicked or did not do what it is for. If no other thread is left, the queued jobs are
            // cancelled.
            self.pool.locked.abandon();
            self.end();
        }
    }
}

/// The [`PoolState`] behind its lock, and the signals that threads wait for.
struct LockedState<J> {
    state: Mutex<PoolState<J>>,
    /// There is a job for one thread, or the pool was closed. Signalled under the lock.
    work: Condvar,
    /// A thread was let go.
    gone: Condvar,
}

impl<J: Job> LockedState<J> {
    fn new(max_threads: usize) -> Self {
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
    fn serve<'a>(
        &'a self,
        mut wait: impl FnMut(MutexGuard<'a, PoolState<J>>) -> (MutexGuard<'a, PoolState<J>>, bool),
    ) {
        let (mut state, mut timed_out) = (self.state.lock(), false);
        loop {
            let (job, runs) = match state.next_step(mem::take(&mut timed_out)) {
                NextStep::Run(job) => (job, true),
                NextStep::Cancel(job) => (job, false),
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
            drop(state);
            wakers::guard(|| if runs { job.run() } else { job.cancel() });
            state = self.state.lock();
            state.finished();
        }
        self.gone.notify_all();
    }

    /// Refuses jobs from now on, ends waiting threads, and has the threads cancel what is queued and need not
    /// run.
    fn close(&self) {
        let mut state = self.state.lock();
        self.work.notify_all();
        state.close(Job::must_run);
    }

    /// A thread exits early: it panicked, or ended without permission.
    fn abandon(&self) {
        let jobs = {
            let mut state = self.state.lock();
            self.gone.notify_all();
            state.abandon()
        };
        cancel(jobs);
    }

    /// Waits until at most `left` threads are there, or until `deadline`; returns whether that is so.
    fn wait_for_threads(&self, left: usize, deadline: Option<Instant>) -> bool {
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

/// Without the lock: a job's end may run code that comes back to the pool.
fn cancel(jobs: impl IntoIterator<Item: Job>) {
    for job in jobs {
        wakers::guard(|| job.cancel());
    }
}

#[cfg(all(test, liten_loom))]
mod loom;

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;
