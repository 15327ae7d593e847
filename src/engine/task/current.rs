//! What this thread knows about the poll it is in.
//!
//! One thread-local for all of it, because entering a poll is the hottest path of the runtime. It has no
//! destructor and its initial value is a constant, so there is neither a lazy-initialisation check nor an
//! access that fails while the thread ends.
//!
//! The task is known by the data pointer of its waker. It is compared and never followed. That is what
//! makes [`yield_to`] right under executors that are not ours: a combinator with wakers of its own
//! (`FuturesUnordered`), or a foreign `block_on` inside the poll, passes another waker, and that one gets
//! an ordinary wake. A foreign waker that was made of the task's may have the same data pointer: so the table
//! of its functions is compared too, which is one for all tasks. Rejected: a flag "inside a task" alone,
//! which leaves a child of `FuturesUnordered` unqueued, so that the task is requeued and the child sleeps on;
//! and `Waker::will_wake` against a stored `Waker`, which costs a reference or an unsafe borrow per poll.
//!
//! [`enter`] nests: an executor that polls our tasks inside one of our polls (`LocalExecutor`) hides the
//! outer task until its own poll is over.

use super::id::TaskId;
use super::waker;
use crate::engine::scoped::while_replaced;
use crate::engine::sync_shim::thread_local;
use std::cell::Cell;
use std::ptr;
use std::task::Waker;

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

/// Runs `f`, the poll of the task `id` whose wakers carry `data`, with a budget of `budget` operations.
///
/// The flag returned beside the output says that the task asked for another turn through [`yield_to`]:
/// it was not woken for that. If the poll ended `Pending`, the caller must requeue the task, at the
/// back. If it ended `Ready` or unwound, the flag means nothing.
#[inline]
pub(crate) fn enter<R>(
    data: *const (),
    id: TaskId,
    budget: u8,
    f: impl FnOnce() -> R,
) -> (R, bool) {
    debug_assert!(!data.is_null(), "null stands for no task");
    let _outer = CURRENT.with(|current| Outer {
        task: current.task.replace(data),
        budget: current.budget.replace(i16::from(budget)),
        yielded: current.yielded.replace(false),
        id: current.id.replace(Some(id)),
    });
    let output = f();
    (output, CURRENT.with(|current| current.yielded.get()))
}

/// Runs `f`, which blocks instead of being polled, as if outside a task: without a budget, and with wakes
/// in the place of yields. [`id`] still answers.
pub(crate) fn outside<R>(f: impl FnOnce() -> R) -> R {
    let _outer = CURRENT.with(|current| Outer {
        task: current.task.replace(ptr::null()),
        budget: current.budget.replace(UNLIMITED),
        yielded: current.yielded.get(),
        id: current.id.get(),
    });
    f()
}

/// Runs `f`, a destructor of what the task `id` has left, with that id.
pub(super) fn named<R>(id: TaskId, f: impl FnOnce() -> R) -> R {
    // The id alone: the rest is that of the task that runs here, which `f` may wake.
    while_replaced(|id| CURRENT.with(|current| current.id.replace(id)), Some(id), f)
}

/// Puts back what was current before [`enter`] or [`outside`], also when the code between unwinds.
struct Outer {
    task: *const (),
    budget: i16,
    yielded: bool,
    id: Option<TaskId>,
}

