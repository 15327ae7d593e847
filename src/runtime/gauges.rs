//! How much lies in the channels and sets of tasks that the program makes while something looks at it.
//!
//! A channel has a gauge. From the moment on in which something looks at the process, a gauge that is made
//! has numbers, which stand in a list of the process too, so that an observer reads them without the channel.
//! All other gauges are empty, and cost the channel a word.
//!
//! The numbers are written where that costs a message nothing. The two queues of an mpsc channel are chunks
//! of some hundred messages, and only a chunk that becomes full or empty is noted: so the length that is
//! shown is right to two chunks. A broadcast channel notes what was lost when a receiver finds that. A set
//! of tasks notes its length at each change, which costs more than that.
//!
//! An empty gauge costs an operation nothing but in two places, where it is looked at: when the receiver of
//! an mpsc channel waits, and when a set changes.

use super::lost_lock::lock_unless_lost;
use super::{Handle, Id};
use crate::engine::sync_shim::StaticMutex;
use crate::engine::task::{TaskId, current};
use crate::impls::impl_debug;
use std::mem;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

static IS_FOLLOWED: AtomicBool = AtomicBool::new(false);

/// Those that an observer has seen. No thread that makes a channel locks it, so it may be locked for long.
static SEEN: StaticMutex<Vec<Arc<Numbers>>> = StaticMutex::new(Vec::new());

/// Those that were made since. Locked for some instructions only, because a thread that makes a channel does
/// not wait for it for ever: in a forked child the lock may be lost, and then nothing is listed.
static NEW: StaticMutex<Vec<Arc<Numbers>>> = StaticMutex::new(Vec::new());

/// From so many new ones on, those whose owners have gone leave the list without an observer.
const MANY: usize = 1024;

/// What has a gauge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Measured {
    Unbounded,
    Bounded,
    Broadcast,
    JoinSet,
}

/// What an observer reads. The atomics are not those of models: nothing is decided by them.
///
/// The ordering of all of them is Relaxed: they are for people, and need not fit together.
pub(crate) struct Numbers {
    pub(crate) measured: Measured,
    pub(crate) made_at: &'static Location<'static>,
    /// For how many values there is room at most.
    pub(crate) capacity: Option<usize>,
    /// The runtime in which it was made.
    pub(crate) runtime: Option<Id>,
    /// The addresses by which the notes of waiting tasks name it: for a value, and for room.
    addresses: [AtomicUsize; 2],
    /// What lies in it: of an mpsc channel what was sent, and not yet taken by its receiver.
    there: AtomicUsize,
    /// What the receiver has taken in one go, and not yet returned.
    taken: AtomicUsize,
    lost: AtomicU64,
    user: AtomicU64,
}

impl Numbers {
    /// How many values there are, about.
    pub(crate) fn length(&self) -> usize {
        // Ordering: Relaxed for both, numbers for people.
        self.there.load(Ordering::Relaxed) + self.taken.load(Ordering::Relaxed)
    }

    /// How many values were overwritten before a receiver has got them, summed over the receivers.
    pub(crate) fn lost(&self) -> u64 {
        // Ordering: Relaxed, a number for people.
        self.lost.load(Ordering::Relaxed)
    }

    /// What has waited to receive, or has received, last, if that is known and was a task.
    pub(crate) fn user(&self) -> Option<TaskId> {
        // Ordering: Relaxed, a number for people.
        TaskId::from_bits(self.user.load(Ordering::Relaxed))
    }

    pub(crate) fn addresses(&self) -> [usize; 2] {
        // Ordering: Relaxed, written before the channel is in use.
        self.addresses.each_ref().map(|address| address.load(Ordering::Relaxed))
    }
}

/// Enters `numbers` into the list. `None` if there is no list any more.
fn enter(numbers: Arc<Numbers>) -> Option<()> {
    let new = || lock_unless_lost(|| NEW.try_lock());
    let mut list = new()?;
    list.push(numbers);
    if list.len() < MANY.max(list.capacity()) {
        return Some(());
    }
    // Not under the lock, because it takes long. An observer that looks now misses those.
    let mut kept = mem::take(&mut *list);
    drop(list);
    kept.retain(has_owner);
    // So that a list which stays about as long is not gone through each time.
    kept.reserve(kept.len().max(MANY));
    let mut list = new()?;
    kept.append(&mut list);
    *list = kept;
    Some(())
}

fn has_owner(numbers: &Arc<Numbers>) -> bool {
    Arc::strong_count(numbers) > 1
}

/// The gauge of a channel or a set. Without numbers unless something looked when it was made.
#[derive(Clone, Default)]
pub(crate) struct Gauge(Option<Arc<Numbers>>);

impl_debug!([] Gauge, "Gauge");

impl Gauge {
    pub(crate) const NONE: Self = Self(None);

