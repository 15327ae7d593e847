//! Tasks that borrow from the caller, who waits for them.
//!
//! A scope has a queue of its own, and the thread that has opened it works the queue off itself before it
//! returns. Everybody else is a *helper*: for what is pushed while that thread is busy, a ticket goes to a
//! worker (for futures) or to the blocking pool (for functions), and whoever gets to the ticket runs what is
//! in the queue then. A ticket that comes too late finds nothing. So a scope ends whatever the runtime's
//! threads do: with a full pool, stuck workers, or none at all.
//!
//! Who joins one task works on futures, which do not block, and calls the function that he waits for, if
//! nobody has begun it. Not other functions: one of them may wait for what the joiner does next.
//!
//! # Why nothing outlives what it borrows
//!
//! A task is erased: its cell forgets the lifetime `'scope`, which ends when [`scope`] returns. Therefore
//! `scope` returns, or unwinds, only when
//!
//! 1. no task is alive: each future has been dropped, each function called or dropped. A task is in the
//!    queue, or run by somebody, or cold; a cold one is alive. One that is being woken at the moment is
//!    alive, too, and its push is waited for;
//! 2. nobody runs one: `running` is raised under the lock that the task is taken under, and lowered after
//!    [`Hot::run`] has returned, so the end of a completion (the destructor of an output that nobody wants,
//!    the joiner's waker) is over.
//!
//! Both are looked at under the one lock. What is left then are cells with an output or without, and wakers,
//! which touch no more than a cell's header. An output belongs to its JoinHandle, whose type carries its
//! lifetime. A handle that is leaked leaks the output with it: nobody waits by handles, so nothing depends on
//! their destructors. Tickets hold the queue alone, which is empty. If the house itself panics in between,
//! the process ends: [`AbortOnUnwind`].
//!
//! The closure cannot let a task escape either: `'scope` is chosen here, after the closure was written, and
//! ends here, so nothing that has it in its type can be stored outside.
//!
//! # The end of the runtime
//!
//! A runtime knows its open scopes. When it ends, their futures are cancelled as the runtime's own are: those
//! that wait at once, the others by whoever takes them out of the queue. Functions are run all the same; they
//! end by themselves. Rejected: a task of the runtime that stands for them and tells of its own drop. The
//! only worker, which would have to drop it, may be the thread that waits for the scope.
//!
//! Rejected: `std::thread::scope` with a thread per task (no bound, and no use of the threads that are
//! there). Rejected: an async `scope().await`, which must wait in the destructor of its future, and is
//! unsound if that is leaked.
#![allow(unsafe_code)]

use super::block_on;
use super::blocking_task::Once;
use super::context;
use super::handle::Handle;
use crate::scheduler;
use crate::sync_shim::atomic::{AtomicU64, Ordering};
use crate::sync_shim::{Arc, Mutex};
use crate::task::cell::{Cold, Ender, Hot, Place, Runner, Schedule, new_task};
use crate::task::registry::Registry;
use crate::task::{AbortHandle, JoinError, JoinHandle, TaskId, current};
use pin_project_lite::pin_project;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// How many tasks a ticket, or a look of the waiting thread, runs before it gives way to others.
const TURN: usize = 61;

