//! The watchdog: the driver thread. It fetches events while no worker is idle, and sees to it that no task
//! waits behind a long poll.
//!
//! It is there from the first task or event on, so workers that are busy or blocked can never stop I/O or
//! timers. But it stays out of the way: an idle worker in the seat runs the task that an event wakes without
//! a change of thread, and a busy one polls the driver between two tasks (policy.rs). This thread looks at
//! all workers every [`LOOK`] or less often, decides (`watchdog/decision.rs`, pure, with the table of its
//! orders), and acts:
//!
//! | order | act |
//! |---|---|
//! | `Fetch` | takes the seat, until events come while a worker is parked |
//! | `WakePeer` | wakes a parked worker, which finds the tasks as a thief |
//! | `Rescue` | one worker that moves takes what is queued at the stalled ones, at its next look for work |
//! | `AddSpare` | calls back the thread that rests in the slot behind the others, or starts it: a *spare* |
//! | `RetireSpares` | asks the spares that replace no worker to leave: their threads rest (lifecycle.rs) |
//! | `ReportBlocked` | tells the probe (probe.rs) of the poll |
//! | `Drain` | starts a thread that drops the tasks of a closed runtime (lifecycle.rs) |
//!
//! It also says whether ready tasks wait for long polls. While they do, workers time their polls, and queue
//! tasks whose polls are long behind those that are ready (lengths.rs).
//!
//! It never takes a queued task: what it opens, workers take. So nothing that it does can be caught half-
//! way between two queues, and nothing that was rescued goes back behind the poll that blocked it: it is
//! run by the worker that took it, or waits among the ready tasks, which run before those that have
//! yielded.
//!
//! # A bound in time
//!
//! While one worker stalls, or all are slow and none is parked, no event and no timer waits longer than 1 ms
//! to be fetched, if the system lets this thread run: the seat was taken within the last two looks, or this
//! thread sits there.
//!
//! While no worker stalls, each pause is twice as long as the one before: up to 4 ms if one is idle, and up
//! to 2 ms if none is and not all are slow. So the first event behind a poll that becomes long may wait for
//! two of these pauses: 8 ms, or 4 ms. A look costs up to 18 µs where processors are virtual: 2,000 a second
//! were a third of what 1,000 intervals cost (`mixed_intervals_spread`), and 4 % of a busy web server.
//! Rejected: the last idle worker wakes this thread, which is a wake per event where workers are busy for
//! some microseconds at a time.
//!
//! These are the times of a release build. In a debug build, where all of that costs as much more, each is
//! longer by [`BUILD_FACTOR`](super::policy::BUILD_FACTOR).
//!
//! While it sits, it waits in the poller, so that an event wakes it at once, and the system takes a core from
//! a task that computes to let it run. It stays while each round finds no worker parked. When one is, it
//! leaves the seat to that worker, so that the slower way over this thread is not kept longer than needed.
//!
//! # Sleep
//!
//! When every worker is parked or blocks in place, the seat is attended and no spare waits to be let go,
//! nothing can go wrong until a worker leaves its park, and the thread sleeps without a limit: an idle
//! runtime makes no look. It stores `asleep`, fences, looks at the idle word once more, and sleeps. A worker
//! that leaves its park, or comes back from blocking in place, says so (clears its bit, or leaves the count
//! of those that do), fences, then reads `asleep`. One of the two sees the other (models
//! `a_worker_that_leaves_its_park_wakes_the_watchdog`, `a_worker_that_is_back_wakes_the_watchdog`).
//!
//! In the seat, the thread does not sleep without a limit while the probe waits for the end of a slow poll.
//! Outside the seat it need not ask: it sleeps after [`IDLE_LOOKS`] idle looks in a row, and the first of
//! them has told the probe that the poll is over.
//!
//! Before it sleeps without a limit, it gives back the memory that the tasks of a burst have left
//! (`engine/recycler.rs`), in pieces, and stops when it is roused.
//!
//! A new worker counts as alive before its thread starts, fences before its first task, and reads `asleep`
//! (model `a_worker_with_its_first_task_wakes_the_watchdog`). So the thread is not needed before: a runtime
//! begins with `asleep` set and without it, and the worker that would wake it starts it (`start_stop` in
//! `benches/`: 1.5 of tokio's time with the thread, 1.0 to 1.1 without). If the system has no thread to give,
//! idle workers fetch events all the same, and each that leaves its park tries again.

