//! The waker of a task: its data pointer is the task's header, which carries the [`TaskId`].
//!
//! A waker that outlives a poll has the same pointer and the same table of functions for the whole life of
//! the task: `will_wake` is a comparison of two words, a clone is one RMW, and nothing is allocated. Only the
//! waker that a traced poll borrows has another table. A waker kept for ever is harmless: it keeps the cell's
//! memory, and a wake after completion stops at the state word.
#![allow(unsafe_code)]

use super::current::{self, RunningTask};
use super::header::{Header, TaskRef};
use super::origin::TaskId;
use super::traced;
use super::waiting::{Note, Wait};
use crate::engine::queue::wake_channel::Link;
use crate::primitive_kind::PrimitiveKind;
use std::mem::ManuallyDrop;
use std::num::{NonZeroU16, NonZeroUsize};
use std::ptr;
use std::task::{RawWaker, RawWakerVTable, Waker};

/// One table for all types of tasks, so that two wakers of one task compare equal, unless one of them is the
/// borrowed one of a traced poll.
pub(super) static ORDINARY: RawWakerVTable =
    RawWakerVTable::new(clone, wake, wake_by_ref, drop_waker);

/// The table of the waker that a traced poll borrows (traced.rs). It counts and wakes as the other one does,
/// and its clones are ordinary wakers: what outlives the poll is what would have been without it.
pub(super) static TRACING: RawWakerVTable =
    RawWakerVTable::new(clone_traced, wake, wake_by_ref_traced, drop_waker);

/// A waker for the duration of a poll, without a reference of its own.
///
/// # Safety
///
/// `data` is a task's header, alive for as long as the result, and `table` is one of this file.
#[inline]
pub(super) unsafe fn borrowed(
    data: *const (),
    table: &'static RawWakerVTable,
) -> ManuallyDrop<Waker> {
    // SAFETY: the functions of both tables keep RawWaker's contract: clone counts a reference, wake and
    // drop release one.
    ManuallyDrop::new(unsafe { Waker::new(data, table) })
}

/// Whether `waker` is a task's, whichever task's it is: to clone it is to count, and calls no user code.
#[inline]
pub(crate) fn is_task(waker: &Waker) -> bool {
    is_ordinary(waker) || ptr::eq(waker.vtable(), &TRACING)
}

/// The header of the task that `waker` wakes, if it is a task of ours.
#[inline]
fn header_of(waker: &Waker) -> Option<&Header> {
    // SAFETY: the data of a task's waker is the task's header, and the waker keeps the task alive.
    is_task(waker).then(|| unsafe { &*waker.data().cast::<Header>() })
}

/// Whether `waker` is that of a task of this scheduler.
pub(crate) fn is_task_of<S>(waker: &Waker, scheduler: *const S) -> bool {
    header_of(waker).is_some_and(|header| header.scheduler == scheduler.cast())
}

#[inline]
fn is_ordinary(waker: &Waker) -> bool {
    ptr::eq(waker.vtable(), &ORDINARY)
}

/// Asks for another poll through `waker`, after all tasks that are already in the queue.
///
/// If `waker` is the one of the task being polled, this sets a flag, which its poll hands to the
/// worker: no RMW, and the state word stays untouched. Any other waker is simply woken. Returns whether it is
/// the task's.
#[inline]
pub(crate) fn yield_to(waker: &Waker) -> bool {
    // In a traced poll the wake, which notes where it comes from, sets the same flag.
    let own = is_ordinary(waker) && current::note_wake(waker.data());
    if !own {
        waker.wake_by_ref();
    }
    own
}

/// Sets the note of the task that this thread polls, if `waker`, which has just been stored where that
/// task waits, is its own. `thing` is what it waits for.
#[inline]
pub(crate) fn set_note<T: ?Sized>(waker: &Waker, kind: PrimitiveKind, thing: *const T) {
    set(waker, Wait::Primitive(kind), thing.addr() as u64);
}

/// The note that the task which this thread polls has set last in this poll, if `waker` is its own.
pub(crate) fn note_of_poll(waker: &Waker) -> Option<Note> {
    own_link(waker)?.note().map(Note)
}

