//! What many tasks wait for in the end, seen by several looks.
//!
//! A task that waits for a lock, a permit or room in a channel waits for another task, and that one perhaps
//! for a third. A table of waits leaves it to the reader to put that together. Here each chain is followed to
//! its end, the *root*: a task that waits for something else, such as a timer, or does not wait at all; tasks
//! that wait for each other; or a thing of which no holder is known. All tasks with one root are one finding.
//!
//! It is told from [`LONG`] on, and not if the root may well be in order: a task that waits for its next
//! period, or for a client, and only lets senders wait meanwhile; one that goes on, unless it takes from
//! another channel alone ([`STARVED`]); or one of several alike that share a receiver by a lock. A semaphore
//! without permits of its own is no limit but a signal, and nothing is told of it. Nor of one whose permits
//! come back (`moving_permits.rs`), nor of tasks that a deadlock names. Of a lock that passes from task to
//! task it is said that it does: its holder of one moment is not to blame.

use super::Finding;
use super::long_wait::{LongWait, Named};
use super::moving_permits::Moving;
use crate::engine::task::{RunningTask, TaskId};
use crate::insight::deadlocked_task::DeadlockedTask;
use crate::insight::dump::Dump;
use crate::insight::task_info::TaskInfo;
use crate::insight::task_state::TaskState;
use crate::insight::wait::{Wait, WaitPlace};
use crate::primitive_kind::PrimitiveKind;
use std::collections::{HashMap, HashSet};
use std::panic::Location;
use std::time::Duration;

/// A task that has waited for longer is told of.
pub(in crate::insight) const LONG: Duration = Duration::from_secs(10);

/// A receiver that takes from another channel, and nothing from a full one for longer, is told of.
const STARVED: Duration = Duration::from_secs(20);

/// A task whose timer ends sooner is taken for one that does something again and again.
const PERIOD: Duration = Duration::from_secs(60);

/// Where a chain ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Root {
    Task(TaskId),
    /// The one with the smallest id of those that wait for each other.
    Circle(TaskId),
    /// Something of that number whose holder is not known.
    Thing(u32),
}

/// The tasks of one root.
#[derive(Default)]
struct Group<'a> {
    tasks: usize,
    duration: Duration,
    /// Tasks wait to read, and others to write.
    has_readers: bool,
    has_writers: bool,
    places: HashMap<&'static Location<'static>, usize>,
    /// Those of tasks that do not only wait for the end of another one.
    places_of_things: HashSet<&'static Location<'static>>,
    things: HashSet<Option<u32>>,
    /// From where they wait, and how many from there.
    awaited_at: HashMap<WaitPlace, usize>,
    /// The one of the longest chain, with the length of that and the time for which it has waited.
    deepest: Option<(usize, Duration, &'a TaskInfo)>,
    only_senders: bool,
}

struct Chains<'a> {
    dump: &'a Dump,
    tasks: HashMap<TaskId, &'a TaskInfo>,
    /// How often tasks that never wait are polled in a second.
    busy: &'a HashMap<TaskId, u64>,
    moving: &'a Moving,
    /// Of each task that waits for another one, where that ends, and after how many tasks.
    ends: HashMap<TaskId, (Root, usize)>,
}

/// What `dump`, of which it is known for how long its tasks have waited, shows of long waits. The one with
/// the most tasks first.
///
/// Nothing is told of the semaphores in `moving`.
pub(in crate::insight) fn long_waits(
    dump: &Dump,
    busy: &HashMap<TaskId, u64>,
    moving: &Moving,
) -> Vec<Finding> {
    let is_long = |task: &TaskInfo| task.cold_for().is_some_and(|time| time >= LONG);
    let is_blocked = |task: &&TaskInfo| is_long(task) && thing(task).is_some();
    if !dump.tasks.iter().any(|task| is_blocked(&task)) {
        return Vec::new();
    }
    let tasks = dump.tasks.iter().map(|task| (task.id(), task)).collect();
    let mut chains = Chains { dump, tasks, busy, moving, ends: HashMap::new() };
    let mut groups: HashMap<Root, Group<'_>> = HashMap::new();
    let mut served = HashSet::new();
    for task in dump.tasks.iter().filter(|task| waits_for_task(task).is_some()) {
        let Some((root, depth)) = chains.end(task) else { continue };
        let moves = |number: u32| moving.permits.contains(&number);
        if matches!(root, Root::Thing(number) if moves(number)) {
            continue;
        }
        // The task at the end may keep the senders of one channel waiting, and take from another one.
        let is_served = thing(task).and_then(number).is_some_and(moves);
        if is_served && matches!(root, Root::Task(id) if chains.goes_on(id)) {
            served.insert(root);
            continue;
        }
        let group =
            groups.entry(root).or_insert_with(|| Group { only_senders: true, ..Group::default() });
        group.add(task, depth, is_blocked(&task));
    }
    let told = |(root, group)| chains.told(root, group, served.contains(&root));
    let mut found: Vec<_> = groups.into_iter().filter_map(told).collect();
    found.sort_by_key(|wait| (std::cmp::Reverse((wait.tasks, wait.duration)), wait.chain[0].id()));
    found.into_iter().map(Finding::LongWait).collect()
}

