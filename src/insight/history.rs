//! What several looks at one runtime show, and one does not.

use super::dump::Dump;
use super::finding::growth::Growth;
use super::finding::storms::{Seen, Storms};
use super::task_info::TaskState;
use crate::runtime::Handle;
use std::time::Instant;

/// The looks at one runtime, within bounds. All of it is read from the outside, by the thread that looks.
#[derive(Default)]
pub(super) struct History {
    growth: Growth,
    storms: Storms,
}

impl History {
    /// Adds a dump that has just been taken, and to the dump what all of them show.
    pub(super) fn add(&mut self, now: Instant, dump: &mut Dump) {
        self.growth.look(now, dump.groups());
        dump.over_time = self.storms.findings();
        dump.over_time.extend(self.growth.findings());
    }

    /// Looks at what the workers do: some loads for each. Returns whether [`ask`](Self::ask) should follow.
    pub(super) fn glance(&mut self, now: Instant, handle: &Handle) -> bool {
        let seen = handle.polls().into_iter().map(|(polls, task)| Seen { polls, task });
        self.storms.look(now, &seen.collect::<Vec<_>>());
        self.storms.has_suspects()
    }

    /// Asks whether tasks that are polled all the time wait now: goes through all tasks.
    pub(super) fn ask(&mut self, handle: &Handle) {
        let suspects = handle.tasks().filter(|task| self.storms.is_suspect(task.id()));
        let found = suspects.map(|task| {
            (task.id(), task.shared_name().cloned(), task.state() == TaskState::Waiting)
        });
        let found = found.collect();
        self.storms.ask(found);
    }
}
