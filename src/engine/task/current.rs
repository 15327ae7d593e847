//! The poll that this thread is in: which task it polls, and what is left of the task's budget.
//!
//! One thread-local for all of it, because entering a poll is the hottest path of the runtime. It has no
//! destructor and its initial value is a constant, so there is neither a lazy-initialisation check nor an
//! access that fails while the thread ends.
//!
//! The task is known by the data pointer of its waker. It is compared, and followed by
//! [`polled_task`](super::waker::polled_task) alone. That is what makes `waker::yield_to` right under
//! executors that are not ours: a combinator with wakers of its own (`FuturesUnordered`), or a foreign
//! `block_on` inside the poll, passes another waker, and that one gets an ordinary wake. A foreign waker that
//! was made of the task's may have the same data pointer: so the table of its functions is compared too. All
//! tasks share that table; the waker of a traced poll has another one, and gets an ordinary wake, too.
//! Rejected: a flag "inside a task" alone, which leaves a child of `FuturesUnordered` unqueued, so that the
//! task is requeued and the child sleeps on; and `Waker::will_wake` against a stored `Waker`, which costs a
//! reference or an unsafe borrow per poll.
//!
//! [`enter`] nests: an executor that polls our tasks inside one of our polls (`LocalExecutor`) hides the
//! outer task until its own poll is over.
//!
//! # For other threads
//!
//! A worker that is held up by a long poll cannot say so itself. So it notes, before each poll, which task
//! comes, in a few words that others may read at any time. The note is a seqlock whose version is the count
//! of polls: the writer counts first and writes then; a reader that finds the same count before and after
//! has read words of one poll. A store each, no RMW: it is written once per poll.

#![allow(unsafe_code)]

#[cfg(all(test, liten_loom))]
mod loom;

use super::origin::TaskId;
use crate::engine::scoped::replaced;
use crate::engine::sync_shim::atomic::{AtomicPtr, AtomicU64, Ordering};
use crate::engine::sync_shim::thread_local;
use std::cell::Cell;
use std::panic::Location;
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

/// Closures that go through [`CURRENT`] only read and write fields: such closures are inlined, while a
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
///
/// # Safety
///
/// `data` is the header of a task that lives until then.
#[inline]
pub(super) unsafe fn enter(data: *const (), id: TaskId, budget: u8) -> Entered {
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

/// The data pointer of the task that this thread is polling, as `enter` was given it; or null.
#[inline]
pub(super) fn polled() -> *const () {
    CURRENT.with(|current| current.task.get())
}

/// The id of the task that this thread is polling.
pub(crate) fn id() -> Option<TaskId> {
    CURRENT.with(|current| current.id.get())
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

/// A task, or blocking work, that a thread was running at the time of the look.
///
/// It may have ended since.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RunningTask {
    id: TaskId,
    spawned_at: &'static Location<'static>,
}

impl RunningTask {
    pub(crate) fn new(id: TaskId, spawned_at: &'static Location<'static>) -> Self {
        Self { id, spawned_at }
    }

    /// Returns the task's id, which is also its [`JoinHandle`](super::JoinHandle)'s.
    pub fn id(&self) -> TaskId {
        self.id
    }

    /// Returns the place in the source from which the task was spawned.
    pub fn spawned_at(&self) -> &'static Location<'static> {
        self.spawned_at
    }
}

/// The note of one thread.
#[derive(Debug)]
pub(crate) struct Running {
    polls: AtomicU64,
    /// 0: between two polls.
    id: AtomicU64,
    spawned_at: AtomicLocation,
}

impl Running {
    pub(crate) fn new() -> Self {
        Self { polls: AtomicU64::new(0), id: AtomicU64::new(0), spawned_at: AtomicLocation::new() }
    }

    /// A poll of `task` begins. For the owner of the note only.
    #[inline]
    pub(crate) fn begin(&self, RunningTask { id, spawned_at }: RunningTask) {
        // Ordering: Relaxed for the own count. Release for the three stores: a reader that has seen one of
        // them sees those before it.
        self.polls.store(self.polls.load(Ordering::Relaxed) + 1, Ordering::Release);
        self.spawned_at.store(Some(spawned_at), Ordering::Release);
        self.id.store(id.to_bits(), Ordering::Release);
    }

    /// The poll is over. For the owner of the note only.
    #[inline]
    pub(crate) fn end(&self) {
        // Ordering: Release pairs with `is_between_polls`.
        self.id.store(0, Ordering::Release);
    }

    /// Whether the owner is between two polls. To a thread that has seen something of a poll, that poll is
    /// over then, with all that its owner has done in it.
    pub(crate) fn is_between_polls(&self) -> bool {
        // Ordering: Acquire pairs with `end`.
        self.id.load(Ordering::Acquire) == 0
    }

    /// How many polls have begun.
    pub(crate) fn polls(&self) -> u64 {
        // Ordering: Acquire, see `begin`.
        self.polls.load(Ordering::Acquire)
    }

    /// Returns the task that runs now; `None` between two polls, and if the owner is too quick for the
    /// reader: then it is not held up.
    pub(crate) fn read(&self) -> Option<RunningTask> {
        // Ordering: Acquire pairs with the stores of `begin`: if the id is of a later poll than the count,
        // the second look at the count, which comes after, shows it. If the id is not of an earlier poll,
        // neither is the place. And the id of an earlier poll was cleared before this count.
        let before = self.polls();
        let id = self.id.load(Ordering::Acquire);
        let spawned_at = self.spawned_at.load(Ordering::Acquire);
        // Ordering: Relaxed, kept behind by the two above.
        let after = self.polls.load(Ordering::Relaxed);
        let id = TaskId::from_bits(id)?;
        let spawned_at = spawned_at?;
        (before == after).then_some(RunningTask { id, spawned_at })
    }
}

/// A place in the source, or none.
#[derive(Debug)]
pub(crate) struct AtomicLocation(AtomicPtr<Location<'static>>);

impl AtomicLocation {
    /// Returns one without a place.
    pub(crate) fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    #[inline]
    pub(crate) fn store(&self, place: Option<&'static Location<'static>>, ordering: Ordering) {
        self.0.store(place.map_or(ptr::null(), ptr::from_ref).cast_mut(), ordering);
    }

    #[inline]
    pub(crate) fn load(&self, ordering: Ordering) -> Option<&'static Location<'static>> {
        // SAFETY: null, or what `store` has taken from a `&'static Location`.
        unsafe { self.0.load(ordering).as_ref() }
    }
}
