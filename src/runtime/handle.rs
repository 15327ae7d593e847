//! A handle to a runtime: cheap to clone, for any thread, outlives the runtime without harm.

use super::block_on::{self, AnyRoot, PresenceGuard, block_on};
use super::blocking_task::{BlockingJob, BlockingTasks, RunningJob};
use super::current_thread::CurrentThread;
use super::door::{boxed_if_large, is_large};
use super::drive::AroundSleeps;
use super::id::Id;
use super::latch::Latch;
use super::local::{LocalShared, Settled};
use super::local_thread;
use super::metrics::RuntimeMetrics;
use super::pinned::Pinned;
use super::tokio_context;
use super::tokio_words;
use super::watched::{self, WatchedRoot};
use crate::engine::driver::Driver;
use crate::engine::park::Parker;
use crate::engine::scheduler::{self, MAX_WORKERS, Shared, SleepHooks, Sleeps};
use crate::engine::sync_shim::Arc;
use crate::engine::task::class::Class;
use crate::engine::task::header::TaskHooks;
use crate::engine::task::origin::Origin;
use crate::engine::task::{JoinHandle, RunningTask};
use crate::engine::{blocking, recycler, wakers};
use crate::impls::impl_unwind_safe;
use crate::observe::Observer;
use crate::observe::simulation::Simulation;
use crate::observe::slow_polls::SlowPolls;
use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::panic::Location;
use std::pin::pin;
use std::task::Poll;

/// Spawns into a runtime from any thread, and asks about it.
///
/// A handle does not keep the runtime running. After the runtime's end, what is spawned is cancelled at
/// once.
#[derive(Clone)]
pub struct Handle {
    pub(super) inner: Arc<RuntimeState>,
}

pub(super) struct RuntimeState {
    pub(super) id: Id,
    pub(super) name: Option<String>,
    pub(super) flavor: Flavor,
    pub(super) driver: Arc<Driver>,
    pub(super) blocking: Arc<blocking::Pool<BlockingJob>>,
    pub(super) blocking_tasks: Arc<BlockingTasks>,
    pub(super) pinned: Arc<Pinned>,
    pub(super) hooks: Hooks,
    /// The sleeps of the thread that runs the tasks of a runtime without workers.
    pub(super) sleeps: Sleeps,
    pub(super) slow_polls: Arc<SlowPolls>,
    /// Set when the runtime begins to end.
    pub(super) ending: Arc<Latch>,
    /// Keeps the memory of ended tasks for new ones until the runtime ends.
    pub(super) memory: recycler::User,
    pub(super) tokio: tokio_context::Door,
}

/// The user's functions to be called on each thread.
#[derive(Clone, Default)]
pub(super) struct Hooks {
    pub(super) start: Option<Arc<dyn Fn() + Send + Sync>>,
    pub(super) stop: Option<Arc<dyn Fn() + Send + Sync>>,
    pub(super) sleep: SleepHooks,
}

impl Hooks {
    /// Those around a sleep of a thread that runs tasks, if there are any.
    pub(super) fn around_sleeps(&self) -> Option<&SleepHooks> {
        (!self.sleep.are_none()).then_some(&self.sleep)
    }
}

/// Where a runtime runs its tasks; from [`Handle::runtime_flavor`](Handle::runtime_flavor).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RuntimeFlavor {
    /// On the thread that calls `block_on`: a `Runtime` of `Builder::new_current_thread`, or a
    /// [`LocalRuntime`](super::LocalRuntime).
    CurrentThread,
    /// On workers.
    MultiThread,
}

pub(super) enum Flavor {
    MultiThread {
        scheduler: Arc<Shared>,
        observer: std::sync::Arc<Observer>,
        max_workers: usize,
    },
    /// A `Runtime` without workers.
    CurrentThread(CurrentThread),
    /// A `LocalRuntime`.
    Local(Settled),
}

impl Flavor {
    /// Says what is called for each task. Before the first is spawned.
    pub(super) fn set_task_hooks(&self, hooks: Box<dyn TaskHooks>) {
        match self {
            Self::MultiThread { scheduler, .. } => scheduler.set_task_hooks(hooks),
            Self::CurrentThread(current) => current.local().set_task_hooks(hooks),
            Self::Local(local) => local.shared().set_task_hooks(hooks),
        }
    }