/// The task of that id, if it is listed, and what it does, as after "task 7,".
pub(super) fn what_does(
    dump: &Dump,
    busy: &HashMap<TaskId, u64>,
    task: TaskId,
) -> (Option<Named>, String) {
    let tasks = dump.tasks.iter().map(|task| (task.id(), task)).collect();
    let moving = &Moving::default();
    Chains { dump, tasks, busy, moving, ends: HashMap::new() }.root(Some(task), &[])
}

/// The lock, the permit or the room that it waits for.
fn thing(task: &TaskInfo) -> Option<&Wait> {
    use PrimitiveKind::{Mutex, RwLock, RwLockWrite, Semaphore, Sender};
    let is_thing = |wait: &&Wait| match wait {
        Wait::Primitive { kind: Semaphore, permits, .. } => permits.is_some_and(|all| all > 0),
        Wait::Primitive { kind, .. } => matches!(kind, Mutex | RwLock | RwLockWrite | Sender),
        _ => false,
    };
    if task.state() != TaskState::Waiting {
        return None;
    }
    task.waits().iter().find(is_thing)
}

/// The same, or the end of a task.
fn waits_for_task(task: &TaskInfo) -> Option<&Wait> {
    if task.state() != TaskState::Waiting {
        return None;
    }
    let join = || task.waits().iter().find(|wait| matches!(wait, Wait::Task { .. }));
    thing(task).or_else(join)
}

fn number(wait: &Wait) -> Option<u32> {
    match wait {
        Wait::Primitive { number, .. } => Some(*number),
        _ => None,
    }
}

impl<'a> Group<'a> {
    fn add(&mut self, task: &'a TaskInfo, depth: usize, is_blocked: bool) {
        self.tasks += 1;
        *self.places.entry(task.spawned_at()).or_default() += 1;
        let Some(wait) = waits_for_task(task) else { return };
        self.places_of_things.extend(thing(task).map(|_| task.spawned_at()));
        self.things.insert(number(wait));
        *self.awaited_at.entry(wait.place()).or_default() += 1;
        let is = |wanted| matches!(wait, Wait::Primitive { kind, .. } if *kind == wanted);
        self.has_readers |= is(PrimitiveKind::RwLock);
        self.has_writers |= is(PrimitiveKind::RwLockWrite);
        let time = task.cold_for().unwrap_or_default();
        if is_blocked {
            self.duration = self.duration.max(time);
            self.only_senders &= wait.is_for_room();
            if self.deepest.is_none_or(|(deep, long, _)| (deep, long) < (depth, time)) {
                self.deepest = Some((depth, time, task));
            }
        }
    }
}

impl<'a> Chains<'a> {
    /// Where the chain of `task` ends.
    fn end(&mut self, task: &TaskInfo) -> Option<(Root, usize)> {
        let (mut path, mut places, mut next) = (Vec::new(), HashMap::new(), task.id());
        let (root, mut depth) = loop {
            if let Some(&end) = self.ends.get(&next) {
                break end;
            }
            if let Some(&place) = places.get(&next) {
                let circle = path.split_off(place);
                let root = Root::Circle(circle.iter().copied().min()?);
                self.ends.extend(circle.into_iter().map(|task| (task, (root, 1))));
                break (root, 1);
            }
            let Some(wait) = self.tasks.get(&next).and_then(|task| waits_for_task(task)) else {
                break (Root::Task(next), 0);
            };
            places.insert(next, path.len());
            path.push(next);
            // Those that have seen different holders of a lock wait for the same one.
            let passes_on = number(wait).filter(|number| self.moving.locks.contains(number));
            match (passes_on, wait.other_task()) {
                (None, Some(other)) => next = other,
                _ => break (Root::Thing(number(wait)?), 0),
            }
        };
        for task in path.into_iter().rev() {
            depth += 1;
            self.ends.insert(task, (root, depth));
        }
        self.ends.get(&task.id()).copied()
    }

