//! The header of a task, which is the same for all types of futures, and the references to it.
//!
//! | reference | is held by | stands for |
//! |---|---|---|
//! | [`Hot`] | a queue, or the thread that runs the task | the right to run the task |
//! | [`Cold`] | the registry | nothing: it is valid while the task is registered |
//! | [`TaskRef`] | wakers, JoinHandle, AbortHandles | one count of the word |
//!
//! cell.rs says which fields of the cell each of them may use.
#![allow(unsafe_code)]

use super::class::Class;
use super::current;
use super::current::RunningTask;
use super::followed;
use super::home::Home;
use super::join_error::JoinError;
use super::origin::TaskId;
use super::state::{Complete, Polled, Released, State, Wake, stands_for};
use super::traced;
use crate::engine::queue::wake_channel::{Link, Linked};
use crate::engine::sync_shim::atomic::{AtomicU16, Ordering};
use crate::engine::sync_shim::{Arc, UnsafeCell};
use crate::engine::wakers;
use std::mem::ManuallyDrop;
use std::panic::Location;
use std::ptr::{self, NonNull};
use std::task::{Poll, RawWakerVTable, Waker};

/// The scheduler of a task, as the task sees it.
///
/// # Safety
///
/// Every task made with an `Arc<Self>` is complete before the last clone of that `Arc` is dropped.
pub(crate) unsafe trait Schedule: Send + Sync + Sized + 'static {
    /// Queues `task` if the calling thread belongs to the scheduler at `address`, which is compared and
    /// not followed.
    fn schedule_here(address: *const Self, task: Hot) -> Result<(), Hot>;

    /// Queues `task` from any thread.
    fn schedule_from_anywhere(self: Arc<Self>, task: Hot);

    /// Returns the hooks of each task that is spawned from now on, which do not change once they are set.
    fn task_hooks(&self) -> Option<&dyn TaskHooks> {
        None
    }
}

/// What is called for each task of a scheduler. The name is the one that the task was given.
///
/// A task calls the hooks if its table does, and the table is chosen at the spawn. So a runtime without hooks
/// pays for one look at the scheduler per spawn, and nothing per poll. The hooks lie with the scheduler, so a
/// task takes no more memory for them. Rejected: a look per poll, which every runtime would pay for; and a
/// future around the user's, whose type the lists would show, and which would be dropped before the last
/// hook.
pub(crate) trait TaskHooks: Send + Sync {
    /// The task has been made, and is not queued. Called once, first.
    fn spawned(&self, task: RunningTask, name: Option<&str>);
    /// A poll of the future begins.
    fn before_poll(&self, task: RunningTask, name: Option<&str>);
    /// It has ended, perhaps by a panic.
    fn after_poll(&self, task: RunningTask, name: Option<&str>);
    /// The future is dropped, and the JoinHandle does not know yet. Called once, last.
    fn terminated(&self, task: RunningTask, name: Option<&str>);
}

/// Queues `task` with its scheduler. For the table of a task that was made with an `Arc<S>`.
///
/// # Safety
///
/// `scheduler` is the pointer of the `Arc<S>` that `task` was made with.
pub(super) unsafe fn schedule<S: Schedule>(scheduler: *const (), task: Hot) {
    let scheduler = scheduler.cast::<S>();
    let Err(task) = S::schedule_here(scheduler, task) else {
        return;
    };
    // SAFETY: the pointer comes from `Arc::as_ptr`, and the scheduler is alive: `task` belongs to it and
    // is not complete. From here on the count keeps it alive, whatever happens to the task.
    let scheduler = unsafe {
        Arc::increment_strong_count(scheduler);
        Arc::from_raw(scheduler)
    };
    scheduler.schedule_from_anywhere(task);
}

/// The thread that ends a task, by its last poll or by cancelling it, as the task sees it.
pub(crate) trait Completer {
    /// A registered task is about to be complete.
    fn unregister(&self, key: RegistryKey);
    /// A task has completed; called before its JoinHandle learns of it.
    fn completed(&self);
}

