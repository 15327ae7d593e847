//! Runtimes: making one, entering it, running futures in it, ending it.
//!
//! Most programs need only `#[liten::main]`. A [`Runtime`] is an ordinary value: a process may have
//! many, one after the other or side by side, and dropping one ends its threads and frees its file
//! descriptors.
//!
//! # Which kind
//!
//! | | tasks run | and may be `!Send` |
//! |---|---|---|
//! | multi-thread [`Runtime`] | on workers, all the time | if [pinned](crate::task::spawn_pinned) |
//! | current-thread [`Runtime`] | on a thread in `block_on` | if [pinned](crate::task::spawn_pinned) |
//! | [`LocalRuntime`] | on its thread in `block_on` | yes |
//!
//! [`Builder::new_multi_thread`] and [`Builder::new_current_thread`] with [`Builder::build`] make the first
//! two, [`Builder::build_local`] the third.
//!
//! The second kind is a `Runtime` like the first: it is `Send` and `Sync`, can be kept in a struct, and any
//! thread may call its `block_on`. If several do at a time, one of them runs the tasks, sockets and timers;
//! the others run their own futures only, until one of them takes over because the first one is done. While
//! no thread is in `block_on`, what is spawned waits. There is no driver thread; the blocking pool, and the
//! threads of pinned tasks, are as for the first kind.
//!
//! On Linux 6.12 and later, a worker asks the system for short slices of the processor (0.5 ms), so that it
//! gets the core of a thread that computes. It asks for slices of the usual length again while ready tasks
//! wait for long polls, or a task blocks the thread in place. A thread is left alone if it has another policy
//! than the usual one, a raised priority, slices that other code has set since, or a filter of system calls,
//! which the default profiles of containers are. A process started by [`Command`](crate::process::Command)
//! has usual slices; a thread or process that a task starts by std inherits those of the worker.
//!
//! # Fork
//!
//! A process that has been forked has one thread, the one that called `fork`: in the child a runtime has no
//! workers and no driver, and shares the poller with the parent. So a child may call `exec` or `_exit`, as
//! [`std::process::Command`] does, and nothing of the runtime; it makes a runtime of its own if it goes on.
//!
//! # Start and stop, in order
//!
//! Start: driver, blocking pool (no threads yet), the workers; the driver thread with the first task or
//! event on a worker. Stop: the blocking pool takes no new jobs, and its threads cancel the queued ones, but
//! for those that must run (writes that a file has accepted); the threads of pinned tasks drop theirs; the
//! workers stop after the poll they are in; every task that is left is dropped; sources and timers that
//! outlive the runtime are told; the threads end. Without workers, the thread that ends the runtime drops the
//! tasks before the blocking pool is closed, so that it runs what their destructors give to it.
//!
//! # Crates that need tokio
//!
//! Some crates know no runtime but tokio: reqwest, `axum::serve`, sqlx, async-nats and others. Without one
//! they panic: "there is no reactor running, must be called from the context of a Tokio 1.x runtime". With
//! the feature `tokio-context` they run unmodified: liten starts one tokio runtime with one thread
//! (`liten-tokio`), the *helper*, for the whole process, and every thread that runs futures or blocking work
//! of a liten runtime is in its context, as is each thread that calls `block_on` or `enter`.
//! `Builder::tokio_context(false)` switches it off for one runtime.
//!
//! What it costs, and what is different from a program on tokio:
//!
//! * One thread and one poller more, and some nanoseconds per `block_on`. What a socket or timer made through
//!   tokio has to say comes from the helper's thread, which wakes the task on its liten worker: one change of
//!   thread more than liten's own. So this is for clients; a server with a choice uses liten's sockets.
//! * `tokio::spawn` starts tasks on the helper's one thread, and not on liten's workers. What `axum::serve`
//!   calls runs there. A task that blocks there holds up all sockets and timers of tokio, unless it does so
//!   in `tokio::task::block_in_place`. `tokio::task::spawn_blocking` has the helper's own pool of threads.
//! * On the helper's threads there is no liten runtime: take a [`Handle`] along and spawn there what uses
//!   liten's sockets and timers. `block_on` panics in a `tokio::spawn` task there, as tokio's own does: use
//!   `.await`, or call it in `tokio::task::spawn_blocking` or `block_in_place`.
//! * A panic of a `tokio::spawn` task goes to tokio's `JoinHandle`. The end of a liten runtime does not end
//!   these tasks; the end of the process does, without their destructors.
//! * tokio's budget is that of tokio's tasks: a liten task that finds tokio's channels or sockets always
//!   ready does not yield by itself (see [`consume_budget`](crate::task::consume_budget)).
//! * `tokio::task::block_in_place` in a liten task just blocks its worker; a spare one takes over
//!   ([`Builder::max_spare_workers`]). `tokio::task::spawn_local` needs tokio's `LocalSet`, as in tokio.
//!   `tokio::time::pause` has no power over liten's clock.
//! * A runtime of tokio that a liten task, or blocking work, makes or enters is the one that counts inside.
//!   Conversely, what runs in liten's `block_on` on a thread of a tokio runtime is in the helper's context.
//!   It blocks that thread: call it in `tokio::task::spawn_blocking` or `block_in_place`.

