//! Where local executors are found: whether one polls on a thread, which one it lends to `spawn_local`, and
//! what is told of those that the program makes.

use super::local::{LocalExecutor, LocalShared};
use crate::engine::scoped::{Replaced, Scoped, replaced};
use crate::engine::sync_shim::{Arc, modelled_thread_local, thread_local};
use crate::engine::tokio_note::NOTE;
use std::cell::{Cell, RefCell};
use std::ptr;
use std::rc::{Rc, Weak};
use std::sync::OnceLock;

thread_local! {
    /// A local executor polls a task or a root on this thread.
    static IN_LOCAL: Cell<bool> = const { Cell::new(false) };
    /// The innermost executor that runs on this thread, for `spawn_local`; not one that may change threads.
    pub(super) static EXECUTOR: Scoped<LocalExecutor<'static>> = const { Scoped::new() };
    /// An executor has been entered on this thread, and not left. Each `spawn_local` asks, so it is a word
    /// that needs no destructor.
    static IS_ENTERED: Cell<bool> = const { Cell::new(false) };
    /// The executor that was entered last on this thread.
    static ENTERED: RefCell<Option<Newest>> = const { RefCell::new(None) };
}

modelled_thread_local! {
    /// The executor whose runtime runs on this thread: compared, never followed.
    static RUNS: Cell<*const LocalShared> = const { Cell::new(ptr::null()) };
}

/// Marks the thread as polling for a local executor until the result is dropped.
pub(super) fn in_local() -> impl Sized {
    replaced(|polls| IN_LOCAL.replace(polls), true)
}

/// Whether the calling thread polls for a local executor.
pub(super) fn is_in_local() -> bool {
    IN_LOCAL.get()
}

/// Whether the calling thread polls for a local executor, or is between two polls in a runtime that runs on
/// it, where it calls wakers.
pub(super) fn runs_local() -> bool {
    IN_LOCAL.get() || !RUNS.get().is_null()
}

/// Panics, at the caller, inside a local executor: no other thread could run its tasks meanwhile. The message
/// begins with tokio's, which tests of programs expect.
#[track_caller]
pub(crate) fn refuse_in_local(what: &str) {
    if IN_LOCAL.get() {
        panic!(
            "can call blocking only when running on the multi-threaded runtime: {what} called on a thread \
             that runs tasks of its own (a current-thread runtime, a LocalExecutor, or spawn_pinned), and no \
             other thread can take them over; use spawn_blocking{NOTE}"
        );
    }
}

/// Says that the runtime whose tasks `local` keeps runs on this thread, until the result is dropped.
pub(super) fn running(local: &Arc<LocalShared>) -> Runs {
    replaced(|runs| RUNS.replace(runs), Arc::as_ptr(local))
}

/// Keeps a runtime the one that runs on the calling thread; made by [`running`].
pub(super) type Runs = Replaced<*const LocalShared, fn(*const LocalShared) -> *const LocalShared>;

/// Calls `f` with the innermost executor that runs on this thread, or has been entered since that one runs.
pub(crate) fn with_executor<R>(f: impl FnOnce(Option<&LocalExecutor<'static>>) -> R) -> R {
    match entered() {
        Some(executor) => f(Some(&executor)),
        None => Scoped::with(&EXECUTOR, f),
    }
}

/// An executor that has been entered, which does not run it. Not one that is gone, nor one that was entered
/// before the one that runs now.
#[inline]
fn entered() -> Option<Rc<LocalExecutor<'static>>> {
    if IS_ENTERED.get() { newest_entered() } else { None }
}

#[cold]
fn newest_entered() -> Option<Rc<LocalExecutor<'static>>> {
    // A thread that is ending has none.
    let newest = ENTERED.try_with(|entered| {
        let entered = entered.borrow();
        let newest = entered.as_ref().filter(|newest| newest.inside == running_executor())?;
        newest.executor.upgrade()
    });
    newest.ok().flatten()
}

/// The innermost executor that runs on this thread: compared, never followed.
fn running_executor() -> *const LocalExecutor<'static> {
    Scoped::with(&EXECUTOR, |executor| executor.map_or(ptr::null(), ptr::from_ref))
}

/// Makes `executor` the one that `spawn_local` finds on this thread, until the result is dropped.
pub(super) fn enter(executor: &Rc<LocalExecutor<'static>>) -> Entered {
    let newest = Newest { executor: Rc::downgrade(executor), inside: running_executor() };
    // A thread that is ending enters nothing.
    let before = ENTERED.try_with(|entered| entered.replace(Some(newest))).unwrap_or(None);
    IS_ENTERED.set(true);
    Entered(before)
}

/// What [`spawn_local`](crate::task::spawn_local) finds beside the executor that runs.
struct Newest {
    executor: Weak<LocalExecutor<'static>>,
    /// Entered while this one ran.
    inside: *const LocalExecutor<'static>,
}

/// Restores, when it is dropped, the executor that was entered before.
pub(super) struct Entered(Option<Newest>);

impl Drop for Entered {
    fn drop(&mut self) {
        IS_ENTERED.set(self.0.is_some());
        let left = ENTERED.try_with(|entered| entered.replace(self.0.take()));
        drop(left);
    }
}

/// Whether this thread runs the runtime whose tasks `local` keeps.
pub(super) fn runs_here(local: &Arc<LocalShared>) -> bool {
    ptr::eq(RUNS.get(), Arc::as_ptr(local))
}

/// What is called with the executors that the program makes, while something looks at the process.
pub(super) struct ListedBy {
    /// Returns whether the executor is in a list now.
    pub(super) list: fn(&Arc<LocalShared>) -> bool,
    pub(super) forget: fn(&Arc<LocalShared>),
}

/// Set once. It is std's `OnceLock`, as no model has one that lives in a static.
pub(super) static LISTED_BY: OnceLock<ListedBy> = OnceLock::new();

/// From now on `listed_by` is told of each executor that the program makes.
#[allow(dead_code, reason = "only insight lists them")]
pub(super) fn list_by(listed_by: ListedBy) {
    LISTED_BY.get_or_init(|| listed_by);
}
