//! How tasks are queued: each task that becomes runnable comes through [`Shared::enqueue`], and so do most
//! that change their queue.
//!
//! | thread | reason | queue | notice |
//! |---|---|---|---|
//! | a worker | `Spawned` | ready | a peer |
//! | | `Woken` | next slot | a peer |
//! | | `FirstOfBatch` | next slot | |
//! | | `InBatch` | ready | |
//! | | `Requeued` | ready | again |
//! | | `Yielded` | yielded | again |
//! | | `Long` | yielded | a peer |
//! | | `LeftToOthers` | shared yielded | regular |
//! | | `BroughtIn` | ready | |
//! | the driver thread | a waker | chain | |
//! | | a waker of a long task | shared yielded | regular |
//! | another one | a spawn | injector | outside |
//! | | a waker | channel | home |
//! | | a waker of a long task | shared yielded | regular |
//!
//! The *next slot*, and the deques of tasks that are *ready* or have *yielded*, are the thread's own. A
//! *channel* and a *chain* lead to the task's *home*, the worker that ran it last. *Shared yielded* is the
//! queue of tasks that have yielded and that all workers share. A task without a home goes to the injector,
//! and a worker is told at once. Which tasks are *long*, lengths.rs says.
//!
//! Where there is no [`Notice`], no worker has to know, or the caller tells one when it has queued all that
//! it has. [`place`] is the table, and pure.
//!
//! Four kinds of moves between queues do not go through `enqueue`. `steal_into` and `move_into` move a batch
//! from queue to deque; the worker that calls them runs one of the tasks, and tells a peer of the others when
//! they are queued. `flush` moves a chain from the driver thread to a channel; each of its tasks came through
//! `enqueue` before. [`OwnQueues::put_next`] moves a displaced task from the next slot to the deque; the
//! `enqueue` of the task that displaces it tells a peer. [`Shared::abandon`] moves what is in queues that are
//! given up; its caller tells a worker.
#![allow(unsafe_code)]

use super::shared::Shared;
use super::slots::{Deques, Slot};
use super::worker::Worker;
use crate::engine::park::Unpark;
use crate::engine::queue::local::Local;
use crate::engine::queue::wake_channel::{Chain, Pushed};
use crate::engine::scoped::Scoped;
use crate::engine::sync_shim::atomic::{Ordering, fence};
use crate::engine::sync_shim::{Arc, thread_local};
use crate::engine::task::JoinHandle;
use crate::engine::task::cell::new_send_task;
use crate::engine::task::header::{Hot, Schedule, TaskHooks};
use crate::engine::task::home::Home;
use crate::engine::task::origin::Origin;
use crossbeam_utils::CachePadded;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::iter;

/// The thread that queues a task, and why. `O` stands for the worker's own queues and `C` for the driver
/// thread's chains, here and in [`Queue`]. The value carries them, so that [`Shared::enqueue`] can push
/// without looking them up. Tests use `()`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pusher<O, C> {
    Worker(O, Reason),
    /// The driver thread while it calls wakers: one has made the task hot.
    DriverThread(C),
    /// Another thread: it has just made the task.
    Spawner,
    /// Another thread: a waker has made the task hot.
    Waker,
}

/// Why a worker queues a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// It has just been made.
    Spawned,
    /// A waker has made it hot.
    Woken,
    /// One of a batch of wakers has made it hot: of several that are called together (worker.rs). It is
    /// the first task, and may be the only one.
    FirstOfBatch,
    /// The same, and it is not the first one, or there will be several: as with the events of one round of
    /// the driver.
    InBatch,
    /// It was woken in its poll, by another one.
    Requeued,
    /// It has yielded.
    Yielded,
    /// A waker has made it hot, or it has just been made, and it is long (lengths.rs).
    Long,
    /// It has yielded or is long, and the worker is a helper, or one that the brake keeps from such tasks.
    LeftToOthers,
    /// It comes from another queue: the next slot, and others come first; a channel, which this worker
    /// empties; or a queue of a worker that is stuck.
    BroughtIn,
}

/// Where a task goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Queue<O, C> {
    Next(O),
    Ready(O),
    Yielded(O),
    /// The tasks that the driver thread sends to this worker at the end of its round.
    Chain(C, usize),
    /// The wake channel of this worker.
    Channel(usize),
    Injector,
    /// The queue of tasks that have yielded and that all workers share.
    SharedYielded,
}

