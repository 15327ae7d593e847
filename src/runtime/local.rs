//! Tasks that stay on one thread: they need not be `Send`, and may borrow from the executor's owner.
//!
//! The cell, the waker and the JoinHandle are those of the multithreaded scheduler; only the queue is
//! another (`local/queue.rs`). A foreign thread may wake a local task: that moves a pointer into the queue's
//! inbox and no more. Futures are polled and dropped by [`LocalExecutor`] alone, which cannot leave its
//! thread, unless all of them are `Send` ([`SendExecutor`]).
//!
//! # Why a leaked waker is harmless
//!
//! A waker refers to the task's cell, never to the future's type. The executor's drop drops every future, on
//! its own thread and before the lifetime `'a` ends; afterwards a waker finds a complete task. If the
//! executor itself is leaked (`mem::forget`), its tasks are never polled or dropped again, so they never
//! touch what they borrowed. `'a` is invariant: an executor for long-lived tasks cannot be made to look like
//! one for short-lived ones, which it would outlive. Model `the_drop_waits_for_a_foreign_wake`.
#![allow(unsafe_code)]

mod queue;
mod root;
mod run;
mod settled;
mod unplaced;

use super::door::boxed_if_large;
use super::local_thread::{EXECUTOR, LISTED_BY, ListedBy, Runs, in_local, running};
use super::panics;
use crate::engine::scoped::Scoped;
use crate::engine::sync_shim::atomic::{AtomicU64, Ordering};
use crate::engine::sync_shim::{Arc, thread};
use crate::engine::task::cell::{new_send_task, new_task};
use crate::engine::task::current::Running;
use crate::engine::task::header::{Cold, Completer, Hot, RegistryKey, Runner, Schedule, TaskHooks};
use crate::engine::task::origin::Origin;
use crate::engine::task::registry::{ListEntry, Registry};
use crate::engine::task::{JoinHandle, RunningTask, TaskId};
use crate::impls::{impl_debug, impl_default};
use queue::{AtHome, Home, Next, Queue, TASKS, Visit};
use run::Run;
use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::panic::Location;
use std::pin::{Pin, pin};
use std::ptr;
use std::rc::Rc;
use std::sync::OnceLock;
use std::task::{Context, Poll};

pub(crate) use settled::Settled;
pub(super) use unplaced::Unplaced;

/// How many tasks one poll of [`LocalExecutor::run`] runs before it lets its thread poll whatever else
/// it has, and the driver have a turn. tokio's current-thread interval is of the same size.
const TURN: usize = 61;

/// How often in one such poll tasks that have yielded run again at most, while nothing else is ready.
/// After each poll comes a look at the driver, a system call that costs as much as twenty of theirs.
const AGAIN: usize = 8;

/// Runs tasks that need not be `Send` and may borrow from the caller.
///
/// The executor runs its tasks only while [`LocalExecutor::run`] or [`LocalExecutor::run_until_completion`]
/// is being polled. Dropping it drops the tasks that are left.
///
/// # Examples
///
/// ```
/// use std::cell::RefCell;
/// # liten::block_on(async {
/// let log = RefCell::new(Vec::new());
/// let executor = liten::task::LocalExecutor::new();
/// for number in [1, 2] {
///     let log = &log;
///     executor.spawn(async move {
///         log.borrow_mut().push(number);
///     });
/// }
/// executor.run_until_completion().await;
/// assert_eq!(*log.borrow(), [1, 2]);
/// # });
/// ```
pub struct LocalExecutor<'a> {
    shared: Arc<LocalShared>,
    /// How many calls of `run_until_completion` wait.
    waiting: Cell<usize>,
    /// `spawn_local` finds it while it runs.
    is_lent: bool,
    /// How often tasks that have yielded run again before the next look at the driver. Nothing but them has
    /// run for a while if it is more than 0: the longer, the less the driver is likely to have anything.
    again: Cell<usize>,
    /// Those that look at a runtime find it, as the runtime's own or in the list of `watched.rs`.
    is_listed: Cell<bool>,
    /// Invariant in `'a`, and on one thread: see the header.
    tasks: PhantomData<(Cell<&'a ()>, Rc<()>)>,
}