pub(crate) mod block_on;
pub(crate) mod blocking_task;
mod builder;
pub(crate) mod context;
mod current_thread;
#[doc(hidden)]
pub mod door;
mod drive;
#[allow(dead_code, reason = "only insight reads them")]
pub(crate) mod gauges;
mod handle;
mod id;
pub(crate) mod incidents;
pub(crate) mod latch;
pub(crate) mod local;
mod local_runtime;
mod local_set;
pub(crate) mod local_thread;
pub(crate) mod lost_lock;
mod metrics;
mod panics;
mod pinned;
mod scope;
mod shutdown;
#[cfg(all(test, liten_shuttle))]
#[path = "../tests/shuttle/schedules.rs"]
mod shuttle;
mod task_functions;
mod task_hooks;
mod tokio_context;
pub(crate) mod tokio_words;
#[allow(dead_code, reason = "only insight shows them")]
pub(crate) mod watched;
pub(crate) mod weak_handle;

pub use crate::engine::ended::is_rt_shutdown_err;
pub use crate::limits::CpuLimits;
pub use crate::observe::{SlowPoll, SystemCall, ThreadActivity};
pub use builder::Builder;
#[doc(hidden)]
pub use context::is_inside;
pub use context::{EnterGuard, TryCurrentError, worker_index};
pub(crate) use handle::invalid;
pub use handle::{Handle, RuntimeFlavor};
pub use id::Id;
pub use local::LocalExecutor;
pub use local_runtime::LocalRuntime;
pub use local_set::{LocalEnterGuard, LocalSet};
pub use metrics::RuntimeMetrics;
pub use scope::{Scope, ScopedJoinHandle, scope};
pub use task_functions::TaskMeta;

use crate::engine::task::{JoinHandle, RunningTask};
use block_on::block_on;
use door::boxed_if_large;
use std::future::Future;
use std::panic::Location;
use std::time::Duration;

/// A runtime whose tasks run on workers or, after [`Builder::new_current_thread`], on the thread that calls
/// [`Runtime::block_on`].
///
/// Dropping it cancels the tasks that are left and waits until its threads have ended; that includes blocking
/// work that is under way. [`Runtime::shutdown_timeout`] bounds the wait.
/// Dropped on one of its own threads it does not wait, because it would wait for itself. Threads that left it
/// before, when the number of workers was lowered, may still be in the destructors of their thread-locals.
///
/// # Examples
///
/// ```
/// let runtime = liten::runtime::Runtime::new().unwrap();
/// let answer = runtime.block_on(async { liten::spawn(async { 42 }).await.unwrap() });
/// assert_eq!(answer, 42);
/// ```
#[derive(Debug)]
pub struct Runtime {
    handle: Handle,
    /// A bounded shutdown has been tried: drop does not wait again.
    over: bool,
}

impl Runtime {
    fn from_handle(handle: Handle) -> Self {
        Self { handle, over: false }
    }

