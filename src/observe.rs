//! What is kept of the steps of a scheduler: recordings, and histograms of times.
//!
//! An [`Observer`] is attached to the scheduler's one seam for this (`engine/scheduler/probe.rs`), which says
//! when it is called. `runtime` shows its histograms in the metrics, and `insight` reads its recordings.
//!
//! | file | what it is |
//! |---|---|
//! | `worker` | what the observer does on a worker's thread |
//! | `samples` | how long polls take, and tasks wait for them, measured at a few of them |
//! | `histogram` | how often something took how long |
//! | `recorder` | starts and stops a recording, which has a ring of each worker |
//! | `record`, `ring` | what is recorded, and the last of it |
//!
//! Each worker writes to a ring of its own, so writing takes no lock and no RMW, and never waits. The thread
//! that looks pays: it copies a ring while the worker goes on, and throws away what was overwritten
//! meanwhile.

pub(crate) mod histogram;
mod record;
mod recorder;
mod ring;
mod samples;
mod worker;

pub(crate) use record::{Event, Record};
pub(crate) use recorder::Recording;
pub(crate) use ring::Ring;

use crate::engine::scheduler::{Probe, Shared, TaskEvent, WorkerProbe};
use crate::engine::sync_shim::{Arc, Mutex};
use histogram::{HistogramCounts, Histograms, RARE_POLL};
use recorder::Recorder;
use std::num::NonZeroUsize;
use std::time::Duration;
use worker::WorkerObserver;

/// What is kept of one scheduler.
pub(crate) struct Observer {
    recorder: Arc<Recorder>,
    /// By the index of the worker. Those of a worker that has ended stay, and the next one goes on with them.
    histograms: Mutex<Vec<Option<Arc<Histograms>>>>,
}

impl Observer {
    pub(crate) fn new() -> Self {
        Self { recorder: Arc::new(Recorder::new()), histograms: Mutex::new(Vec::new()) }
    }

    /// Begins to record `scheduler`, or shares the recording that is under way. `None` if the runtime has
    /// been shut down. For `records` see [`Recorder::start`].
    pub(crate) fn start_recording(
        &self,
        scheduler: &Shared,
        records: Option<NonZeroUsize>,
    ) -> Option<Arc<Recording>> {
        scheduler.begin_observation(|workers| self.recorder.start(workers, records))
    }

    /// Each that has begun to record `scheduler` stops once; the last one ends the recording.
    pub(crate) fn stop_recording(&self, scheduler: &Shared) {
        scheduler.end_observation(|| self.recorder.stop());
    }

    /// How long polls of the workers took, and how long tasks were ready before them.
    pub(crate) fn histograms(&self) -> [HistogramCounts; 2] {
        let mut all = [HistogramCounts::empty(), HistogramCounts::empty()];
        for worker in self.histograms.lock().iter().flatten() {
            for (all, one) in all.iter_mut().zip([&worker.poll_times, &worker.latencies]) {
                all.add(&one.read());
            }
        }
        all
    }

    /// How many polls of `worker`, and how many waits for one, are in that bucket.
    pub(crate) fn bucket_counts(&self, worker: usize, bucket: usize) -> [u64; 2] {
        self.histograms_of(worker).map_or([0; 2], |it| {
            [&it.poll_times, &it.latencies].map(|histogram| histogram.count(bucket))
        })
    }

    fn histograms_of(&self, worker: usize) -> Option<Arc<Histograms>> {
        self.histograms.lock().get(worker)?.clone()
    }
}

impl Probe for Observer {
    fn worker(&self, worker: usize, polls: u64) -> Box<dyn WorkerProbe> {
        let mut all = self.histograms.lock();
        if all.len() <= worker {
            all.resize(worker + 1, None);
        }
        let histograms = all[worker].get_or_insert_with(|| Arc::new(Histograms::new())).clone();
        Box::new(WorkerObserver::new(self.recorder.clone(), histograms, worker, polls))
    }

    fn happened_outside(&self, event: TaskEvent) {
        self.recorder.happened_outside(event);
    }

    fn watched_poll_ended(&self, worker: usize, time: Duration) {
        if let Some(histograms) = self.histograms_of(worker).filter(|_| time >= RARE_POLL) {
            histograms.poll_times.add_rare(time);
        }
    }
}