impl<'a> LocalExecutor<'a> {
    /// Returns an executor without tasks.
    pub fn new() -> Self {
        let executor = Self::of_runtime();
        executor.is_listed.set(false);
        executor.list();
        executor
    }

    /// As [`LocalExecutor::new`], for a runtime that shows it as its own.
    pub(super) fn of_runtime() -> Self {
        panics::watch();
        Self::of(Arc::new(LocalShared::new()))
    }

    /// Shows the executor to those that look at the current runtime, if there is one, and once.
    fn list(&self) {
        let list = |by: &ListedBy| (by.list)(&self.shared);
        self.is_listed.set(self.is_listed.get() || LISTED_BY.get().is_some_and(list));
    }

    fn of(shared: Arc<LocalShared>) -> Self {
        Self {
            shared,
            waiting: Cell::new(0),
            is_lent: true,
            again: Cell::new(0),
            is_listed: Cell::new(true),
            tasks: PhantomData,
        }
    }

    pub(crate) fn shared(&self) -> &Arc<LocalShared> {
        &self.shared
    }

    /// Starts a task. It runs when [`LocalExecutor::run`] or [`LocalExecutor::run_until_completion`] is
    /// polled next.
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'a,
        F::Output: 'a,
    {
        let origin = Location::caller();
        boxed_if_large!(task future: F, origin => self.spawn_at(future, origin))
    }

    /// As [`LocalExecutor::spawn`], on behalf of another caller.
    pub(crate) fn spawn_at<F>(&self, future: F, origin: impl Origin) -> JoinHandle<F::Output>
    where
        F: Future<Output: 'a> + 'a,
    {
        // SAFETY: this executor polls and drops its tasks on this thread only, as it is neither Send nor
        // Sync: `Hot`s are run in `turn` and in `drop`, both called through it (`LocalShared` itself
        // never runs one). Its drop completes all tasks before 'a ends, because 'a outlives the executor
        // (it has a destructor). The output type keeps its lifetime in JoinHandle<F::Output>.
        let (hot, join) = unsafe { new_task(future, &self.shared, origin) };
        self.shared.push_new(self.home(), hot);
        join
    }

