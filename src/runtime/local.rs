//! Tasks that stay on one thread: they need not be `Send`, and may borrow from whoever made the executor.
//!
//! The cell, the waker and the JoinHandle are those of the multithreaded scheduler; only the queue is
//! another. It is one locked queue, because a foreign thread may wake a local task: that moves a pointer
//! into the queue and no more. Futures are polled and dropped by [`LocalExecutor`] alone, which cannot
//! leave its thread.
//!
//! # Why a leaked waker is harmless
//!
//! A waker refers to the task's cell, never to the future's type. The executor's drop drops every future, on
//! its own thread and before the lifetime `'a` ends; afterwards a waker finds a complete task. If the
//! executor itself is leaked (`mem::forget`), its tasks are never polled or dropped again, so they never
//! touch what they borrowed. `'a` is invariant: an executor for long-lived tasks cannot be made to look like
//! one for short-lived ones, which it would outlive. Model `the_drop_waits_for_a_foreign_wake`.
#![allow(unsafe_code)]

use super::local_thread::in_local;
use crate::sync_shim::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync_shim::{Arc, Mutex, MutexGuard, Used, thread};
use crate::task::cell::{Cold, Ender, Hot, Place, Runner, Schedule, new_send_task, new_task};
use crate::task::registry::Registry;
use crate::task::running::Running;
use crate::task::{JoinHandle, RunningTask};
use crate::wakers;
use std::cell::Cell;
use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::panic::Location;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc as StdArc;
use std::task::{Context, Poll, Wake, Waker};

/// How many tasks one poll of [`LocalExecutor::run`] runs before it gives way to whatever else its
/// thread polls, and to the driver. tokio's current-thread interval is of the same size.
const TURN: usize = 61;

/// Noted before a task is pushed: until then no executor has one.
static TASKS: Used = Used::new();

/// Runs tasks that need not be `Send` and may borrow from the caller.
///
/// The executor runs its tasks only while [`LocalExecutor::run`] is being polled. Dropping it drops the
/// tasks that are left.
///
/// # Examples
///
/// ```
/// use std::cell::RefCell;
/// # liten::block_on(async {
/// let log = RefCell::new(Vec::new());
/// let executor = liten::task::LocalExecutor::new();
/// let one = executor.spawn(async { log.borrow_mut().push(1) });
/// let two = executor.spawn(async { log.borrow_mut().push(2) });
/// executor.run(async { (one.await.unwrap(), two.await.unwrap()) }).await;
/// assert_eq!(*log.borrow(), [1, 2]);
/// # });
/// ```
pub struct LocalExecutor<'a> {
    shared: Arc<LocalShared>,
    /// Invariant in `'a`, and on one thread: see the header.
    tasks: PhantomData<(Cell<&'a ()>, Rc<()>)>,
}

impl<'a> LocalExecutor<'a> {
    /// Returns an executor without tasks.
    pub fn new() -> Self {
        Self { shared: Arc::new(LocalShared::new()), tasks: PhantomData }
    }

    pub(super) fn shared(&self) -> &Arc<LocalShared> {
        &self.shared
    }

    /// Starts a task. It runs when [`LocalExecutor::run`] is polled next.
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'a,
        F::Output: 'a,
    {
        self.spawn_at(future, Location::caller())
    }

    /// As [`LocalExecutor::spawn`], on behalf of whoever is at `spawned_at`.
    pub(crate) fn spawn_at<F>(
        &self,
        future: F,
        spawned_at: &'static Location<'static>,
    ) -> JoinHandle<F::Output>
    where
        F: Future + 'a,
        F::Output: 'a,
    {
        // SAFETY: this executor polls and drops its tasks on this thread only, as it is neither Send nor
        // Sync: `Hot`s are run in `turn` and in `drop`, both called through it (`LocalShared` itself
        // never runs one). Its drop completes all tasks before 'a ends, because 'a outlives the executor
        // (it has a destructor). The output type keeps its lifetime in JoinHandle<F::Output>.
        let (hot, join) = unsafe { new_task(future, &self.shared, spawned_at) };
        TASKS.note();
        // Ordering: Relaxed, read on this thread or after the queue's lock.
        self.shared.spawned.fetch_add(1, Ordering::Relaxed);
        self.shared.push(hot);
        join
    }

