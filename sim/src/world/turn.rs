//! Which thread runs, and when the turn goes to another one.
//!
//! A thread gives the turn away when it blocks, ends, yields, or is held up. What it does to others
//! never takes the turn from it: a thread that it creates or wakes becomes ready and nothing more.

use super::actor::{Actor, ActorId, State, Waits, Wake, current, set_current};
use super::invariants;
use super::plan::STALL;
use super::signals::run_handlers;
use super::stop::stop;
use super::tasks::Touch;
use super::{Due, Guard, World, count_progress, lock};
use crate::choices::{Draw, Kind};
use crate::network::Nanos;
use crate::real;

/// How long a thread keeps its turn while others could run. On a machine with several processors
/// they would have run beside it all the time; less than this costs more switches than it finds
/// orders.
const SLICE: Nanos = 200_000;
/// By how much fewer pauses there are of a worker that has polled no task yet.
const RARE: u32 = 16;
/// Decisions between two entries of the record by which the first difference of two runs is found.
const PREFIX: u64 = 1_024;

/// What each call of the program to the system begins with: it takes time, and the thread may be
/// held up.
///
/// Returns the thread's actor, or `None` for a thread that is none and for calls of this package
/// itself.
pub(crate) fn step() -> Option<ActorId> {
    let me = current()?;
    begin_step(lock(), me, true);
    Some(me)
}

/// As [`step`], where the calling thread of the run has the lock already and goes on with it.
pub(crate) fn step_with(world: Guard, me: ActorId) -> Guard {
    begin_step(world, me, true)
}

/// As [`step`], in a call that a program also makes while it holds a lock that all hosts share,
/// such as the reading of a clock in parking_lot. A crash of the host does not end the thread
/// there.
pub(crate) fn step_anywhere() -> Option<ActorId> {
    let me = current()?;
    begin_step(lock(), me, false);
    Some(me)
}

/// What comes before the poll of the task of that number. The choices that follow are drawn by the
/// task, and this first one is whether other threads go before.
pub(crate) fn step_to_poll(me: ActorId, task: u64) {
    let mut world = lock();
    let is_slow = world.touch_task(me, task, Touch::Polled);
    let delay = world.drawn_delay_of_poll(me);
    if let Some(Some(length)) = delay {
        let until = world.now + length;
        (world, _) = sleep(world, me, Waits::Pause, Some(until));
    }
    if is_slow || delay == Some(None) {
        world.late.push_back(me);
        let until = world.now + STALL;
        (world, _) = sleep(world, me, Waits::Late, Some(until));
    }
    drop(begin_step(world, me, true));
}

/// As [`step_anywhere`], for what goes on with the lock.
pub(crate) fn step_anywhere_locked() -> Option<Guard> {
    let me = current()?;
    Some(begin_step(lock(), me, false))
}

fn begin_step(mut world: Guard, me: ActorId, may_end: bool) -> Guard {
    count_progress();
    if world.actors[me.0].is_doomed {
        if may_end || world.is_past_its_time(me) {
            end_at_once(world, me);
        }
        return world;
    }
    world.now += world.plan.step;
    world.catch_up();
    if world.now > world.limit {
        world.end_at_limit();
    }
    if may_end && world.choices.decisions() >= world.stop_at {
        world = stop(world);
    }
    world.actors[me.0].may_end = may_end;
    if let Some(length) = world.drawn_pause(me) {
        let until = world.now + length;
        (world, _) = sleep(world, me, Waits::Pause, Some(until));
    } else if world.now - world.turn_began > SLICE && !world.ready.is_empty() {
        world = yield_turn(world, me);
    }
    world = run_handlers(world, me);
    // While the thread did not run, its host may have crashed.
    let is_doomed = world.actors[me.0].is_doomed;
    world.actors[me.0].may_end = true;
    if is_doomed && may_end {
        end_at_once(world, me);
    }
    world
}

