//! The one allocation of a task: header, future, later its output.
//!
//! ```text
//! Header (72 B): link | state | vtable | scheduler | id | home, registry key | spawned at | join waker
//! Name         : nothing, or what `task::Builder` was given
//! Stage        : future, then output, then nothing
//! ```
//!
//! Plain 8-byte alignment: an allocator's fast path serves it, where tokio's 128-byte alignment needs
//! the slow one and rounds every small task up to 128 or 256 bytes. The price is that neighbouring tasks
//! may share a cache line.
//!
//! # What may use which field, and when
//!
//! | field | written or moved by | when |
//! |---|---|---|
//! | `link` | the queue that the `Hot` is in | while it is in there |
//! |        | the thread that polls: a note of what the task waits for | while it is polled |
//! |        | any thread: takes that note out, and never a pointer | at any time |
//! | `stage` | the owner of the `Hot` | until COMPLETE |
//! |         | the JoinHandle (JOIN_INTEREST), once | after COMPLETE |
//! | `registry_key` | the owner of the `Hot` | until COMPLETE |
//! | `join_waker` | the JoinHandle | while JOIN_WAKER is 0 |
//! |              | read by the task and the JoinHandle | while JOIN_WAKER is 1 |
//! |              | the later of: the task, having woken; the JoinHandle's drop | after COMPLETE |
//! | all others | nothing (or atomic) | |
//!
//! The [`Hot`] is unique: it exists exactly while SCHEDULED is set and COMPLETE is not, made by the caller
//! that set SCHEDULED. That is what makes the `&mut` access to the future sound (model
//! `the_future_belongs_to_one_runner_at_a_time`).
//!
//! # Freed exactly once
//!
//! The cell is freed by the caller that releases the last reference (`State::release` and its combined forms
//! say so to exactly one caller, because they are RMWs on one word). An incomplete task has its live
//! reference, so only complete tasks are freed: the future is gone, and the output has been taken or dropped
//! by its one owner. The join waker is gone too (state.rs, "Join bits"). Freeing therefore runs no user code,
//! cannot recurse, and may happen on any thread, also for tasks that are not `Send`.
//!
//! # The scheduler outlives its tasks
//!
//! The header carries the scheduler as a plain pointer: a counted one would cost an RMW on a shared line
//! at each spawn and each completion. [`Schedule`] is an unsafe trait for this reason: its implementor
//! stays alive until all its tasks are complete. A wake that turns a task hot may follow the pointer,
//! because that task cannot complete before the `Hot`, which the wake holds, has been queued and run.
//! For what the wake does *after* the task is queued it takes a counted reference first, except on the
//! scheduler's own worker threads, which hold one anyway.
#![allow(unsafe_code)]

use super::budget;
use super::current::{self, RunningTask};
use super::header::{self, Header, Hot, Runner, Schedule, TaskHooks, TaskRef, Vtable};
use super::home::Home;
use super::join::JoinHandle;
use super::join_error::{JoinError, Payload};
use super::origin::{Name, Origin};
use super::state::{Marked, Pending, Polled, Start};
use super::{traced, waker};
use crate::engine::sync_shim::{Arc, UnsafeCell};
use crate::engine::tokio_note::{LISTS_YIELDED, noted};
use crate::engine::{recycler, wakers};
use std::alloc::Layout;
use std::future::Future;
use std::marker::PhantomData;
use std::mem::needs_drop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::ptr::{self, NonNull};
use std::task::{Context, Poll, RawWakerVTable};

enum Stage<F: Future> {
    Future(F),
    Output(Result<F::Output, JoinError>),
    Empty,
}

#[repr(C)]
struct Cell<F: Future, N> {
    header: Header,
    /// Takes no memory in a task without a name.
    name: N,
    stage: UnsafeCell<Stage<F>>,
}

/// Allocates a task that may run on any thread: its `Hot`, which the caller queues, and its JoinHandle.
#[inline]
pub(crate) fn new_send_task<F, S>(
    future: F,
    scheduler: &Arc<S>,
    origin: impl Origin,
) -> (Hot, JoinHandle<F::Output>)
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
    S: Schedule,
{
    // SAFETY: the future and its output are Send and 'static.
    unsafe { new_task(future, scheduler, origin) }
}

