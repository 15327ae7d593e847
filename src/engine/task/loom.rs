//! Models of a task's life: the production cell under loom, with a queue behind a lock for a scheduler.

use super::cell::new_send_task;
use super::header::{Cold, Completer, Hot, RegistryKey, Runner, Schedule};
use super::join::{AbortHandle, JoinHandle};
use super::registry::Registry;
use super::state::{Complete, Pending, Released, Start, State, Wake as StateWake};
use crate::engine::queue::local::NextSlot;
use crate::engine::sync_shim::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::engine::sync_shim::{Arc, Mutex, both_ways, thread};
use crate::engine::wakers::tests::Flag;
use std::collections::VecDeque;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc as StdArc;
use std::task::{Context, Poll, Wake, Waker};

/// One queue; any thread may run what is in it.
pub(crate) struct Queue {
    pub(super) hot: Mutex<VecDeque<Hot>>,
    pub(crate) registry: Registry,
    pub(super) completed: AtomicUsize,
}

// SAFETY: each model runs its tasks to completion before it drops the queue.
#[allow(unsafe_code)]
unsafe impl Schedule for Queue {
    fn schedule_here(_: *const Self, task: Hot) -> Result<(), Hot> {
        Err(task)
    }

    fn schedule_from_anywhere(self: Arc<Self>, task: Hot) {
        self.hot.lock().push_back(task);
    }
}

impl Completer for Queue {
    fn unregister(&self, key: RegistryKey) {
        self.registry.remove(key.index);
    }

    fn completed(&self) {
        self.completed.fetch_add(1, Ordering::Relaxed);
    }
}

impl Runner for Queue {
    fn register(&self, task: Cold) -> RegistryKey {
        RegistryKey { shard: 0, index: self.registry.insert(task) }
    }

    fn requeue(&self, task: Hot) {
        self.hot.lock().push_back(task);
    }

    fn home_worker(&self) -> u16 {
        0
    }
}

impl Queue {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            hot: Mutex::new(VecDeque::new()),
            registry: Registry::new(),
            completed: AtomicUsize::new(0),
        })
    }

    pub(crate) fn spawn<F>(self: &Arc<Self>, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let (hot, join) = new_send_task(future, self, Location::caller());
        self.hot.lock().push_back(hot);
        join
    }

    /// Runs what is queued until nothing is.
    pub(crate) fn run(&self) {
        loop {
            let Some(task) = self.hot.lock().pop_front() else { return };
            task.run(self);
        }
    }

    /// Runs until the one task of the model is complete.
    pub(super) fn run_to_completion(&self) {
        while self.completed.load(Ordering::Relaxed) == 0 {
            self.run();
            thread::yield_now();
        }
    }
}

/// Ready once `flag` is set; leaves its waker in `slot` before it looks, as a leaf future does.
pub(crate) struct Leaf {
    flag: Arc<AtomicBool>,
    slot: Arc<Mutex<Option<Waker>>>,
    drops: Option<Arc<AtomicUsize>>,
}

impl Future for Leaf {
    type Output = u32;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<u32> {
        if self.flag.load(Ordering::Relaxed) {
            return Poll::Ready(7);
        }
        *self.slot.lock() = Some(cx.waker().clone());
        if self.flag.load(Ordering::Relaxed) { Poll::Ready(7) } else { Poll::Pending }
    }
}

impl Drop for Leaf {
    fn drop(&mut self) {
        if let Some(drops) = &self.drops {
            drops.fetch_add(1, Ordering::Relaxed);
        }
    }
}

pub(crate) fn leaf() -> (Leaf, Arc<AtomicBool>, Arc<Mutex<Option<Waker>>>, Arc<AtomicUsize>) {
    let flag = Arc::new(AtomicBool::new(false));
    let slot = Arc::new(Mutex::new(None));
    let drops = Arc::new(AtomicUsize::new(0));
    let leaf = Leaf { flag: flag.clone(), slot: slot.clone(), drops: Some(drops.clone()) };
    (leaf, flag, slot, drops)
}