/// Calls `f` with a scope whose tasks may borrow from the caller; returns when all of them have ended.
///
/// [`Scope::spawn_blocking`] shares out work among the blocking pool's threads, [`Scope::spawn`] futures
/// among the workers. The calling thread, which is blocked meanwhile, does its part. Called in a task this is
/// a [`block_in_place`](crate::task::block_in_place): other workers take over what this one has queued. On a
/// thread with tasks of its own (a [`LocalRuntime`](super::LocalRuntime), a pinned task) those wait.
///
/// # Panics
///
/// If called outside a runtime. If `f` panics, or a task does whose handle has not given its result to
/// anybody; when all tasks have ended.
///
/// # Examples
///
/// ```
/// use liten::task::scope;
///
/// # liten::block_on(async {
/// let numbers = vec![1, 2, 3, 4];
/// let (left, right) = numbers.split_at(2);
/// let sum = scope(|s| {
///     let left = s.spawn_blocking(|| left.iter().sum::<i32>());
///     let right = s.spawn(async { right.iter().sum::<i32>() });
///     left.join().unwrap() + right.join().unwrap()
/// });
/// assert_eq!(sum, 10);
/// # });
/// ```
#[track_caller]
pub fn scope<'env, F, R>(f: F) -> R
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
{
    let shared = Arc::new(ScopeShared::new(context::expect("scope")));
    let scope = Scope { shared, scope: PhantomData, env: PhantomData };
    let shared = &scope.shared;
    let number = shared.handle.inner.scopes.enter(shared);
    let result = scheduler::step_aside(|| {
        current::outside(|| {
            let result = catch_unwind(AssertUnwindSafe(|| f(&scope)));
            let abort = AbortOnUnwind;
            shared.wait();
            std::mem::forget(abort);
            result
        })
    });
    shared.handle.inner.scopes.leave(number);
    match result {
        Err(payload) => resume_unwind(payload),
        Ok(_) if !shared.queue.lock().panicked.is_empty() => {
            panic!("a task of the scope panicked, and nobody has taken its result")
        }
        Ok(result) => result,
    }
}

/// Where tasks that borrow are started; made by [`scope`].
///
/// # Examples
///
/// A task may start others, because what it borrows from the scope lives as long as itself:
///
/// ```
/// use liten::task::scope;
/// use std::sync::Mutex;
///
/// # liten::block_on(async {
/// let found = Mutex::new(Vec::new());
/// scope(|s| {
///     s.spawn_blocking(|| {
///         found.lock().unwrap().push(1);
///         s.spawn(async { found.lock().unwrap().push(2) });
///     });
/// });
/// assert_eq!(found.into_inner().unwrap(), [1, 2]);
/// # });
/// ```
///
/// It cannot borrow what the closure owns, which may be gone before the task is:
///
/// ```compile_fail,E0373
/// # use liten::task::scope;
/// scope(|s| {
///     let local = vec![1];
///     s.spawn_blocking(|| println!("{local:?}"));
/// });
/// ```
///
/// and its handle cannot be kept:
///
/// ```compile_fail,E0521
/// # use liten::task::scope;
/// let mut kept = None;
/// scope(|s| kept = Some(s.spawn(async { 1 })));
/// ```
///
/// It is run by any thread, so it has to be `Send`:
///
/// ```compile_fail,E0277
/// # use liten::task::scope;
/// let local = std::rc::Rc::new(1);
/// scope(|s| drop(s.spawn_blocking(|| println!("{local}"))));
/// ```
pub struct Scope<'scope, 'env: 'scope> {
    shared: Arc<ScopeShared>,
    /// Invariant in both, as in std: neither may be made to look longer or shorter.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

impl<'scope> Scope<'scope, '_> {
    /// Starts a task that may borrow whatever outlives the scope.
    ///
    /// It runs on the workers, or on the thread that has opened the scope while that waits. When the runtime
    /// ends, the task is cancelled.
    ///
    /// # Panics
    ///
    /// In a [`LocalRuntime`](super::LocalRuntime): its sockets and timers stand still while its thread is
    /// blocked.
    #[track_caller]
    pub fn spawn<F>(&'scope self, future: F) -> ScopedJoinHandle<'scope, F::Output>
    where
        F: Future + Send + 'scope,
        F::Output: Send + 'scope,
    {
        assert!(
            self.shared.handle.scheduler().is_some(),
            "Scope::spawn called in a LocalRuntime, whose driver waits for the scope: use a LocalExecutor, \
             or Scope::spawn_blocking"
        );
        self.start(future, Location::caller(), ScopeShared::push)
    }

    /// Calls `f`, which may block, and may borrow whatever outlives the scope, on the blocking pool.
    ///
    /// If its threads are busy, the thread that has opened the scope calls `f` when it gets there.
    #[track_caller]
    pub fn spawn_blocking<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        self.start(Once::new(f), Location::caller(), ScopeShared::push_job)
    }

    fn start<F>(
        &'scope self,
        future: F,
        spawned_at: &'static Location<'static>,
        push: fn(&Arc<ScopeShared>, Hot),
    ) -> ScopedJoinHandle<'scope, F::Output>
    where
        F: Future + Send + 'scope,
        F::Output: Send + 'scope,
    {
        let shared = &self.shared;
        let future = Noting { future, shared: shared.clone() };
        // SAFETY: future and output are Send, so any thread may run and drop them. They live for 'scope, and
        // `scope`, which made this `Scope`, does not return before the task is complete and nobody runs it:
        // see the header. It is counted before it can be run, by the thread that opened the scope or by one
        // that runs a task of it, so the count cannot be 0 in between. The handle's type keeps the output's
        // lifetime.
        let (hot, handle) = unsafe { new_task(future, shared, spawned_at) };
        // Ordering: Relaxed, published by the lock of the push that follows.
        shared.spawned.fetch_add(1, Ordering::Relaxed);
        push(shared, hot);
        ScopedJoinHandle { shared, handle }
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("alive", &self.shared.alive_tasks()).finish_non_exhaustive()
    }
}