    fn home(&self) -> Home<'_> {
        // SAFETY: this is neither Send nor Sync, so code that has a reference runs on the executor's thread,
        // for as long as it has it.
        unsafe { self.shared.queue.home() }
    }

    /// Says that this thread polls or drops tasks of this executor, until the result is dropped:
    /// `spawn_local` finds the executor then, if it may.
    fn inside(&self) -> impl Sized {
        // SAFETY: the result borrows the executor, and its callers, all of them in this module, keep it in a
        // variable until they return.
        let lent = self.is_lent.then(|| unsafe { Scoped::lend(&EXECUTOR, self.unborrowed()) });
        // SAFETY: as above, and as in `home`.
        (unsafe { self.shared.queue.at_home() }, in_local(), lent)
    }

    /// As [`inside`](Self::inside), during the poll of a visit, which ends with a turn unless the visit ends
    /// with it.
    fn polling(&self) -> impl Sized {
        (self.inside(), self.home().polling())
    }

    /// This executor, as one whose tasks borrow nothing: for `spawn_local`, which knows no lifetime.
    fn unborrowed(&self) -> &LocalExecutor<'static> {
        // SAFETY: the lifetime is that of a `PhantomData`, so both types have one layout. What is spawned
        // through the result is `'static`, and so lives as long as any `'a` asks for; the result itself lives
        // no longer than this borrow.
        unsafe { &*ptr::from_ref(self).cast() }
    }

    /// Calls `f` on the thread of this executor's runtime, where `spawn_local` finds the executor.
    // One function less in the backtraces of debug builds: tests/it/scheduler/stack_frames.rs.
    #[inline(always)]
    pub(super) fn lend<R>(&self, f: impl FnOnce() -> R) -> R {
        let _runs = running(&self.shared);
        // SAFETY: as in `home`; it is dropped when this returns, and `f` borrows the executor until then.
        let _home = unsafe { self.shared.queue.at_home() };
        Scoped::set(&EXECUTOR, self.unborrowed(), f)
    }

    /// Runs `future` and, whenever it waits, the tasks; returns the future's output.
    ///
    /// In the future and in the tasks, [`spawn_local`](crate::task::spawn_local) adds tasks to this executor,
    /// not to that of the runtime around it. Tasks that are left run on at the next call. Several calls may
    /// run side by side.
    ///
    /// # Cancel safety
    ///
    /// Dropping the returned future drops `future`; the tasks stay in the executor.
    ///
    /// # Examples
    ///
    /// ```
    /// use liten::task::{LocalExecutor, spawn_local};
    /// use std::rc::Rc;
    ///
    /// // On a worker of a multithreaded runtime, or on any other thread.
    /// # liten::block_on(async {
    /// let executor = LocalExecutor::new();
    /// let kept = Rc::new(1);
    /// let sum = executor.run(async {
    ///     let theirs = kept.clone();
    ///     spawn_local(async move { *theirs + 1 }).await.unwrap() + *kept
    /// });
    /// assert_eq!(sum.await, 3);
    /// # });
    /// ```
    pub fn run<F: Future>(&self, future: F) -> impl Future<Output = F::Output> {
        Run::new(self, future)
    }

    /// Runs the tasks; returns when none is alive, those included that were spawned meanwhile.
    ///
    /// In the tasks, [`spawn_local`](crate::task::spawn_local) adds tasks to this executor. Calls of this and
    /// of [`LocalExecutor::run`] may run side by side. A task of this executor must not wait for it: it would
    /// wait for itself.
    ///
    /// # Cancel safety
    ///
    /// Dropping the returned future changes nothing: the tasks stay in the executor.
    ///
    /// # Examples
    ///
    /// ```
    /// use liten::task::LocalExecutor;
    /// use std::cell::Cell;
    ///
    /// let count = Cell::new(0);
    /// let executor = LocalExecutor::new();
    /// for _ in 0..3 {
    ///     executor.spawn(async {
    ///         liten::task::yield_now().await;
    ///         count.set(count.get() + 1);
    ///     });
    /// }
    /// liten::block_on(executor.run_until_completion());
    /// assert_eq!(count.get(), 3);
    /// ```
    pub async fn run_until_completion(&self) {
        self.list();
        let visit = pin!(Visit::new(self.home()));
        let waits = Waits::begin(self);
        poll_fn(|cx| {
            let _polling = self.polling();
            self.turn(visit.as_ref(), cx, || false);
            if self.shared.alive_tasks() == 0 { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        drop(waits);
        self.tell_completion();
    }

    /// After a turn in which the last task may have ended: wakes the calls that wait for that. What they have
    /// left their wakers for is a push, and there was none. Not after a turn that began without a task: this
    /// wakes the caller too, which would come back for ever while one of the others is not polled.
    fn tell_completion(&self) {
        if self.waiting.get() != 0 && self.shared.alive_tasks() == 0 {
            self.home().wake_idle();
        }
    }

    /// Runs the tasks until [`LocalShared::close`]; calls `idle` whenever none is alive.
    pub(super) async fn run_until_closed(&self, idle: impl Fn()) {
        let visit = pin!(Visit::new(self.home()));
        poll_fn(|cx| {
            let polling = self.polling();
            self.turn(visit.as_ref(), cx, || false);
            drop(polling);
            // After the turn has left the waker, which `close` calls.
            if self.shared.queue.is_closed() {
                return Poll::Ready(());
            }
            if self.shared.alive_tasks() == 0 {
                idle();
            }
            Poll::Pending
        })
        .await
    }

    /// Runs up to [`TURN`] tasks; asks for another poll if there are more.
    ///
    /// Tasks that have yielded run again when nothing else is ready, and `is_root_woken` says that the root
    /// is not either; and not before the driver has had its turn if anything but them has run since its last.
    fn turn(&self, visit: Pin<&Visit<'_>>, cx: &Context<'_>, is_root_woken: impl Fn() -> bool) {
        let runner = Here { shared: &self.shared, home: self.home() };
        let mut rounds = 0;
        visit.begin();
        for _ in 0..TURN {
            match visit.next(cx) {
                Next::Task(task) => {
                    self.shared.running.begin(task.identity());
                    task.run(&runner);
                    self.shared.running.end();
                }
                Next::Idle => return,
                Next::Yielded if is_root_woken() || self.ends_round(rounds) => break,
                Next::Yielded => {
                    rounds += 1;
                    visit.begin();
                }
            }
        }
        cx.waker().wake_by_ref();
    }

    /// Whether the driver's turn comes after `rounds` rounds of tasks that have yielded.
    fn ends_round(&self, rounds: usize) -> bool {
        let again = self.again.get();
        if self.home().take_news() {
            self.again.set(0);
        } else if rounds < again {
            return false;
        } else {
            self.again.set((2 * again + 1).min(AGAIN));
        }
        true
    }
}

/// A call of `run_until_completion` that has not returned.
struct Waits<'a>(&'a Cell<usize>);

impl<'a> Waits<'a> {
    fn begin(executor: &'a LocalExecutor<'_>) -> Self {
        executor.waiting.set(executor.waiting.get() + 1);
        Self(&executor.waiting)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

impl_default!([] LocalExecutor<'_>);

impl_debug!([] LocalExecutor<'_>, this => "LocalExecutor" { alive: this.shared.alive_tasks(), .. });

impl Drop for LocalExecutor<'_> {
    fn drop(&mut self) {
        if let Some(by) = LISTED_BY.get().filter(|_| self.is_listed.get()) {
            (by.forget)(&self.shared);
        }
        self.shared.queue.close();
        if !TASKS.is_noted() {
            return;
        }
        let cancel = |task: Hot| {
            self.shared.running.begin(task.identity());
            task.cancel(&Here { shared: &self.shared, home: self.home() }, None);
            self.shared.running.end();
        };
        // The destructor of a task may call `spawn_local`, which would panic in it without an executor. What
        // it spawns is registered as aborted, and cancelled by the loop.
        let _inside = self.inside();
        self.shared.registry.close().into_iter().for_each(cancel);
        // What is alive and not in the queue is in the hands of a thread that is in the middle of waking it:
        // it has set SCHEDULED and is a few instructions from the push. The borrow 'a ends here, so it has to
        // be waited for.
        while self.shared.alive_tasks() != 0 {
            self.home().fetch();
            match self.home().pop() {
                Some(task) => cancel(task),
                None => thread::yield_now(),
            }
        }
    }
}

/// An executor of `Send` tasks: one thread after the other may run them.
///
/// Only [`LocalShared::spawn_send`] gives it tasks. It hands its `LocalExecutor` to no other code, and
/// `spawn_local` does not find it.
pub(super) struct SendExecutor(LocalExecutor<'static>);

// SAFETY: what keeps a `LocalExecutor` on its thread is that its tasks, and their outputs, need not be Send;
// here they are. It is not Sync, so one thread at a time reaches the own half of the queue and the counts
// that have one writer, and what moves it to the next thread (a lock) orders the two. What a thread knows
// about it (`Runs`, `AtHome`) it forgets before it lets go: `Placed`, which is not Send, has both.
unsafe impl Send for SendExecutor {}

impl SendExecutor {
    pub(super) fn new() -> Self {
        let mut executor = LocalExecutor::of_runtime();
        executor.is_lent = false;
        Self(executor)
    }

    pub(super) fn shared(&self) -> &Arc<LocalShared> {
        self.0.shared()
    }

    /// Says that the calling thread runs the tasks, until the result is dropped.
    pub(super) fn place(self) -> Placed {
        let Self(executor) = self;
        // SAFETY: this is the thread that has the executor, which lies beside the result: it is dropped after
        // that, or leaked with it.
        let home = unsafe { executor.shared.queue.at_home() };
        Placed { runs: running(&executor.shared), home, executor }
    }
}

/// A [`SendExecutor`] on the thread that runs its tasks. It stays there.
pub(super) struct Placed {
    // Both are dropped before the executor.
    runs: Runs,
    home: AtHome,
    executor: LocalExecutor<'static>,
}

impl Placed {
    /// As [`LocalExecutor::run`].
    pub(super) fn run<F: Future>(&self, future: F) -> impl Future<Output = F::Output> {
        self.executor.run(future)
    }

    /// From here on the calling thread does not run the tasks, and another one may.
    pub(super) fn leave(self) -> SendExecutor {
        let Self { runs, home, executor } = self;
        drop((runs, home));
        SendExecutor(executor)
    }
}

/// A task that came after the end: the caller that has spawned it has to cancel it, without holding a lock.
#[must_use = "it has to be cancelled"]
pub(super) struct Refused(Hot);

impl Refused {
    pub(super) fn cancel(self) {
        // Never counted: the executor does not wait for it.
        self.0.cancel(&Late, None);
    }
}

/// What the wakers of local tasks reach.
pub(crate) struct LocalShared {
    queue: Queue,
    registry: Registry,
    /// On the executor's thread, which alone writes it.
    spawned_here: AtomicU64,
    /// Changed by `admit` only, under the lock of the queue's inbox.
    spawned_beside: AtomicU64,
    /// Written by the executor's thread alone.
    completed: AtomicU64,
    /// The task that the executor's thread runs.
    running: Running,
    /// Set before the first task is spawned, or never.
    task_hooks: OnceLock<Box<dyn TaskHooks>>,
}

/// Counts, where no other thread does: a load and a store cost a tenth of a read-modify-write.
fn add_one(count: &AtomicU64, store: Ordering) {
    // Ordering: Relaxed for the own count; what the store needs is the caller's business.
    count.store(count.load(Ordering::Relaxed) + 1, store);
}

impl LocalShared {
    fn new() -> Self {
        Self {
            queue: Queue::new(),
            registry: Registry::new(),
            spawned_here: AtomicU64::new(0),
            spawned_beside: AtomicU64::new(0),
            completed: AtomicU64::new(0),
            running: Running::new(),
            task_hooks: OnceLock::new(),
        }
    }

    /// Says what is called for each task. Before the first is spawned.
    pub(super) fn set_task_hooks(&self, hooks: Box<dyn TaskHooks>) {
        assert!(self.task_hooks.set(hooks).is_ok(), "set once");
    }

    /// Starts a task from any thread. It is cancelled at once if the executor is gone.
    pub(super) fn spawn_send<F>(
        self: &Arc<Self>,
        future: F,
        origin: impl Origin,
    ) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let (hot, join) = new_send_task(future, self, origin);
        if Queue::is_home(&self.queue) {
            // SAFETY: as in `schedule_here`.
            let home = unsafe { self.queue.home() };
            self.push_new(home, hot);
        } else if let Err(refused) = self.admit(hot) {
            // The future is Send, so this thread may drop it.
            refused.cancel();
        }
        join
    }

    /// Starts, from any thread, a task that `make` makes on the executor's thread.
    pub(super) fn spawn_made<F, Fut>(
        self: &Arc<Self>,
        make: F,
        spawned_at: &'static Location<'static>,
    ) -> JoinHandle<Fut::Output>
    where
        F: FnOnce() -> Fut + Send + 'static,
        Fut: Future<Output: Send + 'static> + 'static,
    {
        let (join, refused) = self.queue_made(make, spawned_at);
        if let Some(refused) = refused {
            refused.cancel();
        }
        join
    }

    /// As [`LocalShared::spawn_made`], for a caller that holds a lock: a task that is refused is returned.
    pub(super) fn queue_made<F, Fut>(
        self: &Arc<Self>,
        make: F,
        spawned_at: &'static Location<'static>,
    ) -> (JoinHandle<Fut::Output>, Option<Refused>)
    where
        F: FnOnce() -> Fut + Send + 'static,
        Fut: Future<Output: Send + 'static> + 'static,
    {
        let future = async move { make().await };
        // SAFETY: until its first poll the future holds `make` alone, which is Send: any thread may
        // refuse or cancel it before. It is polled by the executor only, on its own thread (see
        // `LocalExecutor::spawn_at`), and dropped there from then on. The output is Send, so its JoinHandle
        // may be on another thread. All of it is 'static.
        let (hot, join) = unsafe { new_task(future, self, spawned_at) };
        (join, self.admit(hot).err())
    }

    /// Queues a new task on the executor's thread, which `home` shows to be this one.
    #[inline]
    fn push_new(&self, home: Home<'_>, hot: Hot) {
        TASKS.note();
        // Ordering: Relaxed, read on this thread or, by others, after `completed` of the same task.
        add_one(&self.spawned_here, Ordering::Relaxed);
        home.push(hot);
    }

    /// Queues a new task that need not come from the executor's thread.
    fn admit(&self, hot: Hot) -> Result<(), Refused> {
        TASKS.note();
        // Ordering: Relaxed; counted under the lock that the executor's drop takes before it counts.
        let count = || add_one(&self.spawned_beside, Ordering::Relaxed);
        self.queue.admit(hot, count).map_err(Refused)
    }

    /// Takes no more tasks from other threads, and ends [`LocalExecutor::run_until_closed`].
    pub(super) fn close(&self) {
        self.queue.close_and_tell();
    }

    pub(super) fn spawned_tasks(&self) -> u64 {
        // Ordering: Relaxed, after the Acquire of `alive_tasks`, or under the lock of `Pinned`.
        self.spawned_here.load(Ordering::Relaxed) + self.spawned_beside.load(Ordering::Relaxed)
    }

    pub(crate) fn running_task(&self) -> Option<RunningTask> {
        self.running.read()
    }

    /// How many polls of tasks there have been.
    pub(crate) fn polls(&self) -> u64 {
        self.running.polls()
    }

    pub(crate) fn alive_tasks(&self) -> u64 {
        // Ordering: Acquire pairs with `completed`; completions first, see scheduler/shared.rs.
        let completed = self.completed.load(Ordering::Acquire);
        self.spawned_tasks().saturating_sub(completed)
    }

    /// For other threads: whether no task is alive, and each JoinHandle knows. See scheduler/shared.rs.
    pub(super) fn is_quiet(&self) -> bool {
        self.alive_tasks() == 0 && self.running.is_between_polls()
    }

    /// Puts tasks that have been cold into `list`: see [`Registry::list`].
    pub(crate) fn list_tasks(
        &self,
        from: usize,
        marks: bool,
        list: &mut Vec<ListEntry>,
    ) -> Option<usize> {
        self.registry.list(from, marks, list)
    }

    /// Asks tasks that have been cold for a traced poll: see [`Registry::trace`].
    pub(crate) fn trace_tasks(&self, wanted: &mut impl FnMut(TaskId) -> bool) {
        self.registry.trace(wanted);
    }

    pub(super) fn cold_tasks(&self) -> usize {
        self.registry.len()
    }

    /// How many tasks other threads have spawned or woken.
    pub(crate) fn sent_tasks(&self) -> u64 {
        self.queue.came()
    }

    pub(crate) fn queued_tasks(&self) -> [usize; 2] {
        self.queue.lengths()
    }
}

// SAFETY: the executor's drop completes all tasks while it holds an `Arc<LocalShared>`; a leaked
// executor leaks that `Arc`; a task that a `Handle` spawns later is cancelled by its spawner.
unsafe impl Schedule for LocalShared {
    fn task_hooks(&self) -> Option<&dyn TaskHooks> {
        self.task_hooks.get().map(|hooks| &**hooks)
    }

    fn schedule_here(address: *const Self, task: Hot) -> Result<(), Hot> {
        // SAFETY: the place is only computed. The task is alive, and with it its scheduler.
        if !Queue::is_home(unsafe { &raw const (*address).queue }) {
            return Err(task);
        }
        // SAFETY: the thread has an `AtHome` for this queue: the executor lives, and on this thread.
        unsafe { (*address).queue.home() }.push(task);
        Ok(())
    }

    fn schedule_from_anywhere(self: Arc<Self>, task: Hot) {
        self.queue.send(task);
    }
}

/// The executor, as its own thread sees it while it runs or cancels tasks.
struct Here<'a> {
    shared: &'a LocalShared,
    home: Home<'a>,
}

impl Completer for Here<'_> {
    fn unregister(&self, key: RegistryKey) {
        self.shared.registry.remove(key.index);
    }

    fn completed(&self) {
        // Ordering: Release pairs with `alive_tasks`.
        add_one(&self.shared.completed, Ordering::Release);
    }
}

impl Runner for Here<'_> {
    fn register(&self, task: Cold) -> RegistryKey {
        RegistryKey { shard: 0, index: self.shared.registry.insert(task) }
    }

    fn requeue(&self, task: Hot) {
        self.home.push(task);
    }

    fn yielded(&self, task: Hot) {
        self.home.yielded(task);
    }

    fn home_worker(&self) -> u16 {
        0
    }
}

/// Completes a task that came too late to be counted.
struct Late;

impl Completer for Late {
    fn unregister(&self, _: RegistryKey) {
        unreachable!("a task that was never polled is not registered")
    }

    fn completed(&self) {}
}

#[cfg(all(test, liten_loom))]
mod loom;
#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;