    /// Runs `future` and, whenever it waits, the tasks; returns the future's output.
    ///
    /// Tasks that are left run on at the next call. Several calls may run side by side.
    ///
    /// # Cancel safety
    ///
    /// Dropping the returned future drops `future`; the tasks stay in the executor.
    pub async fn run<F: Future>(&self, future: F) -> F::Output {
        let visit = Visit::new(&self.shared);
        let mut root = None;
        let mut future = pin!(future);
        poll_fn(|cx| {
            in_local(|| {
                let polled = if TASKS.is_noted() {
                    let root = root.get_or_insert_with(Root::new);
                    root.poll(future.as_mut(), cx)
                } else {
                    // Whoever wakes this wakes the root. Once there are tasks it is polled again, with a
                    // waker of its own.
                    future.as_mut().poll(cx)
                };
                if polled.is_ready() {
                    return polled;
                }
                self.turn(&visit, cx);
                Poll::Pending
            })
        })
        .await
    }

    /// Runs the tasks; returns when none is alive.
    pub(super) async fn drain(&self) {
        let visit = Visit::new(&self.shared);
        poll_fn(|cx| {
            in_local(|| {
                self.turn(&visit, cx);
                if self.shared.alive_tasks() == 0 { Poll::Ready(()) } else { Poll::Pending }
            })
        })
        .await;
    }

    /// Runs the tasks until [`LocalShared::close`]; calls `idle` whenever none is alive.
    pub(super) async fn run_until_closed(&self, idle: impl Fn()) {
        let visit = Visit::new(&self.shared);
        poll_fn(|cx| {
            in_local(|| self.turn(&visit, cx));
            // After the turn has left the waker, which `close` calls.
            if self.shared.queue.lock().closed {
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
    fn turn(&self, visit: &Visit<'_>, cx: &Context<'_>) {
        for _ in 0..TURN {
            match visit.pop(cx.waker()) {
                Some(task) => {
                    self.shared.running.begin(&task);
                    task.run(&*self.shared);
                    self.shared.running.end();
                }
                None => return,
            }
        }
        cx.waker().wake_by_ref();
    }
}

impl Default for LocalExecutor<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for LocalExecutor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalExecutor")
            .field("alive", &self.shared.alive_tasks())
            .finish_non_exhaustive()
    }
}

impl Drop for LocalExecutor<'_> {
    fn drop(&mut self) {
        self.shared.queue.lock().closed = true;
        if !TASKS.is_noted() {
            return;
        }
        let cancel = |task: Hot| {
            self.shared.running.begin(&task);
            task.cancel(&*self.shared);
            self.shared.running.end();
        };
        in_local(|| {
            self.shared.registry.close().into_iter().for_each(cancel);
            // What is alive and not in the queue is in the hands of a thread that is in the middle of
            // waking it: it has set SCHEDULED and is a few instructions from the push. The borrow 'a
            // ends here, so it has to be waited for.
            while self.shared.alive_tasks() != 0 {
                let task = self.shared.queue.lock().hot.pop_front();
                match task {
                    Some(task) => cancel(task),
                    None => thread::yield_now(),
                }
            }
        });
    }
}

/// An executor that has no thread yet. Tasks can be queued for it; dropped, it cancels them.
pub(super) struct Unplaced(Option<Arc<LocalShared>>);

impl Unplaced {
    pub(super) fn new() -> Self {
        Self(Some(Arc::new(LocalShared::new())))
    }

    pub(super) fn shared(&self) -> &Arc<LocalShared> {
        self.0.as_ref().expect("taken by `place` and drop only")
    }

    /// The calling thread becomes the executor's, for good.
    pub(super) fn place(mut self) -> LocalExecutor<'static> {
        let shared = self.0.take().expect("taken here and by drop only");
        LocalExecutor { shared, tasks: PhantomData }
    }
}

