//! Floor 2: a bounded pool of threads for work that blocks (files, name resolution, long computations).
//!
//! The pool knows nothing of tasks: it runs [`Job`]s. Three parts:
//! * `roster.rs`, pure: the queue and the counts; decides who starts, runs, waits or ends.
//! * `desk.rs`: the roster under its lock, the signal, and the loop of a thread. The loom models drive this
//!   part.
//! * this file: real threads, with names, an idle time, and somebody who joins them.
//!
//! Threads are started when a job finds nobody free, up to the maximum, and end after an idle time. The
//! queue is unbounded: a bounded one would have to block the caller, who is a worker. Bounding the jobs is
//! up to the user, who knows what they cost.
//!
//! A thread is started under the roster's lock. Outside of it, a failure to start would leave room for jobs
//! that were queued meanwhile in trust of the thread that never came. The price is that the lock is held
//! for the tens of microseconds of a thread creation, at most `max_threads` times per burst.
//!
//! Rejected: a condition variable per thread, to wake the one that slept least and so let the others time
//! out sooner (more state for a pool that is idle most of the time); and starting the threads beforehand
//! (most programs never need one).

mod desk;
mod roster;

use crate::sync_shim::Mutex;
use crate::sync_shim::thread::{self, JoinHandle};
use desk::Desk;
use roster::Submitted;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Work for one thread. Exactly one of the two methods is called, once.
///
/// Neither should panic: the job has somebody waiting for its outcome, whom only the job knows. If one
/// does, the panic is caught and its payload lost, and the pool goes on.
pub(crate) trait Job: Send + 'static {
    /// Does the work, on a thread of the pool.
    fn run(self);

    /// Says that the work will never be done, on whatever thread found out.
    fn cancel(self);

    /// Whether the job, once queued, is run even if the pool is closed before its turn comes.
    fn must_run(&self) -> bool {
        false
    }

    /// Whether waiting for a thread that has another job would be waiting for ever.
    fn needs_a_thread(&self) -> bool {
        false
    }
}

/// Wraps the whole life of a pool thread; calls its argument once, to do the thread's work.
pub(crate) type OnThread = dyn Fn(&mut dyn FnMut()) + Send + Sync;

pub(crate) struct Config {
    /// Zero counts as one.
    pub(crate) max_threads: usize,
    /// How long a thread waits for a job before it ends.
    pub(crate) keep_alive: Duration,
    /// Threads are called `{thread_name}-{kind}-{number}`.
    pub(crate) thread_name: String,
    pub(crate) kind: &'static str,
    /// `None` leaves it to std.
    pub(crate) stack_size: Option<usize>,
    pub(crate) on_thread: Arc<OnThread>,
    /// Called when the last job that was queued or being done is over; with the pool's lock held.
    pub(crate) on_rest: Box<dyn Fn() + Send + Sync>,
}

/// Why a job was not taken; the job comes back.
pub(crate) enum SpawnError<J> {
    /// The pool has been closed.
    Closed(J),
    /// The pool has no thread, and the system does not give it one.
    NoThread(J, io::Error),
}

impl<J> fmt::Debug for SpawnError<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed(_) => f.write_str("Closed"),
            Self::NoThread(_, error) => f.debug_tuple("NoThread").field(error).finish(),
        }
    }
}

/// The pool. Its threads keep it alive, so its owner must [`close`](Pool::close) it.
pub(crate) struct Pool<J> {
    desk: Desk<J>,
    config: Config,
    /// Locked after the roster, never before.
    threads: Mutex<Threads>,
}

/// Handles of threads, so that [`Pool::wait`] can join them.
#[derive(Default)]
struct Threads {
    /// By number, and joined in this order: one that depended on a hash could not be replayed.
    alive: BTreeMap<usize, JoinHandle<()>>,
    /// The thread that ended last for want of work. The next one to end joins it, so that the handles of
    /// ended threads do not pile up and yet none is alive once the pool has been waited for.
    ended: Option<JoinHandle<()>>,
}

