//! The poll that this thread is in: which task it polls, and what is left of the task's budget.
//!
//! One thread-local for all of it, because entering a poll is the hottest path of the runtime. It has no
//! destructor and its initial value is a constant, so there is neither a lazy-initialisation check nor an
//! access that fails while the thread ends.
//!
//! The task is known by the data pointer of its waker. It is compared and never followed. That is what
//! makes `waker::yield_to` right under executors that are not ours: a combinator with wakers of its own
//! (`FuturesUnordered`), or a foreign `block_on` inside the poll, passes another waker, and that one gets
//! an ordinary wake. A foreign waker that was made of the task's may have the same data pointer: so the table
//! of its functions is compared too. All tasks share that table; the waker of a traced poll has another one,
//! and gets an ordinary wake, too. Rejected: a flag "inside a task" alone, which leaves a child of
//! `FuturesUnordered` unqueued, so that the task is requeued and the child sleeps on; and `Waker::will_wake`
//! against a stored `Waker`, which costs a reference or an unsafe borrow per poll.
//!
//! [`enter`] nests: an executor that polls our tasks inside one of our polls (`LocalExecutor`) hides the
//! outer task until its own poll is over.

use super::id::TaskId;
use crate::engine::scoped::replaced;
use crate::engine::sync_shim::thread_local;
use std::cell::Cell;
use std::ptr;

/// The value of the budget cell where nothing is counted: outside tasks, and under `unconstrained`.
pub(super) const UNLIMITED: i16 = i16::MAX;

thread_local! {
    static CURRENT: Current = const {
        Current {
            task: Cell::new(ptr::null()),
            budget: Cell::new(UNLIMITED),
            yielded: Cell::new(false),
            id: Cell::new(None),
        }
    };
}

/// What goes through [`CURRENT`] does no more than read and write fields: such closures are inlined, while a
/// poll inside `LocalKey::with` made two functions of it that handed each other pointers to their locals,
/// for 60 instructions. Field by field, and in this order: a copy of the whole is made of words of other
/// sizes than those that were written shortly before, and a processor waits for such stores.
#[repr(C)]
struct Current {
    /// Data pointer of the waker of the task being polled; null outside a poll.
    task: Cell<*const ()>,
    /// See `budget.rs`, which alone knows what the numbers mean.
    budget: Cell<i16>,
    /// The task asked to be put at the back of the queue.
    yielded: Cell<bool>,
    id: Cell<Option<TaskId>>,
}

/// Begins a poll of the task `id`, whose wakers carry `data`, with a budget of `budget` operations. The poll
/// ends when the result is dropped.
#[inline]
pub(crate) fn enter(data: *const (), id: TaskId, budget: u8) -> Entered {
    debug_assert!(!data.is_null(), "null stands for no task");
    CURRENT.with(|current| Entered {
        task: current.task.replace(data),
        budget: current.budget.replace(i16::from(budget)),
        yielded: current.yielded.replace(false),
        id: current.id.replace(Some(id)),
    })
}

/// Runs `f`, which blocks instead of being polled, as if outside a task: without a budget, and with wakes
/// in the place of yields. [`id`] still answers.
pub(crate) fn outside<R>(f: impl FnOnce() -> R) -> R {
    let _outer = CURRENT.with(|current| Entered {
        task: current.task.replace(ptr::null()),
        budget: current.budget.replace(UNLIMITED),
        yielded: current.yielded.get(),
        id: current.id.get(),
    });
    f()
}

/// Runs `f`, a destructor of what the task `id` has left, with that id.
pub(super) fn named<R>(id: TaskId, f: impl FnOnce() -> R) -> R {
    // The id alone: everything else is that of the task that runs here, which `f` may wake.
    let _outer = replaced(|id| CURRENT.with(|current| current.id.replace(id)), Some(id));
    f()
}

/// Puts back what was current before [`enter`] or [`outside`], also when the code between unwinds.
#[must_use = "the poll ends when this is dropped"]
pub(crate) struct Entered {
    task: *const (),
    budget: i16,
    yielded: bool,
    id: Option<TaskId>,
}

impl Entered {
    /// Whether the task has asked for another poll, through `waker::yield_to` or by waking itself. If the
    /// poll has ended `Pending`, the caller must requeue the task, at the back. If it has ended `Ready` or
    /// unwound, this means nothing.
    #[inline]
    pub(crate) fn has_yielded(&self) -> bool {
        CURRENT.with(|current| current.yielded.get())
    }
}

impl Drop for Entered {
    #[inline]
    fn drop(&mut self) {
        CURRENT.with(|current| {
            current.task.set(self.task);
            current.budget.set(self.budget);
            current.yielded.set(self.yielded);
            current.id.set(self.id);
        });
    }
}

/// The id of the task that this thread is polling.
pub(crate) fn id() -> Option<TaskId> {
    CURRENT.with(|current| current.id.get())
}

/// Whether this thread polls the task with this data pointer, which is never null.
#[inline]
pub(super) fn is_polled(data: *const ()) -> bool {
    CURRENT.with(|current| ptr::eq(current.task.get(), data))
}

/// The task with this data pointer, which is never null, asks for another poll, or a wake has found it hot.
/// If it is the one being polled here, this sets the flag of [`Entered::has_yielded`]. `true`: it is.
#[inline]
pub(super) fn note_wake(data: *const ()) -> bool {
    CURRENT.with(|current| {
        let own = ptr::eq(current.task.get(), data);
        if own {
            current.yielded.set(true);
        }
        own
    })
}

/// Returns what is left of this thread's budget.
#[inline]
pub(super) fn budget() -> i16 {
    CURRENT.with(|current| current.budget.get())
}

#[inline]
pub(super) fn set_budget(budget: i16) {
    CURRENT.with(|current| current.budget.set(budget));
}

/// Sets the budget and returns what it was.
#[inline]
pub(super) fn replace_budget(budget: i16) -> i16 {
    CURRENT.with(|current| current.budget.replace(budget))
}
