//! The cooperative budget, which makes a task that always finds work yield to others.
//!
//! A future made of operations that are ready at once (a socket that always has bytes, a set of tasks that
//! have ended) never returns `Pending`, so the worker would never see its queue again. Therefore each poll of
//! a task starts with [`INITIAL`] units, each operation that completes in a leaf future of ours costs one,
//! and at zero the leaf returns `Pending` after asking for another poll. Outside a task nothing is counted.
//! Leaf futures of other crates, which are also the adapters that this one re-exports, know nothing of it.
//!
//! An operation that moves many bytes costs more than one ([`charge`]), because it takes longer.
//!
//! An operation that ends `Pending` costs nothing ([`poll_leaf`] gives the unit back). Otherwise a task
//! that waits for more than 128 things at once could never reach the last of them: each poll would spend
//! its budget on the first ones and ask for another poll, for ever.
//!
//! An executor that polls inside our poll (a foreign `block_on` called by a task) takes our refusal for an
//! ordinary wake and polls again at once; control never returns to the worker, which alone would refill the
//! budget. So after many refusals in a row the budget is refilled ([`REFUSALS`]). Rejected: counting a waker
//! that is not the task's as outside the task: children of `FuturesUnordered` look the same, and a set of ten
//! thousand finished tasks would be emptied in one poll.
//!
//! | units before | units after | answer |
//! |---|---|---|
//! | `UNLIMITED` | same | go on |
//! | 1 … 128 | one less | go on |
//! | 0 … −4095 | one less; eight less if the waker is not the task's | wait |
//! | −4096 and less | 127 | go on |
//! | `TRACED` | same | what [`traced`] was told |
//!
//! A dump that asks the leaves where they are ([`traced`]) refuses all of them. So they find it out where
//! they find out that the budget is used up, and an operation that is granted costs what it did without
//! dumps.

use super::current::{self, UNLIMITED};
use super::waker;
use crate::engine::scoped::replaced;
use crate::engine::sync_shim::thread_local;
use std::cell::Cell;
use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll};

/// How many leaf operations a task may complete in one poll.
///
/// The value is tokio's, which has carried it through years of production: at 50 ns … 1 µs per operation a
/// poll is bounded by 6 … 130 µs, and the cost of a requeue is spread over 128 operations.
pub(crate) const INITIAL: u8 = 128;

/// How many refusals in a row mean that the poll is not going to return to the worker.
///
/// A combinator that asks each of its children once per poll must stay below this, or it gets something out
/// of each poll and never yields: a map of streams, or a merge. So it is far more than the children that they
/// are given. `FuturesUnordered` stops after two children that woke themselves.
const REFUSALS: i16 = 4096;

/// What a refusal counts if the waker is not the task's own. An executor inside the poll has another one, and
/// polls 512 times in vain for 128 operations: some 20 µs. A combinator with wakers of its own yields up to
/// so many children. More in models, whose threads share one budget, and which must not turn for so long.
const OF_ANOTHER: i16 = if cfg!(liten_loom) { REFUSALS / 32 } else { 8 };

const FULL: i16 = INITIAL as i16;

/// The budget while the leaves are asked where they are.
const TRACED: i16 = i16::MIN;

/// What a leaf calls instead of its operation: it goes on if that is ready.
pub(crate) type Leaf = fn(&mut Context<'_>) -> Poll<()>;

thread_local! {
    /// Read where the budget is [`TRACED`] only.
    static LEAF: Cell<Leaf> = const { Cell::new(|_| Poll::Ready(())) };
}

/// Takes one unit: what is left, and whether the operation may go on.
const fn take(units: i16) -> (i16, bool) {
    match units {
        UNLIMITED => (UNLIMITED, true),
        1.. => (units - 1, true),
        _ if units > -REFUSALS => (units - 1, false),
        TRACED => (TRACED, false),
        _ => (FULL - 1, true),
    }
}

/// Gives back one unit; never makes more than a full budget.
const fn give_back(units: i16) -> i16 {
    match units {
        FULL.. => units,
        0.. => units + 1,
        TRACED => TRACED,
        _ => 1,
    }
}

/// Takes one unit of the task's budget, or returns `Pending` and asks for another poll if none is left.
///
/// For an operation that is sure to complete. One that may still have to wait belongs in [`poll_leaf`],
/// or gives its unit back with [`refund`] before it returns `Pending`.
#[inline]
pub(crate) fn poll_proceed(cx: &mut Context<'_>) -> Poll<()> {
    let (left, granted) = take(current::budget());
    current::set_budget(left);
    if granted {
        return Poll::Ready(());
    }
    if left == TRACED {
        return LEAF.with(Cell::get)(cx);
    }
    if !waker::yield_to(cx.waker()) {
        current::set_budget(left - (OF_ANOTHER - 1));
    }
    Poll::Pending
}

/// Whether an operation that [`poll_proceed`] asks for now would be granted.
pub(crate) fn is_left() -> bool {
    let (left, granted) = take(current::budget());
    granted || left == TRACED
}

/// Whether the last operation of this poll was refused, because nothing was left. For metrics: what is given
/// back afterwards hides a refusal.
pub(crate) fn was_refused() -> bool {
    (TRACED + 1..0).contains(&current::budget())
}

/// Gives back the unit taken by [`poll_proceed`], because the operation has to wait after all.
#[inline]
pub(crate) fn refund() {
    current::set_budget(give_back(current::budget()));
}

/// Takes more units for an operation that was granted, because it was a large one. The operation itself is
/// never refused: what a poll may do beyond its budget is bounded by the size of the last operation.
pub(crate) fn charge(units: usize) {
    let left = current::budget();
    if (1..=FULL).contains(&left) {
        let units = i16::try_from(units).unwrap_or(FULL);
        current::set_budget((left - units).max(0));
    }
}

/// Polls `leaf` within the budget: it costs one unit if it is ready and nothing if it is not.
#[inline]
pub(crate) fn poll_leaf<T>(
    cx: &mut Context<'_>,
    leaf: impl FnOnce(&mut Context<'_>) -> Poll<T>,
) -> Poll<T> {
    if poll_proceed(cx).is_pending() {
        return Poll::Pending;
    }
    let poll = leaf(cx);
    if poll.is_pending() {
        refund();
    }
    poll
}

/// Runs `future` as one operation within the budget.
pub(crate) async fn within<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|cx| poll_leaf(cx, |cx| future.as_mut().poll(cx))).await
}

/// Gives a full budget of its own, until the result is dropped, to a future that shares its thread with tasks
/// without being one.
#[inline]
#[must_use = "the budget is that from before when this is dropped"]
pub(crate) fn full() -> impl Sized {
    replaced(current::replace_budget, FULL)
}

/// Runs `f` without a budget; afterwards the budget is what it was before.
pub(crate) fn unlimited<R>(f: impl FnOnce() -> R) -> R {
    let _before = replaced(current::replace_budget, UNLIMITED);
    f()
}

/// Whether each leaf does what [`traced`] was told.
pub(crate) fn is_traced() -> bool {
    current::budget() == TRACED
}

/// Runs `f`, in which each leaf calls `leaf` first.
pub(crate) fn traced<R>(leaf: Leaf, f: impl FnOnce() -> R) -> R {
    let _before = replaced(current::replace_budget, TRACED);
    let _leaf = replaced(|leaf| LEAF.with(|place| place.replace(leaf)), leaf);
    f()
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;
