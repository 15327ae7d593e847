//! Task trackers: a wait ends when the tracker is closed and nothing is left, and not before.

use crate::support::guard::{guarded, until, workers};
use crate::support::probe::{Bell, Calls, Count, OnDrop, poll_with};
use liten::runtime::LocalRuntime;
use liten::task::{TaskTracker, TaskTrackerWaitFuture};
use std::future::pending;
use std::pin::{Pin, pin};
use std::sync::{Arc, LazyLock, Mutex};
use std::task::{Poll, Wake, Waker};
use std::thread;

#[test]
fn a_wait_ends_when_the_last_task_is_gone_and_it_is_closed() {
    guarded(|| {
        let (runtime, tracker, bell) = (workers(2), TaskTracker::new(), Bell::default());
        let (ended, entered) = (Count::default(), runtime.enter());
        for number in 0..100 {
            let (bell, ended) = (bell.clone(), OnDrop(ended.clone()));
            if number % 2 == 0 {
                drop(tracker.spawn(async move {
                    let _ended = ended;
                    bell.wait().await;
                }));
            } else {
                drop(tracker.spawn_on(
                    async move {
                        let _ended = ended;
                        bell.wait().await;
                    },
                    runtime.handle(),
                ));
            }
        }
        let blocking = tracker.spawn_blocking(|| 7);
        let other = tracker.spawn_blocking_on(|| 8, runtime.handle());
        assert_eq!(runtime.block_on(blocking).unwrap() + runtime.block_on(other).unwrap(), 15);
        until(|| tracker.len() == 100);
        let (calls, waker) = Calls::new();
        let mut wait = pin!(tracker.wait());
        assert_eq!(poll_with(&mut wait, &waker), Poll::Pending);
        assert!(tracker.close() && !tracker.close() && tracker.is_closed());
        assert_eq!(poll_with(&mut wait, &waker), Poll::Pending);
        bell.ring();
        runtime.block_on(tracker.wait());
        assert_eq!(ended.get(), 100, "each future was dropped before it was not counted any more");
        assert!(tracker.is_empty());
        until(|| calls.get() == 1);
        assert_eq!(poll_with(&mut wait, &waker), Poll::Ready(()));
        drop(entered);
    });
}

#[test]
fn an_open_tracker_is_waited_for_even_if_it_is_empty() {
    let tracker = TaskTracker::new();
    let (calls, waker) = Calls::new();
    let mut wait = pin!(tracker.wait());
    assert_eq!(poll_with(&mut wait, &waker), Poll::Pending);
    drop(tracker.token());
    assert_eq!((calls.get(), poll_with(&mut wait, &waker)), (0, Poll::Pending));
    tracker.close();
    assert_eq!((calls.get(), poll_with(&mut wait, &waker)), (1, Poll::Ready(())));
}

#[test]
fn tokens_count_and_a_closed_tracker_takes_more() {
    let tracker = TaskTracker::default();
    tracker.close();
    let token = tracker.token();
    let second = token.clone();
    assert_eq!((tracker.len(), second.task_tracker().len()), (2, 2));
    drop(token);
    let (_, waker) = Calls::new();
    let mut wait = pin!(tracker.wait());
    assert_eq!(poll_with(&mut wait, &waker), Poll::Pending);
    drop(second);
    assert_eq!(poll_with(&mut wait, &waker), Poll::Ready(()));
}

/// It was closed and empty, and is neither any more.
#[test]
fn a_moment_in_between_is_enough() {
    let tracker = TaskTracker::new();
    let (_, waker) = Calls::new();
    let mut before = pin!(tracker.wait());
    assert_eq!(poll_with(&mut before, &waker), Poll::Pending);
    tracker.close();
    let mut within = pin!(tracker.wait());
    assert!(tracker.reopen() && !tracker.reopen());
    let mut after = pin!(tracker.wait());
    let _token = tracker.token();
    assert_eq!(poll_with(&mut before, &waker), Poll::Ready(()));
    assert_eq!(poll_with(&mut within, &waker), Poll::Ready(()));
    assert_eq!(poll_with(&mut after, &waker), Poll::Pending);
}

