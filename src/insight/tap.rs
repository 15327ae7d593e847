//! A recording that is read while it goes on.

use crate::engine::scheduler::{self, Cursor, Shared, Track};
use crate::engine::sync_shim::Arc;
use crate::engine::task::RunningTask;
use crate::runtime::Handle;

/// Records for as long as it lives. It keeps no handle, so that the runtime's end is not held up.
pub(super) struct Tap {
    scheduler: Arc<Shared>,
    recording: Arc<scheduler::Recording>,
    cursor: Cursor,
}

impl Tap {
    /// `None`: there are no workers, or the runtime has been shut down.
    pub(super) fn of(handle: &Handle) -> Option<Self> {
        let scheduler = handle.scheduler()?.clone();
        let recording = scheduler.start_recording()?;
        let cursor = recording.cursor();
        Some(Self { scheduler, recording, cursor })
    }

    /// What has been recorded since the last call, or since the start: by the workers, and by all other
    /// threads. Times are in nanoseconds since the start.
    pub(super) fn read_on(&mut self) -> (Vec<Track>, Track) {
        self.recording.read_on(&mut self.cursor)
    }

    /// As [`Tap::read_on`], from the start, if nothing has been read.
    pub(super) fn read(&self) -> (Vec<Track>, Track) {
        self.recording.read_on(&mut self.cursor.clone())
    }

    /// The time since the start, in nanoseconds.
    pub(super) fn now(&self) -> u64 {
        self.recording.length().saturating_sub(self.cursor.begin())
    }

    /// What the workers poll at the moment, with their indices.
    pub(super) fn under_way(&self) -> impl Iterator<Item = (usize, RunningTask)> {
        self.scheduler.polls_under_way()
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.scheduler.stop_recording();
    }
}