/// The thread that polls a task, as the task sees it.
pub(crate) trait Runner: Completer {
    /// The task goes cold for the first time: the thread that shuts the scheduler down must find it.
    fn register(&self, task: Cold) -> RegistryKey;
    /// The task was woken during its poll, by another: to the back of the queue.
    fn requeue(&self, task: Hot);
    /// The task yielded, or woke itself: others that are ready come first.
    fn yielded(&self, task: Hot) {
        self.requeue(task);
    }
    /// The index that wakes from outside are sent to.
    fn home_worker(&self) -> u16;
    /// A poll begins of a task of another class than `Normal`.
    fn runs_class(&self, _class: Class) {}
    /// A poll begins of a task that is followed. Returns whether the task is followed on.
    fn followed_poll_begins(&self, _task: TaskId) -> bool {
        false
    }
}

/// Where a task stands in the registries of its scheduler. Packed, so that it fills a word of the header
/// together with the home.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, packed(2))]
pub(crate) struct RegistryKey {
    pub(crate) shard: u16,
    pub(crate) index: u32,
}

impl RegistryKey {
    /// The task is not registered: it has never been cold.
    const NONE: RegistryKey = RegistryKey { shard: u16::MAX, index: u32::MAX };
}

#[repr(C)]
pub(super) struct Header {
    /// First, so that a pointer to the link is a pointer to the header.
    pub(super) link: Link,
    pub(super) state: State,
    pub(super) vtable: &'static Vtable,
    pub(super) scheduler: *const (),
    pub(super) id: TaskId,
    /// A [`Home`].
    pub(super) home: AtomicU16,
    registry_key: UnsafeCell<RegistryKey>,
    pub(super) spawned_at: &'static Location<'static>,
    pub(super) join_waker: UnsafeCell<Option<Waker>>,
}

/// Observation adds no byte. loom's atomics are larger, so the check is off there.
const _: () =
    assert!(size_of::<Header>() == 72 || usize::BITS != 64 || size_of::<AtomicU16>() != 2);

/// The functions and numbers that depend on the types of the future and the scheduler.
pub(super) struct Vtable {
    /// Polls the future once, with a waker of that table.
    pub(super) poll: unsafe fn(NonNull<Header>, &'static RawWakerVTable) -> Polled,
    /// Drops the future and stores a cancellation (or the panic of its destructor) as output, with the
    /// reason if there is a particular one.
    pub(super) cancel: unsafe fn(NonNull<Header>, Option<String>),
    /// Moves the output to the `Poll<Result<T, JoinError>>` behind the pointer.
    pub(super) take_output: unsafe fn(NonNull<Header>, *mut ()),
    pub(super) drop_output: unsafe fn(NonNull<Header>),
    pub(super) schedule: unsafe fn(*const (), Hot),
    pub(super) free: unsafe fn(NonNull<Header>),
    /// The name that the task was given.
    pub(super) name: unsafe fn(NonNull<Header>) -> Option<std::sync::Arc<str>>,
    pub(super) type_name: fn() -> &'static str,
    pub(super) future_size: usize,
}

/// The type of a task's future.
#[derive(Clone, Copy)]
pub(crate) struct FutureType(&'static Vtable);

impl FutureType {
    pub(crate) fn name(self) -> &'static str {
        (self.0.type_name)()
    }

    /// Differs between types; one type may have several.
    pub(crate) fn address(self) -> usize {
        ptr::from_ref(self.0).addr()
    }

    /// In bytes.
    pub(crate) fn size(self) -> usize {
        self.0.future_size
    }
}

/// A runnable task. Unique: see cell.rs. Must be run or cancelled; dropping it would leave
/// the task queued nowhere.
#[must_use = "a hot task that is dropped is never run again"]
pub(crate) struct Hot(pub(super) NonNull<Header>);

// SAFETY: a task is made either from a Send future, or by a local scheduler, which moves `Hot`s through
// other threads (a foreign wake) but runs them on its own thread only. Moving the pointer touches
// nothing of the future.
unsafe impl Send for Hot {}

// SAFETY: the link is the header's first field (repr(C)). Pointers are written to it only by the owner of the
// `Hot`, which is the queue while the `Hot` is given away. Other threads read it and take notes out of it,
// which are odd and no pointers.
unsafe impl Linked for Hot {
    fn into_link(self) -> NonNull<Link> {
        self.0.cast()
    }

