//! Tasks that wait for each other: which of them are proven, or suspected, never to go on.
//!
//! # The proof
//!
//! A task is a *suspect* while it is cold, has one waker, and that waker lies where its note says: with the
//! end of another task, or in the line of a lock or of a full channel (`engine/task/waiting.rs`). Its
//! *blocker* is that other task, or the one that holds the lock or receives from the channel
//! (`sync/holders.rs`). The suspects are found in one walk through all tasks, which marks those that are
//! cold, and looked at once more in a second walk, which begins after the first has ended. Those that are
//! still marked have been cold all the time in between, so there is a moment at which all of them were cold.
//!
//! A mark does not say which walk has left it. So there is one proof at a time in the process, and no walk
//! but the first one of a proof marks. If another one marked a task that has run between the two walks, the
//! second of them would take it for one that has been cold.
//!
//! The holders of locks are asked between the walks. The largest set is taken of those whose blockers are in
//! the set, or have no waker at all. Suppose that something other than an abort wakes a task of the set after
//! that moment, and take the first such wake. By another waker than the one that the note speaks of it cannot
//! be: in the second walk there was none, and that one is not cloned where it lies. By that one it happens
//! when the blocker ends or releases the lock: suspects whose blocker is not certain are left out here. The
//! blocker has to be polled for that, so it was woken before: that was an earlier wake.
//!
//! What is taken for granted: a guard stays in the task that has locked. Mostly it does if it borrows the
//! lock. But one of a lock that lives for ever can be given to another task, and so can a boxed future with
//! guard and lock in it, and neither leaves a trace. So a finding about locks says so. A guard that owns its
//! lock, as of `lock_owned`, is often given away, so nothing is proven by it.
//!
//! # What is suspected
//!
//! A circle with a channel in it, or in which the holder of a lock is not certain, because the guard owns the
//! lock, is suspected. All its tasks have been cold from the first walk to the second, as above. A task alone
//! is no such circle: one that locks, gives the guard to a task that it spawns, and locks again is healthy.
//! So a task that sends to its own full channel is not found, either.
//!
//! # Channels
//!
//! A task that waits for room in a bounded channel is a suspect, too, and its blocker is the task that has
//! last waited for a message of that channel. It is never certain: a receiver can be given to another task,
//! and another sender can give back room that it has reserved. Receivers note themselves only when they wait,
//! so messages do not pay for it; the first sender that waits, and the last, enter the channel and take it
//! out.
//!
//! Senders are not tied to tasks, so the task that a receiver waits for is not known, and tasks that wait for
//! messages of each other are not found. What is shown is the channel for which each task waits, by number.
//! Rejected: to note in the channel the task that has sent last. It costs 6 instructions per message, but two
//! healthy actors that have answered each other and wait for news from outside would be a circle. And to look
//! for the address of the channel in the futures of the other tasks, which would cost the tasks nothing: that
//! reads uninitialised memory, and misses each sender that lies in a box or in a message. The commonest
//! circle of this kind, two actors that ask each other, has each sender in a message.

use super::cold::{self, Marks};
use super::deadlocked_task::DeadlockedTask;
use super::task_info::TaskInfo;
use super::task_list::TaskList;
use super::tasks::Tasks;
use super::wait::Wait;
use crate::engine::sync_shim::StaticMutexGuard;
use crate::engine::task::registry::ListEntry;
use crate::engine::task::waiting::{self, Note};
use crate::engine::task::{Mark, TaskId};
use crate::primitive_kind::PrimitiveKind;
use crate::runtime::{Handle, Id};
use crate::sync::holders;
use std::collections::{HashMap, HashSet};

/// No more suspects than this are looked at. With more of them, less is proven.
const MOST_SUSPECTS: usize = 100_000;

/// The suspects of the first walk.
pub(super) struct Suspects {
    /// Held from the beginning of the first walk to the end of the second.
    marks: StaticMutexGuard<'static, Marks>,
    walk: Option<cold::Walk>,
    notes: HashMap<TaskId, Note>,
    /// The tasks without a waker.
    stuck: HashSet<TaskId>,
}

/// Those suspects whose blockers are suspects, too, or have no waker.
pub(super) struct Blocked {
    suspects: Suspects,
    blockers: HashMap<TaskId, TaskId>,
    /// The tasks among them that wait for a guard or a receiver that may have left its task.
    uncertain: HashSet<TaskId>,
}

