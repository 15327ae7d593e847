//! Facts that a person should look at first where there is no finding. A healthy program may show them, too.
//!
//! A task that has waited for a `Notify` for a minute may be right to do so, and so may a place whose tasks
//! take half of the workers' time. But if something is wrong that no rule knows, it is often one of these.

use super::dump::Dump;
use super::finding::{self, Finding};
use super::pool_info::JobInfo;
use super::task_info::TaskInfo;
use super::task_state::TaskState;
use super::wait::{Wait, WaitPlace};
use crate::engine::task::RunningTask;
use crate::primitive_kind::PrimitiveKind;
use crate::short::{Place, counted};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::panic::Location;
use std::time::Duration;

/// A task is listed from this waiting time on.
const LONG: Duration = Duration::from_secs(10);
/// The most groups of waiting tasks that are listed.
const MOST_GROUPS: usize = 4;
/// The most tasks that wait for the end of another one that are listed.
const MOST_JOINS: usize = 2;
/// A place is listed if its tasks take so much of the workers' time, in percent.
const BUSY: u32 = 25;

/// Tasks of one place that wait for the same kind of thing, from one place if that is known.
type Group = ((&'static Location<'static>, PrimitiveKind, WaitPlace), (usize, Duration));

/// Returns sentences, the most notable first.
pub(super) fn notable(dump: &Dump) -> Vec<String> {
    let waiting = long_waiting(dump).into_iter().chain(joining(dump));
    waiting.chain(busy(dump)).chain(old_jobs(dump)).collect()
}

/// Tasks that have waited for long for another task to do something, and have no timer that would end the
/// wait. Waits for sockets have rules of their own.
fn long_waiting(dump: &Dump) -> Vec<String> {
    let mut groups: HashMap<_, (usize, Duration)> = HashMap::new();
    for task in dump.tasks().iter().filter(|task| task.state() == TaskState::Waiting) {
        let waited = task.cold_for().filter(|time| *time >= LONG);
        let (Some(waited), Some(wait)) = (waited, task.waits_only_for()) else { continue };
        let Wait::Primitive { kind, .. } = wait else { continue };
        if !is_told(dump, task) {
            let (tasks, longest) =
                groups.entry((task.spawned_at(), *kind, wait.place())).or_default();
            (*tasks, *longest) = (*tasks + 1, waited.max(*longest));
        }
    }
    let mut of_kind: HashMap<_, usize> = HashMap::new();
    for ((spawned, kind, _), (tasks, _)) in &groups {
        *of_kind.entry((*spawned, *kind)).or_default() += tasks;
    }
    groups.retain(|(spawned, kind, _), _| !is_idle(*kind, of_kind[&(*spawned, *kind)]));
    let mut groups: Vec<Group> = groups.into_iter().collect();
    groups.sort_by_key(|((spawned, kind, place), (tasks, _))| {
        (Reverse(*tasks), *spawned, kind.word(), *place)
    });
    let sentence = |((spawned, kind, place), (tasks, longest)): Group| {
        let (spawned, seconds) = (Place(spawned), longest.as_secs());
        match tasks {
            1 => format!(
                "1 task spawned at {spawned} has waited for {kind}{place} for {seconds} s at least"
            ),
            _ => format!(
                "{} spawned at {spawned} wait for {kind}{place}, the longest for {seconds} s at least",
                counted(tasks, "task")
            ),
        }
    };
    groups.into_iter().take(MOST_GROUPS).map(sentence).map(worth_a_look).collect()
}

/// Tasks that have waited for long for the end of another one, which has waited for a message for as long.
/// They may only do so while the program runs. But if the senders were to go, one of them is still there.
fn joining(dump: &Dump) -> Vec<String> {
    use PrimitiveKind::{Broadcast, Receiver};
    let is_long = |task: &TaskInfo| task.cold_for().is_some_and(|time| time >= LONG);
    let tasks: HashMap<_, _> = dump.tasks().iter().map(|task| (task.id(), task)).collect();
    let pair = |task: &&TaskInfo| {
        let Some(Wait::Task { id }) = task.waits_only_for() else { return None };
        let (joined, waited) = (*tasks.get(id)?, task.cold_for()?);
        match joined.waits_only_for()? {
            wait @ Wait::Primitive { kind: Receiver | Broadcast, .. } if is_long(joined) => {
                Some((waited, task.task(), joined.task(), wait))
            }
            _ => None,
        }
    };
    let waiting = dump.tasks().iter().filter(|task| is_long(task));
    let mut pairs: Vec<_> = waiting.filter_map(|task| pair(&task)).collect();
    pairs.sort_by_key(|(waited, task, ..)| (Reverse(*waited), task.id()));
    let sentence = |(waited, task, joined, wait): (Duration, RunningTask, RunningTask, &Wait)| {
        format!(
            "task {}, spawned at {}, has waited for {} s at least for the end of task {}, spawned at {}, \
             which waits for {wait}: if it is to end with its messages, a sender is still there",
            task.id(),
            Place(task.spawned_at()),
            waited.as_secs(),
            joined.id(),
            Place(joined.spawned_at()),
        )
    };
    pairs.into_iter().take(MOST_JOINS).map(sentence).map(worth_a_look).collect()
}

