//! How a task's future is dropped: where it lies, with its panic caught, and before anything else lies there.

#![allow(unsafe_code)]

use super::{Payload, Stage};
use crate::task::TaskId;
use crate::task::{budget, current};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

/// Drops a future whose poll panics while the panic is still under way, as that of an `async` block drops its
/// variables: destructors ask [`thread::panicking`](std::thread::panicking), to poison a lock for instance.
/// Forgotten when the poll returns.
pub(super) struct DropUnwinding<'a, F: Future> {
    /// Owned, with the future in it.
    stage: *mut Stage<F>,
    data: *const (),
    id: TaskId,
    dropped: &'a mut Option<Result<(), Payload>>,
}

impl<'a, F: Future> DropUnwinding<'a, F> {
    /// # Safety
    ///
    /// The caller owns `stage`, which holds a future, and does nothing after a panic but write over it.
    pub(super) unsafe fn new(
        stage: *mut Stage<F>,
        data: *const (),
        id: TaskId,
        dropped: &'a mut Option<Result<(), Payload>>,
    ) -> Self {
        Self { stage, data, id, dropped }
    }
}

impl<F: Future> Drop for DropUnwinding<'_, F> {
    fn drop(&mut self) {
        // SAFETY: the promise of `new`'s caller.
        *self.dropped = Some(unsafe { drop_future(self.stage, self.data, self.id) });
    }
}

/// Drops the future in place and leaves `Empty`, also if the destructor panics; gives the panic back.
///
/// # Safety
///
/// The caller owns `stage`.
pub(super) unsafe fn drop_future<F: Future>(
    stage: *mut Stage<F>,
    data: *const (),
    id: TaskId,
) -> Result<(), Payload> {
    let dropped = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the caller owns the stage; whatever happens, `Empty` is written over it below without
        // another drop.
        current::enter(data, id, budget::INITIAL, || unsafe { ptr::drop_in_place(stage) });
    }));
    // SAFETY: the old value has been dropped; `write` does not drop it again.
    unsafe { stage.write(Stage::Empty) };
    dropped
}