/// What has been proven, and what is suspected.
#[derive(Debug, Clone, Default)]
pub(super) struct Deadlocks {
    /// All tasks that are proven to wait for ever, without those that have no waker.
    pub(super) tasks: HashSet<TaskId>,
    /// Those of them that wait for a lock, or for one that does: they may go on if a guard was given to
    /// another task.
    pub(super) unless_given: HashSet<TaskId>,
    /// Tasks that wait for each other, each for the next one and the last one for the first.
    pub(super) circles: Vec<Circle>,
    /// The same, but a guard or a receiver may have been given to another task.
    pub(super) suspected: Vec<Circle>,
}

#[derive(Debug, Clone)]
pub(super) struct Circle {
    pub(super) tasks: Vec<DeadlockedTask>,
    /// How many tasks beside them wait for them.
    pub(super) others: usize,
}

impl Suspects {
    /// Begins a proof. If another thread makes one, waits until that is over.
    pub(super) fn new(runtime: Id) -> Self {
        let mut marks = cold::lock();
        let walk = marks.begin(runtime);
        Self { marks, walk, notes: HashMap::new(), stuck: HashSet::new() }
    }

    /// Returns the first walk. Each of its tasks is to be [met](Self::meet).
    pub(super) fn walk(&self, handle: &Handle) -> Tasks {
        Tasks::new(TaskList::marking(handle))
    }

    /// Takes note of the task, and says of it for how long it has waited.
    pub(super) fn meet(&mut self, task: &mut TaskInfo) {
        if let Some(walk) = &self.walk {
            self.marks.meet(walk, task);
        }
        if task.is_stuck() && self.stuck.len() < MOST_SUSPECTS {
            self.stuck.insert(task.id());
        }
        let Some(note) = task.only_wait() else { return };
        // Many healthy tasks wait for room, and leave half of the places to others.
        let waits_for_room = note.wait() == Some(waiting::Wait::Primitive(PrimitiveKind::Sender));
        let most = if waits_for_room { MOST_SUSPECTS / 2 } else { MOST_SUSPECTS };
        if self.notes.len() < most {
            self.notes.insert(task.id(), note);
        }
    }

    /// Asks for the holders of locks. To be called when the first walk is over.
    pub(super) fn ask_holders(mut self) -> Blocked {
        if let Some(walk) = self.walk.take() {
            self.marks.end(&walk);
        }
        let (blockers, uncertain) = blockers(&self.notes);
        let blockers = closed(blockers, &self.stuck);
        self.notes.retain(|task, _| blockers.contains_key(task));
        Blocked { suspects: self, blockers, uncertain }
    }
}

impl Blocked {
    /// Makes the second walk, if there is a reason to.
    pub(super) fn prove(self, handle: &Handle) -> Deadlocks {
        let Self { suspects: Suspects { marks: _marks, notes, stuck, .. }, blockers, uncertain } =
            self;
        if notes.is_empty() {
            return Deadlocks::default();
        }
        let mut seen_again = HashMap::new();
        let (mut list, mut chunk) = (TaskList::new(handle), Vec::new());
        while list.next_chunk(&mut chunk).is_some() {
            for entry in chunk.drain(..).filter(|entry| waits_still(entry, &notes)) {
                seen_again.insert(entry.task.id(), entry);
            }
        }
        judged(&blockers, &uncertain, &stuck, &seen_again)
    }
}

/// Whether a task that the second walk has met has waited since the first one, for what that one has noted.
fn waits_still(entry: &ListEntry, notes: &HashMap<TaskId, Note>) -> bool {
    let was_cold = entry.mark == Mark::Old;
    let note = entry.note.filter(|_| was_cold && entry.is_note_reliable);
    note.is_some() && note == notes.get(&entry.task.id()).copied()
}