    /// Returns the handle, with which other threads spawn tasks here.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Runs `future` on the calling thread until it is done, and returns its output.
    ///
    /// The future is the *root*: it need not be `Send` and may borrow from the caller. What it spawns
    /// runs on the workers, at once, even if the root then blocks its thread. Tasks that are alive when
    /// the root is done go on running, until the runtime is dropped.
    ///
    /// Without workers ([`Builder::new_current_thread`]) the calling thread runs the tasks whenever the root
    /// waits, and those that are left wait for the next call. Several threads may call this at a time: see
    /// [Which kind](crate::runtime#which-kind).
    ///
    /// # Panics
    ///
    /// If called inside a task, because it would block a worker; without workers also if called inside a
    /// root. If the root panics.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let runtime = liten::runtime::Builder::new_current_thread().build().unwrap();
    /// let task = runtime.spawn(async { 1 });
    /// runtime.block_on(liten::time::sleep(Duration::from_millis(1)));
    /// assert!(task.is_finished());
    /// ```
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        block_on!(future: F, self.handle.watched_root(), |root| self.handle.poll_root(root, true))
    }

    /// Blocks the calling thread until no task is alive; returns at once if none is. Without workers it runs
    /// the tasks, or waits until another thread has run them.
    ///
    /// Blocking work that no task waits for is not counted.
    ///
    /// # Panics
    ///
    /// If called inside a task, which would wait for itself.
    #[track_caller]
    pub fn block_until_completion(&self) {
        self.handle.block_until_completion();
    }

    /// Starts a task in this runtime. See [`liten::spawn`](crate::spawn).
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let origin = Location::caller();
        boxed_if_large!(task future: F, origin => self.handle.spawn_from(future, origin))
    }

    /// Runs `f` on the blocking pool. See [`liten::spawn_blocking`](crate::spawn_blocking).
    #[track_caller]
    pub fn spawn_blocking<F, T>(&self, f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        boxed_if_large!(function f: F => self.handle.spawn_blocking(f))
    }

    /// Starts a task that need not be `Send` and stays on one thread. See
    /// [`liten::task::spawn_pinned`](crate::task::spawn_pinned).
    #[track_caller]
    pub fn spawn_pinned<F, Fut>(&self, make: F) -> JoinHandle<Fut::Output>
    where
        F: FnOnce() -> Fut + Send + 'static,
        Fut: Future + 'static,
        Fut::Output: Send + 'static,
    {
        boxed_if_large!(function make: F => self.handle.spawn_pinned(make))
    }

    /// Makes this the runtime of the calling thread until the guard is dropped.
    pub fn enter(&self) -> EnterGuard<'_> {
        self.handle.enter()
    }

    /// Returns numbers about what the runtime is doing.
    pub fn metrics(&self) -> RuntimeMetrics {
        self.handle.metrics()
    }

    /// Ends the runtime as dropping it does, but waits for `timeout` at most. Returns what is still running
    /// then: tasks in a poll or a destructor, and blocking work; nothing if the runtime has ended.
    ///
    /// Threads that are stuck longer are left behind; they end when they come back. Destructors of their
    /// thread-locals are outside of the timeout; without workers those of the tasks, too, which run on the
    /// calling thread.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let runtime = liten::runtime::Runtime::new().unwrap();
    /// runtime.spawn(async { /* … */ });
    /// for task in runtime.shutdown_timeout(Duration::from_secs(5)) {
    ///     eprintln!("left behind: {task}");
    /// }
    /// ```
    pub fn shutdown_timeout(mut self, timeout: Duration) -> Vec<RunningTask> {
        self.over = true;
        self.handle.shutdown(Some(timeout))
    }

    /// Ends the runtime without waiting for anything. May be called inside a task. Without workers the
    /// calling thread drops the tasks.
    ///
    /// Destructors of queued blocking work run on threads of the pool, as they do at every end of a runtime.
    /// If the process ends before, they do not run.
    pub fn shutdown_background(self) {
        self.shutdown_timeout(Duration::ZERO);
    }
}

impl LocalSet {
    /// Runs `future` in `runtime` on the calling thread until it is done, and the tasks of this set
    /// meanwhile; returns its output. See [`Runtime::block_on`].
    ///
    /// # Panics
    ///
    /// As [`Runtime::block_on`].
    ///
    /// # Examples
    ///
    /// ```
    /// use liten::runtime::Runtime;
    /// use liten::task::{LocalSet, spawn_local};
    ///
    /// let (runtime, set) = (Runtime::new().unwrap(), LocalSet::new());
    /// let answer = set.block_on(&runtime, async { spawn_local(async { 42 }).await.unwrap() });
    /// assert_eq!(answer, 42);
    /// ```
    #[track_caller]
    pub fn block_on<F: Future>(&self, runtime: &Runtime, future: F) -> F::Output {
        boxed_if_large!(root future: F => runtime.block_on(self.run_until(future)))
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        if !self.over {
            self.handle.shutdown(None);
        }
    }
}