/// Allocates a task for `scheduler`, as [`new_send_task`] does.
///
/// # Safety
///
/// If `F` or its output are not `Send`, or not `'static`, then `scheduler` runs and cancels its tasks on
/// the calling thread only, and completes this one before `F`'s lifetime ends; and the output's lifetime
/// is carried by the JoinHandle's type.
#[inline]
pub(crate) unsafe fn new_task<F, S, O>(
    future: F,
    scheduler: &Arc<S>,
    origin: O,
) -> (Hot, JoinHandle<F::Output>)
where
    F: Future,
    S: Schedule,
    O: Origin,
{
    struct VtableOf<F, O, S>(F, O, S);
    impl<F: Future, O: Origin, S: Schedule> VtableOf<F, O, S> {
        const VTABLE: &'static Vtable = &Vtable {
            poll: poll::<F, O::Name>,
            cancel: cancel::<F, O::Name>,
            take_output: take_output::<F, O::Name>,
            drop_output: drop_output::<F, O::Name>,
            schedule: header::schedule::<S>,
            free: free::<F, O::Name>,
            name: name::<F, O::Name>,
            type_name: std::any::type_name::<O::Future<F>>,
            future_size: size_of::<O::Future<F>>(),
        };
        /// In a runtime with hooks.
        const HOOKED: &'static Vtable = &Vtable {
            poll: poll_hooked::<F, O::Name, S>,
            cancel: cancel_hooked::<F, O::Name, S>,
            ..*Self::VTABLE
        };
    }
    let memory = recycler::allocate(Layout::new::<Cell<F, O::Name>>()).cast::<Cell<F, O::Name>>();
    let (spawned_at, name) = origin.into_parts();
    let vtable = VtableOf::<F, O, S>::VTABLE;
    let cell = Cell {
        header: Header::new(vtable, Arc::as_ptr(scheduler).cast(), spawned_at),
        name,
        stage: UnsafeCell::new(Stage::Future(future)),
    };
    // SAFETY: memory of this layout, ours alone.
    unsafe { memory.write(cell) };
    let header = memory.cast();
    if let Some(hooks) = scheduler.task_hooks() {
        // SAFETY: just made, and the table is that of this cell.
        unsafe { hook(header, VtableOf::<F, O, S>::HOOKED, hooks) };
    }
    (Hot(header), JoinHandle::new(TaskRef(header)))
}

/// Gives a new task the table of functions that call `hooks`, and calls the hook for spawns.
///
/// # Safety
///
/// `header` heads a task that has been made just now and that no other code knows. The table fits its cell.
#[cold]
unsafe fn hook(header: NonNull<Header>, table: &'static Vtable, hooks: &dyn TaskHooks) {
    // SAFETY: no other code knows the header.
    unsafe { (*header.as_ptr()).vtable = table };
    // SAFETY: the task is alive, and the table is its own.
    let (task, name) = unsafe { (header.as_ref().identity(), (table.name)(header)) };
    hooks.spawned(task, name.as_deref());
}

/// What is called for the task of `header`, and what it is called with.
///
/// # Safety
///
/// `header` heads a live `Cell<F, N>`, whose scheduler is an `S`. The task is not complete while the result
/// is used.
unsafe fn hooked<'a, F: Future, N: Name, S: Schedule>(
    header: NonNull<Header>,
) -> (&'a dyn TaskHooks, RunningTask, Option<std::sync::Arc<str>>) {
    // SAFETY: the task is alive; the scheduler, an `S`, outlives its tasks.
    let (task, scheduler) = unsafe {
        let header = header.as_ref();
        (header.identity(), &*header.scheduler.cast::<S>())
    };
    let hooks = scheduler.task_hooks().expect("the task was made with hooks");
    // SAFETY: the caller's promise, passed on.
    (hooks, task, unsafe { name::<F, N>(header) })
}

/// The future or output behind `header`.
///
/// # Safety
///
/// Here and in the functions below: `header` heads a live `Cell<F, N>`, and the caller owns what the table
/// in the header of this file says.
unsafe fn stage<F: Future, N>(header: NonNull<Header>) -> *mut Stage<F> {
    // SAFETY: the caller's promise; the pointer is made without a reference to the whole cell, whose
    // header others read.
    unsafe { (*header.cast::<Cell<F, N>>().as_ptr()).stage.with_mut(|stage| stage) }
}

/// If the poll panics, drops the future during the unwinding, as an `async` block drops its variables then:
/// destructors ask [`thread::panicking`](std::thread::panicking), to poison a lock for instance. The stage is
/// `Empty` afterwards, or holds the destructor's panic as the output. Forgotten when the poll returns.
///
/// Each poll makes one of these, so it is only a pointer, through which it finds everything else.
struct DropUnwinding<F: Future, N>(NonNull<Header>, PhantomData<(F, N)>);

