//! A handle to a runtime: cheap to clone, for any thread, outlives the runtime without harm.

use super::block_on;
use super::blocking_task::{BlockingJob, BlockingTasks};
use super::context::{self, EnterGuard, OUTSIDE};
use super::local::LocalShared;
use super::local_thread;
use super::metrics::RuntimeMetrics;
use super::pinned::Pinned;
use super::tokio_context;
use crate::blocking;
use crate::driver::Driver;
use crate::park::Parker;
use crate::scheduler::{self, MAX_WORKERS, Presence, Shared, ThreadConfig};
use crate::sync_shim::Arc;
use crate::task::{JoinHandle, RunningTask, hint};
use crate::wakers;
use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::panic::Location;
use std::task::Poll;

/// Spawns into a runtime from any thread, and asks about it.
///
/// A handle does not keep the runtime running. After the runtime's end, what is spawned is cancelled at
/// once.
#[derive(Clone)]
pub struct Handle {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) flavor: Flavor,
    pub(super) driver: Arc<Driver>,
    pub(super) blocking: Arc<blocking::Pool<BlockingJob>>,
    pub(super) blocking_tasks: Arc<BlockingTasks>,
    pub(super) pinned: Arc<Pinned>,
    pub(super) hooks: Hooks,
    pub(super) tokio: tokio_context::Door,
}

/// What the user wants to be called on each thread.
#[derive(Clone, Default)]
pub(super) struct Hooks {
    pub(super) start: Option<Arc<dyn Fn() + Send + Sync>>,
    pub(super) stop: Option<Arc<dyn Fn() + Send + Sync>>,
}

pub(super) enum Flavor {
    MultiThread { scheduler: Arc<Shared>, threads: ThreadConfig, max_workers: usize },
    CurrentThread(Arc<LocalShared>),
}

impl Handle {
    /// Returns the handle of the runtime that the calling thread is in.
    ///
    /// # Panics
    ///
    /// Outside a runtime. [`Handle::try_current`] does not.
    #[track_caller]
    pub fn current() -> Self {
        context::expect("Handle::current")
    }

    /// Returns the handle of the runtime that the calling thread is in.
    ///
    /// # Errors
    ///
    /// If the thread is in none.
    pub fn try_current() -> Result<Self, TryCurrentError> {
        context::with(|handle| handle.cloned()).ok_or(TryCurrentError { _private: () })
    }

