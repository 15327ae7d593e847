//! What several looks at one runtime show, and one does not.

use super::accepted::accepted;
use super::cold::Following;
use super::dump::Dump;
use super::finding::blocked_threads::BlockedThreads;
use super::finding::closed_peers::closed_peers;
use super::finding::ended_reads::ended_reads;
use super::finding::full_connections::full_connections;
use super::finding::growing_memory::GrowingMemory;
use super::finding::growing_queues::GrowingQueues;
use super::finding::growth::{Growth, Place, keep_every_second};
use super::finding::in_vain::InVain;
use super::finding::lack_of_descriptors::used_up;
use super::finding::long_waits::long_waits;
use super::finding::lost_values::lost_values;
use super::finding::moving_permits::MovingPermits;
use super::finding::rates::Rates;
use super::finding::silences::{Reader, Silences};
use super::finding::storms::{Seen, Storms};
use super::finding::unaccepted::Unaccepted;
use super::finding::{Finding, many_tasks};
use super::memory::PlaceMemory;
use super::notable::{notable, what_most_wait_for, worth_a_look};
use super::queues::QueueGroup;
use super::slow_stacks::SlowStacks;
use super::socket_info::{Quiet, SocketInfo};
use super::task_info::TaskInfo;
use super::task_state::TaskState;
use super::thread_stack::ThreadStacks;
use super::wait::Wait;
use super::waits::WRITABLE;
use crate::engine::task::TaskId;
use crate::runtime::Handle;
use crate::runtime::gauges::Measured;
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

/// Tasks whose timers end that soon go on by themselves, so fewer that have come are not told.
const SOON: Duration = Duration::from_secs(60);
const FEWEST_WITH_TIMERS: usize = 200;

/// Tasks that wait for a timer for no longer may do something once, after that time.
const ONCE: Duration = Duration::from_secs(900);

/// The numbers of accepted connections that are kept: when there are so many, every second one goes.
const KEPT_COUNTS: usize = 2048;

/// The looks at one runtime, within bounds. All of it is read from the outside, by the thread that looks.
pub(super) struct History {
    _following: Following,
    blocked: BlockedThreads,
    slow: SlowStacks,
    growth: Growth<Place>,
    memory: GrowingMemory,
    queues: GrowingQueues,
    storms: Storms,
    connects: InVain,
    timeouts: InVain,
    ticks: InVain,
    ended_reads: Rates,
    lost: Rates,
    unaccepted: Unaccepted,
    /// How many slow polls there had been at the last look in passing.
    slow_polls: u64,
    permits: MovingPermits,
    accepted: Vec<(Instant, usize)>,
    silences: Silences,
    quiet: Quiet,
}

impl History {
    pub(super) fn of(handle: &Handle) -> Self {
        Self {
            _following: Following::new(handle.id()),
            blocked: BlockedThreads::default(),
            slow: SlowStacks::default(),
            growth: Growth::default(),
            memory: GrowingMemory::default(),
            queues: GrowingQueues::default(),
            storms: Storms::default(),
            connects: InVain::default(),
            timeouts: InVain::default(),
            ticks: InVain::default(),
            ended_reads: Rates::default(),
            lost: Rates::default(),
            unaccepted: Unaccepted::default(),
            slow_polls: 0,
            permits: MovingPermits::default(),
            accepted: Vec::new(),
            silences: Silences::default(),
            quiet: Quiet::default(),
        }
    }

    /// Takes a look while nothing is shown, so that the first answer tells for how long tasks have waited,
    /// and what has become more. It stops no thread. Returns whether [close looks](Self::look_closely) should
    /// follow for [`CLOSE_LOOKS`](super::finding::storms::CLOSE_LOOKS).
    pub(super) fn patrol(
        &mut self,
        now: Instant,
        handle: &Handle,
        memory: Option<&[PlaceMemory]>,
    ) -> bool {
        let mut dump = handle.dump_without_stacks();
        self.note(now, handle, &mut dump, memory);
        self.permits.look(now, &dump);
        let has_slow = std::mem::replace(&mut self.slow_polls, dump.slow_polls) < dump.slow_polls;
        self.storms.look_in_passing(now, &workers(handle)) || has_slow
    }

    /// The part of [`patrol`](Self::patrol) that finds which tasks accept connections.
    pub(super) fn look_at_listeners(&mut self, now: Instant, handle: &Handle) {
        self.unaccepted.look(now, &handle.dump_without_stacks());
    }

