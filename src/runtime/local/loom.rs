//! Models of the local executor: what foreign threads may do to it, which is to wake and to spawn.

use super::*;
use crate::engine::park::Parker;
use crate::engine::park::loom::waker_of;
use crate::engine::sync_shim::atomic::AtomicUsize;
use crate::engine::sync_shim::both_ways;
use crate::engine::wakers::loom::Awaited;
use crate::engine::wakers::tests::Flag;
use std::pin::Pin;
use std::task::Waker;

/// Sleeps for ever if nothing wakes the future: loom reports that as a deadlock.
fn sleep_until<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let parker = Parker::new();
    let waker = waker_of(&parker);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => parker.park(),
        }
    }
}

/// A foreign thread wakes a local task while the executor runs dry and its thread goes to sleep: the task is
/// run.
#[test]
fn a_foreign_wake_is_not_left_to_an_executor_that_sleeps() {
    ::loom::model(|| {
        let executor = LocalExecutor::new();
        let awaited = Awaited::new();
        let join = executor.spawn(awaited.wait());
        let other = awaited.wake_beside();
        assert!(sleep_until(executor.run(join)).is_ok());
        other.join().expect("no panic");
    });
}

/// A foreign thread spawns while the executor runs dry and its thread goes to sleep: the task is run.
#[test]
fn a_foreign_spawn_is_not_left_to_an_executor_that_sleeps() {
    ::loom::model(|| {
        let executor = LocalExecutor::new();
        let awaited = Awaited::new();
        let other = {
            let (shared, awaited) = (executor.shared().clone(), awaited.clone());
            thread::spawn(move || {
                drop(shared.spawn_send(async move { awaited.wake() }, Location::caller()));
            })
        };
        sleep_until(executor.run(awaited.wait()));
        other.join().expect("no panic");
    });
}

/// A foreign thread spawns while the executor is dropped: the executor drops the task, or the spawner cancels
/// it; it is complete in both cases.
#[test]
fn a_foreign_spawn_beside_the_drop_is_cancelled() {
    both_ways(|way| {
        let executor = LocalExecutor::new();
        let other = {
            let shared = executor.shared().clone();
            thread::spawn(move || {
                shared.spawn_send(std::future::pending::<()>(), Location::caller())
            })
        };
        way.here();
        drop(executor);
        let mut join = other.join().expect("no panic");
        let polled = Pin::new(&mut join).poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(polled, Poll::Ready(Err(error)) if error.is_cancelled()));
    });
}