/// The owner's end of a task of a [`Scope`]: [`join`](Self::join) it, or await it in another task.
///
/// Dropping it does not end the task; the scope waits for it all the same.
///
/// # Cancel safety
///
/// Awaiting `&mut handle` loses nothing when another branch wins: the result stays in the task until it is
/// taken.
pub struct ScopedJoinHandle<'scope, T> {
    shared: &'scope Arc<ScopeShared>,
    handle: JoinHandle<T>,
}

impl<T> ScopedJoinHandle<'_, T> {
    /// Waits for the task and returns its result; works on the scope's tasks meanwhile.
    ///
    /// # Errors
    ///
    /// If the task panicked or was cancelled.
    ///
    /// # Panics
    ///
    /// If called in a task that is polled: there, await the handle.
    #[track_caller]
    pub fn join(mut self) -> Result<T, JoinError> {
        assert!(
            !scheduler::is_polling(),
            "ScopedJoinHandle::join called inside a task: it would block the thread; use .await"
        );
        let (shared, jobs) = (self.shared, Jobs::Only(self.id()));
        shared.host(jobs, |cx| Pin::new(&mut self).poll(cx))
    }

    /// Asks the task to end, as [`JoinHandle::abort`] does.
    pub fn abort(&self) {
        self.handle.abort();
    }

    /// Returns a handle that can abort the task and outlives this one.
    pub fn abort_handle(&self) -> AbortHandle {
        self.handle.abort_handle()
    }

    /// Returns whether the task has ended.
    pub fn is_finished(&self) -> bool {
        self.handle.is_finished()
    }

    /// Returns the task's id.
    pub fn id(&self) -> TaskId {
        self.handle.id()
    }
}

impl<T> Future for ScopedJoinHandle<'_, T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let polled = Pin::new(&mut self.handle).poll(cx);
        if let Poll::Ready(Err(error)) = &polled {
            // The panic has found somebody.
            self.shared.queue.lock().panicked.retain(|id| *id != error.id());
        }
        polled
    }
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedJoinHandle").field("id", &self.id()).finish_non_exhaustive()
    }
}

pin_project! {
    /// Notes a panic of the future.
    struct Noting<F> {
        #[pin]
        future: F,
        shared: Arc<ScopeShared>,
    }
}

impl<F: Future> Future for Noting<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        match catch_unwind(AssertUnwindSafe(|| this.future.poll(cx))) {
            Ok(polled) => polled,
            Err(payload) => {
                this.shared.queue.lock().panicked.extend(current::id());
                resume_unwind(payload)
            }
        }
    }
}

/// What wakers, helpers and tickets reach. It has no lifetime: see the header.
struct ScopeShared {
    /// The runtime that helps.
    handle: Handle,
    queue: Mutex<Queue>,
    registry: Registry,
    spawned: AtomicU64,
    completed: AtomicU64,
}

#[derive(Default)]
struct Queue {
    /// Futures, for whoever polls.
    hot: VecDeque<Hot>,
    /// Functions, for threads that may block.
    jobs: VecDeque<Hot>,
    /// Threads that are in [`Hot::run`].
    running: usize,
    /// Who waits for a push or the end: wakers of the house.
    idle: Vec<Waker>,
    /// Tickets on their way to workers, or with them.
    tickets: usize,
    /// Tasks that panicked and whose result nobody has taken.
    panicked: Vec<TaskId>,
    /// The runtime has ended: futures are cancelled.
    closed: bool,
}