/// Ends the calling thread if its host has crashed. For calls that are no step: they would meet
/// descriptors and files of another host.
pub(crate) fn end_if_doomed() {
    let Some(me) = current() else { return };
    let world = lock();
    if world.actors[me.0].is_doomed {
        end_at_once(world, me);
    }
}

/// Lets the threads of crashed hosts come to their ends before the calling thread goes on.
pub(crate) fn let_doomed_end(mut world: Guard) {
    let me = world.running;
    if world.ready.iter().any(|id| world.actors[id.0].is_doomed) {
        world.actors[me.0].state = State::Ready;
        world.ready.push_front(me);
        give_away(world, me);
    }
}

/// Ends the calling thread, whose host is no more, where it stands: no destructor runs.
fn end_at_once(mut world: Guard, me: ActorId) -> ! {
    world.actors[me.0].state = State::Crashed;
    set_current(None);
    world = invariants::checked(world);
    let next = world.pick();
    let (mine, theirs) = (world.actors[me.0].baton, world.actors[next.0].baton);
    drop(world);
    mine.leave(theirs)
}

/// Blocks the calling actor until another one makes it ready or the deadline has come. Gives the
/// lock back meanwhile.
pub(crate) fn sleep(
    mut world: Guard,
    me: ActorId,
    waits: Waits,
    deadline: Option<Nanos>,
) -> (Guard, Wake) {
    let actor = &mut world.actors[me.0];
    actor.state = State::Blocked(waits);
    let number = actor.waits_number;
    if let Some(deadline) = deadline {
        world.add_timer(deadline, Due::Wait(me, number));
    }
    let world = give_away(world, me);
    let wake = world.actors[me.0].wake;
    (run_handlers(world, me), wake)
}

/// Lets every other ready actor run first.
pub(crate) fn yield_turn(mut world: Guard, me: ActorId) -> Guard {
    world.actors[me.0].state = State::Ready;
    world.ready.push_back(me);
    give_away(world, me)
}

/// Chooses the thread that runs next, and returns when it is `me` again.
fn give_away(world: Guard, me: ActorId) -> Guard {
    let mut world = invariants::checked(world);
    let next = world.pick();
    if next == me {
        return world;
    }
    let (mine, theirs) = (world.actors[me.0].baton, world.actors[next.0].baton);
    drop(world);
    mine.switch(theirs);
    begin_turn()
}

/// What a thread does first when it gets the turn: it joins the thread that had it, if that one has
/// ended. Otherwise the last steps of that thread, in which it gives its memory back, would run
/// beside this one.
pub(crate) fn begin_turn() -> Guard {
    let mut world = lock();
    if let Some(native) = world.reap.take() {
        // SAFETY: the thread was created joinable, and only the holder of the turn takes it from
        // `reap`.
        unsafe { real::pthread_join(native, std::ptr::null_mut()) };
    }
    world
}

/// Passes the turn on for good: the calling thread ends.
pub(crate) fn end(mut world: Guard, me: ActorId) {
    world.actors[me.0].baton.go_home();
    world.actors[me.0].state = State::Ended;
    if let Some(joiner) = world.actors[me.0].joiner {
        world.make_ready(joiner, Wake::Ready);
    }
    world.reap = world.actors[me.0].native.take();
    let mut world = invariants::checked(world);
    let next = world.pick();
    let theirs = world.actors[next.0].baton;
    drop(world);
    theirs.pass();
}

/// Ends the host of the calling thread with a status, as `exit` ends a process. Does not return.
pub(crate) fn exit_host(status: i32) {
    end_if_doomed();
    let Some(me) = current() else { return };
    let mut world = lock();
    let host = world.actors[me.0].host;
    if me == ActorId(0) || (status != 0 && world.hosts[host].is_client) {
        world.end_failed(format!("the program called exit({status})"));
    }
    world.crash_but(host, Some(me));
    end_at_once(world, me);
}

/// A length of up to `most`. As many are short as long: one below each power of two is equally
/// likely.
fn length(draw: &mut Draw, most: Nanos) -> Nanos {
    let below = most >> draw.below(u64::from(most.ilog2()));
    1 + draw.below(below)
}