/// Whether a finding has told what the task waits for.
fn is_told(dump: &Dump, task: &TaskInfo) -> bool {
    let is_of = |finding: &Finding| match finding {
        Finding::LongWait(wait) => wait.places().iter().any(|(at, _)| *at == task.spawned_at()),
        Finding::GrowingTasks { spawned_at, .. } => *spawned_at == task.spawned_at(),
        _ => false,
    };
    dump.deadlocks.tasks.contains(&task.id()) || dump.over_time.iter().any(is_of)
}

/// Whether so many tasks of one place wait for that in nearly every healthy program: for its end, or one of
/// them for the next message.
fn is_idle(kind: PrimitiveKind, tasks: usize) -> bool {
    match kind {
        PrimitiveKind::CancellationToken | PrimitiveKind::Signal => true,
        PrimitiveKind::Receiver | PrimitiveKind::Broadcast => tasks == 1,
        _ => false,
    }
}

fn busy(dump: &Dump) -> Vec<String> {
    let slow = dump.workers.iter().filter(|worker| worker.poll_duration >= dump.slow_after);
    let slow: Vec<_> = slow.filter_map(|worker| Some(worker.task?.spawned_at())).collect();
    let is_told = |place| {
        let is_of = |finding: &Finding| match finding {
            Finding::BusyTask { task, .. } | Finding::EndedReads { task, .. } => {
                task.spawned_at() == place
            }
            _ => false,
        };
        slow.contains(&place) || dump.over_time.iter().any(is_of)
    };
    let places = dump.busy_places.iter().filter(|(_, percent)| *percent >= BUSY);
    let mut places: Vec<_> = places.filter(|(place, _)| !is_told(*place)).collect();
    places.sort_by_key(|(place, percent)| (Reverse(*percent), *place));
    let sentence = |(place, percent): &&(&'static Location<'static>, u32)| {
        let mut said =
            format!("tasks spawned at {} take some {percent} % of the workers' time", Place(place));
        let waiting = dump
            .tasks()
            .iter()
            .filter(|task| task.spawned_at() == *place && task.state() == TaskState::Waiting);
        if let Some(what) = what_most_wait_for(waiting.clone()).filter(|_| waiting.count() > 1) {
            said.push_str(&format!("; those that wait now wait for {what}, most of them"));
        }
        said
    };
    places.iter().map(sentence).map(worth_a_look).collect()
}

/// What more than half of these tasks wait for: "a timer", or "a Notify awaited at src/main.rs:7:9".
pub(super) fn what_most_wait_for<'a>(tasks: impl Iterator<Item = &'a TaskInfo>) -> Option<String> {
    let (mut sorts, mut all): (HashMap<String, usize>, usize) = (HashMap::new(), 0);
    for task in tasks {
        all += 1;
        if let Some(wait) = task.waits().first() {
            let place = wait.place();
            let with_place =
                (place != WaitPlace::Unknown).then(|| format!("{}{place}", wait.sort()));
            for said in [Some(wait.sort()), with_place].into_iter().flatten() {
                *sorts.entry(said).or_default() += 1;
            }
        }
    }
    // If that is true of most of them, with the place.
    let most = sorts.into_iter().filter(|(_, count)| 2 * count > all);
    most.max_by_key(|(sort, count)| (sort.len(), *count)).map(|(sort, _)| sort)
}

/// Blocking work that has lasted for long, by its place. Some programs have such work all the time.
fn old_jobs(dump: &Dump) -> Vec<String> {
    if finding::old_jobs(dump).is_some() {
        return Vec::new();
    }
    // How many there are of each place, and the oldest of them, which comes first.
    let mut places: HashMap<_, (usize, &JobInfo)> = HashMap::new();
    for job in dump.pool.jobs().iter().filter(|job| job.age() >= LONG) {
        places.entry(job.task().spawned_at()).or_insert((0, job)).0 += 1;
    }
    let mut places: Vec<_> = places.into_iter().collect();
    places.sort_by_key(|&(place, (jobs, _))| (Reverse(jobs), place));
    let sentence = |(place, (jobs, oldest)): (_, (_, &JobInfo))| {
        let (jobs, seconds) = (counted(jobs, "blocking job"), oldest.age().as_secs());
        format!("{jobs} of {}, under way for up to {seconds} s{}", Place(place), oldest.does())
    };
    places.into_iter().take(MOST_GROUPS).map(sentence).map(worth_a_look).collect()
}

pub(super) fn worth_a_look(sentence: String) -> String {
    format!("worth a look: {sentence}")
}
