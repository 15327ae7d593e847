//! What a recording has: the records of each thread.

use super::event::Event;
use super::tap::Tap;
use super::track::{NextRecords, Track};
use crate::engine::task::{Polled, RunningTask, TaskId};
use crate::impls::impl_debug;
use crate::observe::{self, Record};
use crate::runtime::Id;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::{Duration, Instant};

/// What the threads of a runtime did while it was recorded. From
/// [`Recording::stop`](super::Recording::stop).
pub struct Trace {
    pub(super) runtime: Id,
    begin: Instant,
    pub(super) name: Option<String>,
    /// By index.
    pub(super) workers: Vec<Track>,
    /// Of all other threads.
    pub(super) others: Track,
    /// Polls that had not ended at the end of the recording, with the worker and their begin.
    pub(super) under_way: Vec<(usize, RunningTask, u64)>,
    /// When the recording ended. Times are in nanoseconds since its begin.
    pub(super) end: u64,
    /// Set if it is a snapshot that was kept for a reason.
    pub(super) mark: Option<Mark>,
}

/// Why a trace was kept, for its readers.
#[derive(Clone)]
pub(super) struct Mark {
    pub(super) reason: String,
    /// When, by the calendar.
    pub(super) at: String,
    /// How many snapshots were not made since the last one.
    pub(super) skipped: u64,
}

/// From a wake or a spawn to the poll that it led to. Numbers of tracks are those of workers; the next one
/// is that of all other threads.
pub(super) struct Cause {
    pub(super) is_spawn: bool,
    pub(super) at: u64,
    pub(super) from: usize,
    pub(super) polled_at: u64,
    pub(super) to: usize,
}

/// Whether the last poll in the track is that of `task` that was under way when the worker was `looked` at.
///
/// A worker records a poll before it says that it is over, and may be kept from its core in between. A record
/// that is older than the look is known to be that of this poll only if the task has ended. Otherwise it may
/// be that of the poll before, and both are shown.
fn has_end(track: &Track, task: RunningTask, looked: u64) -> bool {
    let last = track.records.iter().rev().find_map(|record| match record.event {
        observe::Event::Poll { task, outcome, .. } => Some((task, outcome, record.at)),
        _ => None,
    });
    last.is_some_and(|(polled, outcome, at)| {
        polled == task && (outcome == Polled::Ready || at >= looked)
    })
}

impl Trace {
    /// What is there from `next` on, which then stands behind it.
    pub(super) fn of(tap: &Tap, next: &mut NextRecords) -> Self {
        // Polls that are under way before and after the rings are read: one that ends meanwhile may have its
        // record in there, and of one that begins meanwhile the rings do not say after what.
        let (looked, before) = (tap.now(), tap.under_way().collect::<Vec<_>>());
        let (mut workers, others) = tap.read(next);
        let mut under_way: Vec<_> = tap.under_way().filter(|poll| before.contains(poll)).collect();
        under_way.retain(|&(worker, _, task)| {
            !workers.get(worker).is_some_and(|track| has_end(track, task, looked))
        });
        // One that was started before the recording, and has not ended its first poll since, has no ring.
        let tracks = under_way.iter().map(|(worker, ..)| worker + 1).max().unwrap_or(0);
        workers.resize_with(tracks.max(workers.len()), Track::default);
        let under_way = under_way.into_iter().map(|(worker, _, task)| {
            (worker, task, workers.get(worker).map_or(0, |track| track.poll_from))
        });
        Self {
            runtime: tap.runtime,
            begin: tap.begin(),
            name: tap.name.clone(),
            under_way: under_way.collect(),
            workers,
            others,
            end: tap.now(),
            mark: None,
        }
    }

    /// Whether it has the poll of `task` that was under way at that moment.
    ///
    /// One that ends between the two looks that a trace takes may be missing. A second trace has it, because
    /// the worker records a poll before it says that it is over.
    pub(super) fn has_poll(&self, task: TaskId, at: u64) -> bool {
        let is_it = |record: &Record| match record.event {
            observe::Event::Poll { task: polled, .. } => polled.id() == task && record.at >= at,
            _ => false,
        };
        self.under_way.iter().any(|(_, polled, _)| polled.id() == task)
            || self.records().any(|(_, record)| is_it(record))
    }

    /// The trace without the older half of its records, which count as lost. `None` if it has none.
    pub(super) fn newer_half(&self) -> Option<Self> {
        let mut ends: Vec<u64> = self.records().map(|(_, record)| record.at).collect();
        if ends.is_empty() {
            return None;
        }
        let middle = ends.len() / 2;
        // Records that end at the same moment go, too, so that each call drops one at least.
        let (_, &mut until, _) = ends.select_nth_unstable(middle);
        let newer = |track: &Track| {
            let dropped = track.records.partition_point(|record| record.at <= until);
            let lost = track.lost + dropped as u64;
            Track { records: track.records[dropped..].to_vec(), lost, poll_from: track.poll_from }
        };
        Some(Self {
            runtime: self.runtime,
            begin: self.begin,
            name: self.name.clone(),
            workers: self.workers.iter().map(newer).collect(),
            others: newer(&self.others),
            under_way: self.under_way.clone(),
            end: self.end,
            mark: self.mark.clone(),
        })
    }

