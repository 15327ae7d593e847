//! What no runtime owns and a page shows all the same: the futures in `block_on`, and local executors that
//! the program makes, such as a [`LocalSet`](super::LocalSet).
//!
//! A thread that calls `block_on` for the first time enters a record into a list of the process, and keeps it
//! until the thread ends. Each later call borrows the record: it says in it which runtime the call belongs
//! to, and counts the polls of its future there, so that an observer sees whether it is in one, and for how
//! long. A call inside another one has a record of its own. Nothing is kept where nothing can look, which is
//! without the feature `insight`.
//!
//! An executor enters another list when it is made, and leaves it when it ends.

use super::id::Id;
use super::local::LocalShared;
use super::lost_lock::lock_unless_lost;
use crate::engine::scheduler::thread_number;
use crate::engine::sync_shim::{Arc, StaticMutex, thread_local};
use crate::observe::simulation::{SimulatedRoot, Simulation};
use std::cell::RefCell;
use std::panic::Location;
use std::sync::Weak;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

/// The records of all threads. In a forked child these locks may be lost. Then nothing is listed.
static RECORDS: StaticMutex<Vec<std::sync::Arc<Record>>> = StaticMutex::new(Vec::new());
static EXECUTORS: StaticMutex<Vec<Listed>> = StaticMutex::new(Vec::new());

static NUMBERS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static FREE: Free = const { Free(RefCell::new(Vec::new())) };
}

/// The records of this thread that no `block_on` has, that of the outermost one last.
struct Free(RefCell<Vec<std::sync::Arc<Record>>>);

impl Drop for Free {
    fn drop(&mut self) {
        self.0.get_mut().iter().for_each(Record::leave_list);
    }
}

/// What an observer sees of the futures that a thread gives to `block_on`, one after the other.
struct Record {
    /// No other record of the process has it, also none of a thread that has ended: an observer knows by it
    /// whether two looks have found the same.
    number: u64,
    /// The system's number of the thread.
    thread: u32,
    /// How many polls have begun, and how many have ended: odd in a poll.
    steps: AtomicU64,
    /// `None` between two calls. Other threads take this lock only while they look. It is not one that models
    /// follow: nothing is decided by it.
    call: StaticMutex<Option<Call>>,
}

/// A call of `block_on`.
#[derive(Clone)]
struct Call {
    runtime: Id,
    called_at: &'static Location<'static>,
    /// Since the first poll in a simulation.
    simulated: Weak<SimulatedRoot>,
}

impl Record {
    /// One that this thread has left, or a new one.
    fn take() -> std::sync::Arc<Self> {
        // In the destructor of a thread-local the list may be gone. The record lives as long as the call
        // then.
        let left = FREE.try_with(|free| free.0.borrow_mut().pop());
        left.ok().flatten().unwrap_or_else(|| {
            // Ordering: Relaxed, only the uniqueness of the RMW's result counts.
            let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
            let (steps, call) = (AtomicU64::new(0), StaticMutex::new(None));
            let record = std::sync::Arc::new(Self { number, thread: thread_number(), steps, call });
            if let Some(mut records) = lock_unless_lost(|| RECORDS.try_lock()) {
                records.push(record.clone());
            }
            record
        })
    }

    fn give_back(self: std::sync::Arc<Self>) {
        *self.call.lock() = None;
        let kept = FREE.try_with(|free| free.0.borrow_mut().push(self.clone()));
        if kept.is_err() {
            self.leave_list();
        }
    }

    fn leave_list(self: &std::sync::Arc<Self>) {
        if let Some(mut records) = lock_unless_lost(|| RECORDS.try_lock()) {
            records.retain(|record| !std::sync::Arc::ptr_eq(record, self));
        }
    }