mod decision;

pub(crate) use decision::LONGEST_PAUSE;

use super::brake::{self, Brake};
use super::enqueue::{DriverThread, Role, play};
use super::shared::Shared;
use crate::engine::driver::{COMMON_WAKES, SeatGuard};
use crate::engine::park::Parker;
use crate::engine::recycler::{self, TRIM_INTERVAL};
use crate::engine::slice::{self, Slices};
use crate::engine::sync_shim::atomic::{Ordering, fence};
use crate::engine::sync_shim::{Arc, clock};
use crate::engine::task::waker::is_task_of;
use crate::engine::wakers;
use decision::{History, LOOK, Order, Snapshot, WorkerSnapshot};
use std::task::Waker;
use std::time::{Duration, Instant};

/// Time between looks while the only work left is retiring spares.
const EASY_LOOK: Duration = Duration::from_millis(50);

/// How long a future waits for a quiescent point; then the wait ends although there was none.
const LONGEST_WAIT: Duration = Duration::from_millis(100);

/// Looks without any work before the thread sleeps without a limit: long enough that sparse traffic does not
/// wake it each time.
const IDLE_LOOKS: u32 = 8;

impl Shared {
    /// Called by a worker with its first task, when it has left its park, and when it is back from blocking
    /// in place: sees to it that the watchdog looks.
    #[inline]
    pub(super) fn rouse_watchdog(self: &Arc<Self>) {
        // After the caller's SeqCst fence, which comes after the worker's parked bit was cleared.
        if self.watchdog.take_asleep() {
            self.wake_or_start_watchdog();
        }
    }

    /// Called by a thread that is no worker and has nothing to do any more: if tasks have left memory, the
    /// watchdog looks once more before it sleeps, and gives it back.
    pub(crate) fn rouse_to_trim(&self) {
        if recycler::is_filled() && self.watchdog.is_there() {
            // Ordering: SeqCst fence, as `take_asleep` asks for. If the thread is about to sleep, it has seen
            // the memory, or it is woken.
            fence(Ordering::SeqCst);
            if self.watchdog.take_asleep() {
                self.watchdog.wake(&self.driver);
            }
        }
    }

    #[cold]
    fn wake_or_start_watchdog(self: &Arc<Self>) {
        if self.watchdog.is_there() {
            self.watchdog.wake(&self.driver);
        } else if self.start_watchdog().is_err() {
            // Idle workers, and busy ones between two polls, fetch events all the same. The next one that
            // leaves its park tries again.
            self.watchdog.fall_asleep();
        }
    }
}

/// Whether every worker is parked or blocked in place, so that each of them wakes this thread before it runs
/// a task; the runtime is open; and no future waits for a quiescent point.
fn all_will_wake_us(shared: &Shared) -> bool {
    let (parked, blocked) = (shared.idle.parked(), shared.size.blocked_in_place());
    // Spares are started by this thread, or by a worker before it blocks.
    parked + blocked >= shared.size.alive()
        // Without a worker to take over, a spare may have to be tried again.
        && (blocked == 0 || parked != 0)
        // The last worker, which is not counted any more, may be in a destructor that does not end.
        && !shared.shutdown.is_closed()
        && !shared.is_quiescent_point_awaited()
}

