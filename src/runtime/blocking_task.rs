//! Blocking work as tasks: the same cell and JoinHandle, run by the blocking pool instead of a worker.
#![allow(unsafe_code)]

use crate::engine::blocking::{self, Job, SpawnError};
use crate::engine::ended::ended;
use crate::engine::scheduler::thread_number;
use crate::engine::slab::Slab;
use crate::engine::sync_shim::{Arc, Mutex, clock};
use crate::engine::task::cell::new_send_task;
use crate::engine::task::header::{Cold, Completer, Hot, RegistryKey, Runner, Schedule};
use crate::engine::task::home::Home;
use crate::engine::task::origin::Origin;
use crate::engine::task::{JoinHandle, RunningTask, current};
use crate::runtime::tokio_words::DOES_WHAT_WAITS;
use std::cell::OnceCell;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

/// Why the pool of a runtime that ends does not do what it is asked for.
pub(crate) const CLOSED: &str = "not done: the runtime is shutting down";

/// A job of the pool: a task that its first poll completes.
pub(crate) struct BlockingJob {
    task: Hot,
    tasks: Arc<BlockingTasks>,
    must_run: bool,
    queued: Instant,
}

impl BlockingJob {
    fn new(task: Hot, tasks: &Arc<BlockingTasks>, must_run: bool) -> Self {
        Self { task, tasks: tasks.clone(), must_run, queued: clock::now() }
    }

    /// Since when it waits for a thread.
    pub(crate) fn queued(&self) -> Instant {
        self.queued
    }
}

impl Job for BlockingJob {
    fn run(self) {
        let Self { task, tasks, .. } = self;
        tasks.list(task.identity(), task.name(), || {
            task.run(&PoolThread);
        });
    }

    fn cancel(self) {
        let Self { task, tasks, .. } = self;
        tasks.list(task.identity(), task.name(), || task.cancel(&PoolThread, None));
    }

    fn must_run(&self) -> bool {
        self.must_run || DOES_WHAT_WAITS
    }
}

/// What blocking tasks have for a scheduler: a list of those that run, for the thread that ends the runtime
/// and for people. They never go cold, so it is never asked to queue one.
pub(super) struct BlockingTasks {
    running: Mutex<Slab<RunningJob>>,
}

/// Blocking work that a thread of the pool does.
#[derive(Debug, Clone)]
pub(crate) struct RunningJob {
    pub(crate) task: RunningTask,
    pub(crate) name: Option<std::sync::Arc<str>>,
    pub(crate) begun: Instant,
    /// The system's number of the thread.
    pub(crate) thread: u32,
}

/// Asks the system once in each thread.
fn number_of_this_thread() -> u32 {
    thread_local! {
        static NUMBER: OnceCell<u32> = const { OnceCell::new() };
    }
    NUMBER.with(|number| *number.get_or_init(thread_number))
}

impl BlockingTasks {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { running: Mutex::new(Slab::new()) })
    }

    /// Shows the task in the list while `f` runs or cancels it.
    fn list(&self, task: RunningTask, name: Option<std::sync::Arc<str>>, f: impl FnOnce()) {
        let job = RunningJob { task, name, begun: clock::now(), thread: number_of_this_thread() };
        let key = self.running.lock().insert(job);
        f();
        self.running.lock().remove(key);
    }

    /// The work that threads of the pool are doing, and cancelled work whose destructors they are running.
    pub(super) fn running(&self) -> Vec<RunningTask> {
        self.running.lock().iter().map(|job| job.task).collect()
    }

    /// The same, with what people want to know of it.
    pub(super) fn jobs(&self) -> Vec<RunningJob> {
        self.running.lock().iter().cloned().collect()
    }

    /// Queues `f`; if it `must_run`, the end of the runtime does not cancel it.
    ///
    /// If the pool is closed, or no thread can be made, the job is cancelled at once: its JoinHandle says
    /// so, and the result says why.
    pub(super) fn spawn<F, T>(
        self: &Arc<Self>,
        pool: &Arc<blocking::Pool<BlockingJob>>,
        f: F,
        must_run: bool,
        origin: impl Origin,
    ) -> (JoinHandle<T>, io::Result<()>)
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let (task, join) = new_send_task(Once::new(f), self, origin);
        let taken = match pool.spawn(BlockingJob::new(task, self, must_run)) {
            Ok(()) => Ok(()),
            Err(SpawnError::Closed(job)) => {
                job.cancel();
                Err(ended(CLOSED))
            }
            Err(SpawnError::NoThread(job, error)) => {
                let error = NoThread(error);
                job.task.cancel(&PoolThread, Some(error.to_string()));
                Err(io::Error::other(error))
            }
        };
        (join, taken)
    }
}

/// Wraps the system's error in one of another kind. The system calls it `WouldBlock`, which a poll function
/// must not return: a caller that does not know of tasks takes it for "pending", and waits for a wake that
/// never comes.
#[derive(Debug)]
struct NoThread(io::Error);

impl fmt::Display for NoThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no thread for blocking work: {}", self.0)
    }
}

impl Error for NoThread {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

// SAFETY: a job has an `Arc` of its own until its task is complete, and before it is made, its maker has one.
// If a job got lost, its task would stay hot: then nothing follows the pointer.
unsafe impl Schedule for BlockingTasks {
    fn schedule_here(_: *const Self, task: Hot) -> Result<(), Hot> {
        Err(task)
    }

    /// A blocking task never goes cold, so nothing wakes it. If it did, this would be its end.
    fn schedule_from_anywhere(self: Arc<Self>, task: Hot) {
        task.cancel(&PoolThread, None);
    }
}

/// A future that calls a function at its first poll.
pub(super) struct Once<F>(Option<F>);

impl<F> Once<F> {
    pub(super) fn new(f: F) -> Self {
        Self(Some(f))
    }
}

impl<F> Unpin for Once<F> {}

impl<F: FnOnce() -> T, T> Future for Once<F> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<T> {
        let f = self.0.take().expect("a ready future is not polled again");
        // No budget, and yields of futures that `f` blocks on are its own: it may take its time.
        Poll::Ready(current::outside(f))
    }
}

/// A thread of the pool, or that of a caller whose job was not taken.
struct PoolThread;

impl Completer for PoolThread {
    fn unregister(&self, _: RegistryKey) {
        unreachable!("a blocking task never goes cold")
    }

    fn completed(&self) {}
}

impl Runner for PoolThread {
    fn register(&self, _: Cold) -> RegistryKey {
        unreachable!("a blocking task never goes cold")
    }

    fn requeue(&self, _: Hot) {
        unreachable!("a blocking task is ready at its first poll")
    }

    fn home_worker(&self) -> u16 {
        Home::NO_WORKER
    }
}

#[cfg(all(test, liten_loom))]
mod loom;
