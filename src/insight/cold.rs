//! For how long tasks have waited, as far as looks have shown.
//!
//! A task notes no time when it goes cold: that would cost each wait a reading of the clock, and each task
//! eight bytes. But a walk that marks (`State::mark`) finds out which tasks have been cold all the time since
//! the walk before it that has marked. So a task that was marked at some time, and whose mark each walk since
//! has found again, has waited since that time at least.
//!
//! A mark does not say which walk has left it, so all walks that mark enter here what they have found, under
//! one lock. That is done only for runtimes that are followed, which a page does.

use super::task_info::TaskInfo;
use crate::engine::sync_shim::{StaticMutex, StaticMutexGuard, clock};
use crate::engine::task::{Mark, TaskId};
use crate::runtime::{Handle, Id};
use std::collections::HashMap;
use std::time::Instant;

/// The most tasks of a runtime whose times are kept: some 5 MB.
const MOST_TASKS: usize = 100_000;

/// The thread that makes a walk that marks holds it, from its beginning to the end of the proof that follows.
static MARKS: StaticMutex<Marks> = StaticMutex::new(Marks { followed: Vec::new() });

/// What the walks that mark have found.
pub(super) struct Marks {
    followed: Vec<Followed>,
}

struct Followed {
    runtime: Id,
    followers: usize,
    /// The number of the last walk.
    walk: u64,
    tasks: HashMap<TaskId, Cold>,
}

struct Cold {
    /// `None`: it has been marked by the walk that is under way.
    since: Option<Instant>,
    /// The last walk that has met the task.
    walk: u64,
}

/// Waits until no other thread marks.
pub(super) fn lock() -> StaticMutexGuard<'static, Marks> {
    MARKS.lock()
}

impl Marks {
    fn of(&mut self, runtime: Id) -> Option<&mut Followed> {
        self.followed.iter_mut().find(|followed| followed.runtime == runtime)
    }

    /// Begins a walk that marks; `None` if the runtime is not followed.
    pub(super) fn begin(&mut self, runtime: Id) -> Option<Walk> {
        let followed = self.of(runtime)?;
        followed.walk += 1;
        Some(Walk { runtime, begun: clock::now() })
    }

    /// The walk has met `task`, which gets to know for how long it has waited.
    pub(super) fn meet(&mut self, walk: &Walk, task: &mut TaskInfo) {
        let Some(Followed { walk: number, tasks, .. }) = self.of(walk.runtime) else { return };
        let (id, walk_number) = (task.id(), *number);
        let is_full = tasks.len() >= MOST_TASKS;
        match (task.mark(), tasks.get_mut(&id)) {
            (Mark::Hot, None) => {}
            (Mark::Hot, Some(_)) => _ = tasks.remove(&id),
            (Mark::Old, Some(cold)) => {
                cold.walk = walk_number;
                task.set_cold_since(cold.since, walk.begun);
            }
            (Mark::New, Some(cold)) => *cold = Cold { since: None, walk: walk_number },
            // An old mark is from before the runtime was followed, or from when there was no room.
            (Mark::New | Mark::Old, None) if is_full => {}
            (Mark::New | Mark::Old, None) => {
                tasks.insert(id, Cold { since: None, walk: walk_number });
            }
        }
    }

    /// The walk is over: what it has not met has ended.
    pub(super) fn end(&mut self, walk: &Walk) {
        let Some(Followed { walk: number, tasks, .. }) = self.of(walk.runtime) else { return };
        // The time is that of the end, because each was marked before it.
        let now = clock::now();
        tasks.retain(|_, cold| {
            cold.since.get_or_insert(now);
            cold.walk == *number
        });
    }
}