impl World {
    /// Chooses the thread that runs next. Time goes on when none can.
    fn pick(&mut self) -> ActorId {
        loop {
            self.catch_up();
            if let Some(next) = self.choose() {
                self.start(next);
                return next;
            }
            if self.release_late() {
                continue;
            }
            match self.next_event() {
                Some(when) => self.now = self.now.max(when),
                None => self
                    .end_stuck("no thread can run, and no timer or packet is under way".to_owned()),
            }
            if self.now > self.limit {
                self.end_at_limit();
            }
        }
    }

    fn choose(&mut self) -> Option<ActorId> {
        // What is left of a crashed host ends before anything else happens.
        let is_doomed = |id: &ActorId| self.actors[id.0].is_doomed;
        if let Some(place) = self.ready.iter().position(is_doomed) {
            return self.ready.remove(place);
        }
        let (actors, hosts) = (&self.actors, &self.hosts);
        let mut able =
            self.ready.iter().enumerate().filter(|(_, id)| !hosts[actors[id.0].host].is_paused);
        let (first, id) = able.next()?;
        let others: Vec<usize> = able.map(|(place, _)| place).collect();
        let mut place = first;
        if !others.is_empty() {
            let (entity, chance) = (self.actors[id.0].subject, self.plan.overtake);
            self.choices_made += 1;
            if let Some(mut draw) = self.choices.disturbs(Kind::Overtake, entity, chance) {
                place = others[draw.below(others.len() as u64) as usize];
            }
        }
        self.ready.remove(place)
    }

    fn start(&mut self, next: ActorId) {
        if next != self.running {
            self.switches += 1;
        }
        self.running = next;
        self.turn_began = self.now;
        self.actors[next.0].state = State::Running;
        let fact = self.actors[next.0].entity ^ self.now;
        self.choices.note(fact);
        if self.choices.decisions().is_multiple_of(PREFIX) {
            let prefix = (self.choices.decisions(), self.choices.hash());
            self.prefixes.push(prefix);
        }
    }

    /// Whether a thread that is to end has gone on for so many calls that it holds no lock for a
    /// moment only.
    fn is_past_its_time(&mut self, me: ActorId) -> bool {
        const MOST: u32 = 10_000;
        let calls = &mut self.actors[me.0].calls_after_crash;
        *calls += 1;
        *calls > MOST
    }

    /// How long `me` is held up after this call, if at all.
    fn drawn_pause(&mut self, me: ActorId) -> Option<Nanos> {
        let Actor { entity, subject, polls_tasks, .. } = self.actors[me.0];
        let stall = self.plan.stall;
        // What a pause of a worker does before its first task, a pause before that task does, too, and
        // the key of that one is the task's.
        let is_rare = polls_tasks && subject == entity;
        let chance = if is_rare { self.plan.pause.part(RARE) } else { self.plan.pause };
        let mut draw = self.choices.disturbs(Kind::Pause, subject, chance)?;
        let most =
            if draw.below(65_536) < u64::from(stall.0) { STALL } else { self.plan.pause_most };
        Some(length(&mut draw, most))
    }

    /// For how long the poll that `me` is about to make begins later, if at all. `Some(None)`: until
    /// no other thread can run.
    fn drawn_delay_of_poll(&mut self, me: ActorId) -> Option<Option<Nanos>> {
        let (chance, most) = (self.plan.poll, self.plan.poll_most);
        let mut draw = self.choices.disturbs(Kind::Poll, self.actors[me.0].subject, chance)?;
        let is_timed = draw.below(2) == 0;
        Some(is_timed.then(|| length(&mut draw, most)))
    }

    /// Makes the first of those ready that run when no other thread can. Returns whether there was
    /// one.
    fn release_late(&mut self) -> bool {
        while let Some(id) = self.late.pop_front() {
            // It may have been ready since its longest time was over, or its host have crashed.
            if self.actors[id.0].state == State::Blocked(Waits::Late) {
                self.make_ready(id, Wake::Ready);
                return true;
            }
        }
        false
    }
}