    /// In nanoseconds since its begin.
    pub(super) fn time(&self, at: Instant) -> u64 {
        let time = at.saturating_duration_since(self.begin).as_nanos();
        u64::try_from(time).unwrap_or(u64::MAX)
    }

    /// Returns the name of the runtime, if it has one.
    pub fn runtime_name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the runtime's id.
    pub fn runtime_id(&self) -> Id {
        self.runtime
    }

    /// Returns how many workers have a track. Some of them may have recorded nothing.
    pub fn workers(&self) -> usize {
        self.workers.len()
    }

    /// Returns when the recording began.
    pub fn begin(&self) -> Instant {
        self.begin
    }

    /// Returns when the recording ended, or when it was read.
    pub fn end(&self) -> Instant {
        self.instant(self.end)
    }

    /// Returns the events: those of the first worker, then those of the next, in the end those of all threads
    /// that are no workers.
    ///
    /// The events of one thread are in the order of their ends. Polls that had not ended come after all
    /// others, whichever worker they are of.
    ///
    /// # Examples
    ///
    /// How long the tasks from each place were polled:
    ///
    /// ```
    /// use liten::insight::EventKind;
    /// use std::collections::HashMap;
    /// use std::time::Duration;
    ///
    /// # liten::block_on(async {
    /// let recording = liten::runtime::Handle::current().record().unwrap();
    /// liten::spawn(async { liten::task::yield_now().await }).await.unwrap();
    /// let mut times = HashMap::<_, Duration>::new();
    /// for event in recording.stop().events() {
    ///     if let EventKind::Poll { task, .. } = event.kind() {
    ///         *times.entry(task.spawned_at()).or_default() += event.duration();
    ///     }
    /// }
    /// # });
    /// ```
    pub fn events(&self) -> impl Iterator<Item = Event> {
        let recorded = self.records().map(|(track, record)| {
            let worker = Some(track).filter(|&track| track < self.workers());
            Event::recorded(worker, record, self.begin)
        });
        let under_way = self.under_way.iter().map(|&(worker, task, begin)| {
            Event::under_way(worker, task, self.instant(begin)..self.end())
        });
        recorded.chain(under_way)
    }

    fn instant(&self, nanoseconds: u64) -> Instant {
        self.begin + Duration::from_nanos(nanoseconds)
    }

    /// Returns how many events there are, without polls that had not ended.
    pub fn len(&self) -> usize {
        self.tracks().map(|track| track.records.len()).sum()
    }

    /// Returns whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns how many events were lost: more recent ones have taken their places.
    pub fn lost(&self) -> u64 {
        self.tracks().map(|track| track.lost).sum()
    }

    pub(super) fn tracks(&self) -> impl Iterator<Item = &Track> {
        self.workers.iter().chain([&self.others])
    }

    /// Which wake or spawn led to which poll, the earliest first.
    ///
    /// A task is woken again only after the poll that the last wake led to. So of several wakes before a poll
    /// the last one led to it, and those before led to polls that were not recorded. A wake that is older
    /// than a loss may have led to a poll that is lost, so it leads to nothing here.
    pub(super) fn causes(&self) -> Vec<Cause> {
        let mut begins: HashMap<TaskId, Vec<(u64, usize)>> = HashMap::new();
        let mut add = |track, task: RunningTask, begin| {
            begins.entry(task.id()).or_default().push((begin, track));
        };
        for (track, record) in self.records() {
            if let observe::Event::Poll { task, duration, .. } = record.event {
                add(track, task, record.at.saturating_sub(duration));
            }
        }
        for &(track, task, begin) in &self.under_way {
            add(track, task, begin);
        }
        begins.values_mut().for_each(|begins| begins.sort_unstable());
        let complete_from = self.complete_from();
        let mut causes: HashMap<(TaskId, usize), Cause> = HashMap::new();
        for (from, &Record { at, event }) in self.records().filter(|(_, it)| it.at >= complete_from)
        {
            let (task, is_spawn) = match event {
                observe::Event::Wake(task) => (task.id(), false),
                observe::Event::Spawn(task) => (task.id(), true),
                _ => continue,
            };
            let Some(begins) = begins.get(&task) else { continue };
            let next = begins.partition_point(|&(begin, _)| begin < at);
            let Some(&(polled_at, to)) = begins.get(next) else { continue };
            let cause = Cause { is_spawn, at, from, polled_at, to };
            match causes.entry((task, next)) {
                Entry::Occupied(mut other) if other.get().at < at => _ = other.insert(cause),
                Entry::Occupied(_) => {}
                Entry::Vacant(place) => _ = place.insert(cause),
            }
        }
        let mut causes: Vec<_> = causes.into_values().collect();
        causes.sort_unstable_by_key(|cause| (cause.at, cause.polled_at));
        causes
    }

    /// From then on no record is lost. What a ring has lost was over before the first record that is left.
    fn complete_from(&self) -> u64 {
        let first = |track: &Track| track.records.first().map_or(self.end, |record| record.at);
        self.tracks().filter(|track| track.lost > 0).map(first).max().unwrap_or(0)
    }

    /// All records, with their track.
    pub(super) fn records(&self) -> impl Iterator<Item = (usize, &Record)> {
        self.tracks()
            .enumerate()
            .flat_map(|(index, track)| track.records.iter().map(move |record| (index, record)))
    }
}

impl_debug!([] Trace, this => "Trace" { len: this.len(), lost: this.lost() });

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;