    /// The sentence about a group, if it is to be told.
    ///
    /// `is_served`: the task at the end takes messages from other channels.
    fn told(&self, root_key: Root, group: Group<'a>, is_served: bool) -> Option<LongWait> {
        let (_, _, first) = group.deepest?;
        let starved = self.starved(root_key, &group).filter(|_| is_served);
        if group.only_senders && starved.is_none() && self.may_be_in_order(root_key)
            || self.is_queue(root_key, first, &group.places_of_things)
        {
            return None;
        }
        let (mut chain, mut met, mut next) = (Vec::new(), HashSet::new(), Some(first.id()));
        while let Some(id) = next.filter(|id| met.insert(*id)) {
            let Some(task) = self.tasks.get(&id) else { break };
            let Some(wait) = waits_for_task(task) else { break };
            let (task, name) = (task.task(), task.shared_name().cloned());
            chain.push(DeadlockedTask { task, name, waits_for: wait.clone() });
            next = wait.other_task();
        }
        if chain.iter().any(|task| self.is_told(task.id())) {
            return None;
        }
        let is_one_wait = group.things.len() == 1 && group.things.iter().all(Option::is_some);
        let mut awaited_at = Vec::new();
        // The sentence has the first one's wait for all of them.
        if is_one_wait && group.awaited_at.len() > 1 {
            chain[0].waits_for.forget_awaited_at();
            awaited_at = by_count(group.awaited_at);
        }
        if is_one_wait && group.has_readers && group.has_writers {
            chain[0].waits_for.forget_writing();
        }
        let (root, mut root_does) = self.root(next, &chain);
        if let Some(time) = starved {
            let seconds = time.as_secs();
            root_does.push_str(&format!(
                "; it takes from another channel, and from this one nothing for {seconds} s at least, as if \
                 another branch of a select always came first"
            ));
        }
        if root.is_none() && group.has_readers && group.has_writers {
            root_does.push_str(
                ", perhaps one of them, which reads it and waits to read it again, behind one that waits to \
                 write",
            );
        }
        let passes_on =
            matches!(root_key, Root::Thing(number) if self.moving.locks.contains(&number));
        Some(LongWait {
            tasks: group.tasks,
            duration: group.duration,
            places: by_count(group.places),
            awaited_at,
            chain,
            is_one_wait,
            passes_on,
            root,
            root_does,
        })
    }

    /// Whether a finding about a deadlock names it.
    fn is_told(&self, task: TaskId) -> bool {
        let deadlocks = &self.dump.deadlocks;
        let suspected = deadlocks.suspected.iter().flat_map(|circle| &circle.tasks);
        deadlocks.tasks.contains(&task) || suspected.into_iter().any(|other| other.id() == task)
    }

    /// Whether tasks of one place wait for one of them, which holds the lock of a receiver, and waits itself
    /// for the next message: such a queue shares the messages out.
    fn is_queue(
        &self,
        root: Root,
        first: &TaskInfo,
        places: &HashSet<&'static Location<'static>>,
    ) -> bool {
        use PrimitiveKind::{Broadcast, Receiver};
        let holder = match root {
            Root::Task(id) => Some(id),
            Root::Thing(_) => waits_for_task(first).and_then(Wait::other_task),
            Root::Circle(_) => None,
        };
        let Some(task) = holder.and_then(|id| self.tasks.get(&id)) else { return false };
        let waits_for_message = matches!(
            task.waits_only_for(),
            Some(Wait::Primitive { kind: Receiver | Broadcast, .. })
        );
        waits_for_message && places.iter().all(|place| *place == task.spawned_at())
    }

    /// Whether senders may well wait for this: the receiver goes on by itself, or when a client comes.
    fn may_be_in_order(&self, root: Root) -> bool {
        let Root::Task(id) = root else { return false };
        if self.busy.contains_key(&id) {
            return false;
        }
        let Some(task) = self.tasks.get(&id) else { return false };
        if task.cold_for().is_none_or(|time| time < LONG) {
            return !self.is_slow(id);
        }
        !task.waits().is_empty()
            && task.waits().iter().all(|wait| match wait {
                Wait::Timer { remaining } => *remaining < PERIOD,
                Wait::Source { descriptor, .. } => self.dump.sockets.iter().any(|socket| {
                    socket.descriptor() == *descriptor && socket.state() == Some("listens")
                }),
                _ => false,
            })
    }