/// A task that has been polled once, and waits for its [`Leaf`].
pub(crate) struct Waiting {
    pub(crate) queue: Arc<Queue>,
    pub(crate) join: JoinHandle<u32>,
    pub(crate) flag: Arc<AtomicBool>,
    pub(crate) slot: Arc<Mutex<Option<Waker>>>,
    pub(crate) drops: Arc<AtomicUsize>,
}

impl Waiting {
    pub(crate) fn new() -> Self {
        let queue = Queue::new();
        let (leaf, flag, slot, drops) = leaf();
        let join = queue.spawn(leaf);
        queue.run();
        Self { queue, join, flag, slot, drops }
    }
}

pub(super) struct Inert;

impl Wake for Inert {
    fn wake(self: StdArc<Self>) {}
}

pub(crate) fn poll_once<T>(join: &mut JoinHandle<T>) -> Poll<Result<T, super::JoinError>> {
    let waker = Waker::from(StdArc::new(Inert));
    Pin::new(join).poll(&mut Context::from_waker(&waker))
}

/// A wake at any moment of a poll is not lost: the task completes.
#[test]
fn a_wake_during_the_poll_is_not_lost() {
    ::loom::model(|| {
        let queue = Queue::new();
        let (leaf, flag, slot, drops) = leaf();
        let mut join = queue.spawn(leaf);
        let waker = thread::spawn(move || {
            flag.store(true, Ordering::Relaxed);
            let taken = slot.lock().take();
            if let Some(waker) = taken {
                waker.wake();
            }
        });
        queue.run_to_completion();
        waker.join().expect("no panic");
        assert!(matches!(poll_once(&mut join), Poll::Ready(Ok(7))));
        assert_eq!(drops.load(Ordering::Relaxed), 1);
    });
}

/// What the waking thread wrote before the wake is seen by the poll that answers it, also when the task
/// was woken already.
#[test]
fn the_poll_that_answers_a_second_wake_sees_the_second_wakers_writes() {
    ::loom::model(|| {
        let queue = Queue::new();
        let seen = Arc::new(AtomicUsize::new(0));
        let data: Vec<_> = (0..2).map(|_| Arc::new(AtomicBool::new(false))).collect();
        let (theirs, watched) = (seen.clone(), data.clone());
        let slot = Arc::new(Mutex::new(None::<Waker>));
        let left = slot.clone();
        let join = queue.spawn(std::future::poll_fn(move |cx| {
            *left.lock() = Some(cx.waker().clone());
            // Relaxed on purpose: only the task's word may carry the writes over.
            let sum = watched.iter().filter(|flag| flag.load(Ordering::Relaxed)).count();
            theirs.store(sum, Ordering::Relaxed);
            if sum == 2 { Poll::Ready(()) } else { Poll::Pending }
        }));
        queue.run();
        let waker = slot.lock().clone().expect("polled once");
        // Twice: the second thread finds the task queued and woken.
        waker.wake_by_ref();
        waker.wake_by_ref();
        let second = {
            let (waker, flag) = (waker.clone(), data[1].clone());
            thread::spawn(move || {
                flag.store(true, Ordering::Relaxed);
                waker.wake_by_ref();
            })
        };
        data[0].store(true, Ordering::Relaxed);
        drop(waker);
        queue.run_to_completion();
        second.join().expect("no panic");
        drop(join);
        slot.lock().take();
        assert_eq!(seen.load(Ordering::Relaxed), 2);
    });
}

/// A wake comes between the two looks with which a poll begins: it is answered by this poll, which sees its
/// writes, or by another one.
#[test]
fn a_wake_that_the_poll_forgets_is_answered_by_it() {
    both_ways(|way| {
        let state = Arc::new(State::new());
        assert_eq!(state.wake(), StateWake::Noted, "queued, and now woken, too");
        let data = Arc::new(AtomicBool::new(false));
        let waker = {
            let (state, data) = (state.clone(), data.clone());
            thread::spawn(move || {
                data.store(true, Ordering::Relaxed);
                state.wake()
            })
        };
        way.here();
        assert_eq!(state.start(), Start::Poll);
        let seen = data.load(Ordering::Relaxed);
        let pending = state.pending();
        let woken = waker.join().expect("no panic");
        let again = pending == Pending::Requeue || woken == StateWake::Schedule;
        assert!(seen || again, "seen {seen}, {pending:?}, {woken:?}");
    });
}