impl<F: Future, N> Drop for DropUnwinding<F, N> {
    fn drop(&mut self) {
        // SAFETY: `poll` owns the stage, with a future in it that it does not touch any more.
        if let Err(error) = unsafe { drop_future::<F, N>(self.0) } {
            // SAFETY: as above; the stage is `Empty` now.
            unsafe { stage::<F, N>(self.0).write(Stage::Output(Err(error))) };
        }
    }
}

/// Drops the future in place and leaves `Empty`, also if the destructor panics: that is the error.
///
/// # Safety
///
/// See [`stage`].
unsafe fn drop_future<F: Future, N>(header: NonNull<Header>) -> Result<(), JoinError> {
    // SAFETY: the caller owns the stage; the header is alive.
    let (stage, task) = unsafe { (stage::<F, N>(header), header.as_ref().identity()) };
    let data = header.as_ptr().cast_const().cast::<()>();
    let dropped = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the caller's task is not over.
        let _entered = unsafe { current::enter(data, task.id(), budget::INITIAL) };
        // SAFETY: the caller owns the stage; whatever happens, `Empty` is written over it below without
        // another drop.
        unsafe { ptr::drop_in_place(stage) };
    }));
    // SAFETY: the old value has been dropped; `write` does not drop it again.
    unsafe { stage.write(Stage::Empty) };
    dropped.map_err(|payload| JoinError::panic(task, payload))
}

/// # Safety
///
/// See [`stage`].
unsafe fn poll<F: Future, N>(header: NonNull<Header>, table: &'static RawWakerVTable) -> Polled {
    // SAFETY: the caller owns the stage; the header is alive.
    let (stage, id) = unsafe { (stage::<F, N>(header), header.as_ref().id) };
    let data = header.as_ptr().cast_const().cast::<()>();
    // SAFETY: the waker is borrowed: it is not dropped, and the caller's `Hot` keeps the task alive
    // meanwhile.
    let waker = unsafe { waker::borrowed(data, table) };
    let mut output = Poll::Pending;
    // One guard and one entry for the poll and, after the last one, for the future's destructor.
    // SAFETY: as for the waker.
    let entered = unsafe { current::enter(data, id, budget::INITIAL) };
    let unwinding = DropUnwinding::<F, N>(header, PhantomData);
    let polled = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the stage is ours, and the future never moves: it is dropped in place.
        let Stage::Future(future) = (unsafe { &mut *stage }) else {
            unreachable!("a task is polled only while it holds its future")
        };
        // SAFETY: the cell is on the heap and the future is not moved out of it.
        let future = unsafe { Pin::new_unchecked(future) };
        output = future.poll(&mut Context::from_waker(&waker));
        std::mem::forget(unwinding);
        if output.is_ready() {
            // A full budget again, for the destructor of a future that is through.
            current::set_budget(i16::from(budget::INITIAL));
            // SAFETY: the stage is ours; whatever happens, it is written over below without another drop.
            unsafe { ptr::drop_in_place(stage) };
        }
    }));
    if polled.is_ok() && output.is_pending() {
        return if entered.has_yielded() { Polled::Yielded } else { Polled::Pending };
    }
    drop(entered);
    // SAFETY: the stage is ours; the future in it has been dropped, by `DropUnwinding` if the poll panicked.
    unsafe { store::<F, N>(header, polled.err(), output) };
    Polled::Ready
}

/// Stores how a task has ended: its output, if that is ready, or the panic of the poll or of the future's
/// destructor.
///
/// A function of its own, so that in a debug build its copies of a large output do not lie below the poll.
///
/// # Safety
///
/// See [`stage`]. The future has been dropped; the stage may hold the panic of its destructor.
#[inline]
unsafe fn store<F: Future, N>(
    header: NonNull<Header>,
    panic: Option<Payload>,
    output: Poll<F::Output>,
) {
    // SAFETY: the caller owns the stage; the header is alive.
    let (stage, task) = unsafe { (stage::<F, N>(header), header.as_ref().identity()) };
    let output = match (panic, output.is_ready()) {
        (Some(payload), true) => {
            // The destructor's panic is reported. The output is dropped, which may panic as well.
            wakers::guard(|| drop(output));
            Err(JoinError::panic(task, payload))
        }
        // SAFETY: the stage is ours, and `DropUnwinding` has left a value in it.
        (Some(payload), false) if matches!(unsafe { &*stage }, Stage::Output(_)) => {
            // The panic of the future's destructor came last, and is the one that is reported.
            return wakers::guard(|| drop(payload));
        }
        (Some(payload), false) => Err(JoinError::panic(task, payload)),
        (None, _) => match output {
            Poll::Ready(output) => Ok(output),
            Poll::Pending => unreachable!("the task has ended"),
        },
    };
    // SAFETY: the stage is ours, and what was in it has been dropped.
    unsafe { stage.write(Stage::Output(output)) };
}