/// The live tasks, as [`Handle::tasks`] returns them, each with the time for which it has waited. No other
/// thread marks meanwhile.
pub(super) fn told(handle: &Handle) -> impl Iterator<Item = TaskInfo> + use<> {
    let (mut marks, runtime, now) = (lock(), handle.id(), clock::now());
    handle.tasks().map(move |mut task| {
        let cold = marks.of(runtime).and_then(|followed| followed.tasks.get(&task.id()));
        // A task without the mark has run since that was written down.
        if let Some(cold) = cold.filter(|_| task.mark() == Mark::Old) {
            task.set_cold_since(cold.since, now);
        }
        task
    })
}

/// A walk that marks the tasks of a runtime that is followed.
pub(super) struct Walk {
    runtime: Id,
    begun: Instant,
}

/// While it lives, the walks through that runtime enter what they have found.
pub(super) struct Following(Id);

impl Following {
    pub(super) fn new(runtime: Id) -> Self {
        let mut marks = lock();
        match marks.of(runtime) {
            Some(followed) => followed.followers += 1,
            None => {
                let (followers, walk, tasks) = (1, 0, HashMap::new());
                marks.followed.push(Followed { runtime, followers, walk, tasks });
            }
        }
        Self(runtime)
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        let mut marks = lock();
        if let Some(followed) = marks.of(self.0) {
            followed.followers -= 1;
        }
        marks.followed.retain(|followed| followed.followers != 0);
    }
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::*;
    use crate::engine::task::RunningTask;
    use crate::engine::task::registry::ListEntry;
    use crate::insight::finding::tests::entry;
    use crate::runtime::LocalRuntime;
    use std::panic::Location;

    /// One that waits, as a walk that marks has found it.
    fn found(id: TaskId, mark: Mark) -> TaskInfo {
        let task = RunningTask::new(id, Location::caller());
        let wakers = (mark != Mark::Hot).then_some(1);
        let entry = ListEntry { task, wakers, mark, ..entry() };
        TaskInfo::listed(entry, false, true)
    }

    /// For how long each of the tasks has waited, if it is known, after a walk that has found these marks.
    fn walk(marks: &mut Marks, runtime: Id, tasks: &[(TaskId, Mark)]) -> Vec<Option<Instant>> {
        let walk = marks.begin(runtime).unwrap();
        let told = tasks.iter().map(|&(id, mark)| {
            let mut task = found(id, mark);
            marks.meet(&walk, &mut task);
            task.cold_for().map(|time| walk.begun - time)
        });
        let told = told.collect();
        marks.end(&walk);
        told
    }

    #[test]
    fn times_are_kept_of_a_bounded_number_of_tasks() {
        let local = LocalRuntime::new().unwrap();
        let runtime = local.handle().id();
        let (followers, tasks) = (1, HashMap::new());
        let followed = vec![Followed { runtime, followers, walk: 0, tasks }];
        let mut marks = Marks { followed };
        let ids: Vec<_> = (0..MOST_TASKS + 10).map(|_| TaskId::next()).collect();
        let all = |mark| ids.iter().map(|&id| (id, mark)).collect::<Vec<_>>();
        let kept = |marks: &Marks| marks.followed[0].tasks.len();
        assert!(walk(&mut marks, runtime, &all(Mark::New)).iter().all(Option::is_none));
        assert_eq!(kept(&marks), MOST_TASKS);
        let told = walk(&mut marks, runtime, &all(Mark::Old));
        assert!(told[..MOST_TASKS].iter().all(Option::is_some));
        assert!(told[MOST_TASKS..].iter().all(Option::is_none), "there is no room");
        assert_eq!(kept(&marks), MOST_TASKS);
        // Tasks that have ended or are polled make room.
        let late = ids[MOST_TASKS];
        let few = [(ids[0], Mark::Old), (ids[1], Mark::Hot), (late, Mark::Old)];
        assert!(walk(&mut marks, runtime, &few)[2].is_none(), "the first look that has room");
        assert_eq!(kept(&marks), 2);
        assert!(walk(&mut marks, runtime, &few)[2].is_some());
        assert_eq!(kept(&marks), 2);
    }
}
