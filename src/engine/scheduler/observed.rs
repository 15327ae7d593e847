//! What code outside of the engine sees of a scheduler: its numbers, its tasks, and what each worker does.
//!
//! All of it is read while the threads go on, so one number may be older than another. The counts of live
//! tasks, on which more depends, are in `shared`.

use super::shared::Shared;
use super::slots::{NO_THREAD, RESTING_THREAD, Slot, UNKNOWN_THREAD, WorkerCounts};
use crate::engine::queue::local::Stealer;
use crate::engine::sync_shim::atomic::Ordering;
use crate::engine::task::registry::ListEntry;
use crate::engine::task::{RunningTask, TaskId};

impl Shared {
    /// How many workers there are without the spares, or are about to be.
    pub(crate) fn worker_count(&self) -> usize {
        self.size.regular()
    }

    /// How many spare workers there are.
    pub(crate) fn spare_workers(&self) -> usize {
        self.size.spares()
    }

    /// How many there may be, if there are as many.
    pub(crate) fn spares_used_up(&self) -> Option<usize> {
        let setup = self.threads.setup.get()?;
        let most = self.most_workers(setup).saturating_sub(self.size.regular());
        (self.spare_workers() >= most).then_some(most)
    }

    /// The tasks that the workers run at the moment.
    pub(crate) fn running_tasks(&self) -> Vec<RunningTask> {
        let tasks = self.used_slots().filter_map(|slot| slot.running.read());
        tasks.chain(self.shutdown.drainer.read()).collect()
    }

    /// The entry of each slot's worker, by the index of the slot. The regular workers come first,
    /// and the spares follow.
    pub(crate) fn worker_entries(&self) -> impl ExactSizeIterator<Item = (usize, WorkerEntry)> {
        (0..self.slots.high()).map(|index| (index, self.worker_entry(index)))
    }

    /// The entry of `worker`, which must have a slot: what it does at the moment. If the worker moves
    /// meanwhile, what is read may be of different moments, and `position` is the first of them: see
    /// [`Shared::has_moved`].
    pub(crate) fn worker_entry(&self, worker: usize) -> WorkerEntry {
        let slot = self.slots.get(worker);
        let (position, thread) = (slot.position(), slot.thread());
        let has_thread = thread != NO_THREAD && thread != RESTING_THREAD;
        WorkerEntry {
            position,
            polls: slot.running.polls(),
            task: slot.running.read(),
            thread: (has_thread && thread != UNKNOWN_THREAD).then_some(thread),
            has_thread,
            rests: thread == RESTING_THREAD,
            is_parked: self.idle.is_parked(worker),
            is_blocked_in_place: slot.is_blocked_in_place(),
        }
    }

    /// Whether `worker` does something else than when `entry` was made.
    pub(crate) fn has_moved(&self, worker: usize, entry: &WorkerEntry) -> bool {
        let slot = self.slots.get(worker);
        slot.is_blocked_in_place() != entry.is_blocked_in_place || slot.position() != entry.position
    }

    /// Calls `begin` with the number of slots that have had a worker. From then on each worker calls its
    /// probe at each step. Returns `None`, and does nothing, if the runtime has been shut down.
    ///
    /// This method holds the lock of the threads, so no thread of a worker is started, called back or retired
    /// meanwhile. A thread that was started before may reach its slot at any time. A worker that reports a
    /// step sees what `begin` has written.
    pub(crate) fn begin_observation<R>(&self, begin: impl FnOnce(usize) -> R) -> Option<R> {
        let _threads = self.threads.list.lock();
        if self.shutdown.is_closed() {
            return None;
        }
        let begun = begin(self.slots.high().max(self.size.staying()));
        self.size.set_observed(true);
        Some(begun)
    }

    /// Calls `end`. If it returns `true`, workers do not report their steps any more.
    pub(crate) fn end_observation(&self, end: impl FnOnce() -> bool) {
        let _threads = self.threads.list.lock();
        if end() {
            self.size.set_observed(false);
        }
    }

    /// So many of the next wakes from threads that are no workers are followed to their polls. While a worker
    /// is stuck those may be the longest waits, and too few for a sample.
    pub(crate) fn follow_wakes(&self, count: u32) {
        self.size.follow_wakes(count);
    }

