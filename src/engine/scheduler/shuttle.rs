//! The state that a scheduler must have when it has ended; for the scenarios in tests/shuttle.

use super::shared::Shared;
use super::slots::Stats;
use crate::engine::sync_shim::atomic::Ordering;

impl Shared {
    /// Checks that nothing is left anywhere, and that the counts agree on `tasks` tasks.
    pub(crate) fn audit(&self, tasks: usize) {
        let sum = |count: fn(&Stats) -> u64| -> u64 {
            self.slots.iter().map(|slot| count(&slot.stats)).sum()
        };
        let spawned =
            self.foreign.spawned.load(Ordering::SeqCst) + sum(|stats| stats.spawned.get());
        let completed =
            self.foreign.completed.load(Ordering::SeqCst) + sum(|stats| stats.completed.get());
        assert_eq!((spawned, completed), (tasks as u64, tasks as u64), "(spawned, completed)");
        assert!(self.queues.injector.is_empty(), "a task is left in the injector");
        assert!(self.queues.yielded.is_empty(), "a task is left that has yielded");
        for (index, slot) in self.slots.iter().enumerate() {
            assert!(slot.steal_one().is_none(), "a task is left in deque {index}");
            assert!(slot.next.is_empty(), "a task is left in next slot {index}");
            assert!(slot.channel.is_empty(), "a task is left in wake channel {index}");
            assert_eq!(slot.registry.len(), 0, "a task is left in registry {index}");
            let lost = slot.has_lost_deques();
            assert!(!lost, "a thread has kept deque {index}");
        }
        assert_eq!(self.size.alive(), 0, "a worker is counted that has ended");
        assert_eq!(self.idle.parked(), 0, "a worker counts as parked that has ended");
        assert!(self.idle.start_search(0), "a worker counts as searching that has ended");
    }
}
