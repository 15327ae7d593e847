//! The loop of a thread that runs tasks and waits for events by turns: that of a
//! [`LocalRuntime`](super::LocalRuntime), and of a current-thread [`Runtime`](super::Runtime).
//!
//! The thread parks in the driver's seat, as an idle worker does (`engine/park.rs`). So a wake that comes
//! while it runs leaves a token and makes no system call, and one that comes when it has announced its sleep
//! ends that. A token is used up before each poll of the root, which answers all wakes so far.

use super::block_on::root_waker;
use super::local_thread::in_local;
use crate::engine::driver::Driver;
use crate::engine::park::Parker;
use crate::engine::recycler::{self, TRIM_INTERVAL};
use crate::engine::scheduler::{SleepHooks, Sleeps};
use crate::engine::sync_shim::{Arc, clock};
use crate::engine::task::budget;
use crate::engine::wakers;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// The counts of a thread that drives, and the hooks that it calls around its sleeps.
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
    let parker = Parker::new();
    let waker = root_waker(&parker, Some(driver.clone()), None);
    let mut cx = Context::from_waker(&waker);
    let mut wakes = Vec::new();
    let mut patience = Patience::new();
    let mut busy = Busy::begin(around);
    let mut trim_at = busy.since + TRIM_INTERVAL;
    loop {
        parker.take_token();
        let polling = (in_local(), budget::full());
        if let Poll::Ready(output) = poll(&mut cx) {
            // No thread of this runtime sleeps after that, to do it later.
            recycler::trim_if_alone();
            return output;
        }
        drop(polling);
        let is_woken = parker.is_notified();
        if !driver.clock().is_stopped() {
            match is_woken {
                true => collect(driver, Some(Duration::ZERO), &mut wakes),
                false => busy.sleep(|| sleep(driver, &parker, &mut trim_at, &mut wakes)),
            }
            wakers::wake_all(&mut wakes);
        } else if is_woken {
            stopped_turn(driver, &mut patience, &mut wakes);
        } else {
            patience.turns = TURNS;
            busy.sleep(|| idle_turn(driver, &parker, others_idle, &mut patience, &mut wakes));
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

/// Waits for events, or only looks for them if the thread has been woken.
fn sleep(driver: &Driver, parker: &Parker, trim_at: &mut Instant, wakes: &mut Vec<Waker>) {
    if !parker.sit(|| sleep_in_seat(driver, parker, trim_at, wakes)) {
        collect(driver, Some(Duration::ZERO), wakes);
    }
}

/// Waits for events without a limit. If bursts of tasks have left memory, then at first until `trim_at` only,
/// and the thread gives that memory back, in pieces: at most once in [`TRIM_INTERVAL`], so that bursts that
/// follow each other sooner find it again.
fn sleep_in_seat(driver: &Driver, parker: &Parker, trim_at: &mut Instant, wakes: &mut Vec<Waker>) {
    if recycler::is_filled() {
        let mut limit = trim_at.saturating_duration_since(clock::now());
        loop {
            collect(driver, Some(limit), wakes);
            // A call that stops the clock rings, too, and may have ended this sleep.
            if !wakes.is_empty() || parker.is_notified() || driver.clock().is_stopped() {
                return;
            }
            if !recycler::trim_some() {
                break;
            }
            limit = Duration::ZERO;
        }
        *trim_at = clock::now() + TRIM_INTERVAL;
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
    collect(driver, Some(Duration::ZERO), wakes);
    wakers::wake_all(wakes);
}

/// A turn while the clock stands still and everything waits: for events that are there already, for a
/// quiescent point, for the next deadline, and only then for what may come.
#[cold]
fn idle_turn(
    driver: &Driver,
    parker: &Parker,
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
    if parker.is_notified() {
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
    if wakes.is_empty() {
        parker.sit(|| collect(driver, limit, wakes));
    }
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
