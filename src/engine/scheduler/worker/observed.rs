//! The calls of a worker to its probe (probe.rs).

use super::Worker;
use crate::engine::scheduler::probe::{TaskEvent, WorkerProbe};
use crate::engine::sync_shim::clock;
use crate::engine::task::{Polled, RunningTask};
use std::time::Instant;

#[cfg(all(test, liten_loom))]
mod loom;

impl Worker {
    /// Calls `report` with the worker's probe, if there is one. The call may switch the probe on or off, so
    /// the worker asks afterwards.
    fn report(&self, report: impl FnOnce(&dyn WorkerProbe, u64)) {
        if let Some(probe) = self.probe.as_deref() {
            report(probe, self.own.slot.running.polls());
            self.own.flags.set_observed(probe.is_on());
        }
    }

    #[inline]
    pub(super) fn report_sleep(&self, since: Instant, now: Instant) {
        if self.own.flags.is_observed() {
            self.report(|probe, polls| probe.slept(since, now, polls));
        }
    }

    /// Reports what has just happened.
    #[inline]
    pub(super) fn report_event(&self, event: impl FnOnce() -> TaskEvent) {
        if self.own.flags.is_observed() {
            self.report_observed(event());
        }
    }

    /// As [`Worker::report_event`], also if the probe is off.
    #[cold]
    pub(in crate::engine::scheduler) fn report_observed(&self, event: TaskEvent) {
        self.report(|probe, _| probe.happened(event));
    }

    /// Calls `wake`, which calls `wakers` wakers, and reports that.
    pub(super) fn report_round(&self, wakers: usize, fired: usize, wake: impl FnOnce()) {
        let since = (wakers != 0 && self.own.flags.is_observed()).then(clock::now);
        wake();
        if let Some(since) = since {
            self.report(|probe, _| probe.round_ended(since, wakers, fired));
        }
    }

    /// Reports a step, if the worker stays. Returns whether it does.
    #[cold]
    #[inline(never)]
    pub(super) fn stays_observed(&self) -> bool {
        let stays = !self.is_surplus();
        if stays {
            self.report(|probe, _| probe.step());
        }
        stays
    }

    pub(super) fn report_poll(&self, task: RunningTask) {
        self.report(|probe, polls| probe.poll_begins(task, polls));
    }

    /// Reports the poll that has just ended, before `running` says so.
    #[cold]
    #[inline(never)]
    pub(super) fn report_poll_end(&self, outcome: Polled) {
        let queued = self.own.ready.len();
        let task = self.own.slot.running.read().expect("`run` has noted the task");
        self.report(|probe, polls| probe.poll_ends(task, outcome, polls, queued));
    }

    #[inline]
    pub(super) fn report_fair_turn(&self, now: Instant) {
        let interval = self.policy.interval();
        let polls = self.own.slot.running.polls();
        match self.probe.as_ref().and_then(|probe| probe.fair_turn(now, polls, interval)) {
            Some(0) => self.report_chosen_tick(),
            Some(chosen) => self.policy.choose_tick(chosen),
            None => {}
        }
    }

    pub(super) fn report_chosen_tick(&self) {
        self.report(|probe, _| probe.chosen_tick());
    }
}
