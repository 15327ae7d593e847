//! How a task's future is dropped: where it lies, with its panic caught, and before anything else lies there.
#![allow(unsafe_code)]

use super::{Header, Payload, Stage, stage};
use crate::engine::task::join::JoinError;
use crate::engine::task::{TaskId, budget, current};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{self, NonNull};

/// Drops a future whose poll panics while the panic is still under way, as that of an `async` block drops its
/// variables: destructors ask [`thread::panicking`](std::thread::panicking), to poison a lock for instance.
/// It leaves the stage `Empty`, or the destructor's panic as the output. Forgotten when the poll returns.
///
/// It holds a pointer only, and finds the rest there: each poll makes one.
pub(super) struct DropUnwinding<F: Future>(NonNull<Header>, PhantomData<F>);

impl<F: Future> DropUnwinding<F> {
    /// # Safety
    ///
    /// The caller owns the stage of the `Cell<F>` that `header` heads, with a future in it. After a panic it
    /// does not touch that future any more.
    pub(super) unsafe fn new(header: NonNull<Header>) -> Self {
        Self(header, PhantomData)
    }
}

impl<F: Future> Drop for DropUnwinding<F> {
    fn drop(&mut self) {
        // SAFETY: the promise of `new`'s caller.
        let (stage, id) = unsafe { (stage::<F>(self.0), self.0.as_ref().id) };
        // SAFETY: as above.
        let dropped = unsafe { drop_future(stage, self.0.as_ptr().cast_const().cast(), id) };
        if let Err(payload) = dropped {
            // SAFETY: the stage is the caller's, and `Empty`.
            unsafe { stage.write(Stage::Output(Err(JoinError::panic(id, payload)))) };
        }
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