    /// How many tasks such threads have spawned.
    pub(crate) fn spawned_by_others(&self) -> u64 {
        // Ordering: Relaxed, a number on its own.
        self.foreign.spawned.load(Ordering::Relaxed)
    }

    /// How many tasks have been cold at least once and are not complete.
    pub(crate) fn cold_tasks(&self) -> usize {
        self.slots.iter().map(|slot| slot.registry.len()).sum()
    }

    /// How many lists there are for [`Shared::list_tasks`].
    pub(crate) fn task_lists(&self) -> usize {
        self.slots.workers()
    }

    /// Puts tasks of the list `slot` that have been cold into `list`: see
    /// [`Registry::list`](crate::engine::task::registry::Registry::list).
    pub(crate) fn list_tasks(
        &self,
        slot: usize,
        from: usize,
        marks: bool,
        list: &mut Vec<ListEntry>,
    ) -> Option<usize> {
        self.slots.made(slot)?.registry.list(from, marks, list)
    }

    /// Asks tasks that have been cold for a traced poll: see
    /// [`Registry::trace`](crate::engine::task::registry::Registry::trace).
    pub(crate) fn trace_tasks(&self, wanted: &mut impl FnMut(TaskId) -> bool) {
        self.slots.iter().for_each(|slot| slot.registry.trace(wanted));
    }

    /// Tasks in the injector and in the shared queue of those that have yielded.
    pub(crate) fn shared_queue_len(&self) -> usize {
        self.queues.len()
    }

    /// How many tasks are in the deques of one worker, at about this moment. Not those in its next slot.
    pub(crate) fn queued_tasks(&self, worker: usize) -> usize {
        let queues = self.slots.made(worker).map(|slot| [slot.ready(), slot.yielded()]);
        queues.into_iter().flatten().flatten().map(Stealer::len).sum()
    }

    /// The counts of one worker since the runtime began. Zeros if there is no such worker.
    pub(crate) fn worker_counts(&self, worker: usize) -> WorkerCounts {
        let counts = |slot: &Slot| WorkerCounts {
            polls: slot.running.polls(),
            stolen: slot.stats.stolen.get(),
            injected: slot.stats.from_injector.get(),
            ..slot.sleeps.counts()
        };
        self.slots.made(worker).map_or_else(WorkerCounts::default, counts)
    }
}

/// See [`Shared::worker_entries`].
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WorkerEntry {
    /// See [`Slot::position`]: even during a poll, and odd otherwise.
    pub(crate) position: u64,
    /// How many polls it has begun.
    pub(crate) polls: u64,
    /// `None`: it is not in a poll.
    pub(crate) task: Option<RunningTask>,
    /// The system's number of its thread, where there is one.
    pub(crate) thread: Option<u32>,
    /// A thread works here.
    pub(crate) has_thread: bool,
    /// The thread that has worked here rests.
    pub(crate) rests: bool,
    pub(crate) is_parked: bool,
    pub(crate) is_blocked_in_place: bool,
}

impl WorkerEntry {
    pub(crate) fn is_in_poll(&self) -> bool {
        self.position % 2 == 0
    }

    /// Whether it is parked, or there is no thread.
    pub(crate) fn is_idle(&self) -> bool {
        (self.is_parked || !self.has_thread) && !self.is_blocked_in_place
    }
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::*;
    use crate::engine::driver::Driver;
    use crate::engine::scheduler::thread_number;
    use crate::engine::task::TaskId;
    use std::panic::Location;

    #[test]
    fn an_entry_is_of_another_position_in_each_poll_and_after_it() {
        let shared = Shared::new(1, Driver::new(1).unwrap());
        shared.slots.raise(0);
        let slot = shared.slots.get(0);
        let entry = || shared.worker_entries().next().unwrap().1;
        assert!(!entry().has_thread);
        slot.set_thread(thread_number());
        let task = RunningTask::new(TaskId::next(), Location::caller());
        slot.running.begin(task);
        let during = entry();
        assert!(during.is_in_poll() && during.task == Some(task));
        assert!(!shared.has_moved(0, &during));
        slot.running.end();
        let after = entry();
        assert!(!after.is_in_poll() && after.task.is_none());
        assert!(shared.has_moved(0, &during) && !shared.has_moved(0, &after));
        slot.set_thread(NO_THREAD);
        assert!(!entry().has_thread);
    }
}
