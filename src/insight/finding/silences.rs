//! Tasks that have waited long for what a peer does not send, seen by several looks. Only connections count
//! that the program has opened: a client may be silent for as long as it likes.
//!
//! The driver counts the events of each source, so a look finds out for how long there has been none: since
//! the first look that has met the same task, the same socket and the same count. A task is named only if the
//! socket is all that it waits for: one that has a timer beside it ends its wait by itself, and one that
//! waits for a message, too, such as the task of an idle connection in a pool, has not asked the peer for
//! anything.
//!
//! Whether the peer was to say something cannot be seen. It can be seen whether the program has written to
//! it, and whether the peer has said anything since. If it has, it may have answered, as one that sends the
//! messages of a subscription has. If the program wrote again without an answer, none may be due, as from one
//! that takes logs. These are worth a look. Otherwise the silence is a finding, and a suspicion.

use super::Finding;
use crate::engine::task::{RunningTask, TaskId};
use crate::short::{Place, counted};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::panic::Location;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A peer that is silent for longer is named. One that was silent before, and spoke then, is named after
/// twice that time, or [`MOST_SILENT`].
const SILENT: Duration = Duration::from_secs(10);
const MOST_SILENT: Duration = Duration::from_secs(120);

/// A task that waits to read from a connection, and for nothing else.
pub(in crate::insight) struct Reader {
    pub(in crate::insight) task: RunningTask,
    pub(in crate::insight) name: Option<Arc<str>>,
    pub(in crate::insight) descriptor: i32,
    /// How many events there have been.
    pub(in crate::insight) events: u64,
    /// A number that changes with each write, if there has been no event since the last one.
    pub(in crate::insight) unanswered_writes: Option<u32>,
    pub(in crate::insight) peer: String,
}

/// The readers of one place that have waited for long, and how long one of them has.
struct Group<'a> {
    longest: Duration,
    /// The one that has waited longest; of several, the oldest.
    first: &'a Reader,
    tasks: usize,
}

/// For how long a task has waited, as far as looks have shown.
struct Silence {
    since: Instant,
    reader: Reader,
    /// The program has written again, without an answer in between.
    is_one_way: bool,
    /// The longest one that an event has ended.
    longest: Duration,
}

/// The looks at one runtime.
#[derive(Default)]
pub(in crate::insight) struct Silences {
    silences: HashMap<TaskId, Silence>,
    last: Option<Instant>,
}

impl Silences {
    /// Takes all readers that there are now.
    pub(in crate::insight) fn look(&mut self, at: Instant, readers: impl Iterator<Item = Reader>) {
        let mut before = std::mem::take(&mut self.silences);
        for reader in readers {
            let before = before.remove(&reader.task.id());
            let before = before.filter(|before| before.reader.descriptor == reader.descriptor);
            let mut silence =
                Silence { since: at, reader, is_one_way: false, longest: Duration::ZERO };
            if let Some(before) = before {
                silence.follow(&before);
            }
            self.silences.insert(silence.reader.task.id(), silence);
        }
        self.last = Some(at);
    }

    /// For each place, the task that has waited longest for a peer that has not answered.
    pub(in crate::insight) fn findings(&self) -> Vec<Finding> {
        let finding = |group: Group<'_>| Finding::SilentPeer {
            task: group.first.task,
            name: group.first.name.clone(),
            peer: group.first.peer.clone(),
            duration: group.longest,
            tasks: group.tasks,
        };
        self.groups(|silence, time| silence.is_suspicious(time)).into_iter().map(finding).collect()
    }

    /// For each place, a sentence about the tasks whose peers have said something, and are silent since.
    pub(in crate::insight) fn notable(&self) -> Vec<String> {
        let sentence = |group: Group<'_>| {
            format!(
                "{} spawned at {} {} for a peer to send something, and for nothing else, as for {}, from \
                 which nothing has come for {} s at least",
                counted(group.tasks, "task"),
                Place(group.first.task.spawned_at()),
                if group.tasks == 1 { "waits" } else { "wait" },
                group.first.peer,
                group.longest.as_secs()
            )
        };
        self.groups(|silence, time| !silence.is_suspicious(time))
            .into_iter()
            .map(sentence)
            .collect()
    }

    /// The readers that have waited for long, by place, the longest wait first.
    fn groups(&self, is_meant: impl Fn(&Silence, Duration) -> bool) -> Vec<Group<'_>> {
        let Some(last) = self.last else { return Vec::new() };
        let mut places: HashMap<&Location<'_>, Group<'_>> = HashMap::new();
        for silence in self.silences.values() {
            let Silence { since, reader, .. } = silence;
            let duration = last.saturating_duration_since(*since);
            if duration < SILENT || !is_meant(silence, duration) {
                continue;
            }
            let new = Group { longest: duration, first: reader, tasks: 0 };
            let group = places.entry(reader.task.spawned_at()).or_insert(new);
            group.tasks += 1;
            let order = |duration, reader: &Reader| (Reverse(duration), reader.task.id());
            if order(duration, reader) < order(group.longest, group.first) {
                (group.longest, group.first) = (duration, reader);
            }
        }
        let mut found: Vec<_> = places.into_values().collect();
        found.sort_by_key(|group| (Reverse(group.longest), group.first.task.spawned_at()));
        found
    }
}