    /// Makes this the runtime of the calling thread until the guard is dropped: spawns, timers and
    /// sockets use it.
    pub fn enter(&self) -> EnterGuard<'_> {
        context::enter(self)
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
        match &self.inner.flavor {
            Flavor::MultiThread { scheduler, .. } => scheduler.spawn(future, Location::caller()),
            Flavor::CurrentThread(local) => local.spawn_send(future),
        }
    }

    /// Runs `f` on the runtime's blocking pool. See [`liten::spawn_blocking`](crate::spawn_blocking).
    #[track_caller]
    pub fn spawn_blocking<F, T>(&self, f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.start_blocking(f, false).0
    }

    /// As [`spawn_blocking`](Self::spawn_blocking); the result says whether the pool has taken `f`. If it
    /// has and `f` `must_run`, it is run even if the runtime ends before its turn comes.
    #[track_caller]
    pub(crate) fn start_blocking<F, T>(
        &self,
        f: F,
        must_run: bool,
    ) -> (JoinHandle<T>, io::Result<()>)
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let Inner { blocking_tasks, blocking, .. } = &*self.inner;
        blocking_tasks.spawn(blocking, f, must_run, Location::caller())
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
        match &self.inner.flavor {
            Flavor::MultiThread { scheduler, .. } => {
                self.inner.pinned.spawn(scheduler, make, spawned_at)
            }
            Flavor::CurrentThread(local) => local.spawn_made(make, spawned_at),
        }
    }

    /// Runs `future` on the calling thread, in this runtime, until it is done.
    ///
    /// With the handle of a [`LocalRuntime`](super::LocalRuntime) this drives only `future`: its tasks,
    /// sockets and timers make progress only while the runtime's own `block_on` runs on its own thread.
    ///
    /// # Panics
    ///
    /// If called inside a task. If `future` panics.
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        block_on::refuse_in_task("block_on");
        let _entered = self.enter();
        hint::explained(|| match &self.inner.flavor {
            Flavor::MultiThread { scheduler, .. } => {
                let present = Present::begin(scheduler);
                scheduler::enter_guest(scheduler, || block_on::run(future, present.0.clone()))
            }
            Flavor::CurrentThread(_) => block_on::run(future, None),
        })
    }

    #[track_caller]
    pub(super) fn block_until_completion(&self) {
        block_on::refuse_in_task("block_until_completion");
        // In `block_in_place` blocking is allowed, but the task that does it is not over.
        assert!(
            !scheduler::is_away(),
            "block_until_completion called inside a task: it would wait for itself"
        );
        if let Flavor::MultiThread { scheduler, .. } = &self.inner.flavor {
            let (parker, pinned) = (Parker::new(), &self.inner.pinned);
            // No pinned task was alive at the end of the first wait, nor has there been one since if their
            // number is the same: so none was at the moment when the scheduler had none either.
            loop {
                let before = pinned.wait_until_quiet();
                scheduler.wait_until_quiet(&parker);
                if pinned.spawned_tasks() == before {
                    return;
                }
            }
        }
    }

    /// Changes the number of workers while the runtime runs; nothing queued is lost.
    ///
    /// New threads run when this returns. Surplus ones end after the poll they are in. If the system gives
    /// no thread, those that are ending are waited for, and it is asked once more.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if `count` is 0 or larger than
    /// [`Builder::max_worker_threads`](super::Builder::max_worker_threads), or the runtime is a
    /// [`LocalRuntime`](super::LocalRuntime). The operating system's error if a thread cannot be made;
    /// those that could be stay. `Other` after the runtime's end.
    pub fn set_worker_threads(&self, count: usize) -> io::Result<()> {
        let Flavor::MultiThread { scheduler, threads, max_workers } = &self.inner.flavor else {
            return Err(invalid("set_worker_threads: a LocalRuntime has no worker threads".into()));
        };
        check_workers(count, *max_workers)?;
        scheduler.resize(count, threads, &self.around())
    }

    /// Returns numbers about what the runtime is doing.
    pub fn metrics(&self) -> RuntimeMetrics {
        RuntimeMetrics::new(self.clone())
    }

    /// The tasks that the threads of the runtime are running.
    pub(super) fn running_tasks(&self) -> Vec<RunningTask> {
        let workers = self.scheduler().map(|scheduler| scheduler.running_tasks());
        let others =
            self.inner.blocking_tasks.running().into_iter().chain(self.inner.pinned.running());
        workers.into_iter().flatten().chain(others).collect()
    }

    pub(crate) fn driver(&self) -> &Arc<Driver> {
        &self.inner.driver
    }

    /// Whether somebody notices when this runtime has nothing to do, so that its clock may be stopped.
    pub(crate) fn knows_lulls(&self) -> bool {
        self.scheduler().is_none_or(|scheduler| scheduler.takes_census())
    }

    /// Waits, while the clock stands still, for the first lull after the `seen`th: a moment at which every
    /// task waits. Ready at once where nobody could tell when that is.
    pub(crate) async fn lull(&self, seen: u64) {
        if let Flavor::CurrentThread(local) = &self.inner.flavor {
            if !local_thread::runs_here(local) {
                return;
            }
        }
        poll_fn(|cx| {
            let polled = self.driver().lulls().poll(seen, cx);
            if let (Poll::Pending, Some(scheduler)) = (polled, self.scheduler()) {
                scheduler.lull_awaited();
            }
            polled
        })
        .await;
    }

    pub(super) fn scheduler(&self) -> Option<&Arc<Shared>> {
        match &self.inner.flavor {
            Flavor::MultiThread { scheduler, .. } => Some(scheduler),
            Flavor::CurrentThread(_) => None,
        }
    }

    /// What goes around the life of each thread of the runtime: it is in the runtime, and known as one
    /// of its own.
    pub(super) fn around(&self) -> scheduler::Around {
        around(Arc::downgrade(&self.inner))
    }
}

/// Keeps a root counted as awake, or resting, as long as its `block_on` lasts.
pub(super) struct Present(pub(super) Option<Arc<Presence>>);

impl Present {
    pub(super) fn begin(scheduler: &Arc<Shared>) -> Self {
        Self(Presence::begin(scheduler))
    }
}

impl Drop for Present {
    fn drop(&mut self) {
        if let Some(presence) = &self.0 {
            presence.end();
        }
    }
}

/// As [`Handle::around`], for a runtime that is still being made.
pub(super) fn around(inner: std::sync::Weak<Inner>) -> scheduler::Around {
    Arc::new(move |run: &mut dyn FnMut()| {
        // The runtime may be gone before its thread has started; then there is nothing to be in.
        let Some(inner) = inner.upgrade() else {
            return run();
        };
        let handle = Handle { inner };
        let _entered = handle.enter();
        let Hooks { start, stop } = &handle.inner.hooks;
        block_on::own_thread(&handle, &mut || {
            start.iter().for_each(|start| wakers::guard(|| start()));
            run();
            stop.iter().for_each(|stop| wakers::guard(|| stop()));
        });
    })
}

/// The bounds of a number of workers.
pub(super) fn check_workers(count: usize, max: usize) -> io::Result<()> {
    debug_assert!(max <= MAX_WORKERS);
    match count {
        0 => Err(invalid("worker_threads must not be 0".into())),
        _ if count > max => {
            Err(invalid(format!("worker_threads is {count}, but max_worker_threads is {max}")))
        }
        _ => Ok(()),
    }
}

pub(super) fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

// A panic leaves a runtime as it was: tasks' panics are caught in their cells, and the locks do not poison.
impl std::panic::UnwindSafe for Handle {}
impl std::panic::RefUnwindSafe for Handle {}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flavor = match self.inner.flavor {
            Flavor::MultiThread { .. } => "multi_thread",
            Flavor::CurrentThread(_) => "current_thread",
        };
        f.debug_struct("Handle").field("flavor", &flavor).finish_non_exhaustive()
    }
}

/// The calling thread is in no runtime; from [`Handle::try_current`].
#[derive(Debug)]
pub struct TryCurrentError {
    _private: (),
}

impl fmt::Display for TryCurrentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "called {OUTSIDE}")
    }
}

impl std::error::Error for TryCurrentError {}