/// Which worker is told that a task is queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a task of which no worker knows may never be run"]
pub(super) enum Notice<O> {
    /// A parked peer, if more than one task is runnable here.
    Peer(O),
    /// The same if the poll has queued other tasks: a task that goes back to its queue changes nothing.
    Again(O),
    /// A parked worker, unless one is searching: this thread will not run the task. If none is parked, those
    /// that are awake find the task when they next look for shared work.
    Outside,
    /// The same, but among the workers that run yielded tasks.
    Regular,
    /// The worker whose channel it is, or a parked one if that worker is awake. Told only of the first task
    /// in an empty channel.
    Home(usize),
    /// No worker: the caller tells one when it has queued all, or this one runs the task next.
    Nothing,
}

/// To which workers a thread sends a task that it does not run itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum To {
    /// The one that ran it last.
    Home(usize),
    /// It has not run yet, or ran last on a thread that has no slot.
    Any,
    /// The task is long.
    Regular,
}

/// The table at the head of this file. `to` says to which workers a task is sent that the thread does not run
/// itself.
#[inline(always)]
pub(super) fn place<O: Copy, C>(
    by: Pusher<O, C>,
    to: impl FnOnce() -> To,
) -> (Queue<O, C>, Notice<O>) {
    match by {
        Pusher::Worker(own, reason) => match reason {
            Reason::Spawned => (Queue::Ready(own), Notice::Peer(own)),
            Reason::Woken => (Queue::Next(own), Notice::Peer(own)),
            Reason::FirstOfBatch => (Queue::Next(own), Notice::Nothing),
            Reason::InBatch | Reason::BroughtIn => (Queue::Ready(own), Notice::Nothing),
            Reason::Requeued => (Queue::Ready(own), Notice::Again(own)),
            Reason::Yielded => (Queue::Yielded(own), Notice::Again(own)),
            Reason::Long => (Queue::Yielded(own), Notice::Peer(own)),
            Reason::LeftToOthers => (Queue::SharedYielded, Notice::Regular),
        },
        Pusher::DriverThread(chains) => match to() {
            To::Home(home) => (Queue::Chain(chains, home), Notice::Nothing),
            To::Any => (Queue::Injector, Notice::Outside),
            To::Regular => (Queue::SharedYielded, Notice::Regular),
        },
        Pusher::Spawner => (Queue::Injector, Notice::Outside),
        Pusher::Waker => match to() {
            To::Home(home) => (Queue::Channel(home), Notice::Home(home)),
            To::Any => (Queue::Injector, Notice::Outside),
            To::Regular => (Queue::SharedYielded, Notice::Regular),
        },
    }
}

/// The role of the calling thread for a scheduler: a wake or a spawn asks this first.
#[expect(
    clippy::large_enum_variant,
    reason = "a thread has one, and a box would be one load more per wake"
)]
pub(super) enum Role {
    Worker(Worker),
    /// A thread in `block_on`.
    Root(Arc<Shared>),
    DriverThread(DriverThread),
    /// A worker whose task blocks in place: it has no queues meanwhile.
    BlockedInPlace,
    /// A thread that drops the tasks of a closed runtime, and must not block on what others of them do.
    Drainer,
}

impl Role {
    pub(super) fn worker(&self) -> Option<&Worker> {
        match self {
            Role::Worker(worker) => Some(worker),
            _ => None,
        }
    }
}

thread_local! {
    static ROLE: Scoped<Role> = const { Scoped::new() };
}

/// Plays `role` on this thread while `f` runs.
pub(super) fn play<R>(role: &Role, f: impl FnOnce() -> R) -> R {
    Scoped::set(&ROLE, role, f)
}

/// Calls `f` with the thread's role. `None` on a thread that plays no role.
#[inline]
pub(super) fn with_role<R>(f: impl FnOnce(Option<&Role>) -> R) -> R {
    Scoped::with(&ROLE, f)
}

/// The role of the driver thread while it calls the tasks' wakers of one round.
///
/// It does not run the tasks that they wake. It collects these per home worker, and sends each worker one
/// chain. Tasks without a home go to the injector, one by one.
pub(super) struct DriverThread {
    shared: Arc<Shared>,
    chains: Chains,
}

impl DriverThread {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        // A place for each home, so that the thread does not allocate when it first steps in.
        let chains = RefCell::new(Vec::with_capacity(shared.slots.workers()));
        Self { shared, chains }
    }

    pub(super) fn address(&self) -> *const Shared {
        Arc::as_ptr(&self.shared)
    }

    pub(super) fn woken(&self, task: Hot) {
        self.shared.report_outside(&task);
        self.shared.enqueue(Pusher::DriverThread(&self.chains), task);
    }

    /// Sends the chains that the wakers of one round have made to the channels of their workers: one RMW and
    /// at most one unpark per worker.
    pub(super) fn flush(&self) {
        // Nothing is added meanwhile: all wakers of the round have been called.
        for (home, chain) in self.chains.borrow_mut().drain(..) {
            if self.shared.slots.get(home).channel.push_chain(chain) == Pushed::First {
                self.shared.sent(home);
            }
        }
    }
}

