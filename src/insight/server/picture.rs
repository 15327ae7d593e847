//! A dump of each runtime, taken at one time; one serves all that ask at about that time, so that asking
//! often costs little.

use super::observed::Observed;
use crate::engine::scheduler::WorkerCounts;
use crate::engine::sync_shim::clock;
use crate::insight::Dump;
use crate::insight::history::History;
use crate::insight::memory::{PlaceMemory, memory_by_place};
use crate::runtime::{Handle, Id};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// How old a picture may be. A person does not notice so short a time, and to make a picture takes longer
/// only if there are very many tasks.
pub(super) const MAX_AGE: Duration = Duration::from_millis(100);

/// How many runtimes are shown.
pub(super) const MOST_RUNTIMES: usize = 16;

pub(in crate::insight) struct Picture {
    pub(in crate::insight) runtimes: Vec<Seen>,
    /// What tasks of all runtimes have allocated.
    pub(in crate::insight) memory: Vec<PlaceMemory>,
    /// How many more there are.
    pub(in crate::insight) left_out: usize,
    /// How many have ended.
    pub(in crate::insight) ended: usize,
}

/// One runtime.
pub(in crate::insight) struct Seen {
    pub(in crate::insight) id: Id,
    pub(in crate::insight) dump: Dump,
    pub(in crate::insight) injected_tasks: usize,
    pub(in crate::insight) spare_workers: usize,
    pub(in crate::insight) resting_workers: usize,
    /// One for each worker of the dump, or one for the thread that drives a runtime without workers.
    pub(in crate::insight) counts: Vec<WorkerCounts>,
}

/// What it takes to make the page.
#[derive(Debug, Clone, Copy)]
pub(in crate::insight) struct Cost {
    /// What the page's thread has used of a processor. `None`: the system does not say.
    pub(in crate::insight) processor: Option<Duration>,
    /// How long the page has been open.
    pub(in crate::insight) open_for: Duration,
    /// How many recorded events were overwritten before the page has read them.
    pub(in crate::insight) lost_events: u64,
}

impl Seen {
    fn of(handle: &Handle, history: &mut History, memory: Option<&[PlaceMemory]>) -> Self {
        let (metrics, mut dump) = (handle.metrics(), handle.dump());
        history.add(clock::now(), handle, &mut dump, memory);
        let workers = dump.workers().len().max(1);
        Self {
            id: handle.id(),
            injected_tasks: metrics.global_queue_depth(),
            spare_workers: metrics.num_spare_workers(),
            resting_workers: metrics.num_resting_workers(),
            counts: (0..workers).map(|worker| metrics.counts(worker)).collect(),
            dump,
        }
    }
}

impl Picture {
    fn take(observed: &Observed, histories: &mut HashMap<Id, History>) -> Self {
        let (handles, ended) = observed.living();
        let shown = handles.iter().take(MOST_RUNTIMES);
        histories.retain(|id, _| shown.clone().any(|handle| handle.id() == *id));
        let memory = memory_by_place();
        let seen = shown.enumerate().map(|(index, handle)| {
            let history = histories.entry(handle.id()).or_insert_with(|| History::of(handle));
            // It is that of the process, and is told once.
            Seen::of(handle, history, (index == 0).then_some(&memory))
        });
        Self {
            runtimes: seen.collect(),
            memory,
            left_out: handles.len().saturating_sub(MOST_RUNTIMES),
            ended,
        }
    }
}

/// The last picture, for as long as it is new.
#[derive(Default)]
pub(super) struct Album {
    last: Option<(Instant, Rc<Picture>)>,
    is_watched: bool,
}

impl Album {
    pub(super) fn picture(
        &mut self,
        observed: &Observed,
        histories: &mut HashMap<Id, History>,
    ) -> Rc<Picture> {
        if let Some((_, picture)) = self.last.as_ref().filter(|(taken, _)| is_new(*taken)) {
            return picture.clone();
        }
        // Nothing of the last one is kept while the next one is made.
        self.last = None;
        let picture = Rc::new(Picture::take(observed, histories));
        self.last = Some((clock::now(), picture.clone()));
        picture
    }

    /// The next request gets a picture of its own.
    pub(super) fn forget(&mut self) {
        self.last = None;
    }

    /// Whether [`Album::throw_away`] is to be called from now on.
    pub(super) fn begins_to_keep(&mut self) -> bool {
        !std::mem::replace(&mut self.is_watched, true)
    }

    /// Throws the picture away if it is old. Returns whether one is kept.
    pub(super) fn throw_away(&mut self) -> bool {
        self.last = self.last.take().filter(|(taken, _)| is_new(*taken));
        self.is_watched = self.last.is_some();
        self.is_watched
    }
}

fn is_new(taken: Instant) -> bool {
    clock::now().saturating_duration_since(taken) < MAX_AGE
}