/// # Safety
///
/// See [`stage`].
unsafe fn cancel<F: Future, N>(header: NonNull<Header>, why: Option<String>) {
    // SAFETY: the caller owns the stage; the header is alive.
    let (stage, id) = unsafe { (stage::<F, N>(header), header.as_ref().id) };
    // SAFETY: as above.
    let dropped = unsafe { drop_future::<F, N>(header) };
    let error = dropped.err().unwrap_or_else(|| JoinError::cancelled(id, why));
    // SAFETY: the stage is ours and `Empty`.
    unsafe { stage.write(Stage::Output(Err(error))) };
}

/// # Safety
///
/// See [`stage`]; the task's scheduler is an `S`.
unsafe fn poll_hooked<F: Future, N: Name, S: Schedule>(
    header: NonNull<Header>,
    table: &'static RawWakerVTable,
) -> Polled {
    // SAFETY: the caller owns the task's `Hot`, so the task is not complete when the hooks are used last.
    let (hooks, task, name) = unsafe { hooked::<F, N, S>(header) };
    let name = name.as_deref();
    hooks.before_poll(task, name);
    // SAFETY: the caller's promise, passed on.
    let polled = unsafe { poll::<F, N>(header, table) };
    hooks.after_poll(task, name);
    if polled == Polled::Ready {
        hooks.terminated(task, name);
    }
    polled
}

/// # Safety
///
/// See [`stage`]; the task's scheduler is an `S`.
unsafe fn cancel_hooked<F: Future, N: Name, S: Schedule>(
    header: NonNull<Header>,
    why: Option<String>,
) {
    // SAFETY: the caller's promise, passed on.
    unsafe { cancel::<F, N>(header, why) };
    // SAFETY: as in `poll_hooked`.
    let (hooks, task, name) = unsafe { hooked::<F, N, S>(header) };
    hooks.terminated(task, name.as_deref());
}

/// # Safety
///
/// See [`stage`].
unsafe fn take_output<F: Future, N>(header: NonNull<Header>, dest: *mut ()) {
    // SAFETY: the caller owns the stage.
    let stage = unsafe { stage::<F, N>(header) };
    // SAFETY: as above.
    let Stage::Output(output) = (unsafe { &*stage }) else {
        panic!(noted!("a JoinHandle was polled after it had returned the task's output"));
    };
    let dest = dest.cast::<Poll<Result<F::Output, JoinError>>>();
    // SAFETY: `dest` is of that type, and `Pending`: the promise of `TaskRef::take_output`'s caller. The
    // output is read once, because `Empty` is written over it without a drop.
    unsafe {
        dest.write(Poll::Ready(ptr::read(output)));
        stage.write(Stage::Empty);
    }
}

/// # Safety
///
/// See [`stage`].
unsafe fn drop_output<F: Future, N>(header: NonNull<Header>) {
    // SAFETY: the caller owns the stage, and nothing looks at it after this.
    let stage = unsafe { stage::<F, N>(header) };
    // The common case: no destructor, so nothing to guard against.
    // SAFETY: as above.
    if !needs_drop::<F::Output>() && matches!(unsafe { &*stage }, Stage::Output(Ok(_))) {
        return;
    }
    // SAFETY: the header is alive.
    let id = unsafe { header.as_ref().id };
    // SAFETY: what is left in the stage is an output or nothing. It is dropped once, in place, because a
    // large one would be copied to the stack otherwise.
    current::named(id, || wakers::guard(|| unsafe { ptr::drop_in_place(stage) }));
}