    /// Nothing is shown any more: forgets what only looks in quick succession tell.
    pub(super) fn rest(&mut self) {
        self.blocked = BlockedThreads::default();
    }

    fn note(
        &mut self,
        now: Instant,
        handle: &Handle,
        dump: &mut Dump,
        memory: Option<&[PlaceMemory]>,
    ) {
        self.growth.look_at_tasks(now, dump.groups());
        if let Some(memory) = memory {
            self.memory.look(now, memory);
        }
        let incidents = handle.incidents();
        self.connects.look(now, incidents.connects());
        self.timeouts.look(now, incidents.timeouts());
        self.ticks.look(now, incidents.ticks());
        let reads = incidents.ended_reads().into_iter();
        self.ended_reads.look(now, reads.map(|reads| (reads.task.spawned_at(), reads.repeated)));
        let is_broadcast = |queues: &&QueueGroup| queues.measured == Measured::Broadcast;
        let broadcast = dump.queues.iter().filter(is_broadcast);
        self.lost.look(now, broadcast.map(|queues| (queues.made_at, queues.lost)));
        self.unaccepted.look(now, dump);
        self.queues.look(now, dump);
        let accepted = accepted(&dump.sockets);
        self.note_accepted(now, accepted.len());
        self.silences.look(now, readers(handle, dump, &accepted).into_iter());
        self.quiet.look(now, &mut dump.sockets);
    }

    /// Adds a dump that has just been taken, and to the dump what all of them show. `memory` is what tasks
    /// have allocated, if this runtime's dump is to tell it.
    pub(super) fn add(
        &mut self,
        now: Instant,
        handle: &Handle,
        dump: &mut Dump,
        memory: Option<&[PlaceMemory]>,
    ) {
        self.note(now, handle, dump, memory);
        self.slow.tell(&mut dump.last_slow_polls);
        dump.busy_places = self.storms.busy_places();
        let busy = self.storms.findings();
        let polls = polls_of(&busy);
        let moving = self.permits.look(now, dump);
        dump.over_time = long_waits(dump, &polls, &moving);
        dump.over_time.extend(full_connections(dump));
        dump.over_time.extend(used_up(dump));
        dump.over_time.extend(self.blocked.findings(now, handle));
        let ended_reads = ended_reads(&self.ended_reads, &handle.incidents().ended_reads());
        dump.over_time.extend(
            busy.into_iter().filter(|busy| !ended_reads.iter().any(|reads| is_why(reads, busy))),
        );
        dump.over_time.extend(ended_reads);
        dump.over_time.extend(self.unaccepted.findings(now, dump));
        let (failed, rarely_failed) = self.connects.told_of_connects();
        dump.over_time.extend(failed);
        let (grown, growing) = self.queues.told(dump, &polls);
        dump.over_time.extend(grown);
        let explained = |found: &Finding| dump.over_time.iter().any(|wait| explains(wait, found));
        let growth = self.growth.findings().into_iter();
        let mut growth: Vec<_> = growth.filter(|found| !explained(found)).collect();
        growth.iter_mut().for_each(|found| say_what_they_wait_for(dump, found));
        growth.retain(|found| !self.may_be_in_order(now, dump, found));
        dump.over_time.extend(growth);
        dump.over_time.extend(self.memory.findings());
        dump.over_time.extend(closed_peers(dump));
        dump.over_time.extend(self.silences.findings());
        dump.is_followed = true;
        dump.notable = notable(dump);
        dump.notable.extend(many_tasks(dump).map(|many| worth_a_look(many.to_string())));
        let timeouts = self.timeouts.told_of_timeouts();
        let late = self.ticks.told_of_ticks().into_iter().chain(lost_values(&self.lost, dump));
        let more = growing.into_iter().chain(rarely_failed).chain(timeouts).chain(late);
        dump.notable.extend(more.map(worth_a_look));
        dump.notable.extend(self.silences.notable().into_iter().map(worth_a_look));
    }

    fn note_accepted(&mut self, now: Instant, connections: usize) {
        // Growth is judged over the whole time, so the oldest stays.
        if self.accepted.len() == KEPT_COUNTS {
            keep_every_second(&mut self.accepted);
        }
        self.accepted.push((now, connections));
    }

