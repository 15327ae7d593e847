//! Tasks that have waited long for what a peer does not send, seen by several looks. Only connections count
//! that the program has opened: a client may be silent for as long as it likes.
//!
//! The driver counts the events of each source, so a look finds out for how long there has been none: since
//! the first look that has met the same task, the same socket and the same count. A task is named only if the
//! socket is all that it waits for: one that has a timer beside it ends its wait by itself, and one that
//! waits for a message, too, such as the task of an idle connection in a pool, has not asked the peer for
//! anything.
//!
//! Whether the peer was to say something cannot be seen. So the finding is a suspicion.

use super::Finding;
use crate::engine::task::{RunningTask, TaskId};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::panic::Location;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A peer that is silent for longer is named.
const SILENT: Duration = Duration::from_secs(10);

/// A task that waits to read from a connection, and for nothing else.
pub(in crate::insight) struct Reader {
    pub(in crate::insight) task: RunningTask,
    pub(in crate::insight) name: Option<Arc<str>>,
    pub(in crate::insight) descriptor: i32,
    /// How many events there have been.
    pub(in crate::insight) events: u64,
    pub(in crate::insight) peer: String,
}

/// The looks at one runtime.
#[derive(Default)]
pub(in crate::insight) struct Silences {
    since: HashMap<TaskId, (Instant, Reader)>,
    last: Option<Instant>,
}

impl Silences {
    /// Takes all readers that there are now.
    pub(in crate::insight) fn look(&mut self, at: Instant, readers: impl Iterator<Item = Reader>) {
        let mut before = std::mem::take(&mut self.since);
        for reader in readers {
            let same = |(_, other): &(Instant, Reader)| {
                (other.descriptor, other.events) == (reader.descriptor, reader.events)
            };
            let since =
                before.remove(&reader.task.id()).filter(same).map_or(at, |(since, _)| since);
            self.since.insert(reader.task.id(), (since, reader));
        }
        self.last = Some(at);
    }

    /// For each place the task that has waited longest.
    pub(in crate::insight) fn findings(&self) -> Vec<Finding> {
        let Some(last) = self.last else { return Vec::new() };
        // By place, the one that has waited longest, the oldest of several, and how many there are.
        let mut places: HashMap<&Location<'_>, (Duration, &Reader, usize)> = HashMap::new();
        for (since, reader) in self.since.values() {
            let duration = last.saturating_duration_since(*since);
            if duration < SILENT {
                continue;
            }
            let new = (duration, reader, 0);
            let (longest, first, tasks) = places.entry(reader.task.spawned_at()).or_insert(new);
            *tasks += 1;
            let order = |duration, reader: &Reader| (Reverse(duration), reader.task.id());
            if order(duration, reader) < order(*longest, first) {
                (*longest, *first) = (duration, reader);
            }
        }
        let mut found: Vec<_> = places.into_values().collect();
        found.sort_by_key(|(duration, reader, _)| (Reverse(*duration), reader.task.spawned_at()));
        let finding = |(duration, reader, tasks): (Duration, &Reader, usize)| Finding::SilentPeer {
            task: reader.task,
            name: reader.name.clone(),
            peer: reader.peer.clone(),
            duration,
            tasks,
        };
        found.into_iter().map(finding).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn reader(task: RunningTask, descriptor: i32, events: u64) -> Reader {
        Reader { task, name: None, descriptor, events, peer: "127.0.0.1:4711".into() }
    }

    fn task() -> RunningTask {
        RunningTask::new(TaskId::next(), Location::caller())
    }

    /// What is said after looks that are one second apart.
    fn said(seconds: u32, readers: impl Fn(u32) -> Vec<Reader>) -> Vec<String> {
        let (mut silences, begin) = (Silences::default(), Instant::now());
        for second in 0..=seconds {
            silences.look(begin + SECOND * second, readers(second).into_iter());
        }
        silences.findings().iter().map(Finding::to_string).collect()
    }

    #[test]
    fn a_peer_is_silent_after_ten_seconds_without_an_event() {
        let (first, second) = (task(), task());
        let two = |_| vec![reader(second, 8, 5), reader(first, 7, 3)];
        assert_eq!(said(9, two), [""; 0]);
        let said = said(10, two);
        let [sentence] = &said[..] else { panic!("{said:?}") };
        let begin = format!("task {}, spawned at ", first.id());
        assert!(sentence.starts_with(&begin), "{sentence}");
        let rest = "has waited for 10 s at least for 127.0.0.1:4711 to send something, and for nothing else";
        assert!(sentence.contains(rest) && sentence.contains("; 2 tasks from there"), "{sentence}");
    }

    #[test]
    fn an_event_another_socket_or_other_work_begins_a_new_wait() {
        let one = task();
        assert_eq!(said(20, |second| vec![reader(one, 7, u64::from(second / 9))]), [""; 0]);
        assert_eq!(said(18, |second| vec![reader(one, i32::from(second > 9), 3)]), [""; 0]);
        let busy = |second| if second == 12 { Vec::new() } else { vec![reader(one, 7, 3)] };
        assert_eq!(said(20, busy), [""; 0]);
        assert_eq!(said(20, |second| if second < 20 { busy(0) } else { Vec::new() }), [""; 0]);
    }
}