    unsafe fn from_link(link: NonNull<Link>) -> Self {
        Hot(link.cast())
    }
}

/// A registered task, as the registry sees it: valid while it is registered, because it is unregistered
/// before its live reference is released.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cold(pub(super) NonNull<Header>);

// SAFETY: only the two methods below and `ListEntry::of` in registry.rs follow the pointer. They touch the
// state word and the link, which are atomic, and read what never changes while the task lives and is `Sync`.
unsafe impl Send for Cold {}

impl Cold {
    /// Aborts the task. Returns it if it was cold: the caller has made it hot and must run it.
    ///
    /// # Safety
    ///
    /// The task is registered, and stays so during the call (the caller holds the registry's lock).
    pub(super) unsafe fn cancel(self) -> Option<Hot> {
        // SAFETY: registered, therefore not complete, therefore its live reference keeps the header alive.
        let is_cold = unsafe { self.0.as_ref() }.state.abort() == Wake::Schedule;
        is_cold.then_some(Hot(self.0))
    }

    /// Asks for a traced poll if `wanted` says so of its id. Returns the task if it was cold: the caller has
    /// made it hot and must queue it.
    ///
    /// # Safety
    ///
    /// As for [`Cold::cancel`].
    pub(super) unsafe fn trace(self, wanted: &mut impl FnMut(TaskId) -> bool) -> Option<Hot> {
        // SAFETY: registered, as above.
        let header = unsafe { self.0.as_ref() };
        // What an observer asks for is no wake, and is not measured.
        let is_cold = wanted(header.id)
            && matches!(header.state.trace(), Wake::Schedule | Wake::ScheduleFollowed);
        is_cold.then_some(Hot(self.0))
    }
}

/// A counted reference to a task: what wakers, JoinHandles and AbortHandles are made of.
#[derive(Debug)]
pub(super) struct TaskRef(pub(super) NonNull<Header>);

// SAFETY: a reference gives access to atomics, to immutable fields and to the join slot under the
// protocol in state.rs; it never reaches the future. Outputs are moved by `take_output`, whose callers
// (JoinHandle<T>) are Send only if T is.
unsafe impl Send for TaskRef {}
// SAFETY: as above; all shared mutation is atomic or follows the state protocol.
unsafe impl Sync for TaskRef {}

impl Header {
    /// For a task that has not been polled.
    #[inline]
    pub(super) fn new(
        vtable: &'static Vtable,
        scheduler: *const (),
        spawned_at: &'static Location<'static>,
    ) -> Self {
        Self {
            link: Link::new(),
            state: State::new(),
            vtable,
            scheduler,
            id: TaskId::next(),
            home: AtomicU16::new(Home::NONE.0),
            registry_key: UnsafeCell::new(RegistryKey::NONE),
            spawned_at,
            join_waker: UnsafeCell::new(None),
        }
    }

    /// Which task this is, and where it was spawned.
    #[inline]
    pub(super) fn identity(&self) -> RunningTask {
        RunningTask::new(self.id, self.spawned_at)
    }

    /// Empties the join waker's slot.
    ///
    /// # Safety
    ///
    /// The slot is the caller's: see the table in cell.rs.
    pub(super) unsafe fn take_join_waker(&self) -> Option<Waker> {
        // SAFETY: the caller's promise.
        self.join_waker.with_mut(|slot| unsafe { (*slot).take() })
    }
}

impl Hot {
    pub(super) fn header(&self) -> &Header {
        // SAFETY: a `Hot` exists, so the task is not complete and its live reference keeps the cell alive.
        unsafe { self.0.as_ref() }
    }

    /// The worker that ran the task last, and whether its polls are long. Only a hint.
    #[inline]
    pub(crate) fn home(&self) -> Home {
        // Ordering: Relaxed, a stale hint sends the task to a channel that others empty too.
        Home(self.header().home.load(Ordering::Relaxed))
    }