/// Two foreign wakes of a cold task make one `Hot`.
#[test]
fn two_wakes_queue_the_task_once() {
    both_ways(|way| {
        let Waiting { queue, join, flag, slot, .. } = Waiting::new();
        flag.store(true, Ordering::Relaxed);
        let waker = slot.lock().take().expect("polled once");
        let other = {
            let waker = waker.clone();
            thread::spawn(move || waker.wake())
        };
        way.here();
        waker.wake();
        other.join().expect("no panic");
        assert_eq!(queue.hot.lock().len(), 1);
        queue.run();
        assert!(join.is_finished());
    });
}

/// The joiner either finds the output or is woken for it.
#[test]
fn a_joiner_is_woken_or_finds_the_output() {
    both_ways(|way| {
        let queue = Queue::new();
        let mut join = queue.spawn(async { 5 });
        let runner = {
            let queue = queue.clone();
            thread::spawn(move || queue.run())
        };
        let (flag, waker) = Flag::new();
        let mut cx = Context::from_waker(&waker);
        way.here();
        let mut polled = Pin::new(&mut join).poll(&mut cx);
        while polled.is_pending() {
            while !flag.is_set() {
                thread::yield_now();
            }
            polled = Pin::new(&mut join).poll(&mut cx);
            assert!(polled.is_ready(), "woken, so the output is there");
        }
        assert!(matches!(polled, Poll::Ready(Ok(5))));
        runner.join().expect("no panic");
    });
}

/// The joiner changes its waker while the task completes: the last waker is woken, or the output found.
#[test]
fn a_joiner_that_changes_its_waker_is_not_forgotten() {
    both_ways(|way| {
        let queue = Queue::new();
        let mut join = queue.spawn(async { 5 });
        assert!(poll_once(&mut join).is_pending());
        let runner = {
            let queue = queue.clone();
            thread::spawn(move || queue.run())
        };
        way.here();
        let (flag, waker) = Flag::new();
        let polled = Pin::new(&mut join).poll(&mut Context::from_waker(&waker));
        runner.join().expect("no panic");
        assert!(polled.is_ready() || flag.is_set());
    });
}

/// The task has read the slot of the join waker and hands it back; the handle, which finds the bit cleared,
/// writes the slot.
#[test]
fn the_slot_comes_back_to_the_handle_after_it_was_read() {
    both_ways(|way| {
        let state = Arc::new(State::new());
        let slot = Plain::new();
        slot.write();
        assert_eq!(state.flip_join_waker(), Poll::Pending);
        let task = {
            let (state, slot) = (state.clone(), slot.clone());
            thread::spawn(move || {
                assert_eq!(state.start(), Start::Poll);
                assert_eq!(state.complete(), Complete::WakeJoiner);
                slot.write();
                assert_eq!(state.joiner_woken(), Some(Released::Nothing));
            })
        };
        way.here();
        if !state.has_join_waker() {
            slot.write();
        }
        task.join().expect("no panic");
    });
}