/// # Safety
///
/// See [`stage`].
unsafe fn free<F: Future, N>(header: NonNull<Header>) {
    let cell = header.cast::<Cell<F, N>>();
    // SAFETY: the last reference is gone, so the name is ours. It is dropped here and nowhere else.
    unsafe { ptr::drop_in_place(&raw mut (*cell.as_ptr()).name) };
    // SAFETY: the cell was allocated with this layout. Nothing is left in it to drop: see "Freed exactly
    // once" above.
    unsafe { recycler::release(header.cast(), Layout::new::<Cell<F, N>>()) };
}

/// # Safety
///
/// `header` heads a live `Cell<F, N>`.
unsafe fn name<F: Future, N: Name>(header: NonNull<Header>) -> Option<std::sync::Arc<str>> {
    // SAFETY: the caller's promise. From the making of the cell to its end the name is only read; the
    // reference is one to the name alone.
    unsafe { (*header.cast::<Cell<F, N>>().as_ptr()).name.get() }
}

impl Hot {
    /// Polls the task once, and does what the outcome asks for. Returns how the poll ended; `Ready` also if
    /// the task was cancelled.
    // Inlined always, so that a debug build has one stack frame less around each poll.
    #[inline(always)]
    pub(crate) fn run(self, runner: &impl Runner) -> Polled {
        self.run_and(runner, |_| ())
    }

    /// As [`Hot::run`]; calls `polled_once` after the poll, while the task is this thread's.
    #[inline]
    pub(crate) fn run_and(
        mut self,
        runner: &impl Runner,
        polled_once: impl FnOnce(&Hot),
    ) -> Polled {
        // This clears a record of long polls.
        let (home, here) = (self.home(), Home(runner.home_worker()));
        if home != here {
            if home.has_class() {
                self.begin_in_class(home, runner);
            } else {
                self.set_home(here);
            }
        }
        let header = self.header();
        header.link.set_note(None);
        match header.state.start() {
            Start::Poll => {
                let polled = self.poll(&waker::ORDINARY);
                polled_once(&self);
                self.after_poll(polled, runner)
            }
            Start::Marked => self.run_marked(runner, polled_once),
        }
    }

    /// A poll begins of a task that has a class, whose home is still `home`.
    #[cold]
    #[inline(never)]
    fn begin_in_class(&self, home: Home, runner: &impl Runner) {
        self.set_home(home.moved(runner.home_worker()));
        runner.runs_class(home.class());
    }

    /// Polls the future once, with a waker of that table. What follows from the outcome is up to the caller.
    #[inline]
    fn poll(&mut self, table: &'static RawWakerVTable) -> Polled {
        // SAFETY: we own the `Hot`, so we alone may touch the future. The table is one of tasks' wakers.
        unsafe { (self.header().vtable.poll)(self.0, table) }
    }

    #[inline(always)]
    fn after_poll(self, polled: Polled, runner: &impl Runner) -> Polled {
        // Still SCHEDULED: a wake that came meanwhile has set WOKEN, which the next `start` takes as
        // answered.
        if polled == Polled::Yielded {
            if LISTS_YIELDED {
                self.ensure_registered(runner);
            }
            runner.yielded(self);
            return polled;
        }
        if polled == Polled::Ready {
            self.complete(runner);
            return polled;
        }
        self.ensure_registered(runner);
        match self.header().state.pending() {
            // Another thread may own the task from here on, so `self` must not be used any more.
            Pending::Cold => {}
            Pending::Requeue => runner.requeue(self),
            Pending::RequeueFollowed => {
                self.ready_followed();
                runner.requeue(self);
            }
            Pending::Cancel => {
                self.cancel(runner, None);
                return Polled::Ready;
            }
        }
        polled
    }

    /// As [`Hot::run`], for a task that is followed, or to be traced or cancelled.
    #[cold]
    #[inline(never)]
    fn run_marked(mut self, runner: &impl Runner, polled_once: impl FnOnce(&Hot)) -> Polled {
        let header = self.header();
        if header.state.ends_wait() && !runner.followed_poll_begins(header.id) {
            header.state.follow(None);
        }
        let polled = match header.state.start_marked() {
            Marked::Poll => self.poll(&waker::ORDINARY),
            Marked::Trace => {
                let (id, future) = (header.id, header.vtable.type_name);
                let data = self.0.as_ptr().cast_const().cast();
                traced::poll(id, data, future(), &mut || self.poll(&waker::TRACING))
            }
            Marked::Cancel => {
                self.cancel(runner, None);
                return Polled::Ready;
            }
        };
        polled_once(&self);
        self.after_poll(polled, runner)
    }
}

#[cfg(all(test, liten_loom))]
mod loom;