    /// For the thread that polls the task, or has made it and not yet queued it.
    #[inline]
    pub(crate) fn set_home(&self, home: Home) {
        // Ordering: Relaxed, see `home`; what queues the task or lets it go cold publishes it.
        self.header().home.store(home.0, Ordering::Relaxed);
    }

    /// Which task this is, and where it was spawned.
    #[inline]
    pub(crate) fn identity(&self) -> RunningTask {
        self.header().identity()
    }

    #[inline]
    pub(crate) fn future_type(&self) -> FutureType {
        FutureType(self.header().vtable)
    }

    /// Whether the task is to be cancelled.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.header().state.is_cancelled()
    }

    /// Marks a task that is about to be queued: the time to its next poll is measured, and counts
    /// `stands_for` times. Nothing happens if it is followed already, or is queued to be cancelled or traced.
    pub(crate) fn follow_queued(&self, stands_for: u64) {
        if !self.header().state.is_marked() {
            self.header().state.follow(Some(0));
            followed::ready(self.header().id, stands_for);
        }
    }

    /// Follows the task, whose poll begins, to its next poll. Returns whether it was followed to this one.
    pub(crate) fn follow_polled(&self, number: u32) -> bool {
        self.header().state.follow(Some(number)).is_some()
    }

    /// The task is followed, and about to be queued because it has been woken.
    pub(super) fn ready_followed(&self) {
        let header = self.header();
        if let Some(number) = header.state.followed() {
            followed::ready(header.id, stands_for(number));
        }
    }

    /// The name that the task was given.
    pub(crate) fn name(&self) -> Option<std::sync::Arc<str>> {
        // SAFETY: a `Hot` exists, so the task is not complete and its live reference keeps the cell alive;
        // the table is that of this header.
        unsafe { (self.header().vtable.name)(self.0) }
    }

    /// Queues the task, as a wake does.
    pub(crate) fn schedule(self) {
        let Header { vtable, scheduler, .. } = self.header();
        let (schedule, scheduler) = (vtable.schedule, *scheduler);
        // SAFETY: the task is not complete and cannot become so before this `Hot` has been run: the
        // scheduler is alive.
        unsafe { schedule(scheduler, self) };
    }

    /// Drops the future without polling it, and completes the task as cancelled. The JoinHandle is told why,
    /// if there is a particular reason.
    pub(crate) fn cancel(self, completer: &impl Completer, why: Option<String>) {
        if self.header().state.followed().is_some() {
            followed::ended(self.header().id);
        }
        // SAFETY: we own the `Hot`, so we alone may touch the future.
        unsafe { (self.header().vtable.cancel)(self.0, why) };
        self.complete(completer);
    }

    /// Before the first `pending`: a cold task that is in no queue is reachable through the registry only.
    #[inline]
    pub(super) fn ensure_registered(&self, runner: &impl Runner) {
        self.header().registry_key.with_mut(|key| {
            // SAFETY: the key belongs to the owner of the `Hot`.
            let key = unsafe { &mut *key };
            if *key == RegistryKey::NONE {
                *key = runner.register(Cold(self.0));
            }
        });
    }

    /// The output is stored: hands it over and gives up the live reference.
    pub(super) fn complete(self, completer: &impl Completer) {
        let header = self.header();
        // SAFETY: the key belongs to the owner of the `Hot`.
        let key = header.registry_key.with(|key| unsafe { *key });
        if key != RegistryKey::NONE {
            completer.unregister(key);
            if header.state.is_traced() {
                traced::ended(header.id);
            }
        }
        // Without a JoinHandle the output's destructor is part of the task, so the task is counted as
        // ended after it. If the handle is dropped after this look, the destructor runs here after the task
        // was counted, and `Shared::is_quiet` waits for it because `Slot::running` still names the task.
        let joined = header.state.has_join_handle();
        if joined {
            completer.completed();
        }
        let release = match header.state.complete() {
            Complete::Released(release) => release,
            Complete::WakeJoiner => {
                header.join_waker.with(|waker| {
                    // SAFETY: JOIN_WAKER was set when COMPLETE was, so nothing writes the slot any more.
                    if let Some(waker) = unsafe { &*waker } {
                        // The joiner's waker is user code; its panic is no reason to lose a worker.
                        wakers::guard(|| waker.wake_by_ref());
                    }
                });
                header.state.joiner_woken().unwrap_or_else(|| {
                    // SAFETY: the JoinHandle is gone and has left the slot to us.
                    wakers::drop_all(unsafe { header.take_join_waker() });
                    header.state.release()
                })
            }
            Complete::OutputUnwanted => {
                // SAFETY: no JoinHandle is left, and none can come back: the output is ours.
                unsafe { (header.vtable.drop_output)(self.0) };
                if !joined {
                    completer.completed();
                }
                header.state.complete_detached()
            }
        };
        if release == Released::Free {
            // SAFETY: `Released::Free` is said to one caller only, which owns the cell now.
            unsafe { (header.vtable.free)(self.0) };
        }
    }
}

