//! Follows the limits of the process while it runs: how many workers there are, and what is left of a quota.
//!
//! The driver thread asks at each of its looks. It reads the limits about once per second, and what the
//! process has used at each look, but only if there is a quota. An idle runtime makes no looks.

use crate::engine::scheduler::{CpuBudget, Shared};
use crate::engine::sync_shim::atomic::{AtomicBool, Ordering};
use crate::engine::sync_shim::{Arc, HAS_LIMITS, Mutex, clock, cpus};
use crate::limits::processor_time::ProcessorTime;
use crate::limits::{CpuLimits, Follow, Quota, Reader, Reading, workers};
use crate::observe::simulation::Simulation;
use std::time::Instant;

/// The limits of the process, as they were read last.
pub(crate) struct LimitsWatch {
    state: Mutex<State>,
    /// The program has said how many workers there are to be.
    is_fixed: AtomicBool,
    /// The most workers there may be.
    max_workers: usize,
}

struct State {
    reader: Reader,
    follow: Follow,
    quota: Option<Quota>,
    used: ProcessorTime,
}

/// The limits when a runtime is made.
pub(crate) struct FirstLimits {
    reader: Reader,
    quota: Option<Quota>,
    /// How many processors there are.
    pub(crate) cpus: usize,
}

impl FirstLimits {
    /// Reads them.
    pub(crate) fn read() -> Self {
        let mut reader = Reader::new();
        // What cannot be read now is read a moment later, by the driver thread.
        let reading = if has_limits() { reader.read().ok() } else { None };
        Self::of(reader, reading.unwrap_or_default())
    }

    pub(crate) fn of(reader: Reader, reading: Reading) -> Self {
        let Reading { affinity, cpuset, quota } = reading;
        let cpus = affinity.unwrap_or_else(cpus).min(cpuset.unwrap_or(usize::MAX));
        Self { reader, quota, cpus }
    }

    /// How many workers are best.
    pub(crate) fn workers(&self) -> usize {
        workers(self.cpus, self.quota)
    }
}

/// The limits of this process, for people.
pub(crate) fn cpu_limits() -> CpuLimits {
    CpuLimits::read(has_limits().then(Reader::new), cpus())
}

/// A simulation, or a model, says how many processors there are, and knows no quota.
fn has_limits() -> bool {
    HAS_LIMITS && !Simulation::of_process().is_there()
}

impl LimitsWatch {
    /// Follows the limits from those that were read first. `None`: the program has said how many workers
    /// there are to be. Then the quota alone is followed.
    pub(crate) fn new(first: Option<FirstLimits>, max_workers: usize) -> Option<Self> {
        if !has_limits() {
            return None;
        }
        let is_fixed = first.is_none();
        let unread = || FirstLimits { reader: Reader::new(), quota: None, cpus: 1 };
        let FirstLimits { reader, quota, cpus } = first.unwrap_or_else(unread);
        // Of as many processors as there are, it is never used up.
        let quota = quota.filter(|quota| quota.cpus() < cpus as f64);
        let follow = Follow::new(cpus, clock::now());
        let state = Mutex::new(State { reader, follow, quota, used: ProcessorTime::default() });
        Some(Self { state, is_fixed: AtomicBool::new(is_fixed), max_workers })
    }

    /// The number of workers does not follow the limits any more. Before the program's own number is set.
    pub(crate) fn fix(&self) {
        // Ordering: Relaxed: `look` reads it under the lock of the threads, which the caller takes afterwards
        // to set its number. So if that read comes first, the caller's number is set last.
        self.is_fixed.store(true, Ordering::Relaxed);
    }

    /// One look of the driver thread.
    pub(crate) fn look(&self, scheduler: &Arc<Shared>, now: Instant) -> Option<CpuBudget> {
        let mut state = self.state.lock();
        let reading = if state.follow.is_due(now) { state.reader.read().ok() } else { None };
        if let Some(reading) = reading {
            let cpus = state.follow.cpus(reading);
            let count = workers(cpus, reading.quota).min(self.max_workers);
            // A quota of as many processors as there are is never used up. A program that has fixed the
            // number of its workers has not had the processors counted at its start.
            let there_are = cpus.max(reading.affinity.unwrap_or(1)).max(scheduler.worker_count());
            state.quota = reading.quota.filter(|quota| quota.cpus() < there_are as f64);
            // Ordering: Relaxed, see `fix`.
            let follows = || !self.is_fixed.load(Ordering::Relaxed);
            if follows() && count != scheduler.worker_count() {
                scheduler.try_resize(count, follows);
            }
        }
        let Quota { time, period } = state.quota?;
        let threads = scheduler.worker_entries().map(|(_, entry)| entry.thread);
        Some(CpuBudget { time, period, used: state.used.look(threads)? })
    }
}