/// Whether [`all_will_wake_us`], no spare is to be let go, and no task waits for the brake to be
/// released. The queues are read last: a worker that is seen parked has pushed its task before, and a thread
/// that is no worker wakes the watchdog (`Shared::wake_regular`). Model
/// `the_watchdog_stays_awake_beside_a_task_that_the_brake_keeps_back`.
fn may_rest(shared: &Shared, brakes: bool) -> bool {
    all_will_wake_us(shared)
        && (shared.size.spares() == 0 || shared.size.blocked_in_place() != 0)
        && !(brakes && shared.has_yielded())
}

/// Announces a long sleep if `condition` holds. Evaluates `condition` again after the announcement, so that
/// either this thread sees a worker that leaves its park, or that worker sees the announcement and wakes this
/// thread. Returns whether the thread sleeps: then a worker that it has not seen wakes it. Otherwise it looks
/// again soon.
#[must_use = "a thread that sleeps although it is to look again may sleep for ever"]
fn announce_sleep(shared: &Shared, condition: impl Fn() -> bool) -> bool {
    if !condition() {
        return false;
    }
    shared.watchdog.fall_asleep();
    // Ordering: SeqCst fence: announce, fence, look; the other half is in `Worker::end_park`.
    fence(Ordering::SeqCst);
    condition() && !shared.shutdown.is_drained()
}

/// What the watchdog keeps from one look to the next.
struct WatchdogThread {
    parker: Parker,
    history: History,
    /// How many slots the last look had to look at.
    occupied: usize,
    /// Kept for its memory.
    workers: Vec<WorkerSnapshot>,
    orders: Vec<Order>,
    /// Until the next look.
    pause: Duration,
    idle_looks: u32,
    /// Since the last look this thread has woken tasks while no worker was idle.
    delivered: bool,
    /// Which quiescent point is waited for, by how many there were before it, and since when.
    quiescent_wait: Option<(u64, Instant)>,
    wakes: Vec<Waker>,
    /// What the probe has answered to the last look.
    may_sleep: bool,
    brake: Brake,
    /// How many workers may run tasks that have yielded.
    computing: usize,
}

/// The driver thread's whole life.
pub(super) fn run(shared: &Arc<Shared>) {
    slice::choose(Slices::Shortest);
    let parker = Parker::new();
    shared.watchdog.set_unparker(parker.unparker());
    let mut thread = WatchdogThread::new(shared, parker);
    let role = Role::DriverThread(DriverThread::new(shared.clone()));
    while !shared.shutdown.is_drained() {
        thread.turn(shared, &role);
    }
}

impl WatchdogThread {
    /// All lists get their memory here: the thread steps in when the machine is busy, and a program whose
    /// other threads do not allocate any more must not see this one begin to.
    fn new(shared: &Shared, parker: Parker) -> Self {
        let now = clock::now();
        let workers = shared.slots.workers();
        Self {
            parker,
            history: History::new(workers, shared.driver.attendance(), now),
            occupied: 0,
            workers: Vec::with_capacity(workers),
            // One order for each worker tells of its poll, and of the others a look gives three at the most.
            orders: Vec::with_capacity(workers + 3),
            pause: LOOK,
            idle_looks: 0,
            delivered: false,
            quiescent_wait: None,
            wakes: Vec::with_capacity(COMMON_WAKES),
            may_sleep: true,
            brake: Brake::default(),
            computing: brake::ALL,
        }
    }

    fn turn(&mut self, shared: &Arc<Shared>, role: &Role) {
        if self.look(shared, clock::now()) {
            self.attend(shared, role);
        }
        self.end_quiescent_point_wait(shared, clock::now());
        let brakes = self.brakes();
        let has_easy_look = || {
            all_will_wake_us(shared)
                && shared.size.spares() != 0
                && !(brakes && shared.has_yielded())
        };
        let is_idle = |shared: &Shared| may_rest(shared, brakes) && shared.driver.is_attended();
        self.idle_looks = if is_idle(shared) { self.idle_looks + 1 } else { 0 };
        if shared.shutdown.is_drained() {
            return;
        }
        if self.idle_looks >= IDLE_LOOKS {
            if announce_sleep(shared, || is_idle(shared)) {
                while shared.watchdog.is_asleep() && recycler::trim_some() {}
                self.parker.park();
            }
            self.idle_looks = 0;
            self.pause = LOOK;
        } else if announce_sleep(shared, has_easy_look) {
            self.parker.park_timeout(EASY_LOOK);
        } else {
            self.parker.park_timeout(self.pause);
        }
        shared.watchdog.end_sleep();
    }