/// A foreign thread is in the middle of a wake while the executor is dropped: the drop waits for it, and does
/// not return before the future, which may borrow, is gone.
#[test]
fn the_drop_waits_for_a_foreign_wake() {
    both_ways(|way| {
        struct Borrowed(Arc<AtomicUsize>);
        impl Drop for Borrowed {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        let executor = LocalExecutor::new();
        let drops = Arc::new(AtomicUsize::new(0));
        let awaited = Awaited::new();
        let (borrowed, watched) = (Borrowed(drops.clone()), awaited.wait());
        let join = executor.spawn(async move {
            watched.await;
            drop(borrowed);
        });
        {
            let visit = pin!(Visit::new(executor.home()));
            executor.turn(visit.into_ref(), &Context::from_waker(Waker::noop()), || false);
        }
        let other = awaited.wake_beside();
        way.here();
        drop(executor);
        assert_eq!(drops.load(Ordering::Relaxed), 1);
        assert!(join.is_finished());
        other.join().expect("no panic");
    });
}

/// The root is woken while the poll of the executor moves to another task: the root is polled by it, or that
/// task is woken.
#[test]
fn a_wake_of_the_root_reaches_the_task_that_polls_it_next() {
    both_ways(|way| {
        let executor = LocalExecutor::new();
        let awaited = Awaited::new();
        let mut run = pin!(executor.run(awaited.wait()));
        assert!(run.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        let other = awaited.wake_beside();
        way.here();
        let (next, waker) = Flag::new();
        let polled = run.as_mut().poll(&mut Context::from_waker(&waker));
        other.join().expect("no panic");
        assert!(polled.is_ready() || next.is_set());
    });
}

/// A task is woken by another thread while its neighbour is woken by the executor's own: both are run, and
/// the two never touch the same half of the queue at once.
#[test]
fn own_and_foreign_wakes_at_once_are_all_answered() {
    ::loom::model(|| {
        let executor = LocalExecutor::new();
        let awaited = Awaited::new();
        let foreign = executor.spawn(awaited.wait());
        let rung = Awaited::new();
        let own = executor.spawn(rung.wait());
        let ringer = executor.spawn(async move { rung.wake() });
        let other = awaited.wake_beside();
        let all = async { foreign.await.is_ok() && own.await.is_ok() && ringer.await.is_ok() };
        assert!(sleep_until(executor.run(all)));
        other.join().expect("no panic");
    });
}

/// The poll of one visit wakes a task and ends before a turn: the visit that is idle is woken for it.
#[test]
fn what_a_visit_leaves_behind_is_run_by_an_idle_one() {
    ::loom::model(|| {
        let executor = LocalExecutor::new();
        let awaited = Awaited::new();
        let join = executor.spawn(awaited.wait());
        let (idle, waker) = Flag::new();
        let mut first = pin!(executor.run(std::future::pending::<()>()));
        assert!(first.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        sleep_until(executor.run(async { awaited.wake() }));
        assert!(idle.is_set());
        assert!(first.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        assert!(join.is_finished());
    });
}

/// As before, by a call that is ready and kept: it ends with the poll that makes it ready.
#[test]
fn what_a_visit_that_is_kept_leaves_behind_is_run_by_an_idle_one() {
    ::loom::model(|| {
        let executor = LocalExecutor::new();
        let (idle, waker) = Flag::new();
        let mut first = pin!(executor.run(std::future::pending::<()>()));
        assert!(first.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        let mut kept = pin!(executor.run(async { executor.spawn(async {}) }));
        let Poll::Ready(join) = kept.as_mut().poll(&mut Context::from_waker(Waker::noop())) else {
            panic!("nothing is waited for");
        };
        assert!(idle.is_set());
        assert!(first.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        assert!(join.is_finished());
    });
}

/// A task has yielded when the visit that has run it ends: the visit that is idle is woken for it, and then
/// asks for its own next poll as long as the task yields.
#[test]
fn a_task_that_yields_is_not_left_to_a_visit_that_is_dropped() {
    ::loom::model(|| {
        const POLLS: usize = 5;
        let executor = LocalExecutor::new();
        let (idle, waker) = Flag::new();
        let mut first = pin!(executor.run(std::future::pending::<()>()));
        assert!(first.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        let mut polls = 0;
        let mut task = Some(poll_fn(move |cx| {
            polls += 1;
            cx.waker().wake_by_ref();
            if polls < POLLS { Poll::Pending } else { Poll::Ready(()) }
        }));
        let mut join = None;
        let mut second = Box::pin(executor.run(poll_fn(|_| {
            join = join.take().or_else(|| Some(executor.spawn(task.take().expect("once"))));
            Poll::<()>::Pending
        })));
        assert!(second.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        drop(second);
        while idle.take() {
            assert!(first.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        }
        assert!(join.expect("spawned").is_finished());
    });
}

/// A task is spawned, and one is woken, on the executor's own thread while nothing polls it: whatever waits
/// to poll it is woken both times.
#[test]
fn a_push_between_two_polls_wakes_the_idle() {
    ::loom::model(|| {
        let executor = LocalExecutor::new();
        let awaited = Awaited::new();
        let (idle, waker) = Flag::new();
        let mut cx = Context::from_waker(&waker);
        let mut run = pin!(executor.run(std::future::pending::<()>()));
        assert!(run.as_mut().poll(&mut cx).is_pending());
        let join = executor.spawn(awaited.wait());
        assert!(idle.take());
        assert!(run.as_mut().poll(&mut cx).is_pending());
        let waker = awaited.set();
        // SAFETY: the executor lives on this thread, and the result is dropped before it.
        let home = unsafe { executor.shared.queue.at_home() };
        waker.into_iter().for_each(Waker::wake);
        drop(home);
        assert!(idle.take());
        assert!(run.as_mut().poll(&mut cx).is_pending());
        assert!(join.is_finished());
    });
}
