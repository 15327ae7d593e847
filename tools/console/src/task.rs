//! What is known of one task, and how the protocol says it.

use crate::durations::Durations;
use crate::wall_clock::WallClock;
use console_api::field::{Name, Value};
use console_api::tasks::task_details::PollTimesHistogram;
use console_api::tasks::{self, Stats, TaskDetails};
use console_api::{Field, MetaId, PollStats};
use liten::insight::{PollOutcome, TaskInfo};
use liten::task::TaskId;
use std::panic::Location;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The one kind of metadata that all tasks have.
pub(crate) const METADATA: MetaId = MetaId { id: 1 };
/// A message must not be longer than 4 MB, and the name of a type may be very long.
const MOST_CHARACTERS: usize = 200;
/// How long a task that has never waited, and of which nothing is heard, may be in a queue.
const LONGEST_QUEUED: Duration = Duration::from_secs(10);

/// The runtime that a task is of.
#[derive(Clone)]
pub(crate) struct Source {
    pub(crate) index: usize,
    pub(crate) name: Option<Arc<str>>,
}

pub(crate) struct Task {
    id: TaskId,
    spawned_at: &'static Location<'static>,
    pub(crate) source: Source,
    name: Option<String>,
    /// The name of its type, and its size.
    future: Option<(&'static str, usize)>,
    created_at: Instant,
    dropped_at: Option<Instant>,
    polls: u64,
    first_poll: Option<Instant>,
    last_poll: Option<(Instant, Instant)>,
    busy: Duration,
    poll_times: Durations,
    wakes: u64,
    last_wake: Option<Instant>,
    /// When it became ready, if it has not been polled since.
    ready_since: Option<Instant>,
    scheduled: Duration,
    scheduled_times: Durations,
    under_way: Option<Instant>,
    is_stuck: bool,
    /// Whether a walk through all tasks must find it as long as it is alive.
    has_waited: bool,
    /// The last walk that has found it, and how many have not found it since.
    found_by: u64,
    missed_by: u32,
    /// Whether the clients know of it, and of its last change.
    is_announced: bool,
    is_changed: bool,
    /// How many updates it could have been in.
    updates: u32,
}

impl Task {
    pub(crate) fn new(
        id: TaskId,
        spawned_at: &'static Location<'static>,
        source: Source,
        created_at: Instant,
    ) -> Self {
        Self {
            id,
            spawned_at,
            source,
            name: None,
            future: None,
            created_at,
            dropped_at: None,
            polls: 0,
            first_poll: None,
            last_poll: None,
            busy: Duration::ZERO,
            poll_times: Durations::default(),
            wakes: 0,
            last_wake: None,
            ready_since: None,
            scheduled: Duration::ZERO,
            scheduled_times: Durations::default(),
            under_way: None,
            is_stuck: false,
            has_waited: false,
            found_by: 0,
            missed_by: 0,
            is_announced: false,
            is_changed: true,
            updates: 0,
        }
    }

    /// It had been there before the recording. If it has waited, there was a poll.
    pub(crate) fn was_there(&mut self, info: &TaskInfo) {
        self.polls += u64::from(info.type_name().is_some());
    }

    /// A walk has found it.
    pub(crate) fn found(&mut self, walk: u64, info: &TaskInfo) {
        (self.found_by, self.missed_by) = (walk, 0);
        if let Some(future) = info.type_name().zip(info.future_size()) {
            self.has_waited = true;
            self.future = Some(future);
            self.name = info.name().map(short);
        }
        self.is_changed |= self.is_stuck != info.is_stuck();
        self.is_stuck = info.is_stuck();
    }

    pub(crate) fn spawned(&mut self, at: Instant) {
        self.created_at = at;
        self.ready(at);
    }

    pub(crate) fn woken(&mut self, at: Instant) {
        self.wakes += 1;
        self.ready(at);
    }

    fn ready(&mut self, at: Instant) {
        self.last_wake = Some(at);
        self.ready_since = Some(at);
        self.is_changed = true;
    }

    pub(crate) fn polled(&mut self, begin: Instant, end: Instant, outcome: PollOutcome) {
        let duration = end.saturating_duration_since(begin);
        self.polls += 1;
        self.first_poll.get_or_insert(begin);
        self.last_poll = Some((begin, end));
        self.busy += duration;
        self.poll_times.add(duration);
        if let Some(waited) =
            self.ready_since.take().and_then(|since| begin.checked_duration_since(since))
        {
            self.scheduled += waited;
            self.scheduled_times.add(waited);
        }
        self.is_changed = true;
        match outcome {
            PollOutcome::Waits => self.has_waited = true,
            // It was woken during the poll.
            PollOutcome::Yielded => self.woken(end),
            PollOutcome::Ended => self.dropped_at = Some(end),
            _ => {}
        }
    }