    /// Whether the tasks may become more because clients do, with up to two for each connection that the
    /// program has accepted meanwhile; or because each of several requests waits for some time.
    fn may_be_in_order(&self, now: Instant, dump: &Dump, growth: &Finding) -> bool {
        let Finding::GrowingTasks { before, tasks, duration, .. } = growth else {
            return false;
        };
        let is_before =
            |(at, _): &&(Instant, usize)| now.saturating_duration_since(*at) >= *duration;
        let then = self.accepted.iter().rev().find(is_before).or(self.accepted.first());
        let connections =
            |counted: Option<&(Instant, usize)>| counted.map_or(0, |(_, count)| *count);
        let more_clients = connections(self.accepted.last()).saturating_sub(connections(then));
        let soon = |wait: &Wait| matches!(wait, Wait::Timer { remaining } if *remaining < SOON);
        let few_go_on = |more| {
            let goes_on = |task: &&TaskInfo| task.waits().iter().any(soon);
            more < FEWEST_WITH_TIMERS && 2 * grown(dump, growth).filter(goes_on).count() > *tasks
        };
        let more = tasks - before;
        more <= 2 * more_clients || few_go_on(more) || end_in_turn(grown(dump, growth))
    }

    /// Looks at what the workers do: some loads for each, and the stacks of slow polls. Returns whether
    /// [`ask`](Self::ask) should follow.
    pub(super) fn glance(&mut self, now: Instant, handle: &Handle) -> bool {
        self.blocked.look(now, handle);
        self.slow.look(now, handle, ThreadStacks::default());
        self.look_at_polls(now, handle)
    }

    /// The part of a [`glance`](Self::glance) that stops no thread: finds what is polled all the time, and
    /// where slow polls are that are in system calls.
    pub(super) fn look_closely(&mut self, now: Instant, handle: &Handle) -> bool {
        self.slow.look(now, handle, ThreadStacks::of_calls());
        self.look_at_polls(now, handle)
    }

    fn look_at_polls(&mut self, now: Instant, handle: &Handle) -> bool {
        self.storms.look(now, &workers(handle));
        self.storms.has_suspects()
    }

    /// Whether a thread that is no worker is in a poll of which the next glances tell whether it lasts long.
    pub(super) fn is_in_young_poll(&self, now: Instant, handle: &Handle) -> bool {
        self.blocked.is_in_young_poll(now, handle.slow_after())
    }

    /// Asks whether tasks that are polled all the time wait now: goes through all tasks.
    pub(super) fn ask(&mut self, handle: &Handle) {
        let suspects = handle.tasks().filter(|task| self.storms.is_suspect(task.id()));
        let found = suspects.map(|task| {
            (task.id(), task.shared_name().cloned(), task.state() == TaskState::Waiting)
        });
        let found = found.collect();
        self.storms.ask(found);
    }
}

fn workers(handle: &Handle) -> Vec<Seen> {
    handle.polls().into_iter().map(|(polls, task)| Seen { polls, task }).collect()
}

/// The waiting tasks that become more.
fn grown<'a>(dump: &'a Dump, growth: &Finding) -> impl Iterator<Item = &'a TaskInfo> + use<'a> {
    let what = match growth {
        Finding::GrowingTasks { spawned_at, type_name, .. } => Some((*spawned_at, *type_name)),
        _ => None,
    };
    dump.tasks().iter().filter(move |task| {
        let is = task.type_name().map(|type_name| (task.spawned_at(), type_name));
        task.state() == TaskState::Waiting && is.is_some() && is == what
    })
}

/// Whether each of these tasks only waits for a timer, not for long, and those that came first are those that
/// go on first: as if each did something once, some time after it came. So they become as many as come in
/// that time, and no more.
fn end_in_turn<'a>(tasks: impl Iterator<Item = &'a TaskInfo>) -> bool {
    let remaining = |task: &TaskInfo| match task.waits_only_for() {
        Some(Wait::Timer { remaining }) if *remaining <= ONCE => Some((task.id(), *remaining)),
        _ => None,
    };
    let Some(mut timers) = tasks.map(remaining).collect::<Option<Vec<_>>>() else { return false };
    timers.sort_unstable();
    let third = timers.len() / 3;
    let (first, last) = (&timers[..third], &timers[timers.len() - third..]);
    let latest = first.iter().map(|(_, remaining)| *remaining).max();
    let soonest = last.iter().map(|(_, remaining)| *remaining).min();
    latest.zip(soonest).is_some_and(|(latest, soonest)| latest <= soonest)
}

