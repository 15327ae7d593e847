//! The task-id waker: its data pointer is the task's header, which carries the [`TaskId`](super::id::TaskId).
//!
//! The same pointer and the same vtable for the whole life of the task: `will_wake` is a comparison of
//! two words, a clone is one RMW, and nothing is allocated. A waker kept for ever is harmless: it keeps
//! the cell's memory, and a wake after completion stops at the state word.
#![allow(unsafe_code)]

use super::cell::TaskRef;
use std::mem::ManuallyDrop;
use std::task::{RawWaker, RawWakerVTable, Waker};

/// One table for all types of tasks, so that two wakers of one task always compare equal.
static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop_waker);

/// A waker for the duration of a poll, without a reference of its own.
///
/// # Safety
///
/// `data` is a task's header, alive for as long as the result.
pub(super) unsafe fn borrowed(data: *const ()) -> ManuallyDrop<Waker> {
    // SAFETY: the functions of the table keep RawWaker's contract: clone counts a reference, wake and
    // drop release one.
    ManuallyDrop::new(unsafe { Waker::from_raw(RawWaker::new(data, &VTABLE)) })
}

/// Whether `waker` is a task's, whichever task's it is: to clone it is to count, and calls no user code.
#[inline]
pub(crate) fn is_task(waker: &Waker) -> bool {
    std::ptr::eq(waker.vtable(), &VTABLE)
}

/// # Safety
///
/// RawWaker's contract; `data` is a task's header.
unsafe fn clone(data: *const ()) -> RawWaker {
    // SAFETY: called on a waker, whose reference (or whose poll) keeps the task alive.
    let task = unsafe { TaskRef::from_raw(data) };
    RawWaker::new(TaskRef::clone(&task).into_raw(), &VTABLE)
}

/// # Safety
///
/// RawWaker's contract; `data` is a task's header.
unsafe fn wake(data: *const ()) {
    // SAFETY: as above; `wake` consumes the waker, so its reference is ours.
    ManuallyDrop::into_inner(unsafe { TaskRef::from_raw(data) }).wake_owned();
}

/// # Safety
///
/// RawWaker's contract; `data` is a task's header.
unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: as for `clone`.
    unsafe { TaskRef::from_raw(data) }.wake();
}

/// # Safety
///
/// RawWaker's contract; `data` is a task's header.
unsafe fn drop_waker(data: *const ()) {
    // SAFETY: the waker is being dropped, so its reference is ours.
    drop(ManuallyDrop::into_inner(unsafe { TaskRef::from_raw(data) }));
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
pub(crate) mod tests {
    use crate::task::LocalExecutor;
    use std::cell::RefCell;
    use std::future::{pending, poll_fn};
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    /// A task's waker, for tests that play a poll of that task. The task has ended: no wake reaches it.
    pub(crate) fn of_a_task() -> Waker {
        let left = RefCell::new(None);
        let executor = LocalExecutor::new();
        drop(executor.spawn(poll_fn(|cx| {
            left.replace(Some(cx.waker().clone()));
            Poll::<()>::Pending
        })));
        let run = pin!(executor.run(pending::<()>()));
        assert!(run.poll(&mut Context::from_waker(Waker::noop())).is_pending());
        left.take().expect("polled once")
    }
}