impl Drop for Unplaced {
    fn drop(&mut self) {
        // Nothing has been polled: whatever is queued may be dropped on any thread.
        drop(self.0.take().map(|shared| LocalExecutor::<'static> { shared, tasks: PhantomData }));
    }
}

/// A task that came after the end: to be cancelled by who has spawned it, without a lock.
#[must_use = "it has to be cancelled"]
pub(super) struct Refused(Hot);

impl Refused {
    pub(super) fn cancel(self) {
        // Never counted: the executor does not wait for it.
        self.0.cancel(&Late);
    }
}

/// What the wakers of local tasks reach.
pub(crate) struct LocalShared {
    queue: Mutex<Queue>,
    registry: Registry,
    spawned: AtomicU64,
    completed: AtomicU64,
    /// The task that the executor's thread runs.
    running: Running,
}

struct Queue {
    hot: VecDeque<Hot>,
    /// Who polls `run` and found nothing to do, by the number of its visit. Usually one.
    idle: Vec<(u64, Waker)>,
    visits: u64,
    /// Set when the executor is dropped: nothing is spawned any more.
    closed: bool,
}

impl LocalShared {
    fn new() -> Self {
        Self {
            queue: Mutex::new(Queue {
                hot: VecDeque::new(),
                idle: Vec::new(),
                visits: 0,
                closed: false,
            }),
            registry: Registry::new(),
            spawned: AtomicU64::new(0),
            completed: AtomicU64::new(0),
            running: Running::new(),
        }
    }

    /// Starts a task from any thread. It is cancelled at once if the executor is gone.
    #[track_caller]
    pub(super) fn spawn_send<F>(self: &Arc<Self>, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let (hot, join) = new_send_task(future, self, Location::caller());
        if let Err(refused) = self.admit(hot) {
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
        Fut: Future + 'static,
        Fut::Output: Send + 'static,
    {
        let (join, refused) = self.queue_made(make, spawned_at);
        if let Some(refused) = refused {
            refused.cancel();
        }
        join
    }

    /// As [`LocalShared::spawn_made`], for who holds a lock: what is refused comes back.
    pub(super) fn queue_made<F, Fut>(
        self: &Arc<Self>,
        make: F,
        spawned_at: &'static Location<'static>,
    ) -> (JoinHandle<Fut::Output>, Option<Refused>)
    where
        F: FnOnce() -> Fut + Send + 'static,
        Fut: Future + 'static,
        Fut::Output: Send + 'static,
    {
        let future = async move { make().await };
        // SAFETY: until its first poll the future holds `make` alone, which is Send: whoever refuses or
        // cancels it before may be any thread. It is polled by the executor only, on its own thread (see
        // `LocalExecutor::spawn_at`), and dropped there from then on. The output is Send, so its JoinHandle
        // may be on another thread. All of it is 'static.
        let (hot, join) = unsafe { new_task(future, self, spawned_at) };
        (join, self.admit(hot).err())
    }

    /// Queues a new task that need not come from the executor's thread.
    fn admit(&self, hot: Hot) -> Result<(), Refused> {
        TASKS.note();
        let mut queue = self.queue.lock();
        if queue.closed {
            return Err(Refused(hot));
        }
        // Ordering: Relaxed; counted under the lock that the executor's drop takes before it counts.
        self.spawned.fetch_add(1, Ordering::Relaxed);
        queue.hot.push_back(hot);
        self.wake_idle(queue);
        Ok(())
    }

    /// Takes no more tasks from other threads, and ends [`LocalExecutor::run_until_closed`].
    pub(super) fn close(&self) {
        let mut queue = self.queue.lock();
        queue.closed = true;
        self.wake_idle(queue);
    }

    pub(super) fn spawned_tasks(&self) -> u64 {
        // Ordering: Relaxed, read under the lock under which it is counted, or after `alive_tasks`.
        self.spawned.load(Ordering::Relaxed)
    }

    pub(super) fn running_task(&self) -> Option<RunningTask> {
        self.running.read()
    }

    pub(super) fn alive_tasks(&self) -> u64 {
        // Ordering: Acquire pairs with `completed`; completions first, see scheduler/shared.rs.
        let completed = self.completed.load(Ordering::Acquire);
        self.spawned.load(Ordering::Relaxed).saturating_sub(completed)
    }

    pub(super) fn cold_tasks(&self) -> usize {
        self.registry.len()
    }

    pub(super) fn queued_tasks(&self) -> usize {
        self.queue.lock().hot.len()
    }

    fn push(&self, task: Hot) {
        let mut queue = self.queue.lock();
        queue.hot.push_back(task);
        self.wake_idle(queue);
    }

    /// Wakes whoever waits for a push, outside the lock. One by one and not the list as a whole, so that
    /// the list keeps its memory; no more than there are now, because who is woken comes back to the
    /// list when it finds nothing.
    fn wake_idle<'q>(&'q self, mut queue: MutexGuard<'q, Queue>) {
        for _ in 0..queue.idle.len() {
            let Some((_, waker)) = queue.idle.pop() else { return };
            drop(queue);
            wakers::guard(|| waker.wake());
            queue = self.queue.lock();
        }
    }
}

/// One call of `run`: what it leaves in the list of the idle goes with it.
struct Visit<'a> {
    shared: &'a LocalShared,
    number: u64,
}

impl<'a> Visit<'a> {
    fn new(shared: &'a LocalShared) -> Self {
        let mut queue = shared.queue.lock();
        queue.visits += 1;
        Self { shared, number: queue.visits }
    }

    /// The next task; without one, leaves `waker` behind, under the same lock, so that the next push is
    /// not missed.
    ///
    /// Wakers are cloned and dropped outside the lock: both are user code.
    fn pop(&self, waker: &Waker) -> Option<Hot> {
        let mut clone = None;
        loop {
            let mut queue = self.shared.queue.lock();
            let task = if TASKS.is_noted() { queue.hot.pop_front() } else { None };
            if let Some(task) = task {
                drop(queue);
                return Some(task);
            }
            let mine = queue.idle.iter().position(|(number, _)| *number == self.number);
            if mine.is_some_and(|index| queue.idle[index].1.will_wake(waker)) {
                return None;
            }
            let Some(clone) = clone.take() else {
                drop(queue);
                clone = Some(waker.clone());
                continue;
            };
            let old = mine.map(|index| queue.idle.swap_remove(index));
            queue.idle.push((self.number, clone));
            drop(queue);
            drop(old);
            return None;
        }
    }
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        let mut queue = self.shared.queue.lock();
        let mine = queue.idle.iter().position(|(number, _)| *number == self.number);
        let left = mine.map(|index| queue.idle.swap_remove(index));
        drop(queue);
        drop(left);
    }
}

// SAFETY: the executor's drop completes all tasks while it holds an `Arc<LocalShared>`; a leaked
// executor leaks that `Arc`; a task that a `Handle` spawns later is cancelled by its spawner.
unsafe impl Schedule for LocalShared {
    fn schedule_here(_: *const Self, task: Hot) -> Result<(), Hot> {
        Err(task)
    }