/// A task completes while its JoinHandle, which has left a waker or has not, is dropped: the output is
/// dropped once, by one of them.
pub(super) fn drop_the_handle_beside_the_end(has_polled: bool) {
    struct Output(Arc<AtomicUsize>);
    impl Drop for Output {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    both_ways(move |way| {
        let queue = Queue::new();
        let drops = Arc::new(AtomicUsize::new(0));
        let output = Output(drops.clone());
        let mut join = queue.spawn(async move { output });
        assert!(!has_polled || poll_once(&mut join).is_pending());
        let runner = {
            let queue = queue.clone();
            thread::spawn(move || queue.run())
        };
        way.here();
        drop(join);
        runner.join().expect("no panic");
        assert_eq!(drops.load(Ordering::Relaxed), 1);
        assert_eq!(queue.completed.load(Ordering::Relaxed), 1);
    });
}

/// The JoinHandle is dropped while the task completes: the output is dropped once, the cell freed once.
#[test]
fn a_dropped_join_handle_leaves_one_owner_of_the_output() {
    drop_the_handle_beside_the_end(true);
}

/// The JoinHandle is dropped while the task wakes its joiner: one of them drops the waker, although a
/// reference is kept.
#[test]
fn a_complete_task_keeps_no_join_waker() {
    both_ways(|way| {
        let queue = Queue::new();
        let mut join = queue.spawn(async { 5 });
        let kept = join.abort_handle();
        let joiner = StdArc::new(Inert);
        let waker = Waker::from(joiner.clone());
        assert!(Pin::new(&mut join).poll(&mut Context::from_waker(&waker)).is_pending());
        drop(waker);
        let runner = {
            let queue = queue.clone();
            thread::spawn(move || queue.run())
        };
        way.here();
        drop(join);
        runner.join().expect("no panic");
        assert_eq!(StdArc::strong_count(&joiner), 1);
        drop(kept);
    });
}

/// An abort at any moment ends the task once: with its output if the poll won, cancelled otherwise.
#[test]
fn an_abort_races_a_wake_and_the_task_ends_once() {
    both_ways(|way| {
        let Waiting { queue, mut join, flag, slot, drops } = Waiting::new();
        let aborter = {
            let abort = join.abort_handle();
            thread::spawn(move || abort.abort())
        };
        way.here();
        flag.store(true, Ordering::Relaxed);
        let waker = slot.lock().take().expect("polled once");
        waker.wake();
        queue.run_to_completion();
        aborter.join().expect("no panic");
        match poll_once(&mut join) {
            Poll::Ready(Ok(7)) => {}
            Poll::Ready(Err(error)) => assert!(error.is_cancelled()),
            _ => panic!("the task has completed"),
        }
        assert_eq!(drops.load(Ordering::Relaxed), 1);
        assert!(queue.hot.lock().is_empty());
    });
}

/// The task of `join` has ended as cancelled, and its future was dropped once.
fn assert_cancelled(mut join: JoinHandle<u32>, drops: &AtomicUsize) {
    assert!(matches!(poll_once(&mut join), Poll::Ready(Err(error)) if error.is_cancelled()));
    assert_eq!(drops.load(Ordering::Relaxed), 1);
}

/// A task that nothing wakes is polled for the first time while another thread does `end`: it is cancelled.
fn is_cancelled_beside_its_poll(end: fn(AbortHandle, &Queue)) {
    both_ways(move |way| {
        let queue = Queue::new();
        let (leaf, _flag, slot, drops) = leaf();
        let join = queue.spawn(leaf);
        let other = {
            let (abort, queue) = (join.abort_handle(), queue.clone());
            thread::spawn(move || end(abort, &queue))
        };
        way.here();
        queue.run();
        other.join().expect("no panic");
        slot.lock().take();
        assert_cancelled(join, &drops);
    });
}

/// An abort is enough to end a task, whether it is queued, polled or cold.
#[test]
fn an_abort_alone_ends_the_task() {
    is_cancelled_beside_its_poll(|abort, queue| {
        abort.abort();
        queue.run();
    });
}

/// A task goes cold for the first time while shutdown closes the registry: it is found there, or aborted on
/// its way in.
#[test]
fn a_task_that_goes_cold_during_the_close_is_aborted() {
    is_cancelled_beside_its_poll(|_, queue| {
        for task in queue.registry.close() {
            task.cancel(queue, None);
        }
    });
}

/// The last waker is dropped while the task completes: the cell is freed once, by one of them.
#[test]
fn the_last_reference_frees_the_cell_once() {
    both_ways(|way| {
        let queue = Queue::new();
        let (leaf, flag, slot, drops) = leaf();
        drop(queue.spawn(leaf));
        queue.run();
        let waker = slot.lock().take().expect("polled once");
        let kept = waker.clone();
        flag.store(true, Ordering::Relaxed);
        waker.wake();
        let dropper = thread::spawn(move || drop(kept));
        way.here();
        queue.run();
        dropper.join().expect("no panic");
        assert_eq!(drops.load(Ordering::Relaxed), 1);
    });
}

/// Shutdown closes the registry while a foreign thread wakes: one of them gets the `Hot`, and the task ends.
#[test]
fn a_closing_registry_and_a_wake_share_one_hot() {
    both_ways(|way| {
        let Waiting { queue, join, slot, drops, .. } = Waiting::new();
        let waker = slot.lock().take().expect("polled once");
        let other = thread::spawn(move || waker.wake());
        way.here();
        let found = queue.registry.close();
        assert!(found.len() <= 1);
        for task in found {
            task.cancel(&*queue, None);
        }
        queue.run_to_completion();
        other.join().expect("no panic");
        assert_cancelled(join, &drops);
    });
}

/// A task that is ready at its first poll, out of its queue.
fn ready_task(queue: &Arc<Queue>) -> (Hot, Arc<AtomicUsize>) {
    let (leaf, flag, _, drops) = leaf();
    flag.store(true, Ordering::Relaxed);
    drop(queue.spawn(leaf));
    let hot = queue.hot.lock().pop_front().expect("just spawned");
    (hot, drops)
}

/// Empties the slot and runs what was in it; says whether something was.
fn take_and_run(slot: &NextSlot<Hot>, queue: &Queue) -> bool {
    let task = slot.take();
    let found = task.is_some();
    task.into_iter().for_each(|task| _ = task.run(queue));
    found
}

/// [`take_and_run`] on a thread of its own.
fn thief(slot: &Arc<NextSlot<Hot>>, queue: &Arc<Queue>) -> thread::JoinHandle<bool> {
    let (slot, queue) = (slot.clone(), queue.clone());
    thread::spawn(move || take_and_run(&slot, &queue))
}

/// The owner and a thief reach into the next slot: one of them gets the task, and sees all of it.
#[test]
fn a_task_in_the_next_slot_is_taken_once() {
    ::loom::model(|| {
        let queue = Queue::new();
        let slot = Arc::new(NextSlot::new());
        let thief = thief(&slot, &queue);
        let (task, drops) = ready_task(&queue);
        assert!(slot.put(task).is_none());
        let mine = take_and_run(&slot, &queue);
        let theirs = thief.join().expect("no panic");
        assert!(mine != theirs);
        assert_eq!(drops.load(Ordering::Relaxed), 1);
    });
}

/// A second task comes into the next slot while a thief empties it: the first one is displaced or stolen.
#[test]
fn a_displaced_task_is_not_lost() {
    ::loom::model(|| {
        let queue = Queue::new();
        let slot = Arc::new(NextSlot::new());
        let thief = thief(&slot, &queue);
        let (first, first_drops) = ready_task(&queue);
        let (second, second_drops) = ready_task(&queue);
        assert!(slot.put(first).is_none());
        if let Some(displaced) = slot.put(second) {
            displaced.run(&*queue);
        }
        take_and_run(&slot, &queue);
        thief.join().expect("no panic");
        let drops = [first_drops, second_drops].map(|drops| drops.load(Ordering::Relaxed));
        assert_eq!(drops, [1, 1]);
    });
}

/// The canary: a race that loom must see. If this passes, the models run on std's types and prove nothing.
#[test]
#[should_panic]
fn the_canary_races() {
    ::loom::model(|| {
        let cell = Plain::new();
        let other = {
            let cell = cell.clone();
            thread::spawn(move || cell.write())
        };
        cell.write();
        other.join().expect("no panic");
    });
}

/// A number that is not atomic: loom reports accesses that nothing orders.
#[derive(Clone)]
pub(crate) struct Plain(Arc<crate::engine::sync_shim::UnsafeCell<u32>>);

// SAFETY: not safe at all: that it is used in order is what a model has to show.
#[allow(unsafe_code)]
unsafe impl Send for Plain {}

impl Plain {
    pub(crate) fn new() -> Self {
        Self(Arc::new(crate::engine::sync_shim::UnsafeCell::new(0)))
    }

    pub(crate) fn write(&self) {
        // SAFETY: none, see above.
        #[allow(unsafe_code)]
        self.0.with_mut(|value| unsafe { *value += 1 });
    }

    pub(crate) fn read(&self) -> u32 {
        // SAFETY: none, see above.
        #[allow(unsafe_code)]
        self.0.with(|value| unsafe { *value })
    }
}
