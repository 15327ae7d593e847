//! What follows from two walks, without any. It runs with the models, too, for the mutations.

use super::{circles, closed, judged, waits_still};
use crate::engine::task::registry::ListEntry;
use crate::engine::task::waiting::{Note, Wait};
use crate::engine::task::{Mark, RunningTask, TaskId};
use crate::insight::finding::tests::entry;
use crate::primitive_kind::PrimitiveKind;
use std::collections::{HashMap, HashSet};
use std::panic::Location;

fn ids() -> Vec<TaskId> {
    let mut ids: Vec<_> = (0..10).map(|_| TaskId::next()).collect();
    ids.sort_unstable();
    ids
}

/// `edges` between tasks that are given by numbers, those of them that stay, and the circles.
fn told(edges: &[(usize, usize)], stuck: &[usize]) -> (Vec<usize>, Vec<(Vec<usize>, usize)>) {
    let ids = ids();
    let number = |id: &TaskId| ids.iter().position(|other| other == id).unwrap();
    let edges: HashMap<_, _> = edges.iter().map(|&(from, to)| (ids[from], ids[to])).collect();
    let stuck: HashSet<_> = stuck.iter().map(|&task| ids[task]).collect();
    let left = closed(edges, &stuck);
    let circles = circles(&left).into_iter();
    let circles = circles.map(|(circle, others)| (circle.iter().map(number).collect(), others));
    let mut tasks: Vec<_> = left.keys().map(number).collect();
    tasks.sort_unstable();
    (tasks, circles.collect())
}

#[test]
fn what_leads_to_a_task_that_lives_is_not_closed() {
    assert_eq!(told(&[], &[]), (vec![], vec![]));
    assert_eq!(told(&[(0, 1), (1, 2), (3, 1)], &[]), (vec![], vec![]));
    assert_eq!(told(&[(0, 1), (1, 2), (3, 1)], &[2]), (vec![0, 1, 3], vec![]));
}

#[test]
fn circles_are_found_with_what_leads_into_them() {
    assert_eq!(told(&[(4, 4)], &[]), (vec![4], vec![(vec![4], 0)]));
    let edges = [(2, 1), (1, 3), (3, 2), (0, 5), (5, 2), (7, 8), (8, 7), (6, 9)];
    let circles = vec![(vec![1, 3, 2], 2), (vec![7, 8], 0)];
    assert_eq!(told(&edges, &[]), (vec![0, 1, 2, 3, 5, 7, 8], circles));
}

const MUTEX: Wait = Wait::Primitive(PrimitiveKind::Mutex);

/// A task that has been cold since a walk before, and waits for that.
fn cold(id: TaskId, wait: Wait, number: u64) -> ListEntry {
    let (note, mark, is_note_reliable) = (Note::new(wait, number), Mark::Old, true);
    let task = RunningTask::new(id, Location::caller());
    ListEntry { task, note, mark, is_note_reliable, ..entry() }
}

#[test]
fn a_task_that_has_run_between_the_walks_waits_no_longer() {
    let id = TaskId::next();
    let met = cold(id, MUTEX, 8);
    let notes = HashMap::from([(id, met.note.unwrap())]);
    assert!(waits_still(&met, &notes));
    let has_run = ListEntry { mark: Mark::New, ..met.clone() };
    assert!(!waits_still(&has_run, &notes), "it waits again, for the same");
    let is_awake = ListEntry { is_note_reliable: false, ..met };
    assert!(!waits_still(&is_awake, &notes), "or does not wait");
    assert!(!waits_still(&cold(id, MUTEX, 16), &notes), "for another lock");
    let unknown = ListEntry { note: None, ..cold(id, MUTEX, 8) };
    assert!(!waits_still(&unknown, &notes));
    let late = ListEntry { note: None, ..cold(TaskId::next(), MUTEX, 8) };
    assert!(!waits_still(&late, &notes), "the first walk has met no such task");
}

/// The first two wait for locks of each other, the next two for each other's ends, and the fifth for the end
/// of the first.
#[test]
fn by_a_guard_that_may_be_elsewhere_nothing_is_proven() {
    let ids = ids();
    let join = |task: usize, other: usize| cold(ids[task], Wait::Join, ids[other].to_bits());
    let met = [cold(ids[0], MUTEX, 8), cold(ids[1], MUTEX, 16), join(2, 3), join(3, 2), join(4, 0)];
    let seen_again: HashMap<_, _> = met.into_iter().map(|entry| (entry.task.id(), entry)).collect();
    let edges = [(0, 1), (1, 0), (2, 3), (3, 2), (4, 0)];
    let blockers = edges.map(|(task, other)| (ids[task], ids[other])).into_iter().collect();
    let set = |tasks: &[usize]| tasks.iter().map(|&task| ids[task]).collect::<HashSet<_>>();
    let said = |uncertain: &[usize]| {
        let said = judged(&blockers, &set(uncertain), &HashSet::new(), &seen_again);
        (said.tasks, said.unless_given, said.circles.len(), said.suspected.len())
    };
    assert_eq!(said(&[]), (set(&[0, 1, 2, 3, 4]), set(&[0, 1, 4]), 2, 0));
    assert_eq!(said(&[1]), (set(&[2, 3]), set(&[]), 1, 1));
    assert_eq!(said(&[0, 1]), (set(&[2, 3]), set(&[]), 1, 1));
}

/// The holders were asked before the second walk, and one of the two tasks has gone on since.
#[test]
fn of_a_task_that_the_second_walk_has_not_seen_nothing_is_said() {
    let ids = ids();
    let blockers = HashMap::from([(ids[0], ids[1]), (ids[1], ids[0])]);
    let seen_again = HashMap::from([(ids[0], cold(ids[0], MUTEX, 8))]);
    let said = judged(&blockers, &HashSet::new(), &HashSet::new(), &seen_again);
    assert!(said.tasks.is_empty() && said.circles.is_empty() && said.suspected.is_empty());
}
