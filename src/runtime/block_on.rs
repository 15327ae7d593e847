//! Polling a root future on the calling thread.
//!
//! What polls the future that is given to `block_on`, and runs tasks meanwhile, does not know its type. So it
//! is compiled once with this crate, and not again in each program and for each type of root. A program that
//! is built in debug, with optimised dependencies, polls its root by optimised code; and a large output is
//! moved from here to the caller of `block_on`, and nowhere else. The price is one call through a pointer per
//! poll.

use super::local_thread::{is_in_local, runs_local};
use super::tokio_context;
use super::watched::WatchedRoot;
use crate::engine::driver::Driver;
use crate::engine::park::{Parker, Unpark, Unparker};
use crate::engine::scheduler::{self, Presence, Shared};
use crate::engine::scoped::replaced;
use crate::engine::sync_shim::{Arc, clock, modelled_thread_local, thread, thread_local};
use crate::engine::task::budget;
use crate::engine::tokio_note::NOTE;
use pin_project_lite::pin_project;
use std::cell::Cell;
use std::future::Future;
use std::mem;
use std::pin::{Pin, pin};
use std::ptr;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

thread_local! {
    /// The runtime that made this thread. Compared, never followed.
    static OWNER: Cell<*const ()> = const { Cell::new(ptr::null()) };
}

modelled_thread_local! {
    /// This thread is in [`run`]: it polls a root, or is about to.
    static IN_ROOT: Cell<bool> = const { Cell::new(false) };
}

/// Says that this thread polls a root, or that it does not, until the result is dropped.
fn in_root(polls: bool) -> impl Sized {
    replaced(|polls| IN_ROOT.replace(polls), polls)
}

/// Runs `f`, which may block although a root has called it: [`wait_outside`] is allowed there.
pub(crate) fn outside_root<R>(f: impl FnOnce() -> R) -> R {
    let _outside = in_root(false);
    f()
}

/// Says that the runtime at the address `owner` has made the calling thread, until the result is dropped.
pub(super) fn own_thread(owner: *const ()) -> impl Sized {
    replaced(|owner| OWNER.replace(owner), owner)
}

/// Whether the calling thread was made by the runtime at the address `owner`.
pub(super) fn is_own_thread(owner: *const ()) -> bool {
    OWNER.get() == owner
}

/// Panics, at the caller, on a worker, inside a local executor, and where the helper of the feature
/// `tokio-context` runs tasks: blocking there would stop the tasks that are waited for.
#[track_caller]
pub(crate) fn refuse_in_task(what: &str) {
    tokio_context::refuse_in_task();
    if scheduler::is_polling() || is_in_local() {
        refuse(what);
    }
}

/// Panics, at the caller: it must not block this thread.
#[track_caller]
pub(super) fn refuse(what: &str) -> ! {
    panic!(
        "{what} called inside a task: it would block the thread that runs the tasks it waits for; \
         use .await, or call it in spawn_blocking{NOTE}"
    );
}

/// Blocks the calling thread until `future` is ready; returns its output. No runtime is needed.
///
/// For the blocking halves of channels and locks, which `what` names: the future waits for other threads,
/// and needs no timers and no sockets. Stricter than `Handle::block_on`, which a root may call: a root that
/// blocks for a message may hold up the very branch of itself that would send it. The programmer should
/// learn that at the first call and not at the first unlucky order. The message begins with tokio's, which
/// tests of programs expect.
///
/// # Panics
///
/// At the caller: where the thread polls a task or a root, or runs a local executor or a runtime without
/// workers. Not in `block_in_place` and `spawn_blocking`.
#[track_caller]
pub(crate) fn wait_outside<F: Future>(what: &str, future: F) -> F::Output {
    tokio_context::refuse_in_task();
    if !may_block() {
        panic!(
            "Cannot block the current thread from within a runtime: {what} called in async code (inside a \
             task, or in the future of a block_on); use .await, or call it in spawn_blocking or \
             block_in_place{NOTE}"
        );
    }
    run(pin!(tokio_context::without_budget(future)), None)
}

