//! What tasks wait for without having left a note of it: timers, sources and blocking work.

use super::pool_info::PoolInfo;
use super::queues::places_of;
use super::sockets::Targets;
use super::task_info::TaskInfo;
use super::wait::Wait;
use crate::engine::driver::readiness::Ready;
use crate::engine::task::TaskId;
use crate::runtime::Handle;
use std::collections::{BTreeMap, HashMap, HashSet};

/// The most waits of one task that are listed.
const MOST_WAITS: usize = 8;

/// The most descriptors that are looked up.
const MOST_LOOKED_UP: usize = 10_000;

/// Adds what the runtime of `handle` knows to what is known of `tasks`.
pub(super) fn complete(
    handle: &Handle,
    tasks: &mut [TaskInfo],
    pool: &PoolInfo,
    targets: &mut Targets,
) {
    let jobs: HashSet<TaskId> = pool.jobs().iter().map(|job| job.task().id()).collect();
    let is_of_interest = tasks.iter().flat_map(TaskInfo::waits).any(Wait::is_for_channel);
    let made_at = if is_of_interest { places_of(handle.id()) } else { HashMap::new() };
    let mut places = HashMap::new();
    for (place, task) in tasks.iter_mut().enumerate().filter(|(_, task)| task.is_waiting()) {
        places.insert(task.id(), place);
        for wait in task.waits_mut() {
            wait.find_place(&made_at);
            match *wait {
                Wait::Task { id } if jobs.contains(&id) => *wait = Wait::BlockingWork { id },
                _ => {}
            }
        }
    }
    let mut add = |task: TaskId, wait: Wait| {
        let Some(&place) = places.get(&task) else { return };
        let waits = tasks[place].waits_mut();
        if waits.len() < MOST_WAITS {
            waits.push(wait);
        }
    };
    handle.list_timers(|task, remaining| add(task, Wait::Timer { remaining }));
    let mut sources = Vec::new();
    handle.list_sources(|source| {
        // To find out where a descriptor leads to takes system calls.
        let known = source.waiters.iter().filter(|(task, _)| places.contains_key(task));
        sources.extend(known.map(|(task, ready)| (*task, *ready, source.descriptor)));
    });
    for (count, (task, ready, descriptor)) in sources.into_iter().enumerate() {
        let looked_up = descriptor.filter(|_| count < MOST_LOOKED_UP);
        let target = looked_up.and_then(|descriptor| targets.of(descriptor));
        add(task, Wait::Source { event: event(ready), descriptor, target });
    }
}

/// What a task waits for that has to read.
pub(super) const READABLE: &str = "readable";
/// What a task waits for that has to write.
pub(super) const WRITABLE: &str = "writable";

pub(super) fn event(ready: Ready) -> &'static str {
    match (ready.is_readable(), ready.is_writable()) {
        (true, false) => READABLE,
        (false, true) => WRITABLE,
        (true, true) => "readable or writable",
        (false, false) if ready.is_priority() => "urgent data",
        (false, false) => "an error",
    }
}

/// How many tasks wait for things of each kind. A task that waits for two is counted for both.
pub(super) fn by_kind(tasks: &[TaskInfo]) -> BTreeMap<&'static str, usize> {
    let mut kinds = BTreeMap::new();
    for wait in tasks.iter().flat_map(TaskInfo::waits) {
        *kinds.entry(wait.kind()).or_default() += 1;
    }
    kinds
}
