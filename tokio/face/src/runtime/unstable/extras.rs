//! What a runtime has beside liten's. Such runtimes are listed, as those are that lack I/O or timers.

use super::fate::Fate;
use super::random::{SeedGuard, Seeds};
use super::settings::Hook;
use super::times::Times;
use crate::runtime::{Handle, Id, RuntimeFlavor};
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};

static LIST: Mutex<Option<HashMap<Id, Arc<Extras>>>> = Mutex::new(None);
/// How many of them have what is looked for at each spawn or `block_on`.
static RARE: AtomicUsize = AtomicUsize::new(0);

#[derive(Default)]
pub(crate) struct Extras {
    pub(super) spawned: AtomicU64,
    /// The thread that was in `block_on` last, if there are no workers.
    pub(super) thread: Mutex<Option<ThreadId>>,
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
            let mut last = self.1.thread.lock().unwrap_or_else(PoisonError::into_inner);
            *last = Some(thread::current().id());
        }
    }
}

impl Extras {
    pub(crate) fn thread(&self) -> Option<ThreadId> {
        *self.thread.lock().unwrap_or_else(PoisonError::into_inner)
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
        let current = || Self::of(&Handle::try_current().ok()?);
        (RARE.load(Ordering::Relaxed) > 0).then(current).flatten()
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