/// How often the tasks are polled in a second that these findings name.
fn polls_of(busy: &[Finding]) -> HashMap<TaskId, u64> {
    let polls = |found: &Finding| match found {
        Finding::BusyTask { task, polls_per_second, .. } => Some((task.id(), *polls_per_second)),
        _ => None,
    };
    busy.iter().filter_map(polls).collect()
}

/// Whether `reads`, at the end of a stream, are why a task is busy.
fn is_why(reads: &Finding, busy: &Finding) -> bool {
    match (reads, busy) {
        (Finding::EndedReads { task: reads, .. }, Finding::BusyTask { task: busy, .. }) => {
            reads.spawned_at() == busy.spawned_at()
        }
        _ => false,
    }
}

/// Whether `wait` says why the tasks of `growth` become more.
fn explains(wait: &Finding, growth: &Finding) -> bool {
    match (wait, growth) {
        (Finding::LongWait(wait), Finding::GrowingTasks { spawned_at, tasks, .. }) => {
            wait.places().iter().any(|(place, waiting)| place == spawned_at && 2 * waiting > *tasks)
        }
        _ => false,
    }
}

fn say_what_they_wait_for(dump: &Dump, growth: &mut Finding) {
    let most = what_most_wait_for(grown(dump, growth));
    let Finding::GrowingTasks { wait_for, .. } = growth else { return };
    *wait_for = most;
}

/// The tasks that wait to read from a connection that the program has opened, and for nothing else.
fn readers(handle: &Handle, dump: &Dump, accepted: &HashSet<i32>) -> Vec<Reader> {
    let mut targets = dump.targets.lock();
    let mut reader = |task: &TaskInfo| match task.waits_only_for()? {
        Wait::Source { event: "readable", descriptor: Some(descriptor), target: Some(peer) } => {
            let is_opened = targets.is_connection(*descriptor) && !accepted.contains(descriptor);
            is_opened.then(|| Reader {
                task: task.task(),
                name: task.shared_name().cloned(),
                descriptor: *descriptor,
                events: 0,
                unanswered_writes: None,
                peer: peer.clone(),
            })
        }
        _ => None,
    };
    let readers = dump.tasks().iter().filter_map(&mut reader);
    let mut readers: HashMap<_, _> = readers.map(|reader| (reader.task.id(), reader)).collect();
    // A peer that does not read what another task writes is not the one that is to say something.
    let is_written =
        |socket: &&SocketInfo| socket.tasks().iter().any(|(_, event)| *event == WRITABLE);
    let written = dump.sockets.iter().filter(is_written).filter_map(SocketInfo::descriptor);
    let written: HashSet<_> = written.collect();
    readers.retain(|_, reader| !written.contains(&reader.descriptor));
    if !readers.is_empty() {
        handle.list_sources(|source| {
            for (task, _) in source.waiters {
                match readers.get_mut(task) {
                    Some(reader) if source.descriptor == Some(reader.descriptor) => {
                        reader.events = source.events;
                        reader.unanswered_writes = source.unanswered_writes;
                    }
                    _ => {}
                }
            }
        });
    }
    readers.into_values().collect()
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::*;
    use crate::insight::finding::tests::entry;

    #[test]
    fn tasks_that_do_something_once_end_in_the_order_in_which_they_came() {
        let after = |seconds: &[u64]| {
            let timer = |seconds| Wait::Timer { remaining: Duration::from_secs(seconds) };
            let waiting = |&seconds: &u64| {
                let mut task = TaskInfo::listed(entry(), false, true);
                task.waits_mut().extend((seconds != 0).then(|| timer(seconds)));
                task
            };
            let tasks: Vec<_> = seconds.iter().map(waiting).collect();
            end_in_turn(tasks.iter())
        };
        assert!(after(&[1, 2, 3, 4, 5, 6, 7, 8, 9]) && after(&[9, 9, 9]));
        // Each in a period of its own, or for long, or not only for a timer.
        assert!(!after(&[8, 2, 3, 9, 5, 6, 1, 4, 7]));
        assert!(!after(&[1000, 2000, 3000]) && !after(&[1, 2, 0]) && !after(&[]));
    }
}
