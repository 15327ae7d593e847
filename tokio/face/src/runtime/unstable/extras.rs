//! What a runtime has beside liten's. Such runtimes are listed, as those are that lack I/O or timers.

use super::fate::Fate;
use super::random::{SeedGuard, Seeds};
use super::settings::Hook;
use super::times::Times;
use crate::runtime::{Handle, Id, RuntimeFlavor};
use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

static LIST: Mutex<Option<HashMap<Id, Arc<Extras>>>> = Mutex::new(None);
/// How many of them have what is looked for at each spawn or `block_on`.
static RARE: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Whether it was looked which worker this thread is.
    static IS_NOTED: Cell<bool> = const { Cell::new(false) };
}

#[derive(Default)]
pub(crate) struct Extras {
    pub(super) spawned: AtomicU64,
    pub(super) forced_yields: AtomicU64,
    /// Those of the workers that have polled a task. Without workers, the one that was in `block_on` last.
    pub(super) threads: Mutex<HashMap<usize, ThreadId>>,
    /// What was last said of numbers that may fall, by their names and workers.
    pub(super) highest: Mutex<HashMap<(&'static str, usize), u64>>,
    pub(super) polls: Option<Times>,
    pub(super) tracking: Option<Tracking>,
    pub(super) fate: Option<Arc<Fate>>,
    pub(super) seeds: Option<Seeds>,
    /// Timers are ready when the runtime has ended.
    pub(super) ends_timers: bool,
    pub(super) is_over: AtomicBool,
}

/// What is done with the time that a task is ready before a poll.
pub(super) struct Tracking {
    pub(super) before_poll: Option<Hook>,
    pub(super) after_poll: Option<Hook>,
    pub(super) times: Option<Times>,
}

/// Keeps a runtime in the list.
#[derive(Debug)]
pub(in crate::runtime) struct Entry(Id, Arc<Extras>);

impl Entry {
    pub(in crate::runtime) fn new(extras: Arc<Extras>, handle: &liten::runtime::Handle) -> Self {
        let workers = handle.metrics().num_workers().max(1);
        extras.polls().iter().chain(&extras.waits()).for_each(|times| times.set_workers(workers));
        with_list(|list| list.insert(handle.id(), extras.clone()));
        if extras.is_rare() {
            // Ordering: Relaxed, here and below. A thread that uses the runtime has got it from its builder,
            // by a way that makes this visible.
            RARE.fetch_add(1, Ordering::Relaxed);
        }
        let entry = Self(handle.id(), extras);
        // As on tokio, that is where it was built until then.
        entry.runs_here(handle.runtime_flavor());
        entry
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if self.1.is_rare() {
            RARE.fetch_sub(1, Ordering::Relaxed);
        }
        with_list(|list| list.remove(&self.0));
    }
}

impl Entry {
    pub(in crate::runtime) fn extras(&self) -> &Arc<Extras> {
        &self.1
    }

    /// This thread begins to run the tasks, if there are no workers.
    pub(in crate::runtime) fn runs_here(&self, flavor: RuntimeFlavor) {
        if flavor == RuntimeFlavor::CurrentThread {
            self.1.set_thread(0);
        }
    }
}

impl Extras {
    pub(crate) fn thread(&self, worker: usize) -> Option<ThreadId> {
        self.threads().get(&worker).copied()
    }

    fn set_thread(&self, worker: usize) {
        self.threads().insert(worker, thread::current().id());
    }

    fn threads(&self) -> MutexGuard<'_, HashMap<usize, ThreadId>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the highest `count` that `name` has had for `worker`. One that is made of two others may fall,
    /// as the two are not read at the same moment. Programs take the difference of two looks.
    pub(crate) fn highest(&self, name: &'static str, worker: usize, count: u64) -> u64 {
        let mut all = self.highest.lock().unwrap_or_else(PoisonError::into_inner);
        let highest = all.entry((name, worker)).or_default();
        *highest = count.max(*highest);
        *highest
    }

    /// A task is polled: notes which worker this thread is, once.
    pub(super) fn polls_here() {
        if IS_NOTED.replace(true) {
            return;
        }
        if let (Some(worker), Some(extras)) = (crate::runtime::worker_index(), Self::current()) {
            extras.set_thread(worker);
        }
    }

    /// At the end of a poll that is pending: counts it if that is because the budget was used up.
    pub(super) fn polled() {
        if liten::task::coop::was_refused() {
            if let Some(extras) = Self::current() {
                // Ordering: Relaxed, a count.
                extras.forced_yields.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    pub(crate) fn forced_yields(&self) -> u64 {
        // Ordering: Relaxed, as where it is counted.
        self.forced_yields.load(Ordering::Relaxed)
    }

    fn current() -> Option<Arc<Self>> {
        Self::of(&Handle::try_current().ok()?)
    }

    /// That of a `LocalSet` that ends when a task panics.
    pub(crate) fn of_local_set() -> Arc<Self> {
        Arc::new(Self { fate: Some(Fate::of_local_set()), ..Self::default() })
    }

    /// Whether tasks and `block_on` have to know of it.
    fn is_rare(&self) -> bool {
        self.fate.is_some() || self.seeds.is_some() || self.tracking.is_some() || self.ends_timers
    }

    pub(crate) fn of(handle: &Handle) -> Option<Arc<Self>> {
        with_list(|list| list.get(&handle.id()).cloned())
    }

    /// As [`Extras::of`], but at the price of one load where no runtime has what is rare.
    pub(crate) fn rare_of(handle: &Handle) -> Option<Arc<Self>> {
        (RARE.load(Ordering::Relaxed) > 0).then(|| Self::of(handle)).flatten()
    }

    /// As [`Extras::rare_of`], of the current runtime.
    pub(crate) fn rare_current() -> Option<Arc<Self>> {
        (RARE.load(Ordering::Relaxed) > 0).then(Self::current).flatten()
    }

    /// That of the current runtime, if timers are ready when it has ended.
    pub(crate) fn rare_of_timer() -> Option<Arc<Self>> {
        Self::rare_current().filter(|extras| extras.ends_timers)
    }

    /// The runtime begins to end.
    pub(in crate::runtime) fn end(&self) {
        // Ordering: Relaxed, here and below. A timer is woken by the end that comes after this, and a thread
        // that polls it without a wake knows of the end by a way that makes this visible.
        self.is_over.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// What ends the runtime or the set when a task panics.
    pub(crate) fn fate(&self) -> Option<Arc<Fate>> {
        self.fate.clone()
    }

    /// Has this thread choose by the seed of the runtime of `handle`, if it has one.
    pub(crate) fn seeded(handle: &Handle) -> Option<SeedGuard> {
        Some(Self::rare_of(handle)?.seeds.as_ref()?.enter())
    }

    pub(crate) fn spawned(&self) -> u64 {
        // Ordering: Relaxed, as where it is counted.
        self.spawned.load(Ordering::Relaxed)
    }

    pub(crate) fn polls(&self) -> Option<&Times> {
        self.polls.as_ref()
    }

    pub(crate) fn waits(&self) -> Option<&Times> {
        self.tracking.as_ref()?.times.as_ref()
    }
}

impl fmt::Debug for Extras {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Extras").finish_non_exhaustive()
    }
}

fn with_list<R>(f: impl FnOnce(&mut HashMap<Id, Arc<Extras>>) -> R) -> R {
    f(LIST.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(HashMap::new))
}