/// The queues that a worker has of its own.
pub(super) struct OwnQueues {
    pub(super) index: usize,
    pub(super) slot: Arc<CachePadded<Slot>>,
    /// Tasks that have been woken or spawned.
    pub(super) ready: Local<Hot>,
    /// Tasks that have yielded.
    pub(super) yielded: Local<Hot>,
    /// The task that runs has made another one runnable here.
    pub(super) pushed: Cell<bool>,
    pub(super) flags: WorkerFlags,
}

/// Flags that say what is special about a worker at the moment. One byte for all, so that a worker that goes
/// from task to task looks only once.
pub(super) struct WorkerFlags(Cell<u8>);

/// The worker counts in the idle word as searching, and ends that when it finds a task.
pub(super) const SEARCHING: u8 = 1;
/// It has found no task yet: with the first one the watchdog learns that this worker is at work.
pub(super) const NEW: u8 = 2;
/// The worker's probe is on: see probe.rs.
pub(super) const OBSERVED: u8 = 4;
/// The worker times polls: see lengths.rs.
pub(super) const TIMED: u8 = 8;
/// The worker has spawned or run a task of a class, or heard of one: see worker/classes.rs.
pub(super) const CLASSED: u8 = 16;

impl WorkerFlags {
    /// Whether any of these bits is set.
    #[inline]
    pub(super) fn has(&self, bits: u8) -> bool {
        self.0.get() & bits != 0
    }

    /// Sets or clears this bit. Returns whether it was set before.
    #[inline]
    pub(super) fn set(&self, bit: u8, is_set: bool) -> bool {
        let before = self.0.get();
        self.0.set(if is_set { before | bit } else { before & !bit });
        before & bit != 0
    }
}

impl OwnQueues {
    /// The queues of slot `index`, which the calling thread has taken.
    pub(super) fn new(shared: &Shared, index: usize) -> Self {
        let slot = shared.slots.share(index);
        let Deques { ready, yielded } = slot.take_deques();
        let (pushed, flags) = (Cell::new(false), WorkerFlags(Cell::new(NEW)));
        Self { index, slot, ready, yielded, pushed, flags }
    }

    /// Leaves the slot: gives the deques back to it.
    pub(super) fn leave(self) {
        self.slot.give_back(Deques { ready: self.ready, yielded: self.yielded });
    }

    /// Puts `task` into the next slot. A task that was there goes to the back of the ready deque.
    #[inline]
    pub(super) fn put_next(&self, task: Hot) {
        if let Some(displaced) = self.slot.next.put(task) {
            self.ready.push(displaced);
        }
    }

    /// Wakes an idle peer if more than one task is runnable here, and no worker searches. A single task this
    /// worker runs itself.
    #[inline]
    pub(super) fn notify_of_more(&self, shared: &Shared) {
        // The cheapest question first: mostly there is no worker to wake.
        if shared.idle.has_worker_to_wake() && !self.flags.has(SEARCHING) {
            self.notify(shared, 1);
        }
    }

    /// Wakes an idle peer if more tasks are queued here than this worker `keeps` to itself. That is the one
    /// that it runs next, or none if it has taken that one out of its queues.
    #[inline(never)]
    pub(super) fn notify(&self, shared: &Shared, keeps: usize) {
        debug_assert!(!self.flags.has(SEARCHING), "it has ended its search");
        let ready = self.ready.len() + usize::from(!self.slot.next.is_empty());
        if ready > keeps {
            shared.wake_one(self.index);
        } else if ready + self.yielded.len() > keeps {
            shared.wake_regular(self.index);
        }
    }
}

/// The tasks that the driver thread has collected in one round, per home; few workers, so a list.
pub(super) type Chains = RefCell<Vec<(usize, Chain<Hot>)>>;