    /// Looks at every worker, and does what is to be done. `true`: the driver's seat is to be taken.
    fn look(&mut self, shared: &Arc<Shared>, now: Instant) -> bool {
        self.brake(shared, now);
        let (regular, staying) = (shared.size.regular(), shared.size.staying());
        // Also those of the last look, so that each that has left since is seen to be idle.
        let occupied = shared.slots.occupied().max(staying);
        let looked_at = occupied.max(std::mem::replace(&mut self.occupied, occupied));
        let slots = (0..looked_at).map(|index| (index, shared.slots.get(index)));
        self.workers.clear();
        self.workers.extend(slots.map(|(index, slot)| WorkerSnapshot {
            progress: slot.progress(),
            absent_or_parked: !slot.is_active() || shared.idle.is_parked(index),
            blocked_in_place: slot.is_blocked_in_place(),
            ready: slot.has_ready(),
            yielded: slot.has_yielded(),
        }));
        let snapshot = Snapshot {
            now,
            workers: &self.workers,
            regular: regular.min(staying),
            staying,
            may_add_spare: shared.may_add_spare(),
            delivered: std::mem::take(&mut self.delivered),
            outside: !shared.queues.injector.is_empty(),
            yielded_outside: !shared.queues.yielded.is_empty(),
            parked: shared.idle.parked() != 0,
            closed: shared.shutdown.is_closed(),
            attended: shared.driver.is_attended(),
            attendance: shared.driver.attendance(),
        };
        self.history.decide(&snapshot, &mut self.orders);
        self.pause = self.history.next_pause(&snapshot, &self.orders, self.pause);
        if let Some(pause) = self.brake.longest_pause() {
            self.pause = self.pause.min(pause);
        }
        // Before the orders, which make workers look at both.
        for index in 0..snapshot.workers.len() {
            let slot = shared.slots.get(index);
            slot.set_stall(self.history.stall(index, now));
        }
        // Before the orders, which wake spares. Not while the brake is on: after a time in which the system
        // has stopped all threads, all polls look long, and spares that compute as well would use up the next
        // quota sooner.
        let take_all = !self.brakes() && self.history.spares_take_all(&snapshot);
        shared.watchdog.set_spares_take_all(take_all);
        shared.watchdog.set_polls_are_long(self.history.polls_are_long(&snapshot));
        let fetch = self.act(shared, now);
        // The probe comes after the orders, because it may call the program's code. Only `Order::Fetch` waits
        // for it: the caller takes the seat when this function has returned.
        self.may_sleep = shared.probe.get().is_none_or(|probe| probe.looked(shared, now));
        fetch
    }

    /// Keeps workers from tasks that have yielded, or no longer does.
    ///
    /// A worker that pushes such a task while the brake is on wakes no one. When more workers may run them,
    /// this thread says so, fences, and looks at the queues. The worker pushes, fences, and reads the
    /// number (`Shared::tell`). So one of the two sees the other. A worker that parks sets its bit, fences,
    /// reads the number, and looks at the queues (`Worker::sleep`); this thread reads the bits after its
    /// fence. And this thread does not sleep without a limit while the brake is on and such a task waits
    /// (`may_rest`). Model
    /// `a_task_that_has_yielded_runs_when_the_brake_is_released`.
    fn brake(&mut self, shared: &Arc<Shared>, now: Instant) {
        let budget = shared.probe.get().and_then(|probe| probe.budget(shared, now));
        // Not at the end, and not where the program waits for quiescent points: there is none while a task
        // waits for the brake.
        let budget = budget.filter(|_| !shared.shutdown.is_closed() && !shared.counts_threads());
        let is_paid = !shared.size.owes_poll() || !shared.has_yielded();
        let owed = self.brake.owes_poll();
        let computing = self.brake.look(budget, now, is_paid);
        if self.brake.owes_poll() && !owed {
            shared.size.owe_poll();
        }
        self.allow(shared, computing);
    }