/// What follows from the holders of the time between the walks, and from the second walk.
fn judged(
    blockers: &HashMap<TaskId, TaskId>,
    uncertain: &HashSet<TaskId>,
    stuck: &HashSet<TaskId>,
    seen_again: &HashMap<TaskId, ListEntry>,
) -> Deadlocks {
    // The holders are those of the time between the walks: by now a task may have gone on, and hold a lock.
    let seen = blockers.iter().filter(|(task, _)| seen_again.contains_key(task));
    let blockers = closed(seen.map(|(&task, &blocker)| (task, blocker)).collect(), stuck);
    let certain = blockers.iter().filter(|(task, _)| !uncertain.contains(task));
    let proven = closed(certain.map(|(&task, &blocker)| (task, blocker)).collect(), stuck);
    let tell = |(tasks, others): (Vec<TaskId>, usize)| {
        let told = tasks.iter().filter_map(|id| {
            let (entry, blocker) = (seen_again.get(id)?, *blockers.get(id)?);
            let waits_for = entry.note.and_then(Wait::noted)?.held_by(Some(blocker));
            Some(DeadlockedTask { task: entry.task, name: entry.name.clone(), waits_for })
        });
        Circle { tasks: told.collect(), others }
    };
    // A circle is proven as a whole or not at all.
    let suspected = circles(&blockers).into_iter().filter(|(tasks, _)| {
        let is_proven = tasks.iter().all(|task| proven.contains_key(task));
        !is_proven && tasks.len() > 1
    });
    let suspected = suspected.map(tell).collect();
    let circles = circles(&proven).into_iter().map(tell).collect();
    let joins = proven.iter().filter(|(task, _)| is_join(seen_again.get(task)));
    let by_joins = closed(joins.map(|(&task, &blocker)| (task, blocker)).collect(), stuck);
    let unless_given = proven.keys().filter(|task| !by_joins.contains_key(task)).copied();
    Deadlocks {
        circles,
        suspected,
        unless_given: unless_given.collect(),
        tasks: proven.into_keys().collect(),
    }
}

fn is_join(entry: Option<&ListEntry>) -> bool {
    entry.and_then(|entry| entry.note).is_some_and(|note| note.joined().is_some())
}

/// The blockers of those suspects that have one, and the suspects whose blocker is not certain.
fn blockers(notes: &HashMap<TaskId, Note>) -> (HashMap<TaskId, TaskId>, HashSet<TaskId>) {
    let (mut blockers, mut uncertain) = (HashMap::new(), HashSet::new());
    for (&task, &note) in notes {
        if let Some(joined) = note.joined() {
            blockers.insert(task, joined);
        } else if let Some(holder) = holders::find(note) {
            blockers.insert(task, holder.task);
            if !holder.is_certain {
                uncertain.insert(task);
            }
        }
    }
    (blockers, uncertain)
}

/// The largest part of `blockers` in which each blocker has one itself, or is in `stuck`.
fn closed(
    mut blockers: HashMap<TaskId, TaskId>,
    stuck: &HashSet<TaskId>,
) -> HashMap<TaskId, TaskId> {
    let mut waiting: HashMap<TaskId, Vec<TaskId>> = HashMap::new();
    for (&task, &blocker) in &blockers {
        waiting.entry(blocker).or_default().push(task);
    }
    let lives = |blocker: &&TaskId| !blockers.contains_key(blocker) && !stuck.contains(blocker);
    let mut live: Vec<TaskId> = waiting.keys().filter(lives).copied().collect();
    while let Some(blocker) = live.pop() {
        for task in waiting.remove(&blocker).unwrap_or_default() {
            blockers.remove(&task);
            live.push(task);
        }
    }
    blockers
}

/// The circles, each from its smallest id on, with the number of tasks that lead into it. The first one has
/// the smallest id of all.
fn circles(blockers: &HashMap<TaskId, TaskId>) -> Vec<(Vec<TaskId>, usize)> {
    /// Which circle a task leads to; `None` if it leads to one that is stuck alone.
    type Found = HashMap<TaskId, Option<usize>>;
    let (mut circles, mut found): (Vec<(Vec<TaskId>, usize)>, Found) = Default::default();
    let mut tasks: Vec<_> = blockers.keys().copied().collect();
    tasks.sort_unstable();
    for first in tasks {
        let (mut path, mut places, mut task) = (Vec::new(), HashMap::new(), first);
        let end = loop {
            if let Some(&known) = found.get(&task) {
                break known;
            }
            if let Some(&place) = places.get(&task) {
                let mut circle = path.split_off(place);
                let smallest = (0..circle.len()).min_by_key(|&index| circle[index]);
                circle.rotate_left(smallest.unwrap_or(0));
                found.extend(circle.iter().map(|&task| (task, Some(circles.len()))));
                circles.push((circle, 0));
                break Some(circles.len() - 1);
            }
            let Some(&blocker) = blockers.get(&task) else { break None };
            places.insert(task, path.len());
            path.push(task);
            task = blocker;
        };
        if let Some(circle) = end {
            circles[circle].1 += path.len();
        }
        found.extend(path.into_iter().map(|task| (task, end)));
    }
    circles.sort_by_key(|(circle, _)| circle[0]);
    circles
}

#[cfg(test)]
mod rules;
#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;
