//! Tasks of a runtime with hooks: they have another table.
//!
//! A task calls the hooks if its table does, and the table is chosen at the spawn. So a runtime without hooks
//! pays for one look at the scheduler per spawn, and nothing per poll. The hooks lie with the scheduler, so a
//! task takes no more memory for them. Rejected: a look per poll, which every runtime would pay for; and a
//! future around the user's, whose type the lists would show, and which would be dropped before the last
//! hook.
//!
//! | hook | is called |
//! |---|---|
//! | `spawn` | once, first, before the task is queued |
//! | `before_poll`, `after_poll` | around each poll of the future, and of nothing else |
//! | `terminate` | once, last: the future is dropped, and the JoinHandle does not know yet |
#![allow(unsafe_code)]

use super::header::{Header, Polled, Schedule, Vtable};
use super::hooks::{TaskHooks, TaskMeta, call};
use super::running::RunningTask;
use std::ptr::NonNull;

/// Gives a task the table of those that call `hooks`, and calls the first of them.
///
/// # Safety
///
/// `header` heads a task that has been made just now and that no other code knows. The table fits its cell,
/// and differs from its own only by what [`poll`] and [`cancelled`] add.
#[cold]
pub(super) unsafe fn begin(header: NonNull<Header>, table: &'static Vtable, hooks: &TaskHooks) {
    // SAFETY: no other code knows the header.
    unsafe { (*header.as_ptr()).vtable = table };
    // SAFETY: the task is alive.
    unsafe { described(header, |task| call(hooks.spawn.as_ref(), task)) };
}

/// As `poll` does, which polls the task of `header`, between two hooks.
///
/// # Safety
///
/// The caller owns the `Hot` of the task of `header`, whose scheduler is an `S`.
pub(super) unsafe fn poll<S: Schedule>(
    header: NonNull<Header>,
    poll: impl FnOnce() -> Polled,
) -> Polled {
    // SAFETY: the caller owns the task's `Hot`, so the task is not complete when `hooks` are used last.
    let hooks = unsafe { hooks::<S>(header) };
    let Some(hooks) = hooks else { return poll() };
    let around = |task: &TaskMeta<'_>| {
        call(hooks.before_poll.as_ref(), task);
        let polled = poll();
        call(hooks.after_poll.as_ref(), task);
        if matches!(polled, Polled::Ready) {
            call(hooks.terminate.as_ref(), task);
        }
        polled
    };
    // SAFETY: as above: the task is alive.
    unsafe { described(header, around) }
}

/// After the future was dropped without being polled to its end.
///
/// # Safety
///
/// The caller owns the `Hot` of the task of `header`, whose scheduler is an `S`.
pub(super) unsafe fn cancelled<S: Schedule>(header: NonNull<Header>) {
    // SAFETY: as in `poll`.
    if let Some(hooks) = unsafe { hooks::<S>(header) } {
        // SAFETY: as in `poll`.
        unsafe { described(header, |task| call(hooks.terminate.as_ref(), task)) };
    }
}

/// # Safety
///
/// The scheduler of the task of `header` is an `S`, and the task is not complete while the result is used.
unsafe fn hooks<'a, S: Schedule>(header: NonNull<Header>) -> Option<&'a TaskHooks> {
    // SAFETY: the task is alive; the scheduler, an `S`, outlives its tasks (cell.rs).
    unsafe { (*header.as_ref().scheduler.cast::<S>()).task_hooks() }
}

/// Calls `f` with what is known of the task.
///
/// # Safety
///
/// `header` heads a live task.
unsafe fn described<R>(header: NonNull<Header>, f: impl FnOnce(&TaskMeta<'_>) -> R) -> R {
    // SAFETY: the caller's promise; what is read never changes.
    let (task, name) = unsafe {
        let Header { vtable, id, spawned_at, .. } = header.as_ref();
        (RunningTask::new(*id, spawned_at), (vtable.name)(header))
    };
    f(&TaskMeta::new(task, name.as_deref()))
}