    fn allow(&mut self, shared: &Shared, computing: usize) {
        let before = std::mem::replace(&mut self.computing, computing);
        if computing != before {
            shared.size.set_computing(computing);
        }
        if computing < before {
            // A worker may be in a long poll, after which its next fair turn is many tasks away. Helpers
            // leave such tasks anyway.
            let first = shared.size.first_to_leave_yielded();
            for index in first..shared.size.first_helper().min(shared.slots.high()) {
                shared.slots.get(index).set_leaves_yielded(true);
            }
        }
        if computing > before {
            // Ordering: SeqCst fence: say how many, fence, look. The other halves are in `Shared::tell` and
            // `Worker::sleep`.
            fence(Ordering::SeqCst);
            if shared.has_yielded() {
                shared.wake_regular(0);
            }
        }
    }

    /// Whether workers are kept from tasks that have yielded.
    fn brakes(&self) -> bool {
        self.computing != brake::ALL
    }

    /// Carries the orders out. `true`: one of them is to fetch.
    fn act(&mut self, shared: &Arc<Shared>, now: Instant) -> bool {
        let mut fetch = false;
        let mut orders = std::mem::take(&mut self.orders);
        for order in orders.drain(..) {
            match order {
                Order::Fetch => fetch = true,
                Order::WakePeer(index) => {
                    let any = shared.has_ready() || shared.watchdog.spares_take_all();
                    if any {
                        shared.wake_one(index)
                    } else {
                        shared.wake_regular(index)
                    };
                }
                Order::Rescue => shared.call_for_rescue(),
                Order::AddSpare => {
                    if shared.start_spare().is_err() {
                        self.history.failed = Some(now);
                    }
                }
                Order::RetireSpares(needed) => shared.retire_spares(needed),
                Order::Drain => shared.start_drainer(),
                Order::ReportBlocked(index) => {
                    if let Some(probe) = shared.probe.get() {
                        let slot = shared.slots.get(index);
                        let task = slot.running.read();
                        // The progress is read after the task. If it has changed, the task is another poll's.
                        let is_same = slot.progress() == self.workers[index].progress;
                        let time = self.history.in_one_poll_for(index, now);
                        probe.blocked(shared, index, task.filter(|_| is_same), time);
                    }
                }
            }
        }
        self.orders = orders;
        fetch
    }

    /// Polls until a worker is idle, which can do it itself.
    fn attend(&mut self, shared: &Arc<Shared>, role: &Role) {
        while self.sit(shared) {
            // No worker was idle when the events came, so each will find what concerns it.
            let busy = shared.idle.parked() == 0;
            self.delivered |= busy && !self.wakes.is_empty();
            self.wake(role);
            // The look comes last, because it may call the program's code. The tasks of the events that this
            // thread has fetched are queued by then. Later events wait until that code returns, unless a
            // worker takes the seat.
            if self.is_look_due() {
                // This thread takes the seat after it, so nothing is to be fetched.
                let _ = self.look(shared, clock::now());
            }
            shared.remove_awake();
            if !busy || shared.shutdown.is_drained() {
                break;
            }
        }
        self.history.attendance = shared.driver.attendance();
    }

    /// Calls the wakers of the round.
    ///
    /// What a task's waker wakes is collected, and sent when all of them have been called. Any other waker is
    /// the program's code. It may wait for a task that has just been woken, and no watchdog is left to help:
    /// so it is called after that, and without the role, in which what it wakes itself would be collected.
    fn wake(&mut self, role: &Role) {
        if let Role::DriverThread(thread) = role {
            let scheduler = thread.address();
            let is_ours = |waker: &Waker| is_task_of(waker, scheduler);
            play(role, || wakers::wake_some(&mut self.wakes, is_ours));
            thread.flush();
        }
        wakers::wake_all(&mut self.wakes);
    }