    fn schedule(self: Arc<Self>, task: Hot) {
        self.push(task);
    }
}

impl Ender for LocalShared {
    fn unregister(&self, place: Place) {
        self.registry.remove(place.index);
    }

    fn completed(&self) {
        // Ordering: Release pairs with `alive_tasks`.
        self.completed.fetch_add(1, Ordering::Release);
    }
}

impl Runner for LocalShared {
    fn register(&self, task: Cold) -> Place {
        Place { shard: 0, index: self.registry.insert(task) }
    }

    fn requeue(&self, task: Hot) {
        self.push(task);
    }

    fn home(&self) -> u16 {
        0
    }
}

/// Completes a task that came too late to be counted.
struct Late;

impl Ender for Late {
    fn unregister(&self, _: Place) {
        unreachable!("a task that was never polled is not registered")
    }

    fn completed(&self) {}
}

/// A root future's own waker, which tells the root's wakes from its tasks'.
struct Root {
    wakes: StdArc<RootWakes>,
    waker: Waker,
}

impl Root {
    /// A root that is to be polled, whoever was woken.
    fn new() -> Self {
        let wakes =
            StdArc::new(RootWakes { woken: AtomicBool::new(true), parent: Mutex::new(None) });
        Self { waker: Waker::from(wakes.clone()), wakes }
    }

    /// Polls `future`, the root, if it has been woken. The budget is the outer poll's.
    fn poll<F: Future>(&self, future: Pin<&mut F>, cx: &Context<'_>) -> Poll<F::Output> {
        self.wakes.follow(cx.waker());
        if self.wakes.take_woken() {
            future.poll(&mut Context::from_waker(&self.waker))
        } else {
            Poll::Pending
        }
    }
}

/// Remembers that the root was woken, and wakes whoever polls the executor.
struct RootWakes {
    woken: AtomicBool,
    parent: Mutex<Option<Waker>>,
}

impl RootWakes {
    /// From now on a wake goes to `waker`.
    fn follow(&self, waker: &Waker) {
        let same = |parent: &Option<Waker>| parent.as_ref().is_some_and(|p| p.will_wake(waker));
        if same(&self.parent.lock()) {
            return;
        }
        // Cloned and dropped outside the lock: both are user code.
        let clone = waker.clone();
        let old = self.parent.lock().replace(clone);
        drop(old);
    }

    fn take_woken(&self) -> bool {
        // Ordering: Acquire pairs with the Release in `wake`. A wake after this swap sets the flag again
        // and wakes the parent, whom `follow` has set before.
        self.woken.swap(false, Ordering::Acquire)
    }
}

impl Wake for RootWakes {
    fn wake(self: StdArc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &StdArc<Self>) {
        // Ordering: Release, see `take_woken`.
        self.woken.store(true, Ordering::Release);
        // Taken, not cloned: cloning is user code, and the poll that answers this wake leaves its waker
        // again.
        let parent = self.parent.lock().take();
        if let Some(parent) = parent {
            parent.wake();
        }
    }
}

#[cfg(all(test, liten_loom))]
mod loom;