impl Queue {
    fn take_job(&mut self, jobs: Jobs) -> Option<Hot> {
        match jobs {
            Jobs::Any => self.jobs.pop_front(),
            Jobs::Only(id) => {
                let index = self.jobs.iter().position(|job| job.identity().id() == id)?;
                self.jobs.remove(index)
            }
        }
    }
}

/// Which functions a thread may call.
#[derive(Clone, Copy)]
enum Jobs {
    Any,
    Only(TaskId),
}

/// What a look at the queue says.
enum Next {
    Future(Hot),
    Job(Hot),
    /// Nothing to do now; the waker has been left.
    Wait,
    /// No task is alive, and nobody runs one.
    Over,
}

impl ScopeShared {
    fn new(handle: Handle) -> Self {
        Self {
            handle,
            queue: Mutex::new(Queue::default()),
            registry: Registry::new(),
            spawned: AtomicU64::new(0),
            completed: AtomicU64::new(0),
        }
    }

    fn alive_tasks(&self) -> u64 {
        // Ordering: Acquire pairs with `completed`; completions first, see scheduler/shared.rs.
        let completed = self.completed.load(Ordering::Acquire);
        self.spawned.load(Ordering::Relaxed).saturating_sub(completed)
    }

    /// Queues a future that is to be polled.
    fn push(self: &Arc<Self>, task: Hot) {
        let mut queue = self.queue.lock();
        queue.hot.push_back(task);
        let idle = std::mem::take(&mut queue.idle);
        let helpers = self.handle.scheduler().map_or(0, |scheduler| scheduler.worker_count());
        let ticket = idle.is_empty() && queue.tickets < helpers;
        queue.tickets += usize::from(ticket);
        drop(queue);
        idle.into_iter().for_each(Waker::wake);
        if ticket {
            drop(self.handle.spawn(Ticket { shared: self.clone(), returned: false }));
        }
    }

    /// Queues a function that is to be called.
    fn push_job(self: &Arc<Self>, task: Hot) {
        let mut queue = self.queue.lock();
        queue.jobs.push_back(task);
        queue.idle.drain(..).for_each(Waker::wake);
        drop(queue);
        let shared = self.clone();
        drop(self.handle.spawn_blocking(move || shared.help()));
    }

    /// On a thread of the blocking pool.
    fn help(&self) {
        let mut queue = self.queue.lock();
        let Some(job) = queue.jobs.pop_front() else { return };
        queue.running += 1;
        drop(queue);
        self.run(job, false);
    }

    /// Runs what the caller has taken out and counted as running.
    fn run(&self, task: Hot, cancel: bool) {
        if cancel {
            task.cancel(self);
        } else {
            task.run(self);
        }
        let mut queue = self.queue.lock();
        queue.running -= 1;
        if queue.running == 0 && self.alive_tasks() == 0 {
            queue.idle.drain(..).for_each(Waker::wake);
        }
    }

    /// What to do next, counted as running; and whether it is to be cancelled, if it is a future.
    fn next(&self, jobs: Jobs, waker: &Waker) -> (Next, bool) {
        let mut queue = self.queue.lock();
        let next = if let Some(task) = queue.hot.pop_front() {
            Next::Future(task)
        } else if let Some(job) = queue.take_job(jobs) {
            Next::Job(job)
        } else if queue.running == 0 && self.alive_tasks() == 0 {
            return (Next::Over, false);
        } else {
            if !queue.idle.iter().any(|idle| idle.will_wake(waker)) {
                queue.idle.push(waker.clone());
            }
            return (Next::Wait, false);
        };
        queue.running += 1;
        (next, queue.closed)
    }

