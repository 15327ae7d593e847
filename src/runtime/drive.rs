//! The loop of a thread that runs tasks and waits for events by turns: that of a
//! [`LocalRuntime`](super::LocalRuntime), and of a current-thread [`Runtime`](super::Runtime).

use super::local_thread::in_local;
use crate::engine::driver::Driver;
use crate::engine::recycler::{self, QUIET};
use crate::engine::scheduler::{SleepHooks, Sleeps};
use crate::engine::scoped::replaced;
use crate::engine::sync_shim::atomic::{AtomicBool, Ordering};
use crate::engine::sync_shim::{Arc, clock, modelled_thread_local};
use crate::engine::task::budget;
use crate::engine::wakers;
use std::cell::Cell;
use std::ptr;
use std::sync::Arc as StdArc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

modelled_thread_local! {
    /// The waker of this thread while it is not in its driver: compared, never followed.
    static NOT_IN_DRIVER: Cell<*const DriverWaker> = const { Cell::new(ptr::null()) };
}

/// Wakes a thread that is, or is about to be, blocked in its own driver.
///
/// The thread never wakes itself through the driver, neither while it polls the future nor while it calls the
/// wakers of a turn: it checks `woken` after the poll, and after the wakers it polls in any case, both before
/// it goes to the driver. To tell the driver all the same would cancel its next sleep, and so cost a system
/// call per turn.
struct DriverWaker {
    woken: AtomicBool,
    driver: Arc<Driver>,
}

impl Wake for DriverWaker {
    fn wake(self: StdArc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &StdArc<Self>) {
        if ptr::eq(NOT_IN_DRIVER.get(), StdArc::as_ptr(self)) {
            // Ordering: Relaxed, read by this thread. A swap all the same: it passes on what a wake by
            // another thread has released, which a store would hide.
            self.woken.swap(true, Ordering::Relaxed);
            return;
        }
        // Ordering: AcqRel: Release for the thread's Acquire swap; the first setter alone wakes the
        // poller, and the driver keeps a wake that comes before the poll.
        if !self.woken.swap(true, Ordering::AcqRel) {
            self.driver.wake();
        }
    }
}

/// Says that the calling thread, which `waker` wakes, is not in its driver until the result is dropped.
fn awake(waker: &DriverWaker) -> impl Sized + use<'_> {
    replaced(|awake| NOT_IN_DRIVER.replace(awake), ptr::from_ref(waker))
}

/// What a thread that drives counts, and calls, around its sleeps.
#[derive(Clone, Copy)]
pub(super) struct AroundSleeps<'a> {
    pub(super) sleeps: &'a Sleeps,
    pub(super) hooks: Option<&'a SleepHooks>,
}

/// A thread that drives, from when it begins until it stops, as it counts itself.
struct Busy<'a> {
    around: AroundSleeps<'a>,
    since: Instant,
}

impl<'a> Busy<'a> {
    fn begin(around: AroundSleeps<'a>) -> Self {
        Self { around, since: clock::now() }
    }

    /// Calls `sleep`, which sleeps unless a hook has woken the thread.
    fn sleep(&mut self, sleep: impl FnOnce()) {
        let AroundSleeps { sleeps, hooks } = self.around;
        if let Some(hooks) = hooks {
            hooks.before();
        }
        sleeps.begin(self.since, clock::now());
        sleep();
        self.since = sleeps.end();
        if let Some(hooks) = hooks {
            hooks.after();
        }
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.around.sleeps.was_busy(self.since, clock::now());
    }
}

/// Calls `poll`, and the driver in between, until it returns that it is ready.
///
/// `others_idle`: asked only while the clock stands still.
pub(super) fn drive<T>(
    driver: &Arc<Driver>,
    around: AroundSleeps<'_>,
    others_idle: &dyn Fn() -> OthersIdle,
    mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
) -> T {
    let flag = StdArc::new(DriverWaker { woken: AtomicBool::new(false), driver: driver.clone() });
    let waker = Waker::from(flag.clone());
    let mut cx = Context::from_waker(&waker);
    let mut wakes = Vec::new();
    let mut patience = Patience::new();
    let mut busy = Busy::begin(around);
    let mut trim_at = busy.since + QUIET;
    loop {
        // Ordering: Acquire pairs with `wake`: the poll that follows answers every wake so far and sees
        // what was written before it.
        flag.woken.swap(false, Ordering::Acquire);
        let polling = (awake(&flag), in_local(), budget::full());
        if let Poll::Ready(output) = poll(&mut cx) {
            // No thread of this runtime sleeps after that, to do it later.
            recycler::trim_if_alone();
            return output;
        }
        drop(polling);
        // Ordering: Acquire pairs with `wake`. A wake after this load finds the flag false and wakes the
        // poller.
        let is_woken = || flag.woken.load(Ordering::Acquire);
        let limit = is_woken().then_some(Duration::ZERO);
        if !driver.clock().is_stopped() {
            match limit {
                Some(_) => collect(driver, limit, &mut wakes),
                None => busy.sleep(|| sleep(driver, &is_woken, &mut trim_at, &mut wakes)),
            }
            let _awake = awake(&flag);
            wakers::wake_all(&mut wakes);
        } else if limit.is_some() {
            stopped_turn(driver, &mut patience, &mut wakes);
        } else {
            patience.turns = TURNS;
            busy.sleep(|| idle_turn(driver, &is_woken, others_idle, &mut patience, &mut wakes));
        }
    }
}