/// Returns whether the calling thread may be blocked: `false` where it runs async code, which is in a task,
/// in the future given to `block_on`, and in what these call.
///
/// `true` in [`spawn_blocking`](crate::spawn_blocking), in
/// [`block_in_place`](crate::task::block_in_place), and on threads that have nothing to do with a runtime. It
/// is what the blocking halves of channels and locks ask, such as
/// [`Sender::blocking_send`](crate::sync::mpsc::Sender::blocking_send), before they panic.
///
/// # Examples
///
/// ```
/// use liten::task::may_block;
///
/// assert!(may_block());
/// liten::block_on(async {
///     assert!(!may_block());
///     assert!(liten::spawn_blocking(may_block).await.unwrap());
/// });
/// ```
pub fn may_block() -> bool {
    !(scheduler::is_polling() || runs_local() || IN_ROOT.get())
}

/// A root without its type, in the frame of `block_on`.
pub(super) type AnyRoot<'a> = Pin<&'a mut (dyn Future<Output = ()> + 'a)>;

pin_project! {
    /// Polls a root, and puts its output into the frame of `block_on`.
    ///
    /// The root is dropped by the poll that ends it, also by one that panics: its destructor belongs to the
    /// runtime as all of it does, which the thread has left when `block_on` returns. It has no budget: what
    /// it drains must not find refused what the last poll has left none for.
    struct RootFuture<'a, F: Future> {
        #[pin]
        root: Option<F>,
        output: &'a mut Poll<F::Output>,
        watched: WatchedRoot,
    }
}

impl<F: Future> Future for RootFuture<'_, F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        let mut over = Over(this.root);
        let root = over.0.as_mut().as_pin_mut().expect("a root that is ready is not polled again");
        **this.output = this.watched.poll(cx, |cx| root.poll(cx));
        if this.output.is_pending() {
            mem::forget(over);
            return Poll::Pending;
        }
        Poll::Ready(())
    }
}

/// Drops the root.
struct Over<'a, F>(Pin<&'a mut Option<F>>);

impl<F> Drop for Over<'_, F> {
    fn drop(&mut self) {
        budget::unlimited(|| self.0.set(None));
    }
}

/// The root of `future`, which leaves its output in `output`. If a task of tokio blocks on it, it has no
/// budget of that task. `watched` shows it to observers.
pub(super) fn root<'a, F: Future>(
    future: F,
    output: &'a mut Poll<F::Output>,
    watched: WatchedRoot,
) -> impl Future<Output = ()> + use<'a, F> {
    RootFuture { root: Some(tokio_context::without_budget(future)), output, watched }
}

/// Evaluates `$poll`, which polls the root `$root` of the future until it is ready, and gives the output of
/// the future. `$watched` shows the root to observers. No function, because a panic of `$poll` points at the
/// caller of the function that this stands in.
macro_rules! block_on {
    ($future:ident: $F:ty, $watched:expr, |$root:ident| $poll:expr) => {{
        let watched = $watched;
        $crate::runtime::door::boxed_if_large!(root $future: $F => {
            let mut output = ::std::task::Poll::Pending;
            {
                let root = $crate::runtime::block_on::root($future, &mut output, watched);
                let $root = ::std::pin::pin!(root);
                $poll;
            }
            match output {
                ::std::task::Poll::Ready(output) => output,
                ::std::task::Poll::Pending => unreachable!("the root is ready"),
            }
        })
    }};
}
pub(super) use block_on;

/// The root's waker: unparks the thread, which may sleep in the seat of the driver if it drives (drive.rs).
///
/// There are two other wakers of roots:
///
/// * `RootWakes` (local/root.rs), for a root beside the tasks of a local executor: it remembers that the root
///   was woken and not a task, and wakes whatever polls the executor.
/// * `HostWaker` (component/root.rs), for a root of WASI: it interrupts the host, and so does the drop of
///   the last one.
struct RootWaker {
    unparker: Unparker,
    /// The one that the thread drives.
    driver: Option<Arc<Driver>>,
    presence: Option<Arc<Presence>>,
}

/// A waker of the root that the thread of `parker` polls. `driver`: the one that it drives, if it does.
/// `presence` counts the root while it is awake, if the runtime counts roots.
pub(super) fn root_waker(
    parker: &Parker,
    driver: Option<Arc<Driver>>,
    presence: Option<Arc<Presence>>,
) -> Waker {
    let unparker = parker.unparker();
    Waker::from(std::sync::Arc::new(RootWaker { unparker, driver, presence }))
}

