//! Blocking work that borrows from the caller, which waits for it.
//!
//! Each function of a scope is a *job*, which lies in the scope's queue, and for which the blocking pool gets
//! a *ticket*. The first of three threads to get to a job takes it out and calls it: the pool's thread that
//! has the ticket, the thread that joins the job, or the thread that has opened the scope, which runs all
//! jobs of the queue before it returns. A ticket that comes too late finds nothing. So a scope ends whatever
//! the pool does: with all its threads busy, or closed.
//!
//! A thread that joins one job calls that job and no other, because another one may wait for what this thread
//! does next.
//!
//! # Why nothing outlives what it borrows
//!
//! A job is erased: its box forgets the lifetime `'scope`, which ends when [`scope`] returns. Therefore
//! `scope` returns, or unwinds, only when `alive` is 0. A job is counted before it can be taken, by the
//! thread that opened the scope or by one that calls a job of it, so the count cannot be 0 in between; and
//! it is counted out after the call has returned, and with it everything that the box owned has been
//! dropped: what the function captured, and its share of the packet with the result.
//!
//! The result belongs to its handle then, whose type carries its lifetime. A handle that is leaked leaks
//! the result with it: no thread waits by handles, so nothing depends on their destructors. A late ticket
//! holds an empty job. If the code of this file panics in between, the process ends: [`AbortOnUnwind`].
//!
//! The closure cannot let a job escape either: `'scope` is chosen here, after the closure was written, and
//! ends here, so nothing that has it in its type can be stored outside.
//!
//! # Why no thread waits for ever
//!
//! A job that is not begun is called by its joiner, or is in the queue, where the end of the scope looks; one
//! that is begun is being called, and ends by itself. All is looked at under the one lock: the end of a call
//! lowers `alive` under it and then wakes, and so does a job that comes (back) to the queue.
//!
//! On a thread with tasks of its own a job would find that it must not block, so there the jobs are left to
//! the pool, and to those jobs that join them. A ticket that the pool drops uncalled, because it is closed
//! or has no thread, brings its job back.
//!
//! Rejected: `std::thread::scope` with a thread per job (no bound, and no use of the threads that are
//! there). Rejected: futures that borrow. Their host is the thread that waits for one of them: it cannot
//! take over what another one needs without deadlocks, and an async `scope().await` is unsound if its
//! future is leaked.
#![allow(unsafe_code)]

use super::context;
use super::door::boxed_if_large;
use super::handle::Handle;
use super::local_thread::is_in_local;
use crate::engine::abort::AbortOnUnwind;
use crate::engine::sync_shim::{Arc, Condvar, Mutex};
use crate::engine::task::current;
use crate::engine::{scheduler, wakers};
use crate::impls::impl_debug;
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::mem;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::thread;

/// Calls `f` with a scope whose functions may borrow from the caller; returns when all of them have ended.
///
/// They are called on the blocking pool, and on the calling thread, which is blocked meanwhile. Called in a
/// task this is a [`block_in_place`](crate::task::block_in_place): other workers take over what this one
/// has queued. On a thread with tasks of its own (in the `block_on` of a runtime without workers, in a pinned
/// task) those wait.
///
/// A clock that is [paused](crate::time::pause) stands still until the scope ends.
///
/// # Panics
///
/// If called outside a runtime. When all functions have ended, if `f` has panicked, or a function whose
/// result no caller has taken from its handle.
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
///     let right = s.spawn_blocking(|| right.iter().sum::<i32>());
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
    boxed_if_large!(function f: F => run(f))
}

#[track_caller]
fn run<'env, F, R>(f: F) -> R
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
{
    let shared = Arc::new(ScopeShared {
        handle: context::expect("scope"),
        shares: !is_in_local(),
        state: Mutex::new(ScopeState::default()),
        changed: Condvar::new(),
    });
    let scope = Scope { shared, scope: PhantomData, env: PhantomData };
    let result = scheduler::block_in_place(|| {
        current::outside(|| {
            let result = catch_unwind(AssertUnwindSafe(|| f(&scope)));
            let abort = AbortOnUnwind;
            scope.shared.wait();
            abort.forget();
            result
        })
    });
    match result {
        Err(payload) => resume_unwind(payload),
        Ok(_) if scope.shared.state.lock().panicked => {
            panic!("a function of the scope panicked, and its result was not taken")
        }
        Ok(result) => result,
    }
}

