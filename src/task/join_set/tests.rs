use super::JoinSet;
use crate::block_on;
use crate::runtime::{Builder, Handle};
use crate::task::yield_now;
use std::future::{pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// Counts the futures that hold it.
struct Alive(Arc<AtomicUsize>);

impl Alive {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count.clone())
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A task that never finishes.
async fn idle(alive: Alive) -> u32 {
    pending::<()>().await;
    drop(alive);
    0
}

/// Lets other tasks run until `done` says so; gives up after a time that no correct run needs.
async fn until(done: impl Fn() -> bool) {
    let begin = Instant::now();
    while !done() {
        assert!(begin.elapsed() < Duration::from_secs(30), "it never happened");
        yield_now().await;
    }
}

#[test]
fn tasks_that_end_before_the_first_join_come_in_the_order_of_their_ends() {
    block_on(async {
        let (first_may_end, gate) = crate::sync::oneshot::channel::<()>();
        let mut set = JoinSet::new();
        set.spawn(async move {
            gate.await.expect("it is opened");
            'a'
        });
        let second = set.spawn(async { 'b' });
        until(|| second.is_finished()).await;
        let third = set.spawn(async { 'c' });
        until(|| third.is_finished()).await;
        first_may_end.send(()).expect("it is waited for");
        assert_eq!((set.len(), set.join_all().await), (3, vec!['b', 'c', 'a']));
    });
}

/// Returns the output of the next task. Calls `change` when there is none yet, and does not poll the set
/// again before it is woken.
async fn next_after<T: 'static>(set: &mut JoinSet<T>, change: impl FnOnce(&mut JoinSet<T>)) -> T {
    let mut change = Some(change);
    let next = poll_fn(|cx| {
        let next = set.poll_join_next(cx);
        if next.is_pending() {
            change.take().into_iter().for_each(|change| change(set));
        }
        next
    });
    next.await.expect("there are two").expect("no panic")
}

/// An insertion polls the set with the waker that waits for it.
#[test]
fn a_task_that_is_inserted_takes_no_waker_away() {
    block_on(async {
        let (may_end, gate) = crate::sync::oneshot::channel::<()>();
        let mut set = JoinSet::new();
        set.spawn(async move { gate.await.is_ok() });
        let first = next_after(&mut set, |set| {
            set.spawn(pending());
            may_end.send(()).expect("it is waited for");
        });
        assert!(first.await);
    });
}

#[test]
fn the_insertion_of_a_task_that_has_ended_wakes_what_waits() {
    block_on(async {
        let ended = crate::spawn(async { true });
        until(|| ended.is_finished()).await;
        let mut set = JoinSet::new();
        set.spawn(pending());
        let first = next_after(&mut set, |set| {
            set.insert(ended);
        });
        assert!(first.await);
    });
}

#[test]
fn every_task_is_joined_once() {
    block_on(async {
        let mut set: JoinSet<u32> = (0..100).map(|n| async move { n }).collect();
        set.extend([async { 100 }]);
        assert_eq!(set.len(), 101);
        let mut seen = Vec::new();
        while let Some(result) = set.join_next().await {
            seen.push(result.expect("no panic"));
        }
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..=100));
        assert!(set.is_empty());
        assert!(set.join_next().await.is_none());
    });
}

#[test]
fn an_emptied_set_can_be_filled_again() {
    block_on(async {
        let mut set = JoinSet::new();
        for round in 0..3 {
            assert!(set.join_next().await.is_none());
            set.spawn(async move { round });
            assert_eq!(set.join_next().await.expect("one task").expect("no panic"), round);
        }
    });
}

#[test]
fn results_come_in_the_order_of_finishing() {
    block_on(async {
        let (send, recv) = std::sync::mpsc::channel::<()>();
        let mut set = JoinSet::new();
        set.spawn_blocking(move || {
            recv.recv().expect("a message");
            "late"
        });
        set.spawn(async { "early" });
        assert_eq!(set.join_next().await.expect("two").expect("no panic"), "early");
        send.send(()).expect("the job waits");
        assert_eq!(set.join_next().await.expect("one").expect("no panic"), "late");
    });
}

#[test]
fn handles_and_ids_lead_to_the_task() {
    block_on(async {
        let handle = Handle::current();
        let mut set = JoinSet::new();
        let first = set.spawn_on(async { 1 }, &handle);
        let (id, output) = set.join_next_with_id().await.expect("one").expect("no panic");
        assert_eq!((id, output), (first.id(), 1));

        let second = set.spawn_blocking_on(|| -> i32 { panic!("on purpose") }, &handle);
        let error = set.join_next_with_id().await.expect("one").expect_err("it panics");
        assert!(error.is_panic());
        assert_eq!(error.id(), second.id());
    });
}

#[test]
fn polling_and_trying_say_which_task_it_was() {
    block_on(async {
        let mut set = JoinSet::new();
        let first = set.spawn(async { 1 });
        let next = poll_fn(|cx| set.poll_join_next_with_id(cx)).await;
        assert_eq!(next.expect("one").expect("no panic"), (first.id(), 1));
        assert!(set.try_join_next_with_id().is_none());
        let second = set.spawn(async { 2 });
        until(|| second.is_finished()).await;
        // It may be finished and its waker not yet called.
        let next = loop {
            match set.try_join_next_with_id() {
                Some(next) => break next,
                None => yield_now().await,
            }
        };
        assert_eq!(next.expect("no panic"), (second.id(), 2));
        set.spawn(pending::<i32>()).abort();
        let next = poll_fn(|cx| set.poll_join_next_with_id(cx)).await;
        assert!(next.expect("one").expect_err("aborted").is_cancelled());
    });
}