impl<J: Job> Pool<J> {
    pub(crate) fn new(mut config: Config) -> Arc<Self> {
        // std panics over a NUL in a thread's name, and would do so when the first job comes.
        config.thread_name.retain(|character| character != '\0');
        Arc::new(Self {
            desk: Desk::new(config.max_threads.max(1)),
            config,
            threads: Mutex::new(Threads::default()),
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
        let mut roster = self.desk.roster.lock();
        match roster.submit(job) {
            Submitted::Signal => {
                self.desk.work.notify_one();
            }
            Submitted::Queued => {}
            Submitted::Closed(job) => return Err(SpawnError::Closed(job)),
            Submitted::Start(number) => match self.start(number) {
                // The thread needs the roster, which is locked here, before it can look for its handle.
                Ok(handle) => drop(self.threads.lock().alive.insert(number, handle)),
                Err(error) => {
                    return match roster.not_started(waits) {
                        Some(job) => Err(SpawnError::NoThread(job, error)),
                        None => Ok(()),
                    };
                }
            },
        }
        Ok(())
    }

    /// Takes no more jobs, ends idle threads at once, and cancels the queued jobs on this thread, but for
    /// those that [must run](Job::must_run).
    ///
    /// Those and the running ones run to their end; [`wait`](Self::wait) waits for them. Closing twice does
    /// nothing more.
    pub(crate) fn close(&self) {
        self.desk.close();
    }

    /// Waits until every thread of the pool has ended, or until `deadline`; returns whether they have.
    ///
    /// The threads are joined, so none of them exists afterwards. Called on a thread of the pool (by a job
    /// that drops the runtime) it waits for the other ones. The deadline bounds the waiting for jobs; what
    /// a thread does afterwards (destructors of thread-locals) is outside of it.
    pub(crate) fn wait(&self, deadline: Option<Instant>) -> bool {
        let me = thread::current().id();
        let own = self.threads.lock().alive.values().any(|handle| handle.thread().id() == me);
        if !self.desk.wait_for_threads(usize::from(own), deadline) {
            return false;
        }
        let Threads { alive, ended } = std::mem::take(&mut *self.threads.lock());
        for handle in alive.into_values().chain(ended) {
            if handle.thread().id() != me {
                // An error is a panic in `on_thread`, which has been reported when it happened.
                let _ = handle.join();
            }
        }
        true
    }

    /// How many threads there are.
    pub(crate) fn threads(&self) -> usize {
        self.desk.roster.lock().threads()
    }

    /// How many threads have no job, and none coming.
    pub(crate) fn idle_threads(&self) -> usize {
        self.desk.roster.lock().idle()
    }

    /// How many jobs no thread has begun.
    pub(crate) fn queued(&self) -> usize {
        self.desk.roster.lock().queued()
    }

    /// Whether no job is queued or being done. If not, `Config::on_rest` will be called.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.desk.roster.lock().is_at_rest()
    }

    fn start(self: &Arc<Self>, number: usize) -> io::Result<JoinHandle<()>> {
        let name = format!("{}-{}-{number}", self.config.thread_name, self.config.kind);
        let mut builder = thread::Builder::new().name(name);
        if let Some(size) = self.config.stack_size {
            builder = builder.stack_size(size);
        }
        let pool = Arc::clone(self);
        builder.spawn(move || pool.live(number))
    }

    /// The life of a thread.
    fn live(&self, number: usize) {
        let mut shift = Shift { pool: self, number, ended: false };
        (self.config.on_thread)(&mut || shift.work());
    }
}

impl<J> fmt::Debug for Pool<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("name", &self.config.thread_name).finish_non_exhaustive()
    }
}

/// A thread's entry in the books, closed by its destructor whatever happens to the thread.
struct Shift<'a, J: Job> {
    pool: &'a Pool<J>,
    number: usize,
    /// The roster has let the thread go.
    ended: bool,
}

impl<J: Job> Shift<'_, J> {
    fn work(&mut self) {
        if self.ended {
            return;
        }
        let Config { keep_alive, on_rest, .. } = &self.pool.config;
        let keep_alive = *keep_alive;
        let work = &self.pool.desk.work;
        self.pool.desk.serve(|mut roster| {
            if roster.is_at_rest() {
                on_rest();
            }
            // A signal that came to nothing (a busy thread took the job) begins the idle time anew.
            let timed_out = work.wait_for(&mut roster, keep_alive).timed_out();
            (roster, timed_out)
        });
        self.ended = true;
    }
}

impl<J: Job> Drop for Shift<'_, J> {
    fn drop(&mut self) {
        if !self.ended {
            // `on_thread` panicked or did not do what it is for. Jobs that counted on this thread alone are
            // told.
            self.pool.desk.abandon();
        }
        let previous = {
            let mut threads = self.pool.threads.lock();
            // None if `wait` has taken the handle: then it joins this thread.
            threads.alive.remove(&self.number).and_then(|own| threads.ended.replace(own))
        };
        if let Some(previous) = previous {
            let _ = previous.join();
        }
    }
}

#[cfg(all(test, liten_loom))]
mod loom;

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;