/// How tasks come in.
impl Shared {
    /// Starts a task. On a worker it goes to that worker's queue, elsewhere to the injector.
    pub(crate) fn spawn<F>(
        self: &Arc<Self>,
        future: F,
        origin: impl Origin,
    ) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let (hot, join) = new_send_task(future, self, origin);
        with_role(|role| match role {
            Some(Role::Worker(worker)) if worker.address() == Arc::as_ptr(self) => {
                worker.spawned(hot)
            }
            _ => self.spawned_outside(hot),
        });
        join
    }

    /// Queues what was spawned on a thread that is no worker. A worker is awake to see it when this returns:
    /// a root future may block its thread next.
    pub(super) fn spawned_outside(&self, task: Hot) {
        self.spawned_outside_as(task, Pusher::Spawner);
    }

    #[inline(always)]
    pub(super) fn spawned_outside_as(&self, task: Hot, by: Pusher<&OwnQueues, &Chains>) {
        // Ordering: Relaxed, the fence below publishes it.
        let number = self.foreign.spawned.fetch_add(1, Ordering::Relaxed) + 1;
        // Ordering: SeqCst fence, Dekker with `worker_ends`: here, count, fence, read `closed`; there, read
        // `closed`, fence, look for tasks and at the counts. A caller that finds the runtime open is seen by
        // the last worker, which does not end before it has found the task.
        fence(Ordering::SeqCst);
        if self.shutdown.is_closed() {
            self.cancel(task);
        } else {
            // Ordering: Relaxed: a stale number reports one spawn too few or too many.
            let next = self.foreign.next_reported.load(Ordering::Relaxed);
            if number >= next || self.size.is_observed() {
                self.report_spawn(&task, number);
            }
            self.enqueue(by, task);
        }
    }
}

// SAFETY: the last worker thread, which holds an `Arc<Shared>`, ends only when no task is alive
// (lifecycle.rs, "The end"); a task spawned later is cancelled by its spawner, which holds an `Arc` too,
// before `spawn` returns.
unsafe impl Schedule for Shared {
    #[inline]
    fn task_hooks(&self) -> Option<&dyn TaskHooks> {
        self.task_hooks.get().map(|hooks| &**hooks)
    }

    fn schedule_here(address: *const Self, task: Hot) -> Result<(), Hot> {
        with_role(|role| match role {
            Some(Role::Worker(worker)) if worker.address() == address => {
                worker.woken(task);
                Ok(())
            }
            Some(Role::DriverThread(thread)) if thread.address() == address => {
                thread.woken(task);
                Ok(())
            }
            _ => Err(task),
        })
    }

    fn schedule_from_anywhere(self: Arc<Self>, task: Hot) {
        self.report_outside(&task);
        self.enqueue(Pusher::Waker, task);
    }
}

/// How they are queued.
impl Shared {
    /// Queues `task`, and tells a worker of it if one has to know. Inlined: the compiler knows the reason at
    /// most calls, and reduces [`place`] to one push.
    #[inline(always)]
    pub(super) fn enqueue(&self, by: Pusher<&OwnQueues, &Chains>, task: Hot) {
        let (queue, notice) = place(by, || self.destination(&task));
        match queue {
            Queue::Next(own) => own.put_next(task),
            Queue::Ready(own) => own.ready.push(task),
            Queue::Yielded(own) => own.yielded.push(task),
            Queue::Chain(chains, home) => add(&mut chains.borrow_mut(), home, task),
            Queue::Channel(home) => {
                if self.slots.get(home).channel.push(task) == Pushed::Further {
                    // The first one in there has told the worker, or is about to: scheduler.rs.
                    return;
                }
            }
            Queue::Injector => self.queues.injector.push(task),
            Queue::SharedYielded => self.queues.yielded.push(task),
        }
        self.tell(notice);
    }

    /// Tells a worker of what was queued, if one has to know.
    #[inline(always)]
    pub(super) fn tell(&self, notice: Notice<&OwnQueues>) {
        match notice {
            Notice::Peer(own) => {
                own.pushed.set(true);
                own.notify_of_more(self);
            }
            Notice::Again(own) => {
                if own.pushed.get() {
                    // A peer that parked after those pushes is woken at the next fair turn.
                    own.notify_of_more(self);
                }
            }
            Notice::Outside => {
                self.raise_shared_flag();
                self.wake_one(0);
            }
            Notice::Regular => {
                self.raise_shared_flag();
                self.wake_regular(0);
            }
            Notice::Home(home) => self.sent(home),
            Notice::Nothing => {}
        }
    }

    #[inline]
    fn destination(&self, task: &Hot) -> To {
        let home = task.home();
        if home.index_if_plain() < self.slots.workers() {
            To::Home(home.index_if_plain())
        } else {
            self.rare_destination(task, home)
        }
    }

    #[cold]
    fn rare_destination(&self, task: &Hot, home: Home) -> To {
        // The destructor of a task that is cancelled may free what others wait for.
        if home.is_long() && !task.is_cancelled() {
            return To::Regular;
        }
        home.worker().filter(|&home| home < self.slots.workers()).map_or(To::Any, To::Home)
    }