    /// The tasks of a runtime without workers.
    pub(super) fn local(&self) -> Option<&Arc<LocalShared>> {
        match self {
            Self::MultiThread { .. } => None,
            Self::CurrentThread(current) => Some(current.local()),
            Self::Local(local) => Some(local.shared()),
        }
    }
}

impl Handle {
    /// The tasks of a `LocalRuntime`.
    pub(crate) fn settled(&self) -> Option<&Settled> {
        match &self.inner.flavor {
            Flavor::Local(local) => Some(local),
            Flavor::MultiThread { .. } | Flavor::CurrentThread(_) => None,
        }
    }

    /// Starts a task in this runtime, from any thread. See [`liten::spawn`](crate::spawn).
    ///
    /// After the runtime's end the task is cancelled before it has run.
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let origin = Location::caller();
        boxed_if_large!(task future: F, origin => self.spawn_from(future, origin))
    }

    /// As [`Handle::spawn`], on behalf of another caller, which may have a name for the task.
    #[doc(hidden)]
    pub fn spawn_from<F>(&self, future: F, origin: impl Origin) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        match &self.inner.flavor {
            Flavor::MultiThread { scheduler, .. } => scheduler.spawn(future, origin),
            Flavor::CurrentThread(current) => current.local().spawn_send(future, origin),
            Flavor::Local(local) => local.shared().spawn_send(future, origin),
        }
    }

    /// As [`spawn_from`](Self::spawn_from), with a class for the task.
    pub(crate) fn spawn_in_class<F>(
        &self,
        future: F,
        origin: impl Origin,
        class: Class,
    ) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        match &self.inner.flavor {
            Flavor::MultiThread { scheduler, .. } => {
                scheduler.spawn_in_class(future, origin, class)
            }
            _ => self.spawn_from(future, origin),
        }
    }

    /// Runs `f` on the runtime's blocking pool. See [`liten::spawn_blocking`](crate::spawn_blocking).
    #[track_caller]
    pub fn spawn_blocking<F, T>(&self, f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let origin = Location::caller();
        boxed_if_large!(function f: F => self.start_blocking(f, false, origin).0)
    }

    /// As [`spawn_blocking`](Self::spawn_blocking); the result says whether the pool has taken `f`. If it
    /// has and `f` `must_run`, it is run even if the runtime ends before its turn comes.
    pub(crate) fn start_blocking<F, T>(
        &self,
        f: F,
        must_run: bool,
        origin: impl Origin,
    ) -> (JoinHandle<T>, io::Result<()>)
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let RuntimeState { blocking_tasks, blocking, .. } = &*self.inner;
        blocking_tasks.spawn(blocking, f, must_run, origin)
    }

    /// Starts a task that need not be `Send` and stays on one thread, from any thread. See
    /// [`liten::task::spawn_pinned`](crate::task::spawn_pinned).
    #[track_caller]
    pub fn spawn_pinned<F, Fut>(&self, make: F) -> JoinHandle<Fut::Output>
    where
        F: FnOnce() -> Fut + Send + 'static,
        Fut: Future + 'static,
        Fut::Output: Send + 'static,
    {
        let spawned_at = Location::caller();
        boxed_if_large!(function make: F => if const { is_large::<Fut>() } {
            self.start_pinned(move || Box::pin(make()), spawned_at)
        } else {
            self.start_pinned(make, spawned_at)
        })
    }

    fn start_pinned<F, Fut>(
        &self,
        make: F,
        spawned_at: &'static Location<'static>,
    ) -> JoinHandle<Fut::Output>
    where
        F: FnOnce() -> Fut + Send + 'static,
        Fut: Future<Output: Send + 'static> + 'static,
    {
        let pinned = &self.inner.pinned;
        match &self.inner.flavor {
            Flavor::MultiThread { scheduler, .. } => {
                let (most, present) =
                    (scheduler.worker_count(), || PresenceGuard::begin(scheduler));
                pinned.spawn(most, present, make, spawned_at)
            }
            // Not the thread that drives, which may be another one each time.
            Flavor::CurrentThread(current) => {
                pinned.spawn(1, || current.present(), make, spawned_at)
            }
            Flavor::Local(local) => local.shared().spawn_made(make, spawned_at),
        }
    }

    /// Runs `future` on the calling thread, in this runtime, until it is done.
    ///
    /// With the handle of a current-thread runtime or a [`LocalRuntime`](super::LocalRuntime) this polls
    /// only `future`: the tasks, sockets and timers of that runtime make progress only while a thread is in
    /// its own `block_on`. If none is, a future that needs them waits for ever. And so does one that itself
    /// blocks on the same runtime while its clock stands still: the outer root is awake, and so the clock
    /// never jumps.
    ///
    /// # Panics
    ///
    /// If called inside a task. If called on the thread that is in the `block_on` of the same current-thread
    /// runtime and drives it, wherever there: in the future or in a waker. If `future` panics.
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        block_on!(future: F, self.watched_root(), |root| self.poll_root(root, false))
    }

    /// Shows the future of a `block_on`, which the caller has called.
    #[track_caller]
    pub(super) fn watched_root(&self) -> WatchedRoot {
        let simulation = self.observer().map_or(Simulation::NONE, |observer| observer.simulation());
        WatchedRoot::new(self.id(), Location::caller(), simulation)
    }

    /// Polls `root` until it is ready. If it `drives`, which is for
    /// [`Runtime::block_on`](super::Runtime::block_on), the calling thread runs the tasks of a runtime
    /// without workers.
    #[track_caller]
    pub(super) fn poll_root(&self, root: AnyRoot<'_>, drives: bool) {
        self.refuse_where_it_runs("block_on");
        let _entered = self.enter();
        tokio_words::explained(|| match &self.inner.flavor {
            Flavor::MultiThread { scheduler, .. } => {
                let present = PresenceGuard::begin(scheduler);
                scheduler::enter_root(scheduler, || block_on::run(root, present.0.clone()));
                // What this thread has run itself, such as a `LocalSet`, has woken no worker.
                scheduler.rouse_to_trim();
            }
            Flavor::CurrentThread(current) if drives => {
                let no_work = || self.inner.blocking.has_no_job();
                current.block_on(self.around_sleeps(), &no_work, root);
            }
            Flavor::CurrentThread(current) => {
                let present = current.present();
                block_on::run(root, present.0.clone());
            }
            Flavor::Local(_) => block_on::run(root, None),
        });
    }

    /// Panics, at the caller, inside a task; and in a waker that the thread which drives a runtime without
    /// workers calls between two polls: while that waker blocks, no other thread can drive.
    #[track_caller]
    fn refuse_where_it_runs(&self, what: &str) {
        block_on::refuse_in_task(what);
        if let Flavor::CurrentThread(current) = &self.inner.flavor {
            if local_thread::runs_here(current.local()) {
                block_on::refuse(what);
            }
        }
    }

    #[track_caller]
    pub(super) fn block_until_completion(&self) {
        self.refuse_where_it_runs("block_until_completion");
        // In `block_in_place` blocking is allowed, but the task that does it is not over.
        assert!(
            !scheduler::is_blocked_in_place(),
            "block_until_completion called inside a task: it would wait for itself"
        );
        let pinned = &self.inner.pinned;
        // No pinned task was alive at the end of the first wait, nor has there been one since if their number
        // is the same: so none was at the moment when there was no other task either.
        match &self.inner.flavor {
            Flavor::MultiThread { scheduler, .. } => {
                let parker = Parker::new();
                loop {
                    let before = block_on::run(pin!(pinned.wait_until_quiet()), None);
                    scheduler.wait_until_quiet(&parker);
                    if pinned.spawned_tasks() == before {
                        return;
                    }
                }
            }
            Flavor::CurrentThread(current) => self.poll_root(
                pin!(async {
                    loop {
                        let before = pinned.wait_until_quiet().await;
                        current.wait_until_quiet().await;
                        if pinned.spawned_tasks() == before {
                            return;
                        }
                    }
                }),
                true,
            ),
            Flavor::Local(_) => unreachable!("a LocalRuntime has its own"),
        }
    }

    /// Changes the number of workers while the runtime runs; nothing queued is lost.
    ///
    /// New workers run when this returns. Surplus ones leave after the poll they are in. Their threads stay,
    /// because what a task does to its thread lasts until the runtime ends: they
    /// [rest](super::RuntimeMetrics::num_resting_workers), and are the first to be used when there are to be
    /// more workers, or spare ones.
    ///
    /// From then on the number does not follow the limits of the process: see [in a
    /// container](crate::guide::container).
    ///
    /// # Errors
    ///
    /// `InvalidInput` if `count` is 0 or larger than
    /// [`Builder::max_worker_threads`](super::Builder::max_worker_threads), or the runtime has no workers: a
    /// current-thread one, or a [`LocalRuntime`](super::LocalRuntime). The operating system's error if a
    /// thread cannot be made; those that could be stay. `Other` after the runtime's end.
    pub fn set_worker_threads(&self, count: usize) -> io::Result<()> {
        let Flavor::MultiThread { scheduler, observer, max_workers } = &self.inner.flavor else {
            let message = "set_worker_threads: a current-thread runtime has no workers";
            return Err(invalid(message));
        };
        check_workers(count, *max_workers)?;
        observer.fix_workers();
        scheduler.resize(count)
    }

    /// Returns where the runtime runs its tasks.
    ///
    /// # Examples
    ///
    /// ```
    /// use liten::runtime::{Builder, Handle, RuntimeFlavor};
    ///
    /// let runtime = Builder::new_current_thread().build().unwrap();
    /// let flavor = runtime.block_on(async { Handle::current().runtime_flavor() });
    /// assert_eq!(flavor, RuntimeFlavor::CurrentThread);
    /// ```
    pub fn runtime_flavor(&self) -> RuntimeFlavor {
        match self.inner.flavor {
            Flavor::MultiThread { .. } => RuntimeFlavor::MultiThread,
            Flavor::CurrentThread(_) | Flavor::Local(_) => RuntimeFlavor::CurrentThread,
        }
    }

    /// Returns what tells this runtime from others.
    pub fn id(&self) -> Id {
        self.inner.id
    }

    /// Returns the name that [`Builder::name`](super::Builder::name) has given to the runtime.
    pub fn name(&self) -> Option<&str> {
        self.inner.name.as_deref()
    }

    /// Returns numbers about what the runtime is doing.
    pub fn metrics(&self) -> RuntimeMetrics {
        RuntimeMetrics::new(self.clone())
    }

    /// What tells this runtime from others that live. Compared, never followed.
    pub(super) fn address(&self) -> *const () {
        Arc::as_ptr(&self.inner).cast()
    }

    /// What the thread that drives a runtime without workers counts and calls around its sleeps.
    pub(super) fn around_sleeps(&self) -> AroundSleeps<'_> {
        AroundSleeps { sleeps: &self.inner.sleeps, hooks: self.inner.hooks.around_sleeps() }
    }

    /// Which worker of this runtime the calling thread plays: the only one, where there is none.
    pub(super) fn worker_index(&self) -> Option<usize> {
        match self.inner.flavor.local() {
            Some(local) => local_thread::runs_here(local).then_some(0),
            None => scheduler::worker_index(),
        }
    }

    /// The tasks that the threads of the runtime are running.
    pub(super) fn running_tasks(&self) -> Vec<RunningTask> {
        let polled = self.tasks_polled_by_workers().chain(self.tasks_polled_elsewhere());
        polled.chain(self.inner.blocking_tasks.running()).collect()
    }

    pub(crate) fn tasks_polled_by_workers(&self) -> impl Iterator<Item = RunningTask> {
        let workers = self.scheduler().map(|scheduler| scheduler.running_tasks());
        workers.into_iter().flatten()
    }

    /// The tasks that threads other than workers poll: pinned tasks, and tasks of a runtime without workers.
    pub(crate) fn tasks_polled_elsewhere(&self) -> impl Iterator<Item = RunningTask> {
        let local = self.inner.flavor.local().and_then(|local| local.running_task());
        let others = watched::executors_of(self.id()).into_iter();
        let others = others.filter_map(|executor| executor.running_task());
        local.into_iter().chain(self.inner.pinned.running()).chain(others)
    }

    pub(crate) fn driver(&self) -> &Arc<Driver> {
        &self.inner.driver
    }

    pub(crate) fn slow_polls(&self) -> &SlowPolls {
        &self.inner.slow_polls
    }

    pub(crate) fn blocking_pool(&self) -> &blocking::Pool<BlockingJob> {
        &self.inner.blocking
    }

    /// The blocking work that is being done.
    pub(crate) fn blocking_jobs(&self) -> Vec<RunningJob> {
        self.inner.blocking_tasks.jobs()
    }

    /// The executors of a runtime without workers, of pinned tasks, and those that the program has made.
    pub(crate) fn executors(&self) -> Vec<Arc<LocalShared>> {
        let own = self.inner.flavor.local().cloned();
        let others = watched::executors_of(self.id());
        own.into_iter().chain(self.inner.pinned.executors()).chain(others).collect()
    }

    /// Whether a thread notices when this runtime has nothing to do, so that its clock may be stopped.
    pub(crate) fn knows_quiescent_points(&self) -> bool {
        self.scheduler().is_none_or(|scheduler| scheduler.counts_threads())
    }

    /// Waits, while the clock stands still, for the first quiescent point after the `seen`th: a moment at
    /// which every task waits. Ready at once where no thread notices when that is.
    pub(crate) async fn wait_for_quiescent_point(&self, seen: u64) {
        if self.inner.flavor.local().is_some_and(|local| !local_thread::runs_here(local)) {
            return;
        }
        let mut point = pin!(self.driver().quiescent_points().wait(seen));
        poll_fn(|cx| {
            let polled = point.as_mut().poll(cx);
            if let (Poll::Pending, Some(scheduler)) = (polled, self.scheduler()) {
                scheduler.begin_quiescent_wait();
            }
            polled
        })
        .await;
    }

    pub(crate) fn scheduler(&self) -> Option<&Arc<Shared>> {
        match &self.inner.flavor {
            Flavor::MultiThread { scheduler, .. } => Some(scheduler),
            Flavor::CurrentThread(_) | Flavor::Local(_) => None,
        }
    }

    /// Returns the observer of the workers.
    pub(crate) fn observer(&self) -> Option<&std::sync::Arc<Observer>> {
        match &self.inner.flavor {
            Flavor::MultiThread { observer, .. } => Some(observer),
            Flavor::CurrentThread(_) | Flavor::Local(_) => None,
        }
    }
}