impl TaskRef {
    pub(super) fn header(&self) -> &Header {
        // SAFETY: a counted reference keeps the cell alive.
        unsafe { self.0.as_ref() }
    }

    /// The waker's data pointer, and back.
    pub(super) fn into_raw(self) -> *const () {
        ManuallyDrop::new(self).0.as_ptr().cast_const().cast()
    }

    /// # Safety
    ///
    /// `data` comes from `into_raw`, and its reference is still counted for as long as the result is used.
    pub(super) unsafe fn from_raw(data: *const ()) -> ManuallyDrop<Self> {
        // SAFETY: `into_raw` never gives null.
        ManuallyDrop::new(TaskRef(unsafe { NonNull::new_unchecked(data.cast_mut().cast()) }))
    }

    pub(super) fn wake(&self) {
        self.woken(self.header().state.wake());
    }

    /// As `wake`, and releases the reference, for one RMW together.
    pub(super) fn wake_owned(self) {
        let this = ManuallyDrop::new(self);
        match this.header().state.wake_owned() {
            Some(wake) => this.woken(wake),
            // SAFETY: `None` is said to one caller only, which owns the cell now.
            None => unsafe { (this.header().vtable.free)(this.0) },
        }
    }

    /// After a wake. The reference may have been released with it: then a task that is not to be scheduled is
    /// only compared.
    #[inline(always)]
    fn woken(&self, wake: Wake) {
        match wake {
            // The wake has just set SCHEDULED, so this makes the `Hot`.
            Wake::Schedule => Hot(self.0).schedule(),
            Wake::ScheduleFollowed => self.schedule_followed(),
            // A task that wakes itself in its poll has yielded: that is how a future that knows no runtime
            // yields.
            Wake::Noted => {
                current::note_wake(self.0.as_ptr().cast_const().cast());
            }
            Wake::Nothing => {}
        }
    }

    pub(super) fn abort(&self) {
        if self.header().state.abort() == Wake::Schedule {
            // As in `woken`: the abort has just set SCHEDULED.
            Hot(self.0).schedule();
        }
    }

    /// The wake has just set SCHEDULED, and the task is followed.
    #[cold]
    #[inline(never)]
    fn schedule_followed(&self) {
        let task = Hot(self.0);
        task.ready_followed();
        task.schedule();
    }

    /// Moves the output out.
    ///
    /// # Safety
    ///
    /// Called by the JoinHandle of a task whose future has the output `T`, and which has seen COMPLETE.
    pub(super) unsafe fn take_output<T>(&self) -> Poll<Result<T, JoinError>> {
        let mut output = Poll::Pending;
        // SAFETY: the caller's promises: after COMPLETE the stage belongs to the JoinHandle, and the type is
        // that of the output.
        unsafe { (self.header().vtable.take_output)(self.0, (&raw mut output).cast()) };
        output
    }
}

impl Clone for TaskRef {
    fn clone(&self) -> Self {
        self.header().state.add_ref();
        TaskRef(self.0)
    }
}

impl Drop for TaskRef {
    fn drop(&mut self) {
        if self.header().state.release() == Released::Free {
            // SAFETY: `Released::Free` is said to one caller only, which owns the cell now.
            unsafe { (self.header().vtable.free)(self.0) };
        }
    }
}