    /// Works on the calling thread, which may block, until `root` is ready.
    fn host<R>(&self, jobs: Jobs, mut root: impl FnMut(&mut Context<'_>) -> Poll<R>) -> R {
        let work = poll_fn(|cx| {
            for _ in 0..TURN {
                if let Poll::Ready(result) = root(cx) {
                    return Poll::Ready(result);
                }
                match self.next(jobs, cx.waker()) {
                    (Next::Future(task), closed) => scheduler::host(|| self.run(task, closed)),
                    (Next::Job(job), _) => self.run(job, false),
                    (Next::Wait, _) => return Poll::Pending,
                    // Then `root` is ready; asked once more.
                    (Next::Over, _) => {}
                }
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        });
        // Whoever opened the scope is counted as awake until it ends: no presence of its own.
        block_on::run(work, None)
    }

    /// Works until no task is alive and nobody runs one.
    fn wait(&self) {
        self.host(Jobs::Any, |_| {
            let queue = self.queue.lock();
            let busy = queue.running != 0 || !queue.hot.is_empty() || !queue.jobs.is_empty();
            if busy || self.alive_tasks() != 0 { Poll::Pending } else { Poll::Ready(()) }
        });
    }

    /// Cancels the futures: those that wait, and whatever is taken out of the queue from here on.
    fn close(self: &Arc<Self>) {
        self.queue.lock().closed = true;
        for task in self.registry.close() {
            self.push(task);
        }
    }
}

/// The scopes of a runtime that are open.
pub(super) struct Scopes(Mutex<Open>);

#[derive(Default)]
struct Open {
    scopes: BTreeMap<u64, Arc<ScopeShared>>,
    next: u64,
    closed: bool,
}

impl Scopes {
    pub(super) fn new() -> Self {
        Self(Mutex::new(Open::default()))
    }

    /// Enters a scope, so that it learns of the runtime's end; returns its number.
    fn enter(&self, scope: &Arc<ScopeShared>) -> u64 {
        let mut open = self.0.lock();
        let number = open.next;
        open.next += 1;
        open.scopes.insert(number, scope.clone());
        scope.queue.lock().closed = open.closed;
        number
    }

    fn leave(&self, number: u64) {
        let left = self.0.lock().scopes.remove(&number);
        drop(left);
    }

    /// The runtime ends: cancels the futures of all scopes.
    pub(super) fn close(&self) {
        let mut open = self.0.lock();
        open.closed = true;
        let scopes: Vec<_> = open.scopes.values().cloned().collect();
        drop(open);
        scopes.iter().for_each(ScopeShared::close);
    }
}

/// A worker's turn at the queue.
struct Ticket {
    shared: Arc<ScopeShared>,
    returned: bool,
}

impl Ticket {
    /// The next future; without one the ticket is returned, under the same lock, so that the next push sends
    /// another.
    fn next(&mut self) -> Option<(Hot, bool)> {
        let mut queue = self.shared.queue.lock();
        let Some(task) = queue.hot.pop_front() else {
            queue.tickets -= 1;
            self.returned = true;
            return None;
        };
        queue.running += 1;
        Some((task, queue.closed))
    }
}

impl Future for Ticket {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        for _ in 0..TURN {
            match self.next() {
                Some((task, closed)) => self.shared.run(task, closed),
                None => return Poll::Ready(()),
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.returned {
            // What is in the queue is the waiting thread's.
            self.shared.queue.lock().tickets -= 1;
        }
    }
}

// SAFETY: `scope` holds an `Arc<ScopeShared>` until all tasks are complete.
unsafe impl Schedule for ScopeShared {
    fn schedule_here(_: *const Self, task: Hot) -> Result<(), Hot> {
        Err(task)
    }

    fn schedule(self: Arc<Self>, task: Hot) {
        self.push(task);
    }
}

impl Ender for ScopeShared {
    fn unregister(&self, place: Place) {
        self.registry.remove(place.index);
    }

    fn completed(&self) {
        // Ordering: Release pairs with `alive_tasks`.
        self.completed.fetch_add(1, Ordering::Release);
    }
}

impl Runner for ScopeShared {
    fn register(&self, task: Cold) -> Place {
        Place { shard: 0, index: self.registry.insert(task) }
    }

    fn requeue(&self, task: Hot) {
        // Whoever runs it looks at the queue next: no ticket.
        let mut queue = self.queue.lock();
        queue.hot.push_back(task);
        queue.idle.drain(..).for_each(Waker::wake);
    }

    fn home(&self) -> u16 {
        0
    }
}

struct AbortOnUnwind;

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        std::process::abort();
    }
}