/// What goes around the life of each thread of the runtime: it is in the runtime, and known as one of its
/// own.
pub(super) fn around(inner: std::sync::Weak<RuntimeState>) -> blocking::AroundThread {
    Arc::new(move |run: &mut dyn FnMut()| enter_thread(&inner, true, run))
}

/// As [`around`], for a thread that runs no tasks: the hooks are not called.
pub(super) fn inside(inner: std::sync::Weak<RuntimeState>) -> blocking::AroundThread {
    Arc::new(move |run: &mut dyn FnMut()| enter_thread(&inner, false, run))
}

/// Calls `run`, the life of the calling thread, which the runtime has made, and before and after it the hooks
/// if it `is_hooked`.
fn enter_thread(inner: &std::sync::Weak<RuntimeState>, is_hooked: bool, run: &mut dyn FnMut()) {
    // The runtime may be gone before its thread has started; then there is nothing to be in.
    let Some(inner) = inner.upgrade() else {
        return run();
    };
    let handle = Handle { inner };
    let _entered = handle.enter();
    let _own = block_on::own_thread(handle.address());
    let Hooks { start, stop, .. } = &handle.inner.hooks;
    if let Some(start) = start.as_ref().filter(|_| is_hooked) {
        wakers::guard(|| start());
    }
    run();
    if let Some(stop) = stop.as_ref().filter(|_| is_hooked) {
        wakers::guard(|| stop());
    }
}

/// The bounds of a number of workers.
pub(super) fn check_workers(count: usize, max: usize) -> io::Result<()> {
    debug_assert!(max <= MAX_WORKERS);
    match count {
        0 => Err(invalid("worker_threads must not be 0")),
        _ if count > max => {
            Err(invalid(format!("worker_threads is {count}, but max_worker_threads is {max}")))
        }
        _ => Ok(()),
    }
}

/// The error of a setting that cannot be.
pub(crate) fn invalid(message: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message.into())
}

// A panic leaves a runtime as it was: tasks' panics are caught in their cells, and the locks do not poison.
impl_unwind_safe!([] Handle);

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flavor = match self.inner.flavor {
            Flavor::MultiThread { .. } => "multi_thread",
            Flavor::CurrentThread(_) => "current_thread",
            Flavor::Local(_) => "local",
        };
        let mut handle = f.debug_struct("Handle");
        if let Some(name) = self.name() {
            handle.field("name", &name);
        }
        handle.field("id", &self.id()).field("flavor", &flavor).finish_non_exhaustive()
    }
}
