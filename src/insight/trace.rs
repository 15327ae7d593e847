//! What a recording has: the records of each thread.

use super::tap::Tap;
use crate::engine::recorder::{Event, Record};
use crate::engine::scheduler::Track;
use crate::engine::task::header::Polled;
use crate::engine::task::{RunningTask, TaskId};
use crate::runtime::{Handle, Id};
use std::collections::HashMap;
use std::fmt;

/// What the threads of a runtime did while it was recorded. From
/// [`Recording::stop`](super::Recording::stop).
pub struct Trace {
    pub(super) runtime: Id,
    pub(super) name: Option<String>,
    /// By index.
    pub(super) workers: Vec<Track>,
    /// Of all other threads.
    pub(super) others: Track,
    /// Polls that had not ended at the end of the recording, with the worker and their begin.
    pub(super) under_way: Vec<(usize, RunningTask, u64)>,
    /// When the recording ended. Times are in nanoseconds since its begin.
    pub(super) end: u64,
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

impl Trace {
    pub(super) fn of(handle: &Handle, tap: &Tap) -> Self {
        let under_way: Vec<_> = tap.under_way().collect();
        let (workers, others) = tap.read();
        let under_way = under_way.into_iter().map(|(worker, task)| {
            // It began after what the worker has recorded last, or before the recording.
            let last = workers.get(worker).and_then(|track: &Track| track.records.last());
            (worker, task, last.map_or(0, |record| record.at))
        });
        Self {
            runtime: handle.id(),
            name: handle.name().map(str::to_owned),
            under_way: under_way.collect(),
            workers,
            others,
            end: tap.now(),
        }
    }

    /// Returns how many events there are.
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

    /// Which wake or spawn led to which poll.
    pub(super) fn causes(&self) -> Vec<Cause> {
        let mut begins: HashMap<TaskId, Vec<(u64, usize)>> = HashMap::new();
        let mut add = |track, task: RunningTask, begin| {
            begins.entry(task.id()).or_default().push((begin, track));
        };
        for (track, record) in self.records() {
            if let Event::Poll { task, duration, .. } = record.event {
                add(track, task, record.at.saturating_sub(duration));
            }
        }
        for &(track, task, begin) in &self.under_way {
            add(track, task, begin);
        }
        begins.values_mut().for_each(|begins| begins.sort_unstable());
        let cause = |(from, Record { at, event }): (usize, &Record)| {
            let (task, is_spawn) = match event {
                Event::Wake(task) => (task, false),
                Event::Spawn(task) => (task, true),
                _ => return None,
            };
            let begins = begins.get(&task.id())?;
            let next = begins.partition_point(|(begin, _)| begin < at);
            let &(polled_at, to) = begins.get(next)?;
            Some(Cause { is_spawn, at: *at, from, polled_at, to })
        };
        self.records().filter_map(cause).collect()
    }

    /// All records, with their track.
    pub(super) fn records(&self) -> impl Iterator<Item = (usize, &Record)> {
        self.tracks()
            .enumerate()
            .flat_map(|(index, track)| track.records.iter().map(move |record| (index, record)))
    }
}

/// How a poll ended, in a word.
pub(super) fn word(outcome: Polled) -> &'static str {
    match outcome {
        Polled::Pending => "waits",
        Polled::Yielded => "yielded",
        Polled::Ready => "ended",
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trace").field("len", &self.len()).field("lost", &self.lost()).finish()
    }
}