    /// After the push that made `home`'s channel non-empty: makes sure that a worker is awake to take it.
    fn sent(&self, home: usize) {
        // Ordering: as in `raise_shared_flag`; also against the slot's retirement, which clears
        // `active`, fences, then empties the channel.
        fence(Ordering::SeqCst);
        if !self.slots.get(home).is_active() {
            // No worker empties it any more.
            self.tell(self.abandon(self.slots.get(home).channel.take_all(), iter::empty()));
        } else if self.idle.claim(home) {
            self.unpark(home);
        } else {
            // The home worker is awake, perhaps for long: an idle one, if any, may take the channel.
            self.wake_one(home);
        }
    }

    /// Moves what is in queues that are given up to those that all workers look at; the caller tells one of
    /// them.
    pub(super) fn abandon(
        &self,
        ready: impl Iterator<Item = Hot>,
        yielded: impl Iterator<Item = Hot>,
    ) -> Notice<&OwnQueues> {
        let ready = ready.map(|task| self.queues.injector.push(task)).count();
        let yielded = yielded.map(|task| self.queues.yielded.push(task)).count();
        if ready + yielded == 0 { Notice::Nothing } else { Notice::Outside }
    }
}

fn add(chains: &mut Vec<(usize, Chain<Hot>)>, home: usize, task: Hot) {
    match chains.iter_mut().find(|(worker, _)| *worker == home) {
        Some((_, chain)) => chain.push(task),
        None => {
            let mut chain = Chain::new();
            chain.push(task);
            chains.push((home, chain));
        }
    }
}

/// Which worker is told.
impl Shared {
    /// Whether a worker may leave its peers asleep although it has ready tasks. It may not while there are
    /// spares: then a worker is stuck or blocks in place, this one may have to wait for its core, and its
    /// tasks with it.
    ///
    /// It may not without a watchdog either: if the first of the tasks blocks, only the watchdog wakes a peer
    /// for the others.
    pub(super) fn may_keep(&self) -> bool {
        self.size.spares() == 0 && self.watchdog.is_there()
    }

    /// Between a push and the look at the idle word: lets workers that are busy know.
    pub(super) fn raise_shared_flag(&self) {
        // Ordering: the pusher's half of the Dekker pair of scheduler.rs: push, fence, read the idle
        // word. The other half is in `Worker::sleep`.
        fence(Ordering::SeqCst);
        self.queues.raise_flag();
    }

    /// Lets a worker that moves take what is queued at those that do not.
    pub(super) fn call_for_rescue(&self) {
        // A worker that lowers the flag at the same time may not see the order. No task is lost by
        // that: workers look here at each fair turn without a pause, and the next look orders it again.
        self.watchdog.order_rescue();
        self.queues.raise_flag();
    }

    /// Wakes one parked worker unless a worker is searching already.
    ///
    /// `near`: the worker whose group is asked first.
    #[inline]
    pub(super) fn wake_one(&self, near: usize) {
        if self.idle.has_worker_to_wake() {
            self.wake_below(near, usize::MAX);
        }
    }

    /// As [`Shared::wake_one`], for a task that helpers leave to the others. While the brake keeps all
    /// workers from such tasks, wakes the watchdog, which releases them: it may sleep if the thread that has
    /// pushed is no worker. Model `a_long_task_from_outside_reaches_a_watchdog_that_brakes`.
    pub(super) fn wake_regular(&self, near: usize) {
        let limit = self.size.first_to_leave_yielded();
        if limit == 0 && self.watchdog.is_there() && self.watchdog.take_asleep() {
            self.watchdog.wake(&self.driver);
        }
        if self.idle.has_worker_to_wake() {
            self.wake_below(near, limit);
        }
    }

    #[cold]
    fn wake_below(&self, near: usize, limit: usize) {
        // Ordering: Relaxed: `Worker::sit` stores it. A stale answer costs a system call at most.
        let seated = self.seated.load(Ordering::Relaxed);
        let avoid = (seated != usize::MAX).then_some(seated);
        if let Some(worker) = self.idle.pick(near, avoid, limit) {
            self.unpark(worker);
        }
    }

    /// Wakes each worker that sleeps, though there may be nothing for it to do.
    pub(crate) fn wake_sleeping(&self) {
        for worker in 0..self.slots.workers() {
            if self.idle.claim(worker) {
                self.unpark(worker);
            }
        }
    }

    /// Wakes a worker whose bit the caller has cleared, or that has to look at a flag.
    pub(super) fn unpark(&self, worker: usize) {
        if let Some(unparker) = self.slots.get(worker).unparker() {
            if unparker.unpark() == Unpark::Poller {
                self.driver.wake();
            }
        }
    }
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;