    /// The poll that is under way, or that none is.
    pub(crate) fn set_under_way(&mut self, begin: Option<Instant>) {
        self.is_changed |= self.under_way.is_some() != begin.is_some();
        // The worker's last record may be the last poll of this task; a client takes the later of begin and end.
        let begin = begin.map(|begin| match self.last_poll {
            Some((_, end)) => begin.max(end + Duration::from_nanos(1)),
            None => begin,
        });
        self.under_way = begin;
    }

    /// A walk is over that may have found it. If two in a row have not, it is gone: with one, its last events
    /// may still be on their way. A task that has never waited may be in a queue, where no walk finds it.
    pub(crate) fn walked(&mut self, walk: u64, now: Instant, are_all_gone: bool) {
        if self.found_by == walk || self.dropped_at.is_some() {
            return;
        }
        self.missed_by += 1;
        let is_quiet = now.saturating_duration_since(self.last_seen()) > LONGEST_QUEUED;
        if self.missed_by > 1 && (self.has_waited || is_quiet || are_all_gone) {
            self.dropped_at = Some(now);
            self.is_changed = true;
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.dropped_at.is_some()
    }

    fn last_seen(&self) -> Instant {
        let polled = self.last_poll.map(|(_, end)| end);
        [polled, self.last_wake].into_iter().flatten().fold(self.created_at, Instant::max)
    }

    /// Whether the clients are to know of it. They learn name and type with the first message and never again,
    /// so a task of which no client knows them yet may be left out of one update.
    pub(crate) fn is_shown(&self) -> bool {
        self.future.is_some() || self.has_ended() || self.updates > 0
    }

    pub(crate) fn is_announced(&self) -> bool {
        self.is_announced
    }

    pub(crate) fn is_changed(&self) -> bool {
        self.is_changed
    }

    /// The clients know what there is to know.
    pub(crate) fn published(&mut self) {
        if self.is_shown() {
            (self.is_announced, self.is_changed) = (true, false);
        }
        self.updates += 1;
    }

    /// What does not change.
    pub(crate) fn description(&self) -> tasks::Task {
        let id = u64::from(self.id);
        let mut fields = vec![
            field("task.id", Value::U64Val(id)),
            field("kind", Value::StrVal("task".to_owned())),
        ];
        if let Some(name) = &self.name {
            fields.push(field("task.name", Value::StrVal(name.clone())));
        }
        if let Some((type_name, size)) = self.future {
            fields.push(field("future", Value::StrVal(short(type_name))));
            fields.push(field("size.bytes", Value::U64Val(size as u64)));
        }
        if let Some(runtime) = &self.source.name {
            fields.push(field("runtime", Value::StrVal(short(runtime))));
        }
        tasks::Task {
            id: Some(id.into()),
            metadata: Some(METADATA),
            kind: tasks::task::Kind::Spawn.into(),
            fields,
            parents: Vec::new(),
            location: Some(self.spawned_at.into()),
        }
    }

    pub(crate) fn stats(&self, clock: WallClock) -> Stats {
        let stamp = |instant: Option<Instant>| instant.map(|instant| clock.stamp(instant));
        let (last_begin, last_end) = self.last_poll.unzip();
        Stats {
            created_at: stamp(Some(self.created_at)),
            dropped_at: stamp(self.dropped_at),
            wakes: self.wakes,
            // Not counted. A client warns of a task with as many drops as clones.
            waker_clones: 1,
            waker_drops: self.is_stuck.into(),
            last_wake: stamp(self.last_wake),
            poll_stats: Some(PollStats {
                polls: self.polls + u64::from(self.under_way.is_some()),
                first_poll: stamp(self.first_poll.or(self.under_way)),
                last_poll_started: stamp(self.under_way.or(last_begin)),
                last_poll_ended: stamp(last_end),
                busy_time: self.busy.try_into().ok(),
            }),
            self_wakes: 0,
            scheduled_time: self.scheduled.try_into().ok(),
        }
    }

    pub(crate) fn details(&self, clock: WallClock, now: Instant) -> TaskDetails {
        TaskDetails {
            task_id: Some(u64::from(self.id).into()),
            now: Some(clock.stamp(now)),
            poll_times_histogram: self.poll_times.histogram().map(PollTimesHistogram::Histogram),
            scheduled_times_histogram: self.scheduled_times.histogram(),
        }
    }
}

fn field(name: &'static str, value: Value) -> Field {
    let name = Some(Name::StrName(name.to_owned()));
    Field { name, value: Some(value), metadata_id: Some(METADATA) }
}

/// `text`, cut off where it is too long.
fn short(text: &str) -> String {
    match text.char_indices().nth(MOST_CHARACTERS) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
