//! Since when tasks are ready whose wait for a poll is measured (engine/task/followed.rs).
//!
//! There are stamps only of tasks that are ready, and room for [`ENTRIES`] of them in the whole process. A
//! stamp may lie in any of [`PLACES`] slots behind its hash. If all are taken, it overwrites one of them and
//! adds that one's `stands_for` to its own. Rejected: to keep the old ones and to lose the new one. Queues
//! are first in, first out, so of a thousand tasks that are woken together the last would be missing, which
//! wait longest.

use crate::engine::sync_shim::{StaticMutex, StaticMutexGuard, clock};
use crate::engine::task::TaskId;
use crate::engine::task::followed::{Waits, measure_by};
use std::hint;
use std::mem;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

const ENTRIES: usize = 1 << 12;
/// A stamp lies in one of so many places, from the one on that its task's number leads to.
const PLACES: usize = 8;

/// How long a task was ready before its poll, and for how many waits this one stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Delay {
    pub(super) time: Duration,
    pub(super) stands_for: u64,
}

/// Plain numbers of which all are 0 at first: so the table takes no room in the file of a program.
#[derive(Clone, Copy)]
struct Stamp {
    /// The number of the task. 0: the place is free.
    task: u64,
    /// Nanoseconds since [`EPOCH`].
    since: i64,
    stands_for: u64,
}

const FREE: Stamp = Stamp { task: 0, since: 0, stands_for: 0 };

struct Stamps([Stamp; ENTRIES]);

/// The lock is held for a few comparisons. See [`lock`].
static STAMPS: StaticMutex<Stamps> = StaticMutex::new(Stamps([FREE; ENTRIES]));

/// Some moment of this process.
static EPOCH: OnceLock<Instant> = OnceLock::new();

impl Stamps {
    /// An older stamp of the task is one that its poll could not take, because it did not get the lock.
    fn add(&mut self, stamp: Stamp) {
        let own = self.place(stamp.task, stamp.task);
        if let Some(place) = own.or_else(|| self.place(stamp.task, FREE.task)) {
            self.0[place] = stamp;
        } else {
            // The last digits of the time are as good as a drawn number.
            let place = places(stamp.task).nth(stamp.since as usize % PLACES);
            let place = place.expect("there are so many");
            let stands_for = stamp.stands_for.saturating_add(self.0[place].stands_for);
            self.0[place] = Stamp { stands_for, ..stamp };
        }
    }

    fn take(&mut self, task: u64) -> Option<Stamp> {
        let place = self.place(task, task)?;
        Some(mem::replace(&mut self.0[place], FREE))
    }

    /// Which of the places of `task` is taken by `holder`.
    fn place(&self, task: u64, holder: u64) -> Option<usize> {
        places(task).find(|&place| self.0[place].task == holder)
    }
}

fn places(task: u64) -> impl Iterator<Item = usize> {
    let first = (task.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize;
    (0..PLACES).map(move |place| (first + place) % ENTRIES)
}

/// `None`: the holder has lost its core, and one wait of very many is not measured. Or the holder is a thread
/// of the parent, in a forked child, and none is: so a thread that does not get the lock loses next to no
/// time. Rejected: to yield. On a busy machine each yield may take milliseconds.
fn lock(stamps: &StaticMutex<Stamps>) -> Option<StaticMutexGuard<'_, Stamps>> {
    /// Each takes less than 50 ns.
    const TRIES: usize = 32;
    let mut locked = stamps.try_lock();
    for _ in 1..TRIES {
        if locked.is_some() {
            break;
        }
        hint::spin_loop();
        locked = stamps.try_lock();
    }
    locked
}

/// From now on each followed task that is ready has a stamp.
pub(super) fn begin() {
    measure_by(Waits { ready, ended: |task| _ = take(task) });
}

/// A followed task is ready from now on.
fn ready(task: TaskId, stands_for: u64) {
    let stamp = Stamp { task: task.to_bits(), since: now(), stands_for };
    if let Some(mut stamps) = lock(&STAMPS) {
        stamps.add(stamp);
    }
}

/// A poll of the task begins, or it ends without one. `None`: there is no stamp.
pub(super) fn take(task: TaskId) -> Option<Delay> {
    let Stamp { since, stands_for, .. } = lock(&STAMPS)?.take(task.to_bits())?;
    let time = Duration::from_nanos(u64::try_from(now() - since).unwrap_or(0));
    Some(Delay { time, stands_for })
}

/// A simulation's clock may be before the epoch.
fn now() -> i64 {
    let (epoch, now) = (*EPOCH.get_or_init(clock::now), clock::now());
    let nanos = |time: Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
    match now.checked_duration_since(epoch) {
        Some(time) => nanos(time),
        None => -nanos(epoch.duration_since(now)),
    }
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::*;

    fn add(stamps: &mut Stamps, task: u64, since: i64, stands_for: u64) {
        stamps.add(Stamp { task, since, stands_for });
    }

    #[test]
    fn a_task_has_one_stamp_at_a_time() {
        let mut stamps = Stamps([FREE; ENTRIES]);
        assert!(stamps.take(7).is_none());
        add(&mut stamps, 7, 100, 4);
        add(&mut stamps, 7, 200, 1);
        assert_eq!(stamps.take(7).map(|it| (it.since, it.stands_for)), Some((200, 1)));
        assert!(stamps.take(7).is_none());
    }

    #[test]
    fn a_lock_that_is_lost_is_given_up() {
        static LOST: StaticMutex<Stamps> = StaticMutex::new(Stamps([FREE; ENTRIES]));
        let held = LOST.lock();
        // So many that a wait of milliseconds for each would take minutes.
        let other = std::thread::spawn(|| (0..20_000).filter_map(|_| lock(&LOST)).count());
        assert_eq!(other.join().unwrap(), 0);
        drop(held);
        assert!(lock(&LOST).is_some());
    }

    /// Some of more tasks than there is room for are missing, early and late ones, and the others stand for
    /// them.
    #[test]
    fn stamps_stand_for_those_that_they_replace() {
        const ALL: u64 = 4 * ENTRIES as u64;
        let mut stamps = Stamps([FREE; ENTRIES]);
        let mut rng = crate::engine::rng::Rng::new(1);
        (1..=ALL).for_each(|task| add(&mut stamps, task, rng.below(1 << 20) as i64, 2));
        let mut take = |tasks: std::ops::RangeInclusive<u64>| -> Vec<_> {
            tasks.filter_map(|task| stamps.take(task)).map(|it| it.stands_for).collect()
        };
        let (early, late) = (take(1..=ALL / 2), take(ALL / 2 + 1..=ALL));
        assert!(early.len() > ENTRIES / 16 && late.len() > early.len(), "{}", early.len());
        assert_eq!(early.iter().chain(&late).sum::<u64>(), 2 * ALL);
    }
}