/// What is idle beside the thread that drives.
#[derive(Clone, Copy)]
pub(super) struct OthersIdle {
    /// No root is awake on another thread.
    pub(super) roots: bool,
    /// And no blocking work is queued or being done, at one moment.
    pub(super) all: bool,
}

impl OthersIdle {
    /// In a runtime whose roots are all on the thread that drives.
    pub(super) fn alone(no_work: bool) -> Self {
        Self { roots: true, all: no_work }
    }
}

/// How long a task waits for a quiescent point at most, because tasks and roots may never pause.
struct Patience {
    /// Turns left, without a pause between them, before the wait ends.
    turns: u32,
    /// Looks left at roots that are awake on other threads, before the wait ends.
    looks: u32,
}

const TURNS: u32 = 5_000;
/// Each takes `LOOK` at most, so together a tenth of a second, as in a multithreaded runtime. A look ends
/// sooner when the last root that is awake goes to sleep: if one is awake again by then, all have waited in
/// between.
const LOOKS: u32 = 100;
const LOOK: Duration = Duration::from_millis(1);

impl Patience {
    fn new() -> Self {
        Self { turns: TURNS, looks: LOOKS }
    }
}

/// Waits for events without a limit. If bursts of tasks have left memory, then at first until `trim_at` only,
/// and the thread gives that memory back, in pieces: at most once in [`QUIET`], so that bursts that follow
/// each other sooner find it again.
fn sleep(
    driver: &Driver,
    is_woken: &dyn Fn() -> bool,
    trim_at: &mut Instant,
    wakes: &mut Vec<Waker>,
) {
    if recycler::is_filled() {
        let mut limit = trim_at.saturating_duration_since(clock::now());
        loop {
            collect(driver, Some(limit), wakes);
            // A call that stops the clock rings, too, and may have ended this sleep.
            if !wakes.is_empty() || is_woken() || driver.clock().is_stopped() {
                return;
            }
            if !recycler::trim_some() {
                break;
            }
            limit = Duration::ZERO;
        }
        *trim_at = clock::now() + QUIET;
    }
    collect(driver, None, wakes);
}

/// A turn while the clock stands still and there is more to run.
#[cold]
fn stopped_turn(driver: &Driver, patience: &mut Patience, wakes: &mut Vec<Waker>) {
    if driver.quiescent_points().is_awaited() {
        patience.turns -= 1;
        if patience.turns == 0 {
            *patience = Patience::new();
            driver.quiescent_points().begin(wakes);
            wakers::wake_all(wakes);
        }
    }
    turn(driver, Some(Duration::ZERO), wakes);
}

/// A turn while the clock stands still and everything waits: for events that are there already, for a
/// quiescent point, for the next deadline, and only then for what may come.
#[cold]
fn idle_turn(
    driver: &Driver,
    is_woken: &dyn Fn() -> bool,
    others_idle: &dyn Fn() -> OthersIdle,
    patience: &mut Patience,
    wakes: &mut Vec<Waker>,
) {
    // First: work that has ended by now has caused all its events and wakes, which the two looks that follow
    // see. Asked last, it may end in between, and the clock jumps over what it has left behind.
    let idle = others_idle();
    collect(driver, Some(Duration::ZERO), wakes);
    if !wakes.is_empty() {
        // Perhaps of another thread, which was idle and now is not.
        return wakers::wake_all(wakes);
    }
    if is_woken() {
        return;
    }
    let mut limit = None;
    if !idle.roots && patience.looks > 0 && driver.quiescent_points().is_awaited() {
        patience.looks -= 1;
        limit = Some(LOOK);
    } else if idle.roots || driver.quiescent_points().is_awaited() {
        patience.looks = LOOKS;
        driver.begin_quiescent_point(idle.all, wakes);
    }
    match wakes.is_empty() {
        true => turn(driver, limit, wakes),
        false => wakers::wake_all(wakes),
    }
}

/// One round of the driver, and the wakes it brings.
fn turn(driver: &Driver, limit: Option<Duration>, wakes: &mut Vec<Waker>) {
    collect(driver, limit, wakes);
    wakers::wake_all(wakes);
}

/// One round of the driver; the wakes it brings are left to the caller.
fn collect(driver: &Driver, limit: Option<Duration>, wakes: &mut Vec<Waker>) {
    let Some(mut seat) = driver.try_seat() else {
        // A LocalRuntime is not Sync, and of the threads in a current-thread runtime's `block_on` one drives.
        unreachable!("the seat is taken by the thread that drives only");
    };
    seat.turn(limit, wakes);
}

#[cfg(all(test, liten_loom))]
mod loom;
#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;