/// A waker has to be `'static`, and so is what it waits for.
static TRACKER: LazyLock<TaskTracker> = LazyLock::new(TaskTracker::new);

/// Opens the tracker again when it is called, and begins to wait for the next end.
struct WaitsAgain {
    wait: Mutex<Option<Pin<Box<TaskTrackerWaitFuture<'static>>>>>,
    next: Waker,
}

impl Wake for WaitsAgain {
    fn wake(self: Arc<Self>) {
        TRACKER.reopen();
        let mut wait = Box::pin(TRACKER.wait());
        assert_eq!(poll_with(&mut wait, &self.next), Poll::Pending);
        *self.wait.lock().unwrap() = Some(wait);
    }
}

/// More waits than are woken in one round; the first of them waits for the next end while the others are
/// woken for this one.
#[test]
fn a_wait_that_begins_while_others_are_woken_waits_for_the_next_end() {
    let (next, waker) = Calls::new();
    let again = Arc::new(WaitsAgain { wait: Mutex::new(None), next: waker });
    let (calls, waker) = Calls::new();
    let mut first = pin!(TRACKER.wait());
    assert_eq!(poll_with(&mut first, &again.clone().into()), Poll::Pending);
    let mut others: Vec<_> = (0..100).map(|_| Box::pin(TRACKER.wait())).collect();
    assert!(others.iter_mut().all(|wait| poll_with(wait, &waker).is_pending()));
    TRACKER.close();
    assert_eq!((calls.get(), next.get()), (100, 0));
    assert!(others.iter_mut().all(|wait| poll_with(wait, &waker).is_ready()));
    TRACKER.close();
    assert_eq!((calls.get(), next.get()), (100, 1));
    let mut second = again.wait.lock().unwrap().take().unwrap();
    assert_eq!(poll_with(&mut second, Waker::noop()), Poll::Ready(()));
}

/// Panics, aborts, and the end of a runtime: a task that is gone is not counted, however it went.
#[test]
fn however_a_task_ends_it_is_counted_out() {
    guarded(|| {
        let (runtime, tracker) = (workers(2), TaskTracker::new());
        tracker.close();
        let entered = runtime.enter();
        let panics = tracker.spawn(async { panic!("on purpose") });
        let job = tracker.spawn_blocking(|| panic!("on purpose"));
        let aborted = tracker.spawn(pending::<()>());
        aborted.abort();
        runtime.block_on(tracker.wait());
        assert!(runtime.block_on(panics).is_err() && runtime.block_on(job).is_err());
        drop(tracker.spawn(pending::<()>()));
        let tracked = tracker.track_future(pending::<()>());
        assert_eq!(tracker.len(), 2);
        drop(entered);
        drop(runtime);
        assert_eq!(tracker.len(), 1);
        drop(tracked);
        liten::block_on(tracker.wait());
    });
}

#[test]
fn local_tasks_are_counted() {
    guarded(|| {
        let (runtime, tracker) = (LocalRuntime::new().unwrap(), TaskTracker::new());
        runtime.block_on(async {
            let local = std::rc::Rc::new(1);
            tracker.spawn_local(async move { *local });
            tracker.close();
            assert_eq!(tracker.len(), 1);
            tracker.wait().await;
        });
    });
}

#[test]
fn many_threads_count_and_one_waits() {
    guarded(|| {
        for _ in 0..100 {
            let tracker = TaskTracker::new();
            thread::scope(|scope| {
                for _ in 0..3 {
                    let token = tracker.token();
                    scope.spawn(move || (0..50).for_each(|_| drop(token.clone())));
                }
                tracker.close();
                liten::block_on(tracker.wait());
                assert!(tracker.is_empty());
            });
        }
    });
}