/// Where functions that borrow are started; made by [`scope`].
///
/// # Examples
///
/// A function may start others, because what it borrows from the scope lives as long as itself:
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
///         s.spawn_blocking(|| found.lock().unwrap().push(2));
///     });
/// });
/// assert_eq!(found.into_inner().unwrap(), [1, 2]);
/// # });
/// ```
///
/// It cannot borrow what the closure owns, which may be gone before the function is called:
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
/// scope(|s| kept = Some(s.spawn_blocking(|| 1)));
/// ```
///
/// It is called by any thread, so it has to be `Send`:
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
    /// Calls `f`, which may block, and may borrow whatever outlives the scope, on the blocking pool.
    ///
    /// If the pool's threads are busy, the thread that has opened the scope calls `f` when it gets there:
    /// when the closure has returned, or joins `f`. A closure that waits for `f` by other means waits for
    /// the pool, and so does a thread with tasks of its own in any case. The end of the runtime does not
    /// cancel `f`.
    #[track_caller]
    pub fn spawn_blocking<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let origin = Location::caller();
        boxed_if_large!(function f: F => self.start(f, origin))
    }

    fn start<F, T>(
        &'scope self,
        f: F,
        origin: &'static Location<'static>,
    ) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let shared = &self.shared;
        let packet = Arc::new(Packet { result: Mutex::new(None), shared: shared.clone() });
        let theirs = packet.clone();
        let call: Box<dyn FnOnce() + Send + 'scope> = Box::new(move || {
            let result = catch_unwind(AssertUnwindSafe(f));
            *theirs.result.lock() = Some(result);
        });
        // SAFETY: the two types differ in the lifetime alone. The box is Send, so any thread may call and
        // drop it. It lives for 'scope, and `scope`, which made this `Scope`, does not return before the
        // box has been called and is gone: see the header.
        let call = unsafe {
            mem::transmute::<Box<dyn FnOnce() + Send + 'scope>, Box<dyn FnOnce() + Send>>(call)
        };
        let job = Arc::new(Job(Mutex::new(Some(call))));
        shared.add(&job);
        let ticket = Ticket { shared: shared.clone(), job: job.clone() };
        // An error is the ticket's drop, which brings the job back.
        drop(shared.handle.start_blocking(move || ticket.redeem(), false, origin));
        ScopedJoinHandle { packet, job, shared }
    }
}

impl_debug!([] Scope<'_, '_>, this => "Scope" { alive: this.shared.state.lock().alive, .. });

/// The owner's end of a function of a [`Scope`].
///
/// Dropping it changes nothing but that the result is dropped too; the scope waits for the function all the
/// same.
pub struct ScopedJoinHandle<'scope, T> {
    packet: Arc<Packet<T>>,
    job: Arc<Job>,
    shared: &'scope Arc<ScopeShared>,
}

impl<T> ScopedJoinHandle<'_, T> {
    /// Waits for the function, or calls it if no thread has begun to, and returns its result.
    ///
    /// It blocks the calling thread: this is for the scope's closure and functions, and not for futures.
    ///
    /// # Errors
    ///
    /// If the function panicked: what it panicked with.
    pub fn join(self) -> thread::Result<T> {
        // Each thread that may block may call it, also if the scope's own thread may not: this one may be the
        // last of the pool.
        let calls = !is_in_local();
        let mut state = self.shared.state.lock();
        loop {
            if let Some(result) = self.packet.result.lock().take() {
                return result;
            }
            let listed = || state.queue.iter().any(|job| Arc::ptr_eq(job, &self.job));
            if self.job.is_left() && (calls || listed()) {
                drop(state);
                self.shared.call(&self.job);
                state = self.shared.state.lock();
            } else {
                self.shared.changed.wait(&mut state);
            }
        }
    }

    /// Returns whether the function has ended.
    pub fn is_finished(&self) -> bool {
        self.packet.result.lock().is_some()
    }
}

