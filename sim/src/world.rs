//! The state of one run, under one lock.
//!
//! One process makes one run. Exactly one thread of the run runs at a time, so the lock is never
//! contended but by the thread that watches for a standstill. While a thread holds the lock, or
//! works on behalf of this package, the functions that we stand in for are the C library's own: see
//! [`Guard`].

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use libc::pthread_t;

use crate::choices::{Choices, Kind};
use crate::network::{Moment, Nanos, Network};
use crate::objects::{ObjectId, Objects};
use crate::runner::report::ChildReport;
use crate::timeline;

pub(crate) mod actor;
pub(crate) mod buggify;
pub(crate) mod clocks;
pub(crate) mod end;
pub(crate) mod hosts;
pub(crate) mod invariants;
pub(crate) mod plan;
pub(crate) mod signals;
mod stop;
pub(crate) mod tasks;
pub(crate) mod turn;
pub(crate) mod watch;

use actor::{Actor, ActorId, State, Waits, Wake};
use buggify::Places;
use hosts::Host;
use invariants::Invariant;
use plan::Plan;
use tasks::Tasks;

pub(crate) struct World {
    /// Virtual time since the run began.
    pub(crate) now: Nanos,
    pub(crate) choices: Choices,
    pub(crate) plan: Plan,
    pub(crate) actors: Vec<Actor>,
    /// The names that threads have or had and what clocks are like, by their entities.
    pub(crate) names: BTreeMap<u64, String>,
    pub(crate) tasks: Tasks,
    /// Those that may run, the longest ready first.
    pub(crate) ready: VecDeque<ActorId>,
    /// Those that run when no other thread can, in the order in which they do.
    pub(crate) late: VecDeque<ActorId>,
    pub(crate) running: ActorId,
    /// When the running actor got its turn.
    pub(crate) turn_began: Nanos,
    timers: BinaryHeap<Reverse<(Nanos, u64, Due)>>,
    timers_made: u64,
    /// Those that wait at each futex, by its address, in the order of their coming.
    pub(crate) futexes: BTreeMap<usize, VecDeque<ActorId>>,
    pub(crate) objects: Objects,
    pub(crate) network: Network,
    pub(crate) hosts: Vec<Host>,
    /// A thread that has ended and is still to be joined, by the thread that runs after it.
    pub(crate) reap: Option<pthread_t>,
    /// How often several threads were ready when one was chosen.
    pub(crate) choices_made: u64,
    pub(crate) switches: u64,
    pub(crate) prefixes: Vec<(u64, u64)>,
    pub(crate) faults: Vec<(Nanos, String)>,
    pub(crate) sometimes: BTreeMap<String, bool>,
    /// What is looked at when the run has come to its end. Each returns why it fails.
    pub(crate) last_checks: Vec<LastCheck>,
    pub(crate) places: Places,
    /// What is checked when a thread gives its turn away.
    pub(crate) invariants: Vec<Invariant>,
    /// What hosts do about signals. A restart changes nothing here, as it does not change the
    /// statics in which programs note that they have asked for it.
    pub(crate) actions: BTreeMap<(usize, std::ffi::c_int), libc::sigaction>,
    /// Files that are locked by `flock`, each with its host. A crash unlocks them.
    pub(crate) locked_files: Vec<(usize, std::ffi::c_int)>,
    /// The decision at which the run stops to be looked at.
    pub(crate) stop_at: u64,
    /// What was to be seen when it stopped.
    pub(crate) stopped: Option<ChildReport>,
    /// When the last poll of a task or a root began, and at which decision, if there was one.
    pub(crate) last_poll: Option<(Nanos, u64)>,
    /// The virtual time at which a run is over in any case.
    pub(crate) limit: Nanos,
}

/// A question at the end of the run: why it fails, if it does.
pub(crate) type LastCheck = Box<dyn FnOnce() -> Option<String> + Send>;

/// What happens when its time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Due {
    /// The wait of this number of an actor is over.
    Wait(ActorId, u64),
    /// A timer descriptor expires, if it has not been set again since.
    Timer(ObjectId, u64),
}

static WORLD: OnceLock<Mutex<World>> = OnceLock::new();
/// Counts steps, for the thread that watches.
pub(crate) static PROGRESS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// How many guards this thread holds.
    static INSIDE: Cell<u32> = const { Cell::new(0) };
}

/// Makes the functions that we stand in for the C library's own for this thread.
pub(crate) struct Inside;

impl Inside {
    pub(crate) fn new() -> Self {
        INSIDE.set(INSIDE.get() + 1);
        Inside
    }

    pub(crate) fn is() -> bool {
        INSIDE.get() != 0
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.set(INSIDE.get() - 1);
    }
}

/// The lock on the state. Fields drop in their order: the lock is given back while the thread is
/// still inside.
pub(crate) struct Guard {
    world: MutexGuard<'static, World>,
    _inside: Inside,
}