    /// Sits in the driver's seat until a round has brought something, or a worker has taken the seat during a
    /// look; goes on looking after the workers meanwhile. `true`: there may be wakers to call, and the thread
    /// counts as awake until it has called them. `false`: another thread sits there.
    #[must_use = "the thread counts as awake until it has called the wakers"]
    fn sit(&mut self, shared: &Arc<Shared>) -> bool {
        let Some(mut seat) = shared.driver.try_seat() else {
            return false;
        };
        shared.add_awake();
        // Once per rest: another runtime that is busy fills the depots again, and this one would wake up for
        // it as long as it rests.
        let mut has_trimmed = false;
        while self.wakes.is_empty() && !shared.shutdown.is_drained() {
            let may_sleep = || may_rest(shared, self.brakes()) && self.may_sleep;
            let limit = if announce_sleep(shared, may_sleep) {
                // After the announcement: see `rouse_to_trim`.
                (!has_trimmed && recycler::is_filled()).then_some(TRIM_INTERVAL)
            } else {
                Some(LOOK)
            };
            self.parker.sit(|| shared.turn(&mut seat, limit, &mut self.wakes));
            // One that was roused meanwhile comes back.
            has_trimmed = limit == Some(TRIM_INTERVAL) && shared.watchdog.is_asleep();
            if has_trimmed {
                self.trim(shared, &mut seat);
            }
            shared.watchdog.end_sleep();
            if self.wakes.is_empty() && self.is_look_due() {
                // The look may call the program's code. If that takes long, a worker must be able to sit
                // here.
                drop(seat);
                let _ = self.look(shared, clock::now());
                seat = match shared.driver.try_seat() {
                    Some(seat) => seat,
                    None => break,
                };
            }
            let now = clock::now();
            if self.is_quiescent_point_overdue(shared, now) {
                shared.driver.quiescent_points().begin(&mut self.wakes);
            }
        }
        true
    }

    /// In the seat, after a sleep in which nothing came: gives back the memory that bursts of tasks have
    /// left.
    #[cold]
    fn trim(&mut self, shared: &Shared, seat: &mut SeatGuard<'_>) {
        while self.wakes.is_empty() && shared.watchdog.is_asleep() && recycler::trim_some() {
            seat.turn(Some(Duration::ZERO), &mut self.wakes);
        }
    }

    fn is_look_due(&self) -> bool {
        clock::now().saturating_duration_since(self.history.looked) >= LOOK
    }

    /// Whether one quiescent point has been waited for for long: something never waits, or blocks its thread.
    fn is_quiescent_point_overdue(&mut self, shared: &Shared, now: Instant) -> bool {
        self.quiescent_wait = shared.is_quiescent_point_awaited().then(|| {
            let count = shared.driver.quiescent_points().count();
            // It is not enough that a future waits at each look: each may wait for another quiescent point.
            self.quiescent_wait.filter(|known| known.0 == count).unwrap_or((count, now))
        });
        self.quiescent_wait
            .is_some_and(|(_, since)| now.saturating_duration_since(since) > LONGEST_WAIT)
    }

    /// Tells the tasks that have waited for a quiescent point for too long.
    fn end_quiescent_point_wait(&mut self, shared: &Shared, now: Instant) {
        if self.is_quiescent_point_overdue(shared, now) {
            // Counts as awake while it calls the wakers: the clock must not jump before the tasks are queued.
            // Without the role, because there are too few of them to be worth chains.
            shared.add_awake();
            shared.driver.quiescent_points().begin(&mut self.wakes);
            wakers::wake_all(&mut self.wakes);
            shared.remove_awake();
        }
    }
}

#[cfg(all(test, liten_loom))]
mod loom;
#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;