impl_debug!([T] ScopedJoinHandle<'_, T>, this => "ScopedJoinHandle" {
    is_finished: this.is_finished(),
    ..
});

/// Where a result waits for the thread that joins; shared by the call and the handle.
struct Packet<T> {
    result: Mutex<Option<thread::Result<T>>>,
    shared: Arc<ScopeShared>,
}

impl<T> Drop for Packet<T> {
    /// The result was not taken. If it is a panic, or panics in its destructor, the scope will tell.
    fn drop(&mut self) {
        let result = self.result.lock().take();
        let mut panicked = matches!(result, Some(Err(_)));
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(result))) {
            panicked = true;
            // It may panic in turn, and so on.
            wakers::guard(|| drop(payload));
        }
        if panicked {
            self.shared.state.lock().panicked = true;
        }
    }
}

/// One function, until a thread takes it out.
struct Job(Mutex<Option<Box<dyn FnOnce() + Send>>>);

impl Job {
    /// Whether no thread has taken it out.
    fn is_left(&self) -> bool {
        self.0.lock().is_some()
    }
}

/// A job as the blocking pool has it.
struct Ticket {
    shared: Arc<ScopeShared>,
    job: Arc<Job>,
}

impl Ticket {
    fn redeem(self) {
        self.shared.call(&self.job);
    }
}

impl Drop for Ticket {
    /// Uncalled, if the pool has dropped it: then the scope's own thread has to.
    fn drop(&mut self) {
        if !self.shared.shares && self.job.is_left() {
            self.shared.state.lock().queue.push_back(self.job.clone());
            self.shared.changed.notify_all();
        }
    }
}

struct ScopeShared {
    handle: Handle,
    /// The thread that has opened the scope may call jobs at any time, and not only those that come back.
    shares: bool,
    state: Mutex<ScopeState>,
    /// A job has ended, or has come to the queue.
    changed: Condvar,
}

#[derive(Default)]
struct ScopeState {
    /// Jobs that may be called here; some have been begun elsewhere.
    queue: VecDeque<Arc<Job>>,
    /// How many have not ended.
    alive: usize,
    /// A function has panicked, and its result was not taken.
    panicked: bool,
}

impl ScopeShared {
    fn add(&self, job: &Arc<Job>) {
        let mut state = self.state.lock();
        state.alive += 1;
        if self.shares {
            // Those in front are begun first, so this keeps what is left of a long scope's past short.
            while state.queue.front().is_some_and(|job| !job.is_left()) {
                state.queue.pop_front();
            }
            state.queue.push_back(job.clone());
        }
        drop(state);
        // The thread that waits at the end takes this one, too.
        self.changed.notify_all();
    }

    /// Calls what is in `job`, if no thread has taken it.
    fn call(&self, job: &Job) {
        let Some(call) = job.0.lock().take() else { return };
        let abort = AbortOnUnwind;
        call();
        abort.forget();
        let mut state = self.state.lock();
        state.alive -= 1;
        drop(state);
        self.changed.notify_all();
    }

    /// Calls jobs until none is alive.
    fn wait(&self) {
        let mut state = self.state.lock();
        while state.alive != 0 {
            match state.queue.pop_front() {
                Some(job) => {
                    drop(state);
                    self.call(&job);
                    state = self.state.lock();
                }
                None => self.changed.wait(&mut state),
            }
        }
    }
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::scope;
    use crate::runtime::Runtime;
    use std::sync::mpsc;

    #[test]
    fn a_scope_that_stays_open_does_not_keep_what_has_ended() {
        let runtime = Runtime::new().unwrap();
        let _entered = runtime.enter();
        scope(|s| {
            let (begin, begun) = mpsc::channel();
            for _ in 0..100 {
                let begin = begin.clone();
                let handle = s.spawn_blocking(move || begin.send(()).unwrap());
                // The pool has it.
                begun.recv().unwrap();
                handle.join().unwrap();
            }
            assert!(s.shared.state.lock().queue.len() <= 1);
        });
    }
}
