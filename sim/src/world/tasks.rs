//! The tasks of the programs, as their runtimes announce them.
//!
//! A runtime says which task a thread is about to poll, and which one it has spawned or woken. From
//! then on, and until it says something else, choices about the thread are drawn by that task. The
//! task has a name that does not depend on what else the program does: the name and the size of its
//! future's type, and how many of that type the host has spawned before. So one more task, or a
//! call more in another one, moves no choice that is drawn by this one.
//!
//! tokio does not announce its tasks. There all choices are drawn by the thread.

use std::collections::{BTreeMap, BTreeSet};

use super::actor::ActorId;
use super::{World, lock};
use crate::choices::{Kind, entity, mix};

/// What a thread does to a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touch {
    Spawned,
    Woken,
    Polled,
}

impl Touch {
    const ALL: [(Touch, &str); 3] = [
        (Touch::Spawned, "after the spawn of"),
        (Touch::Woken, "after a wake of"),
        (Touch::Polled, "in a poll of"),
    ];

    /// By what choices about the thread are drawn from now on.
    fn entity(self, task: u64) -> u64 {
        mix(task.wrapping_add(1 + self as u64))
    }
}

/// The longest part of a type's name that is shown.
const MOST_SHOWN: usize = 100;

/// No hash map, whose first one on a thread would take keys from the system.
#[derive(Default)]
pub(crate) struct Tasks {
    /// Live tasks by their hosts and the numbers that the runtime gave them.
    entities: BTreeMap<(usize, u64), u64>,
    /// Those of which all polls are late.
    slow: BTreeSet<u64>,
    /// How many of a type a host has spawned.
    counts: BTreeMap<u64, u64>,
    /// All tasks that there were.
    names: BTreeMap<u64, String>,
}

impl Tasks {
    fn add(&mut self, host: (usize, &str), number: u64, future: &str, size: usize) -> u64 {
        let kind = mix(entity(&format!("{}/{future}", host.1)) ^ size as u64);
        let count = self.counts.entry(kind).or_insert(0);
        *count += 1;
        let task = mix(kind ^ *count);
        self.entities.insert((host.0, number), task);
        self.names.insert(task, format!("{}/{} {count}", host.1, shown(future)));
        task
    }

    /// From now on no task is slow.
    pub(crate) fn be_calm(&mut self) {
        self.slow.clear();
    }

    /// What the choices were drawn by, in words.
    pub(crate) fn names(&self) -> impl Iterator<Item = (u64, String)> {
        self.names.iter().flat_map(|(task, name)| {
            let [a, b, c] =
                Touch::ALL.map(|(touch, words)| (touch.entity(*task), format!("{words} {name}")));
            [(*task, name.clone()), a, b, c]
        })
    }
}

fn shown(future: &str) -> String {
    match future.char_indices().nth_back(MOST_SHOWN) {
        Some((place, _)) => format!("…{}", &future[place..]),
        None => future.to_owned(),
    }
}

/// A task of this number was spawned on the thread `me`.
pub(crate) fn spawned(me: ActorId, number: u64, future: &str, size: usize) {
    let mut world = lock();
    let host = world.actors[me.0].host;
    let World { tasks, hosts, choices, plan, .. } = &mut *world;
    let task = tasks.add((host, &hosts[host].name), number, future, size);
    if choices.disturbs(Kind::Slow, task, plan.slow).is_some() {
        tasks.slow.insert(task);
    }
    world.touch_task(me, number, Touch::Spawned);
}

impl World {
    /// From now on choices about `me` are drawn by the task, if it is known. Returns whether all
    /// its polls are late.
    pub(crate) fn touch_task(&mut self, me: ActorId, number: u64, touch: Touch) -> bool {
        let actor = &mut self.actors[me.0];
        let Some(task) = self.tasks.entities.get(&(actor.host, number)) else { return false };
        actor.subject = touch.entity(*task);
        self.tasks.slow.contains(task)
    }

    /// The task of this number has ended.
    pub(crate) fn forget_task(&mut self, me: ActorId, number: u64) {
        let host = self.actors[me.0].host;
        if let Some(task) = self.tasks.entities.remove(&(host, number)) {
            self.tasks.slow.remove(&task);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_of_another_type_or_size_changes_no_name() {
        let mut alone = Tasks::default();
        alone.add((0, "a"), 1, "x", 8);
        alone.add((0, "a"), 2, "x", 8);
        let mut beside = Tasks::default();
        for (number, future, size) in [(1, "y", 8), (2, "x", 8), (3, "x", 16), (4, "x", 8)] {
            beside.add((0, "a"), number, future, size);
        }
        beside.add((1, "b"), 5, "x", 8);
        assert_eq!(alone.entities[&(0, 1)], beside.entities[&(0, 2)]);
        assert_eq!(alone.entities[&(0, 2)], beside.entities[&(0, 4)]);
        assert_eq!(beside.names.len(), 5);
    }

    #[test]
    fn a_long_name_is_cut_in_front() {
        let long = "é".repeat(300);
        assert_eq!(shown(&long).chars().count(), MOST_SHOWN + 2);
        assert_eq!(shown("short"), "short");
    }
}