    /// For how long the task at the end seems to have taken nothing from the channel for which all of them
    /// wait, if it goes on.
    fn starved(&self, root: Root, group: &Group<'_>) -> Option<Duration> {
        let mut channels = group.things.iter().flatten();
        let (Some(channel), None) = (channels.next(), channels.next()) else { return None };
        let time = self.moving.still.get(channel).filter(|time| **time >= STARVED)?;
        let is_told = matches!(root, Root::Task(id) if self.goes_on(id)) && group.only_senders;
        is_told.then_some(*time)
    }

    /// Whether the task is polled now and then, and not only all the time.
    fn goes_on(&self, id: TaskId) -> bool {
        let is_cold = |task: &&TaskInfo| task.cold_for().is_some_and(|time| time >= LONG);
        let is_known = self.tasks.get(&id).is_some_and(|task| !is_cold(task));
        is_known && !self.is_slow(id) && !self.busy.contains_key(&id)
    }

    fn is_slow(&self, task: TaskId) -> bool {
        self.dump.workers.iter().any(|worker| {
            worker.task.is_some_and(|polled| polled.id() == task)
                && worker.poll_duration >= self.dump.slow_after
        })
    }

    /// The task `next`, at which `chain` ends, and what it does.
    fn root(&self, next: Option<TaskId>, chain: &[DeadlockedTask]) -> (Option<Named>, String) {
        let Some(id) = next else {
            let known = matches!(
                chain.last().map(|task| &task.waits_for),
                Some(Wait::Primitive { permits: Some(_), .. })
            );
            let told = if known { "" } else { "; which task keeps them waiting is not known" };
            return (None, told.into());
        };
        if let Some(task) = chain.iter().find(|task| task.id() == id) {
            let what = match chain.last() {
                Some(last) if last.id() != id => "waits for one of those that wait for it",
                Some(DeadlockedTask {
                    waits_for: Wait::Primitive { kind: PrimitiveKind::RwLock, .. },
                    ..
                }) => "reads it and waits to read it again, behind those that wait to change it",
                _ => "has locked it and waits for it again",
            };
            return (Some((task.task, task.name.clone())), what.into());
        }
        match self.tasks.get(&id) {
            Some(task) => (Some((task.task(), task.shared_name().cloned())), self.does(task)),
            None => {
                let text = format!("; task {id} is not among the tasks that are listed");
                (None, text)
            }
        }
    }

    fn does(&self, task: &TaskInfo) -> String {
        let time = task.cold_for().filter(|&time| time >= LONG);
        let time = time
            .map_or_else(String::new, |time| format!(", for {:.1} s at least", time.as_secs_f64()));
        if let Some(polls) = self.busy.get(&task.id()) {
            return format!(
                "is polled some {polls} times a second and never waits: it always finds something else to do"
            );
        }
        match task.state() {
            TaskState::Running => self.is_polled(task.id()),
            TaskState::Ready => "is ready and has to be polled".into(),
            TaskState::Waiting if task.waits().is_empty() => {
                format!("waits for something that is not known here{time}")
            }
            TaskState::Waiting => {
                let waits: Vec<_> = task.waits().iter().map(Wait::to_string).collect();
                format!("waits for {}{time}", waits.join(" and "))
            }
        }
    }

    fn is_polled(&self, task: TaskId) -> String {
        let polls = |polled: Option<RunningTask>| polled.is_some_and(|polled| polled.id() == task);
        match self.dump.workers.iter().find(|worker| polls(worker.task)) {
            Some(worker) if !worker.poll_duration.is_zero() => {
                let activity = worker.activity.as_ref().map(|activity| format!(": {activity}"));
                let time = worker.poll_duration.as_secs_f64();
                format!("has been in one poll for {time:.1} s{}", activity.unwrap_or_default())
            }
            Some(worker) => match &worker.activity {
                Some(activity) => format!("blocks worker {} in place: {activity}", worker.index),
                None => "is being polled".into(),
            },
            None => "is being polled".into(),
        }
    }
}

/// What most have first.
fn by_count<T: Ord>(counts: HashMap<T, usize>) -> Vec<(T, usize)> {
    let mut all: Vec<_> = counts.into_iter().collect();
    all.sort_by(|(one, of_one), (other, of_other)| (of_other, one).cmp(&(of_one, other)));
    all
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;