/// Adds to the note that the task has set last in this poll, if `waker` is its own, the number of a place in
/// the source.
///
/// To be called in the poll of the future that has set the note. To take the waker from where the note says
/// is up to that future, so no [`clear_note`] comes in between. If one did, it would not be undone here.
pub(crate) fn set_place(waker: &Waker, place: NonZeroU16) {
    let Some(link) = own_link(waker) else { return };
    if let Some(note) = link.note() {
        link.replace_note(note, Some(Note(note).at(Some(place)).0));
    }
}

/// As [`set_note`], for any wait. `number` is that of what is waited for.
// A call: in line it made polls so large that the compiler put less of the worker's loop in line.
#[inline(never)]
pub(super) fn set(waker: &Waker, wait: Wait, number: u64) {
    if let Some(link) = own_link(waker) {
        link.set_note(Note::new(wait, number).map(|note| note.0));
    }
}

/// The link of the task that this thread polls, if `waker` is its own. The link is this thread's, because it
/// polls the task.
#[inline]
fn own_link(waker: &Waker) -> Option<&Link> {
    let header = header_of(waker)?;
    ptr::eq(current::polled(), waker.data()).then_some(&header.link)
}

/// To be called before a waker, which was stored where its task waits for `thing`, is taken from there
/// without being woken: whatever has happened to that task meanwhile, it has no note of it any more.
pub(crate) fn clear_note<T: ?Sized>(waker: &Waker, kind: PrimitiveKind, thing: *const T) {
    clear(waker, Wait::Primitive(kind), thing.addr() as u64);
}

/// As [`clear_note`], for any wait. `number` is that of what was waited for.
#[cold]
pub(super) fn clear(waker: &Waker, wait: Wait, number: u64) {
    if let (Some(header), Some(note)) = (header_of(waker), Note::new(wait, number)) {
        let link = &header.link;
        let is_it = |found: &NonZeroUsize| Note(*found).at(None) == note;
        while let Some(found) = link.note().filter(is_it) {
            if link.replace_note(found, None) {
                break;
            }
        }
    }
}

/// The task that this thread is polling. Allocates nothing.
pub(crate) fn polled_task() -> Option<RunningTask> {
    let data = current::polled();
    if data.is_null() {
        return None;
    }
    // SAFETY: `enter` was given the header of a task that lives until the poll is over.
    let task = unsafe { TaskRef::from_raw(data) };
    Some(task.header().identity())
}

/// The task that `waker` wakes, if it is a task of ours.
pub(crate) fn task_of(waker: &Waker) -> Option<TaskId> {
    header_of(waker).map(|header| header.id)
}

/// # Safety
///
/// RawWaker's contract; `data` is a task's header.
unsafe fn clone(data: *const ()) -> RawWaker {
    // SAFETY: called on a waker, whose reference (or whose poll) keeps the task alive.
    let task = unsafe { TaskRef::from_raw(data) };
    RawWaker::new(TaskRef::clone(&task).into_raw(), &ORDINARY)
}

/// # Safety
///
/// RawWaker's contract; `data` is a task's header.
unsafe fn clone_traced(data: *const ()) -> RawWaker {
    traced::note(data);
    // SAFETY: the caller's promise, passed on.
    unsafe { clone(data) }
}

