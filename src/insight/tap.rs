//! A recording that is read while it goes on.

use super::track::{NextRecords, Track};
use crate::engine::scheduler::Shared;
use crate::engine::sync_shim::Arc;
use crate::engine::task::RunningTask;
use crate::observe::{self, Observer};
use crate::runtime::incidents::follow_panics;
use crate::runtime::{Handle, Id};
use std::num::NonZeroUsize;
use std::time::Instant;

/// Records for as long as it lives. It keeps no handle, so that the runtime's end is not held up.
pub(super) struct Tap {
    pub(super) runtime: Id,
    /// The name of the runtime.
    pub(super) name: Option<String>,
    scheduler: Arc<Shared>,
    observer: std::sync::Arc<Observer>,
    recording: Arc<observe::Recording>,
    /// The first records that are its own.
    start: NextRecords,
}

impl Tap {
    /// Keeps `events` of each worker, if no other recording is under way; by default a share of a fixed
    /// number.
    /// `None`: there are no workers, or the runtime has been shut down.
    pub(super) fn of(handle: &Handle, events: Option<NonZeroUsize>) -> Option<Self> {
        follow_panics();
        let scheduler = handle.scheduler()?.clone();
        let observer = handle.observer()?.clone();
        let recording = observer.start_recording(&scheduler, events)?;
        let start = recording.next_records();
        let name = handle.name().map(str::to_owned);
        Some(Self { runtime: handle.id(), name, scheduler, observer, recording, start })
    }

    /// To read from the start.
    pub(super) fn start(&self) -> NextRecords {
        self.start.clone()
    }

    /// What has been recorded from `next` on, which then stands behind it: by the workers, and by all other
    /// threads. Times are in nanoseconds since the start.
    pub(super) fn read(&self, next: &mut NextRecords) -> (Vec<Track>, Track) {
        self.recording.read(next)
    }

    /// When it started.
    pub(super) fn begin(&self) -> Instant {
        self.recording.begin + self.start.begin()
    }

    /// The time since the start, in nanoseconds.
    pub(super) fn now(&self) -> u64 {
        self.recording.length().saturating_sub(self.start.begin().as_nanos() as u64)
    }

    /// What the workers poll at the moment, with their indices, and which of their polls that is.
    pub(super) fn under_way(&self) -> impl Iterator<Item = (usize, u64, RunningTask)> {
        self.scheduler.worker_entries().filter_map(|(index, entry)| {
            let task = entry.task?;
            (!self.scheduler.has_moved(index, &entry)).then_some((index, entry.polls, task))
        })
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.observer.stop_recording(&self.scheduler);
    }
}
