//! `Positions`: up to which signal a task was told, so that its next listener goes on from there.
//!
//! A loop over a `select!` with `ctrl_c` in it makes a listener in each round, and does its other work while
//! it has none. It must not lose a signal that comes meanwhile, although other tasks may have been told of
//! it. So a listener that is dropped leaves its position to the task that has polled it, and the next
//! listener which that task makes begins there. Outside of tasks the thread stands for the task: a root has
//! no number. In each runtime a thread counts as another one. Otherwise a program that has several runtimes
//! on its main thread, one after the other, would be told in the second one of a ctrl-c that a task of the
//! first one was told of.
//!
//! A task without a position begins with the signals that no listener was told of. That is right for a task
//! that is made for the purpose of listening, and keeps a second ctrl-c, which ends a program at once, from
//! being the first one once more.
//!
//! Positions of tasks that have ended are not used any more, and nothing tells of their end. So the number of
//! positions is bounded: when there are [`MOST`] new ones, those that were not left since there were [`MOST`]
//! the last time are forgotten.

use crate::engine::task::{TaskId, current};
use std::collections::HashMap;
use std::thread::{self, ThreadId};

/// A loop keeps its position if no more than so many tasks leave theirs between two of its listeners. All
/// positions for one kind of signals take 80 kB at most.
const MOST: usize = 1024;

/// What makes listeners one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Asker {
    Task(TaskId),
    Thread(ThreadId, Runtime),
}

/// The number of a runtime's source, which no other one gets.
type Runtime = u64;

impl Asker {
    pub(super) fn current(runtime: Runtime) -> Self {
        current::id().map_or_else(|| Self::Thread(thread::current().id(), runtime), Self::Task)
    }
}

/// All positions are numbers of signals of one kind. They may come round.
#[derive(Default)]
pub(super) struct Positions {
    /// The last signal that any listener was told of.
    told: usize,
    recent: HashMap<Asker, usize>,
    earlier: HashMap<Asker, usize>,
}

impl Positions {
    /// Returns where a new listener of `asker` begins.
    pub(super) fn first(&self, asker: Asker) -> usize {
        let left = self.recent.get(&asker).or_else(|| self.earlier.get(&asker));
        left.copied().unwrap_or(self.told)
    }

    /// A listener that `asker` polls was told of all signals up to `position`.
    pub(super) fn told(&mut self, asker: Asker, position: usize) {
        self.told = later(self.told, position);
        // Only if there is one: otherwise all tasks that keep a listener would come in between.
        for positions in [&mut self.recent, &mut self.earlier] {
            if let Some(left) = positions.get_mut(&asker) {
                *left = later(*left, position);
            }
        }
    }

    /// A listener that `asker` polled last is dropped at `position`.
    pub(super) fn left(&mut self, asker: Asker, position: usize) {
        // Another listener of the same task may have been told of more.
        let earlier = self.earlier.remove(&asker).unwrap_or(position);
        let position = later(position, earlier);
        if self.recent.len() == MOST && !self.recent.contains_key(&asker) {
            self.earlier = std::mem::take(&mut self.recent);
        }
        let left = self.recent.entry(asker).or_insert(position);
        *left = later(*left, position);
    }
}

/// Two threads may tell of their positions in another order than they were told of the signals.
fn later(one: usize, other: usize) -> usize {
    if one.wrapping_sub(other) < usize::MAX / 2 { one } else { other }
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::{Asker, MOST, Positions};
    use crate::engine::task::TaskId;

    fn task(number: usize) -> Asker {
        Asker::Task(TaskId::from_bits(number as u64 + 1).unwrap())
    }

    #[test]
    fn a_task_goes_on_where_it_left_and_a_new_one_where_the_others_are() {
        let mut positions = Positions::default();
        positions.left(task(0), 0);
        positions.told(task(1), 3);
        assert_eq!([0, 1, 2].map(|number| positions.first(task(number))), [0, 3, 3]);
        positions.told(task(0), 4);
        assert_eq!([0, 1, 2].map(|number| positions.first(task(number))), [4; 3]);
        // One of its listeners was told of less than another.
        positions.left(task(0), 2);
        assert_eq!(positions.first(task(0)), 4);
    }

    #[test]
    fn a_position_outlasts_so_many_others_and_their_number_is_bounded() {
        let mut positions = Positions::default();
        positions.left(task(0), 0);
        positions.told(task(1), 1);
        for number in 2..2 + MOST {
            assert_eq!(positions.first(task(0)), 0, "{number}");
            positions.left(task(number), 1);
        }
        // A task that listens again and again is not forgotten.
        positions.left(task(0), 0);
        for number in 0..10 * MOST {
            if number % MOST == 0 {
                assert_eq!(positions.first(task(0)), 0);
                positions.left(task(0), 0);
            }
            positions.left(task(number + 2 + MOST), 1);
            assert!(positions.recent.len() <= MOST && positions.earlier.len() <= MOST);
        }
        (0..2 * MOST).for_each(|number| positions.left(task(20 * MOST + number), 1));
        assert_eq!(positions.first(task(0)), 1, "forgotten");
    }
}