/// # Safety
///
/// RawWaker's contract; `data` is a task's header.
unsafe fn wake_by_ref_traced(data: *const ()) {
    traced::note(data);
    // SAFETY: the caller's promise, passed on.
    unsafe { wake_by_ref(data) }
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
    use super::yield_to;
    use crate::engine::task::TaskId;
    use crate::engine::task::current::{self, id, outside};
    use crate::engine::wakers::tests::Count;
    use crate::task::LocalExecutor;
    use std::cell::RefCell;
    use std::future::{pending, poll_fn};
    use std::mem::ManuallyDrop;
    use std::panic::{AssertUnwindSafe, catch_unwind};
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

    /// The waker that a traced poll of the task of `waker` borrows.
    pub(crate) fn tracing(waker: &Waker) -> ManuallyDrop<Waker> {
        assert!(super::is_task(waker));
        // SAFETY: the data is a task's, which lives as long as `waker`; the tests end before that.
        unsafe { super::borrowed(waker.data(), &super::TRACING) }
    }

    #[test]
    fn a_traced_polls_waker_is_another_one_and_its_clone_is_not() {
        let waker = of_a_task();
        let traced = tracing(&waker);
        assert!(!traced.will_wake(&waker) && !waker.will_wake(&traced));
        assert!(super::is_task(&traced));
        assert!(Waker::clone(&traced).will_wake(&waker));
    }

    /// Begins a poll of the task of `waker`, which lives until the end of the test, by a number of its own.
    pub(crate) fn enter_poll(waker: &Waker, id: TaskId, budget: u8) -> current::Entered {
        assert!(super::is_task(waker));
        // SAFETY: the data is a task's, which lives as long as `waker`.
        unsafe { current::enter(waker.data(), id, budget) }
    }

    /// Calls `f` as the poll of a task; returns what it does, and whether the task has yielded.
    fn enter<R>(waker: &Waker, id: TaskId, budget: u8, f: impl FnOnce() -> R) -> (R, bool) {
        let entered = enter_poll(waker, id, budget);
        (f(), entered.has_yielded())
    }

    #[test]
    fn the_id_is_known_inside_and_only_there() {
        let waker = of_a_task();
        let (outer, inner) = (TaskId::next(), TaskId::next());
        assert_eq!(id(), None);
        enter(&waker, outer, 1, || {
            assert_eq!(id(), Some(outer));
            enter(&waker, inner, 1, || assert_eq!(id(), Some(inner)));
            assert_eq!(id(), Some(outer));
        });
        assert_eq!(id(), None);
    }

    #[test]
    fn the_own_waker_sets_the_flag() {
        let waker = of_a_task();
        let result = enter(&waker, TaskId::next(), 1, || yield_to(&waker.clone()));
        assert_eq!(result, (true, true));
        let ((), yielded) = enter(&waker, TaskId::next(), 1, || ());
        assert!(!yielded, "a flag must not reach the next poll");
    }

    #[test]
    fn another_waker_is_woken_and_sets_no_flag() {
        let (own, (count, foreign)) = (of_a_task(), Count::new());
        let result = enter(&own, TaskId::next(), 1, || yield_to(&foreign));
        assert_eq!(result, (false, false));
        assert_eq!(count.get(), 1);
    }

    #[test]
    fn outside_a_task_every_waker_is_woken() {
        let (count, waker) = Count::new();
        yield_to(&waker);
        assert_eq!(count.get(), 1);
        // Its data pointer is null, and null also stands for "no task".
        yield_to(Waker::noop());
        let ((), yielded) = enter(&of_a_task(), TaskId::next(), 1, || ());
        assert!(!yielded);
    }

    #[test]
    fn the_flag_of_an_inner_task_is_not_the_outer_ones() {
        let (outer, inner) = (of_a_task(), of_a_task());
        let ((own, first), second) = enter(&outer, TaskId::next(), 1, || {
            enter(&inner, TaskId::next(), 1, || yield_to(&inner))
        });
        assert_eq!((own, first, second), (true, true, false));
        let ((_, first), second) = enter(&outer, TaskId::next(), 1, || {
            yield_to(&outer);
            enter(&inner, TaskId::next(), 1, || ())
        });
        assert_eq!((first, second), (false, true));
    }

    #[test]
    fn blocking_work_is_outside_its_task_but_has_its_id() {
        let (waker, task) = (of_a_task(), TaskId::next());
        let ((), yielded) = enter(&waker, task, 1, || {
            outside(|| {
                yield_to(&waker);
                assert_eq!(id(), Some(task));
            });
            assert_eq!(id(), Some(task));
        });
        assert!(!yielded, "woken");
        let ((), yielded) = enter(&waker, task, 1, || {
            outside(|| ());
            yield_to(&waker);
        });
        assert!(yielded);
    }

    #[test]
    fn a_panic_puts_everything_back() {
        let waker = of_a_task();
        let outer = TaskId::next();
        let ((), yielded) = enter(&waker, outer, 1, || {
            let poll = AssertUnwindSafe(|| {
                enter(&waker, TaskId::next(), 1, || {
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
