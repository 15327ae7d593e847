//! Starting tasks in the current runtime.

use crate::engine::sync_shim::Arc;
use crate::engine::task::origin::Origin;
use crate::engine::task::{JoinHandle, TaskId, current};
use crate::engine::tokio_note::noted;
use crate::runtime::door::boxed_if_large;
use crate::runtime::local_thread::with_executor;
use crate::runtime::{Handle, context};
use std::future::Future;
use std::panic::Location;

/// Starts a task in the current runtime and returns its [`JoinHandle`].
///
/// The task runs on the workers, whether the handle is awaited or not, until it is done, aborted, or the
/// runtime is dropped. In a runtime without workers (a current-thread one, a
/// [`LocalRuntime`](crate::runtime::LocalRuntime)) it runs on the thread that is in its `block_on`.
///
/// # Panics
///
/// If called outside a runtime.
///
/// # Examples
///
/// ```
/// # liten::block_on(async {
/// let tasks: Vec<_> = (0..10).map(|i| liten::spawn(async move { i * i })).collect();
/// let mut sum = 0;
/// for task in tasks {
///     sum += task.await.unwrap();
/// }
/// assert_eq!(sum, 285);
/// # });
/// ```
#[track_caller]
#[inline]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let origin = Location::caller();
    boxed_if_large!(task future: F, origin => context::spawn(future, origin))
}

/// As [`spawn`], on behalf of another caller.
#[doc(hidden)]
#[track_caller]
#[inline]
pub fn spawn_from<F>(future: F, origin: impl Origin) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    context::spawn(future, origin)
}

/// Starts a task that need not be `Send` on this thread, in the innermost executor that runs here: a
/// [`LocalExecutor`](super::LocalExecutor) or [`LocalSet`](super::LocalSet) that is being polled or has been
/// [entered](super::LocalSet::enter), or that of the current [`LocalRuntime`](crate::runtime::LocalRuntime),
/// which this thread may have [entered](crate::runtime::LocalRuntime::enter) only.
///
/// # Panics
///
/// If the calling thread has not made and entered a [`LocalRuntime`](crate::runtime::LocalRuntime), is not
/// in its [`block_on`](crate::runtime::LocalRuntime::block_on), not in a poll of
/// [`LocalExecutor::run`](super::LocalExecutor::run) or of a [`LocalSet`](super::LocalSet), has entered no
/// such set, and is not one of those of [`spawn_pinned`].
///
/// # Examples
///
/// ```
/// let runtime = liten::runtime::LocalRuntime::new().unwrap();
/// runtime.block_on(async {
///     let local = std::rc::Rc::new(5);
///     assert_eq!(liten::task::spawn_local(async move { *local }).await.unwrap(), 5);
/// });
/// ```
#[track_caller]
pub fn spawn_local<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    let origin = Location::caller();
    boxed_if_large!(task future: F, origin => spawn_local_from(future, origin))
}

/// As [`spawn_local`], on behalf of a caller that may have a name for the task.
#[doc(hidden)]
#[track_caller]
pub fn spawn_local_from<F>(future: F, origin: impl Origin) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    let tried = with_executor(|executor| match executor {
        Some(executor) => Ok(executor.spawn_at(future, origin)),
        None => Err((future, origin)),
    });
    match tried {
        Ok(join) => join,
        Err((future, origin)) => spawn_entered(future, origin),
    }
}

/// Returns what tells the executor from others in which [`spawn_local`] would start a task now; `None` if it
/// is the current runtime's.
#[doc(hidden)]
pub fn local_executor() -> Option<usize> {
    let local = with_executor(|executor| Some(Arc::as_ptr(executor?.shared())))?;
    let is_runtimes = |handle: &Handle| {
        handle.settled().is_some_and(|settled| Arc::as_ptr(settled.shared()) == local)
    };
    (!context::with(|handle| handle.is_some_and(is_runtimes))).then(|| local.addr())
}

/// Starts a task in the `LocalRuntime` that the thread has entered, and that may not run yet.
#[cold]
#[track_caller]
fn spawn_entered<F>(future: F, origin: impl Origin) -> JoinHandle<F::Output>
where
    F: Future<Output: 'static> + 'static,
{
    match context::with(|handle| handle.and_then(Handle::settled).cloned()) {
        Some(local) if local.is_here() => local.spawn_at(future, origin),
        Some(_) => panic!(noted!(
            "Local tasks can only be spawned on a LocalRuntime from the thread the runtime was created on; \
             spawn_pinned spawns there from any thread"
        )),
        None => panic!(noted!(
            "`spawn_local` called from outside of a `task::LocalSet` or `runtime::LocalRuntime`: use \
             #[liten::main(flavor = \"current_thread\")], LocalSet::run_until, LocalRuntime::block_on, a \
             LocalExecutor, or spawn_pinned"
        )),
    }
}

/// Calls `make` on one of the runtime's threads for such tasks, and runs the future that it returns, which
/// need not be `Send`, on that thread to the end.
///
/// There are no more of these threads than the runtime has workers, and one if it has none; they are made
/// when they are needed, and a task goes to the one with the fewest. The tasks of one thread take turns: one
/// that blocks stops the others. On such a thread [`spawn_local`] adds a task to it. In a
/// [`LocalRuntime`](crate::runtime::LocalRuntime) the task runs on that runtime's thread.
///
/// Aborting the task, and the end of the runtime, drop its future on its thread. If the runtime ends, or no
/// thread can be made, before `make` is called, the JoinHandle says that the task was cancelled.
///
/// # Panics
///
/// If called outside a runtime. A panic of `make` or of the future reaches the JoinHandle.
///
/// # Examples
///
/// ```
/// use std::cell::RefCell;
/// use std::rc::Rc;
///
/// # liten::block_on(async {
/// let task = liten::task::spawn_pinned(|| async {
///     let log = Rc::new(RefCell::new(Vec::new()));
///     let theirs = log.clone();
///     liten::task::spawn_local(async move { theirs.borrow_mut().push(1) }).await.unwrap();
///     liten::time::sleep(liten::time::Duration::from_millis(1)).await;
///     log.borrow().len()
/// });
/// assert_eq!(task.await.unwrap(), 1);
/// # });
/// ```
#[track_caller]
pub fn spawn_pinned<F, Fut>(make: F) -> JoinHandle<Fut::Output>
where
    F: FnOnce() -> Fut + Send + 'static,
    Fut: Future + 'static,
    Fut::Output: Send + 'static,
{
    boxed_if_large!(function make: F => context::expect("spawn_pinned").spawn_pinned(make))
}

/// Returns the id of the running task.
///
/// # Panics
///
/// Outside a task. [`try_id`] does not.
#[track_caller]
pub fn id() -> TaskId {
    match try_id() {
        Some(id) => id,
        None => {
            panic!(noted!("task::id called outside a task; the future given to block_on is none"))
        }
    }
}

/// Returns the id of the running task, or `None` outside of one.
pub fn try_id() -> Option<TaskId> {
    current::id()
}
