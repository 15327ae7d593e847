//! What several looks at one runtime show, and one does not.

use super::cold::Following;
use super::dump::Dump;
use super::finding::growth::Growth;
use super::finding::silences::{Reader, Silences};
use super::finding::storms::{Seen, Storms};
use super::socket_info::Quiet;
use super::task_info::{TaskInfo, TaskState};
use super::wait::Wait;
use crate::runtime::Handle;
use std::collections::HashMap;
use std::time::Instant;

/// The looks at one runtime, within bounds. All of it is read from the outside, by the thread that looks.
pub(super) struct History {
    _following: Following,
    growth: Growth,
    storms: Storms,
    silences: Silences,
    quiet: Quiet,
}

impl History {
    pub(super) fn of(handle: &Handle) -> Self {
        Self {
            _following: Following::new(handle.id()),
            growth: Growth::default(),
            storms: Storms::default(),
            silences: Silences::default(),
            quiet: Quiet::default(),
        }
    }

    /// Adds a dump that has just been taken, and to the dump what all of them show.
    pub(super) fn add(&mut self, now: Instant, handle: &Handle, dump: &mut Dump) {
        self.growth.look(now, dump.groups());
        self.silences.look(now, readers(handle, dump).into_iter());
        self.quiet.look(now, &mut dump.sockets);
        dump.over_time = self.storms.findings();
        dump.over_time.extend(self.growth.findings());
        dump.over_time.extend(self.silences.findings());
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

/// The tasks that wait to read from a connection, and for nothing else.
fn readers(handle: &Handle, dump: &Dump) -> Vec<Reader> {
    let mut targets = dump.targets.lock();
    let mut reader = |task: &TaskInfo| match task.waits_only_for()? {
        Wait::Source { event: "readable", descriptor: Some(descriptor), target: Some(peer) } => {
            targets.is_connection(*descriptor).then(|| Reader {
                task: task.task(),
                name: task.shared_name().cloned(),
                descriptor: *descriptor,
                events: 0,
                peer: peer.clone(),
            })
        }
        _ => None,
    };
    let readers = dump.tasks().iter().filter_map(&mut reader);
    let mut readers: HashMap<_, _> = readers.map(|reader| (reader.task.id(), reader)).collect();
    if !readers.is_empty() {
        handle.list_sources(|source| {
            for (task, _) in source.waiters {
                match readers.get_mut(task) {
                    Some(reader) if source.descriptor == Some(reader.descriptor) => {
                        reader.events = source.events;
                    }
                    _ => {}
                }
            }
        });
    }
    readers.into_values().collect()
}