impl Silence {
    /// Takes over what the look before has shown.
    fn follow(&mut self, before: &Self) {
        let now = self.since;
        if before.reader.events != self.reader.events {
            self.longest = before.longest.max(now.saturating_duration_since(before.since));
            return;
        }
        let has_written = before.reader.unanswered_writes != self.reader.unanswered_writes;
        self.longest = before.longest;
        self.is_one_way =
            before.is_one_way || has_written && before.reader.unanswered_writes.is_some();
        if !has_written {
            self.since = before.since;
        }
    }

    /// Whether the peer should have spoken by now.
    fn is_suspicious(&self, duration: Duration) -> bool {
        let is_asked = self.reader.unanswered_writes.is_some() && !self.is_one_way;
        is_asked && duration >= (2 * self.longest).clamp(SILENT, MOST_SILENT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn reader(task: RunningTask, descriptor: i32, events: u64) -> Reader {
        let peer = "127.0.0.1:4711".into();
        Reader { task, name: None, descriptor, events, unanswered_writes: Some(1), peer }
    }

    fn task() -> RunningTask {
        RunningTask::new(TaskId::next(), Location::caller())
    }

    /// What is said after looks that are one second apart.
    fn said(seconds: u32, readers: impl Fn(u32) -> Vec<Reader>) -> Vec<String> {
        looked(seconds, readers).findings().iter().map(Finding::to_string).collect()
    }

    fn looked(seconds: u32, readers: impl Fn(u32) -> Vec<Reader>) -> Silences {
        let (mut silences, begin) = (Silences::default(), Instant::now());
        for second in 0..=seconds {
            silences.look(begin + SECOND * second, readers(second).into_iter());
        }
        silences
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

    #[test]
    fn a_peer_that_has_answered_is_worth_a_look_until_the_program_writes_again() {
        let one = task();
        let answered = Reader { unanswered_writes: None, ..reader(one, 7, 3) };
        let after = |written: u32| {
            move |second| {
                let unanswered_writes = (second >= written).then_some(1);
                vec![Reader { unanswered_writes, ..reader(one, 7, 3) }]
            }
        };
        let subscribed = looked(19, after(20));
        assert!(subscribed.findings().is_empty());
        let told = subscribed.notable();
        let [sentence] = &told[..] else { panic!("{told:?}") };
        let end =
            format!("as for {}, from which nothing has come for 19 s at least", answered.peer);
        assert!(sentence.ends_with(&end), "{sentence}");
        assert_eq!(said(19, after(10)), [""; 0]);
        let silent = looked(20, after(10));
        assert_eq!((silent.findings().len(), silent.notable()), (1, Vec::new()));
    }

    #[test]
    fn a_peer_to_which_the_program_writes_again_and_again_need_not_answer() {
        let one = task();
        let writes = |until: u32| {
            move |second: u32| {
                let unanswered_writes = Some(second.min(until) + 1);
                vec![Reader { unanswered_writes, ..reader(one, 7, 3) }]
            }
        };
        let silences = looked(20, writes(1));
        assert_eq!((silences.findings().len(), silences.notable().len()), (0, 1));
        assert_eq!(looked(20, writes(0)).findings().len(), 1);
        let answered = looked(60, |second| {
            let events = 3 + u64::from(second >= 20);
            vec![Reader { events, unanswered_writes: Some(2), ..reader(one, 7, 3) }]
        });
        assert_eq!(answered.findings().len(), 1, "and has asked again since");
    }

    /// As a server that asks for a sign of life now and then.
    #[test]
    fn a_peer_that_has_been_silent_before_and_spoke_then_is_waited_for() {
        let one = task();
        let speaks = |second: u32| vec![reader(one, 7, u64::from(second.min(60) / 30))];
        assert_eq!(looked(60 + 59, speaks).findings(), []);
        assert_eq!(looked(60 + 60, speaks).findings().len(), 1);
    }
}