impl Wake for RootWaker {
    fn wake(self: std::sync::Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &std::sync::Arc<Self>) {
        let unpark = || {
            if self.unparker.unpark() == Unpark::Poller {
                let driver = self.driver.as_ref();
                driver.expect("a thread that does not drive never sits in the poller").wake();
            }
        };
        match &self.presence {
            None => unpark(),
            Some(presence) => presence.wake(unpark),
        }
    }
}

/// Keeps a root counted, as awake or parked, as long as its `block_on` lasts.
pub(super) struct PresenceGuard(pub(super) Option<Arc<Presence>>);

impl PresenceGuard {
    pub(super) fn begin(scheduler: &Arc<Shared>) -> Self {
        Self(Presence::begin(scheduler))
    }
}

impl Drop for PresenceGuard {
    fn drop(&mut self) {
        if let Some(presence) = &self.0 {
            presence.end();
        }
    }
}

/// Polls `future` until it is ready; the thread sleeps in between.
///
/// A wake during the poll leaves a token, so that the next park returns at once: none is lost (park.rs).
///
/// `presence` counts the root while it is awake, if the runtime counts roots.
pub(super) fn run<F: Future + ?Sized>(
    mut future: Pin<&mut F>,
    presence: Option<Arc<Presence>>,
) -> F::Output {
    let _root = in_root(true);
    let parker = Parker::new();
    let waker = root_waker(&parker, None, presence.clone());
    let mut cx = Context::from_waker(&waker);
    loop {
        let budget = budget::full();
        if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
            return output;
        }
        drop(budget);
        park(&parker, presence.as_deref());
    }
}

/// Sleeps until the root is woken, as this thread's [`Habit`] says.
fn park(parker: &Parker, presence: Option<&Presence>) {
    if parker.is_notified() {
        return parker.park();
    }
    let mut habit = HABIT.get();
    let start = clock::now();
    if habit.yields() {
        thread::yield_now();
        habit.yielded(parker.is_notified(), clock::now() - start);
    }
    match presence {
        None => parker.park(),
        Some(presence) => presence.park(parker),
    }
    habit.slept(clock::now() - start);
    HABIT.set(habit);
}

/// A sleep that is not worth two changes of thread, and a yield that cost no more than one.
const SHORT: Duration = Duration::from_micros(50);
/// The number of short sleeps in a row from which on they are taken for a habit.
const ENOUGH: i32 = 8;
/// What yields that do not pay may cost on average of the sleeps that follow: a tenth of what a sleep costs.
const SHARE: Duration = Duration::from_nanos(500);

modelled_thread_local! {
    /// Outlives the call: a program that comes back for each request learns, too.
    static HABIT: Cell<Habit> = const { Cell::new(Habit::NONE) };
}

/// Whether the thread of a root lets another one have its core before it sleeps.
///
/// A root that joins tasks one by one on a machine whose cores are all taken is woken by the first that
/// completes, on the core of the worker that completed it and in its place; it finds the second one not
/// done, and sleeps. Two changes of thread for each task made such a join five times as long
/// (`spawn_many_remote_busy1` of `versus`). When sleeps are that short, the worker should go on, and its wake
/// find no thread asleep. A yield does not pay if it took long, because another thread needs the core for
/// longer, or did not bring the wake.
///
/// Rejected: always to yield first, or always while workers are awake. Beside workers that compute, a root
/// that waited for timers was 0.9 ms late instead of 0.24.
#[derive(Clone, Copy)]
struct Habit {
    /// How many short sleeps there were in a row, or, below zero, how many sleeps have yet to pay for a
    /// yield.
    short_sleeps: i32,
}

impl Habit {
    const NONE: Self = Self { short_sleeps: 0 };

    fn yields(self) -> bool {
        self.short_sleeps >= ENOUGH
    }

    /// After a yield that took `taken`; `woken`: it has brought the wake.
    fn yielded(&mut self, woken: bool, taken: Duration) {
        if taken >= SHORT || !woken {
            let sleeps = taken.as_nanos() / SHARE.as_nanos();
            self.short_sleeps = i32::try_from(sleeps).map_or(i32::MIN, |sleeps| -sleeps);
        }
    }

    fn slept(&mut self, taken: Duration) {
        let counts = taken < SHORT || self.short_sleeps < 0;
        self.short_sleeps = if counts { self.short_sleeps.saturating_add(1) } else { 0 };
    }
}

#[cfg(all(test, liten_loom))]
pub(super) mod loom;
#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;