    fn step(&self) {
        // Ordering: Relaxed for both: one thread counts, and for others it is a number for people.
        self.steps.store(self.steps.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

/// Shows a future in `block_on` to observers, until this is dropped.
pub(super) struct WatchedRoot {
    /// `None` without insight.
    record: Option<std::sync::Arc<Record>>,
    simulation: Simulation,
    simulated: Option<std::sync::Arc<SimulatedRoot>>,
}

impl WatchedRoot {
    pub(super) fn new(
        runtime: Id,
        called_at: &'static Location<'static>,
        simulation: Simulation,
    ) -> Self {
        let record = cfg!(feature = "insight").then(|| {
            let record = Record::take();
            *record.call.lock() = Some(Call { runtime, called_at, simulated: Weak::new() });
            record
        });
        Self { record, simulation, simulated: None }
    }

    /// Calls `poll`, which polls the future.
    pub(super) fn poll<T>(
        &mut self,
        cx: &mut Context<'_>,
        poll: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        /// Counts the end of a poll, also of one that panics.
        struct End<'a>(&'a Record);
        impl Drop for End<'_> {
            fn drop(&mut self) {
                self.0.step();
            }
        }
        self.simulation.root_is_polled();
        let Some(record) = &self.record else { return poll(cx) };
        record.step();
        let _end = End(record);
        if !self.simulation.is_there() {
            return poll(cx);
        }
        let simulated = self.simulated.get_or_insert_with(|| {
            let simulated = SimulatedRoot::new(cx.waker());
            if let Some(call) = &mut *record.call.lock() {
                call.simulated = std::sync::Arc::downgrade(&simulated);
            }
            simulated
        });
        simulated.poll(poll)
    }
}

impl Drop for WatchedRoot {
    fn drop(&mut self) {
        if let Some(record) = self.record.take() {
            record.give_back();
        }
    }
}

/// A future in `block_on`, as it was when an observer looked.
pub(crate) struct Root {
    /// That of its record.
    pub(crate) number: u64,
    /// The system's number of the thread.
    pub(crate) thread: u32,
    /// The call of `block_on`.
    pub(crate) called_at: &'static Location<'static>,
    /// How many polls have begun and ended on this record, if the future is being polled.
    pub(crate) poll: Option<u64>,
    pub(crate) simulated: Weak<SimulatedRoot>,
}

/// The futures in a `block_on` of that runtime. Of two on one thread, the inner one comes later.
pub(crate) fn roots_of(runtime: Id) -> Vec<Root> {
    let records = RECORDS.lock();
    let roots = records.iter().filter_map(|record| {
        // Held until the steps are read, so that they are those of this call.
        let call = record.call.lock();
        let Call { called_at, simulated, .. } =
            call.clone().filter(|call| call.runtime == runtime)?;
        // Ordering: Relaxed, a number for people.
        let poll = Some(record.steps.load(Ordering::Relaxed)).filter(|steps| steps % 2 == 1);
        Some(Root { number: record.number, thread: record.thread, called_at, poll, simulated })
    });
    roots.collect()
}

/// A local executor that the program has made.
struct Listed {
    runtime: Id,
    /// The system's number of the thread on which it stays.
    thread: u32,
    shared: Arc<LocalShared>,
}

/// Enters an executor of this thread as one of that runtime.
pub(super) fn list_executor(runtime: Id, shared: &Arc<LocalShared>) {
    if let Some(mut executors) = lock_unless_lost(|| EXECUTORS.try_lock()) {
        executors.push(Listed { runtime, thread: thread_number(), shared: shared.clone() });
    }
}

/// The executor ends. Called before its tasks are dropped.
pub(super) fn forget_executor(shared: &Arc<LocalShared>) {
    let Some(mut executors) = lock_unless_lost(|| EXECUTORS.try_lock()) else { return };
    let place = executors.iter().position(|other| Arc::ptr_eq(&other.shared, shared));
    let gone = place.map(|place| executors.swap_remove(place));
    drop((executors, gone));
}

/// The local executors that the program has made, or has begun to run, in that runtime.
pub(crate) fn executors_of(runtime: Id) -> Vec<Arc<LocalShared>> {
    let executors = EXECUTORS.lock();
    let of = executors.iter().filter(|listed| listed.runtime == runtime);
    of.map(|listed| listed.shared.clone()).collect()
}

/// The thread of an executor that the program has made.
pub(crate) fn thread_of(shared: &Arc<LocalShared>) -> Option<u32> {
    let executors = EXECUTORS.lock();
    let listed = executors.iter().find(|listed| Arc::ptr_eq(&listed.shared, shared));
    listed.map(|listed| listed.thread)
}

#[cfg(all(test, feature = "insight", not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::*;
    use std::task::Waker;

    #[test]
    fn a_thread_uses_its_records_again_and_takes_them_along() {
        let runtime = Id::next();
        let numbers = move || roots_of(runtime).iter().map(|root| root.number).collect::<Vec<_>>();
        let root = move || WatchedRoot::new(runtime, Location::caller(), Simulation::NONE);
        let uses = move || {
            let (outer, inner) = (root(), root());
            let both = numbers();
            drop(inner);
            assert_eq!(numbers(), both[..1]);
            drop(outer);
            assert_eq!(numbers(), []);
            let (outer, _inner) = (root(), root());
            assert_eq!(numbers(), both, "the same, and the inner one comes later");
            outer.record.as_ref().map(std::sync::Arc::downgrade)
        };
        let record = std::thread::spawn(uses).join().unwrap().expect("insight is on");
        assert_eq!(record.strong_count(), 0, "the thread has ended");
    }

    /// Each of these threads ends before the next begins, so a record may lie where another one has been.
    #[test]
    fn records_of_two_threads_are_two() {
        let runtime = Id::next();
        let number = move || {
            let _root = WatchedRoot::new(runtime, Location::caller(), Simulation::NONE);
            roots_of(runtime)[0].number
        };
        let mut numbers: Vec<_> =
            (0..50).map(|_| std::thread::spawn(number).join().unwrap()).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 50);
    }

    #[test]
    fn a_root_is_in_a_poll_until_that_ends_or_panics() {
        let runtime = Id::next();
        let poll = || roots_of(runtime).pop().and_then(|root| root.poll);
        let mut root = WatchedRoot::new(runtime, Location::caller(), Simulation::NONE);
        let mut cx = Context::from_waker(Waker::noop());
        assert_eq!(poll(), None);
        let first = root.poll(&mut cx, |_| Poll::Ready(poll()));
        let Poll::Ready(Some(first)) = first else { panic!("it was in a poll: {first:?}") };
        assert_eq!(poll(), None);
        let panics = || root.poll(&mut cx, |_| -> Poll<()> { panic!("on purpose") });
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
        assert_eq!(poll(), None);
        assert_eq!(root.poll(&mut cx, |_| Poll::Ready(poll())), Poll::Ready(Some(first + 4)));
    }
}