impl Drop for Outer {
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

/// Asks for another poll through `waker`, after all tasks that are already in the queue.
///
/// If `waker` is the one of the task being polled, this sets a flag that [`enter`] hands to the worker: no
/// RMW, and the state word stays untouched. Any other waker is simply woken.
#[inline]
pub(crate) fn yield_to(waker: &Waker) {
    let own = CURRENT.with(|current| {
        let task = current.task.get();
        // Outside a task the pointer is null, and so is the data pointer of `Waker::noop`: null never
        // matches.
        let own = !task.is_null() && ptr::eq(task, waker.data()) && waker::is_task(waker);
        if own {
            current.yielded.set(true);
        }
        own
    });
    // Outside the closure: a foreign waker runs code we do not know.
    if !own {
        waker.wake_by_ref();
    }
}

/// A wake has found the task with this data pointer hot. If it is the one being polled here, it has woken
/// itself, and the flag is set that [`enter`] hands to the worker, as by [`yield_to`].
#[inline]
pub(super) fn note_wake(data: *const ()) {
    CURRENT.with(|current| {
        if ptr::eq(current.task.get(), data) {
            current.yielded.set(true);
        }
    });
}

/// What is left of this thread's budget.
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

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::{enter, id, outside, yield_to};
    use crate::engine::task::id::TaskId;
    use crate::engine::task::waker::tests::of_a_task;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Wake, Waker};

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn waker() -> (Arc<Count>, Waker) {
        let count = Arc::new(Count::default());
        (count.clone(), Waker::from(count))
    }

    #[test]
    fn the_id_is_known_inside_and_only_there() {
        let waker = of_a_task();
        let (outer, inner) = (TaskId::next(), TaskId::next());
        assert_eq!(id(), None);
        enter(waker.data(), outer, 1, || {
            assert_eq!(id(), Some(outer));
            enter(waker.data(), inner, 1, || assert_eq!(id(), Some(inner)));
            assert_eq!(id(), Some(outer));
        });
        assert_eq!(id(), None);
    }

    #[test]
    fn the_own_waker_sets_the_flag() {
        let waker = of_a_task();
        let ((), yielded) = enter(waker.data(), TaskId::next(), 1, || yield_to(&waker.clone()));
        assert!(yielded);
        let ((), yielded) = enter(waker.data(), TaskId::next(), 1, || ());
        assert!(!yielded, "a flag must not reach the next poll");
    }

    #[test]
    fn another_waker_is_woken_and_sets_no_flag() {
        let (own, (count, foreign)) = (of_a_task(), waker());
        let ((), yielded) = enter(own.data(), TaskId::next(), 1, || yield_to(&foreign));
        assert!(!yielded);
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn outside_a_task_every_waker_is_woken() {
        let (count, waker) = waker();
        yield_to(&waker);
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        // Its data pointer is null, as is the pointer of no task.
        yield_to(Waker::noop());
        let ((), yielded) = enter(waker.data(), TaskId::next(), 1, || ());
        assert!(!yielded);
    }

    #[test]
    fn the_flag_of_an_inner_task_is_not_the_outer_ones() {
        let (outer, inner) = (of_a_task(), of_a_task());
        let (((), first), second) = enter(outer.data(), TaskId::next(), 1, || {
            enter(inner.data(), TaskId::next(), 1, || yield_to(&inner))
        });
        assert_eq!((first, second), (true, false));
        let ((_, first), second) = enter(outer.data(), TaskId::next(), 1, || {
            yield_to(&outer);
            enter(inner.data(), TaskId::next(), 1, || ())
        });
        assert_eq!((first, second), (false, true));
    }

    #[test]
    fn blocking_work_is_outside_its_task_but_has_its_id() {
        let (waker, task) = (of_a_task(), TaskId::next());
        let ((), yielded) = enter(waker.data(), task, 1, || {
            outside(|| {
                yield_to(&waker);
                assert_eq!(id(), Some(task));
            });
            assert_eq!(id(), Some(task));
        });
        assert!(!yielded, "woken");
        let ((), yielded) = enter(waker.data(), task, 1, || {
            outside(|| ());
            yield_to(&waker);
        });
        assert!(yielded);
    }

    #[test]
    fn a_panic_puts_everything_back() {
        let waker = of_a_task();
        let outer = TaskId::next();
        let ((), yielded) = enter(waker.data(), outer, 1, || {
            let poll = AssertUnwindSafe(|| {
                enter(waker.data(), TaskId::next(), 1, || {
                    yield_to(&waker);
                    panic!("in the poll")
                })
            });
            assert!(catch_unwind(poll).is_err());
            assert_eq!(id(), Some(outer));
        });
        assert!(!yielded);
        assert_eq!(id(), None);
    }
}