#[test]
fn a_panicking_and_an_aborted_task_are_results_like_others() {
    block_on(async {
        let mut set = JoinSet::new();
        set.spawn(async { panic!("on purpose") });
        assert!(set.join_next().await.expect("one").expect_err("it panics").is_panic());
        set.spawn(pending::<()>()).abort();
        assert!(set.join_next().await.expect("one").expect_err("aborted").is_cancelled());
        assert!(set.is_empty());
    });
}

#[test]
fn try_join_next_finds_what_has_finished() {
    block_on(async {
        let count = Arc::new(AtomicUsize::new(0));
        let mut set = JoinSet::new();
        assert!(set.try_join_next().is_none());
        set.spawn(idle(Alive::new(&count)));
        assert!(set.try_join_next().is_none());
        for n in 0..200 {
            set.spawn(async move { n });
        }
        let mut sum = 0;
        let begin = Instant::now();
        while set.len() > 1 {
            assert!(begin.elapsed() < Duration::from_secs(30), "a finished task is not found");
            match set.try_join_next() {
                Some(result) => sum += result.expect("no panic"),
                None => yield_now().await,
            }
        }
        assert_eq!(sum, 199 * 200 / 2);
        // The dummy waker of try_join_next must not stay in the way of a real one.
        set.abort_all();
        assert!(set.join_next().await.expect("one").expect_err("aborted").is_cancelled());
    });
}

/// As those of tokio's set do.
#[test]
fn aborted_tasks_end_in_the_order_of_their_spawns() {
    struct Ends(u32, Arc<Mutex<Vec<u32>>>);

    impl Drop for Ends {
        fn drop(&mut self) {
            self.1.lock().expect("no panic").push(self.0);
        }
    }

    let runtime = Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let ended = Arc::new(Mutex::new(Vec::new()));
        let mut set = JoinSet::new();
        for number in 0..3 {
            let ends = Ends(number, ended.clone());
            set.spawn(async move {
                let _ends = ends;
                pending::<()>().await;
            });
        }
        yield_now().await;
        set.shutdown().await;
        assert_eq!(*ended.lock().expect("no panic"), [0, 1, 2]);
    });
}

#[test]
fn a_task_can_take_more_results_at_once_than_its_budget() {
    block_on(async {
        let task = crate::task::spawn(async {
            let mut set: JoinSet<u32> = (0..300).map(|n| async move { n }).collect();
            let mut joined = 0;
            while set.join_next().await.is_some() {
                joined += 1;
            }
            joined
        });
        assert_eq!(task.await.expect("no panic"), 300);
    });
}

#[test]
fn a_dropped_join_next_loses_nothing() {
    block_on(async {
        let (send, recv) = std::sync::mpsc::channel::<()>();
        let mut set = JoinSet::new();
        set.spawn_blocking(move || {
            recv.recv().expect("a message");
            7
        });
        {
            let mut next = std::pin::pin!(set.join_next());
            assert!(next.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        }
        assert_eq!(set.len(), 1);
        send.send(()).expect("the job waits");
        let next = poll_fn(|cx| set.poll_join_next(cx)).await;
        assert_eq!(next.expect("one").expect("no panic"), 7);
    });
}

#[test]
fn join_all_returns_every_output() {
    block_on(async {
        let set: JoinSet<u32> = (0..50).map(|n| async move { n }).collect();
        let mut outputs = set.join_all().await;
        outputs.sort_unstable();
        assert!(outputs.into_iter().eq(0..50));
    });
}

#[test]
fn join_all_passes_a_panic_on_and_aborts_the_rest() {
    let count = Arc::new(AtomicUsize::new(0));
    let alive = Alive::new(&count);
    block_on(async {
        let mut set = JoinSet::new();
        set.spawn(idle(alive));
        set.spawn(async { panic!("on purpose") });
        let mut all = Box::pin(set.join_all());
        let payload =
            poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| all.as_mut().poll(cx))) {
                Ok(poll) => poll.map(|_| None),
                Err(payload) => Poll::Ready(Some(payload)),
            })
            .await
            .expect("the panic goes on");
        assert_eq!(payload.downcast_ref::<&str>(), Some(&"on purpose"));
        drop(all);
        until(|| count.load(Ordering::SeqCst) == 0).await;
    });
}

#[test]
fn dropping_the_set_aborts_and_detaching_does_not() {
    let count = Arc::new(AtomicUsize::new(0));
    let (first, second) = (Alive::new(&count), Alive::new(&count));
    block_on(async {
        let mut set = JoinSet::new();
        let detached = set.spawn(idle(first));
        set.detach_all();
        assert!(set.is_empty());
        set.spawn(idle(second));
        drop(set);
        until(|| count.load(Ordering::SeqCst) == 1).await;
        assert!(!detached.is_finished());
        detached.abort();
        until(|| count.load(Ordering::SeqCst) == 0).await;
    });
}

#[test]
fn shutdown_waits_until_every_task_is_gone() {
    let count = Arc::new(AtomicUsize::new(0));
    let tasks: Vec<_> = (0..20).map(|_| idle(Alive::new(&count))).collect();
    block_on(async {
        let mut set: JoinSet<u32> = tasks.into_iter().collect();
        set.spawn(async { 5 });
        set.shutdown().await;
        assert!(set.is_empty());
        assert_eq!(count.load(Ordering::SeqCst), 0);
        set.shutdown().await;
    });
}

#[test]
fn the_set_is_send_sync_and_says_its_length() {
    fn check<T: Send + Sync>(_: &T) {}
    let set = JoinSet::<u32>::default();
    check(&set);
    assert!(format!("{set:?}").contains("len: 0"));
}