impl Deref for Guard {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

impl DerefMut for Guard {
    fn deref_mut(&mut self) -> &mut World {
        &mut self.world
    }
}

/// Begins the run of this process. It is over when `limit` of virtual time has gone by.
pub(crate) fn begin(choices: Choices, limit: Nanos) {
    let mut world = World::new(choices);
    world.plan = Plan::draw(&mut world.choices);
    world.limit = limit;
    let begun = WORLD.set(Mutex::new(world));
    assert!(begun.is_ok(), "liten-sim: one process makes one run");
}

/// Locks the state of the run.
///
/// # Panics
///
/// When no run has begun.
pub(crate) fn lock() -> Guard {
    let inside = Inside::new();
    let world = WORLD.get().expect("liten-sim: there is no run");
    // A panic of ours ends the process, so a poisoned lock is only seen on the way there.
    Guard { world: world.lock().unwrap_or_else(PoisonError::into_inner), _inside: inside }
}

impl World {
    fn new(choices: Choices) -> Self {
        Self {
            now: 0,
            choices,
            plan: Plan::CALM,
            actors: Vec::new(),
            names: BTreeMap::new(),
            ready: VecDeque::new(),
            late: VecDeque::new(),
            tasks: Tasks::default(),
            running: ActorId(0),
            turn_began: 0,
            timers: BinaryHeap::new(),
            timers_made: 0,
            futexes: BTreeMap::new(),
            objects: Objects::default(),
            network: Network::new(),
            hosts: Vec::new(),
            reap: None,
            choices_made: 0,
            switches: 0,
            prefixes: Vec::new(),
            faults: Vec::new(),
            sometimes: BTreeMap::new(),
            places: Places::default(),
            invariants: Vec::new(),
            last_checks: Vec::new(),
            actions: BTreeMap::new(),
            locked_files: Vec::new(),
            stop_at: u64::MAX,
            stopped: None,
            last_poll: None,
            limit: Nanos::MAX,
        }
    }

    /// From now on no disturbance happens but the faults that the scenario asks for.
    pub(crate) fn be_calm(&mut self) {
        self.choices.be_calm();
        self.tasks.be_calm();
    }

    /// Lets `due` happen at `when`.
    pub(crate) fn add_timer(&mut self, when: Nanos, due: Due) {
        self.timers_made += 1;
        // The number keeps those of equal time in the order in which they were made.
        self.timers.push(Reverse((when, self.timers_made, due)));
    }

    /// When something happens without any thread, at the earliest.
    pub(crate) fn next_event(&self) -> Option<Nanos> {
        let timer = self.timers.peek().map(|Reverse((when, ..))| *when);
        [timer, self.network.next_event()].into_iter().flatten().min()
    }

    /// Lets everything happen whose time has come.
    pub(crate) fn catch_up(&mut self) {
        self.choices.set_time(self.now);
        while let Some(Reverse((when, ..))) = self.timers.peek()
            && *when <= self.now
        {
            if let Some(Reverse((_, _, due))) = self.timers.pop() {
                self.happen(due);
            }
        }
        if self.network.next_event().is_some_and(|when| when <= self.now) {
            self.with_network(|network, moment| network.advance(moment));
        }
    }

    /// Notes that the time of a wait is over.
    fn note_end_of_wait(&self, actor: ActorId) {
        let Actor { name, state, .. } = &self.actors[actor.0];
        // Threads of liten wake now and then to see whether there is work: the driver's, and one for
        // blocking jobs.
        let is_idle = name.contains("/liten-worker-dr/") || name.contains("/liten-worker-bl/");
        let State::Blocked(waits) = state else { return };
        if !is_idle {
            let held = waits.are_of_a_disturbance();
            let what = if held { "goes on after a delay" } else { "a timer wakes it" };
            timeline::note(self.now, || format!("{name}: {what}"));
        }
    }

    fn happen(&mut self, due: Due) {
        match due {
            Due::Wait(actor, number) => {
                if self.actors[actor.0].waits_number == number {
                    self.note_end_of_wait(actor);
                    // At once, so that no wake is spent on it.
                    if let State::Blocked(Waits::Futex(address)) = self.actors[actor.0].state {
                        self.leave_futex(address, actor);
                    }
                    self.make_ready(actor, Wake::TimedOut);
                }
            }
            Due::Timer(object, number) => {
                self.timer_expires(object, number);
            }
        }
    }

    /// Uses the network at this moment, and wakes those that what happened concerns.
    pub(crate) fn with_network<T>(
        &mut self,
        f: impl FnOnce(&mut Network, &mut Moment<'_>) -> T,
    ) -> T {
        let mut moment = Moment { now: self.now, choices: &mut self.choices };
        let result = f(&mut self.network, &mut moment);
        let touched = self.network.take_touched();
        for (socket, bits) in &touched {
            if let Some(object) = self.objects.of_socket(*socket) {
                self.touch(object, *bits);
            }
        }
        self.network.reuse_touched(touched);
        result
    }

    /// Makes a blocked actor ready. Nothing happens to one that is not blocked.
    pub(crate) fn make_ready(&mut self, id: ActorId, wake: Wake) {
        let actor = &mut self.actors[id.0];
        if matches!(actor.state, State::Blocked(_)) {
            actor.state = State::Ready;
            actor.wake = wake;
            actor.waits_number += 1;
            self.ready.push_back(id);
        }
    }

    /// The next values of a choice that is about the running actor.
    pub(crate) fn draw_for_running(&mut self, kind: Kind) -> crate::choices::Draw {
        let entity = self.actors[self.running.0].subject;
        self.choices.draw(kind, entity)
    }
}

/// One step of a thread towards the end of the run.
pub(crate) fn count_progress() {
    // Relaxed: the watching thread only asks whether the number changes. Only the thread that has
    // the turn writes it.
    PROGRESS.store(PROGRESS.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}