    #[inline]
    pub(crate) fn new(
        measured: Measured,
        capacity: Option<usize>,
        made_at: &'static Location<'static>,
    ) -> Self {
        if !is_followed() {
            return Self(None);
        }
        Self::followed(measured, capacity, made_at)
    }

    #[cold]
    fn followed(
        measured: Measured,
        capacity: Option<usize>,
        made_at: &'static Location<'static>,
    ) -> Self {
        let numbers = Arc::new(Numbers {
            measured,
            made_at,
            capacity,
            runtime: Handle::try_current().ok().map(|handle| handle.id()),
            addresses: [const { AtomicUsize::new(0) }; 2],
            there: AtomicUsize::new(0),
            taken: AtomicUsize::new(0),
            lost: AtomicU64::new(0),
            user: AtomicU64::new(0),
        });
        Self(enter(numbers.clone()).map(|()| numbers))
    }

    /// Without insight the compiler knows that there are none.
    #[inline]
    fn numbers(&self) -> Option<&Numbers> {
        self.0.as_deref().filter(|_| cfg!(feature = "insight"))
    }

    /// Notes the addresses by which tasks say that they wait for this.
    #[inline]
    pub(crate) fn is_of(&self, addresses: impl FnOnce() -> [usize; 2]) {
        let Some(numbers) = self.numbers() else { return };
        for (noted, address) in numbers.addresses.iter().zip(addresses()) {
            // Ordering: Relaxed, a number for people.
            noted.store(address, Ordering::Relaxed);
        }
    }

    /// So many values lie in it now, without those that were taken.
    #[inline]
    pub(crate) fn set_length(&self, length: impl FnOnce() -> usize) {
        if let Some(numbers) = self.numbers() {
            // Ordering: Relaxed, a number for people.
            numbers.there.store(length(), Ordering::Relaxed);
        }
    }

    /// So many values were taken, and not yet returned.
    #[inline]
    pub(crate) fn set_taken(&self, taken: usize) {
        if let Some(numbers) = self.numbers() {
            // Ordering: Relaxed, a number for people.
            numbers.taken.store(taken, Ordering::Relaxed);
        }
    }

    /// The calling task receives from it.
    #[inline]
    pub(crate) fn note_user(&self) {
        if let Some(numbers) = self.numbers() {
            let user = current::id().map_or(0, TaskId::to_bits);
            // Ordering: Relaxed, a number for people.
            numbers.user.store(user, Ordering::Relaxed);
        }
    }

    /// A receiver has not got so many values.
    #[inline]
    pub(crate) fn lose(&self, values: u64) {
        if let Some(numbers) = self.numbers() {
            // Ordering: Relaxed, a number for people.
            numbers.lost.fetch_add(values, Ordering::Relaxed);
        }
    }
}

/// Whether there is a page, or has been one.
#[inline]
pub(crate) fn is_followed() -> bool {
    // Ordering: Relaxed, nothing was written before that is read then.
    cfg!(feature = "insight") && IS_FOLLOWED.load(Ordering::Relaxed)
}

/// From now on the channels and sets that the program makes have numbers.
pub(crate) fn follow_gauges() {
    // Ordering: Relaxed, see `is_followed`.
    IS_FOLLOWED.store(true, Ordering::Relaxed);
}

/// Shows the numbers of what was made in that runtime, or outside of any, and is there.
pub(crate) fn look_at_gauges(runtime: Id, look: impl FnMut(&Numbers)) {
    let mut seen = SEEN.lock();
    let new = mem::take(&mut *NEW.lock());
    seen.extend(new);
    seen.retain(has_owner);
    let all = seen.iter().map(|numbers| &**numbers);
    all.filter(|numbers| numbers.runtime.is_none_or(|id| id == runtime)).for_each(look);
}

#[cfg(all(test, feature = "insight", not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn none_is_lost_while_others_are_made_and_looked_at() {
        follow_gauges();
        let (runtime, here) = (Id::next(), Location::caller());
        let seen = || {
            let mut seen = 0;
            look_at_gauges(runtime, |numbers| seen += usize::from(numbers.made_at == here));
            seen
        };
        let make = || {
            let gauges = (0..4 * MANY).map(|_| Gauge::new(Measured::JoinSet, None, here));
            // Every second one has gone when the list is full.
            gauges
                .enumerate()
                .filter_map(|(index, gauge)| (index % 2 == 0).then_some(gauge))
                .collect()
        };
        let kept: Vec<Vec<Gauge>> = thread::scope(|scope| {
            let makers = [(); 2].map(|()| scope.spawn(make));
            while !makers.iter().all(|maker| maker.is_finished()) {
                seen();
            }
            makers.map(|maker| maker.join().unwrap()).into()
        });
        assert_eq!(seen(), 4 * MANY);
        drop(kept);
        assert_eq!(seen(), 0);
    }
}
