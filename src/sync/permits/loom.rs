//! Models of the permits: none is lost, none comes twice, and no future waits while there are enough.

use super::*;
use crate::engine::sync_shim::{Arc, block_on, thread};
use crate::engine::task::waiting::loom::a_taken_waker_is_not_relied_upon;
use std::pin::pin;
use std::task::Waker;

fn acquire(permits: &Permits, count: usize) -> Result<(), Closed> {
    block_on(permits.acquire(count))
}

/// Polls once and gives up; returns whether it was granted.
fn try_once(permits: &Permits, count: usize) -> bool {
    let acquire = pin!(permits.acquire(count));
    acquire.poll(&mut Context::from_waker(Waker::noop())).is_ready()
}

/// One permit goes round among three.
#[test]
fn a_permit_excludes_and_comes_to_each() {
    ::loom::model(|| {
        let permits = Arc::new(Permits::new(1, Owner::Semaphore));
        let turns = || {
            let permits = permits.clone();
            thread::spawn(move || {
                acquire(&permits, 1).expect("open");
                permits.release(1);
            })
        };
        let other = turns();
        acquire(&permits, 1).expect("open");
        permits.release(1);
        other.join().expect("no panic");
        assert_eq!(permits.available(), 1);
    });
}

#[test]
fn what_is_released_in_parts_is_collected() {
    ::loom::model(|| {
        let permits = Arc::new(Permits::new(0, Owner::Semaphore));
        let wants_two = {
            let permits = permits.clone();
            thread::spawn(move || acquire(&permits, 2).expect("open"))
        };
        permits.release(1);
        permits.release(2);
        wants_two.join().expect("no panic");
        assert_eq!(permits.available(), 1);
    });
}

/// A future that gives up while permits come passes them on to the one behind it.
#[test]
fn a_future_that_gives_up_takes_nothing_with_it() {
    ::loom::model(|| {
        let permits = Arc::new(Permits::new(0, Owner::Semaphore));
        let gives_up = {
            let permits = permits.clone();
            thread::spawn(move || {
                if try_once(&permits, 2) {
                    permits.release(2);
                }
            })
        };
        let waits = {
            let permits = permits.clone();
            thread::spawn(move || acquire(&permits, 1).expect("open"))
        };
        permits.release(1);
        waits.join().expect("no panic");
        gives_up.join().expect("no panic");
        assert_eq!(permits.available(), 0);
        // Not crowded any more.
        permits.release(1);
        assert_eq!(permits.available(), 1);
    });
}

#[test]
fn closing_reaches_each_future_and_gives_back_what_it_had() {
    ::loom::model(|| {
        let permits = Arc::new(Permits::new(1, Owner::Semaphore));
        let waits = {
            let permits = permits.clone();
            thread::spawn(move || acquire(&permits, 2))
        };
        permits.close();
        assert_eq!(waits.join().expect("no panic"), Err(Closed));
        assert_eq!(permits.available(), 1);
        assert!(permits.is_closed());
    });
}

/// A permit that is released while it is being forgotten is one or the other.
#[test]
fn forgetting_races_with_a_release() {
    ::loom::model(|| {
        let permits = Arc::new(Permits::new(1, Owner::Semaphore));
        let releases = {
            let permits = permits.clone();
            thread::spawn(move || permits.release(1))
        };
        let forgotten = permits.forget(2);
        releases.join().expect("no panic");
        assert_eq!(forgotten + permits.available(), 2);
    });
}

/// What was done before the permits were closed is seen by a caller that they are refused to.
#[test]
fn closing_shows_what_was_done_before() {
    ::loom::model(|| {
        let shared = Arc::new((Permits::new(0, Owner::Semaphore), AtomicUsize::new(0)));
        let closes = {
            let shared = shared.clone();
            thread::spawn(move || {
                // Ordering: Relaxed, the closing publishes it.
                shared.1.store(1, Ordering::Relaxed);
                shared.0.close();
            })
        };
        if shared.0.try_acquire(1) == Err(Refusal::Closed) {
            // Ordering: Relaxed: `close` has published it.
            assert_eq!(shared.1.load(Ordering::Relaxed), 1);
        }
        closes.join().expect("no panic");
    });
}

/// As `a_permit_excludes_and_comes_to_each`, where the permit is probably there.
#[test]
fn a_permit_that_is_hoped_for_excludes_and_comes_to_each() {
    ::loom::model(|| {
        let permits = Arc::new(Permits::new(1, Owner::Semaphore));
        let theirs = permits.clone();
        let other = thread::spawn(move || {
            block_on(theirs.acquire_ready(1)).expect("open");
            theirs.release(1);
        });
        block_on(permits.acquire_ready(1)).expect("open");
        assert_eq!(permits.available(), 0, "the other one has none, or has given it back");
        permits.release(1);
        other.join().expect("no panic");
        assert_eq!(permits.available(), 1);
    });
}

/// Polls without a budget: a future that has its permits waits with them.
fn poll_spent<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    let _budget = budget::full();
    let cx = &mut Context::from_waker(Waker::noop());
    while budget::poll_proceed(cx).is_ready() {}
    future.poll(cx)
}

/// A future that waits for its budget with a permit in its hands is told of the close, and gives it back.
#[test]
fn closing_reaches_a_future_that_waits_for_its_budget() {
    ::loom::model(|| {
        let permits = Arc::new(Permits::new(1, Owner::Semaphore));
        let theirs = permits.clone();
        let closes = thread::spawn(move || theirs.close());
        let mut acquire = pin!(permits.acquire_ready(1));
        let first = poll_spent(acquire.as_mut());
        closes.join().expect("no panic");
        let answer = match first {
            Poll::Ready(answer) => answer,
            Poll::Pending => block_on(acquire),
        };
        assert_eq!(answer, Err(Closed));
        assert_eq!(permits.available(), 1);
    });
}

/// A future that gives up while it waits for its budget passes its permit on.
#[test]
fn a_future_that_gives_up_for_lack_of_budget_takes_nothing_with_it() {
    ::loom::model(|| {
        let permits = Arc::new(Permits::new(1, Owner::Semaphore));
        let theirs = permits.clone();
        let waits = thread::spawn(move || acquire(&theirs, 1).expect("open"));
        let gives_up = poll_spent(pin!(permits.acquire_ready(1)));
        assert!(gives_up.is_pending());
        waits.join().expect("no panic");
        assert_eq!(permits.available(), 0);
    });
}

/// A task gives a future of a lock away that it has polled, and the future is dropped.
#[test]
fn a_lock_future_that_is_dropped_takes_the_note_along() {
    a_taken_waker_is_not_relied_upon(
        |_| waits_for_a_lock(),
        |future| {
            // Dropped after the lock, which the model's task may want.
            let dropped = future.lock().take();
            drop(dropped);
        },
    );
}

/// As above, and another task polls the future.
#[test]
fn a_lock_future_that_another_task_polls_takes_the_note_along() {
    a_taken_waker_is_not_relied_upon(
        |_| waits_for_a_lock(),
        |future| {
            let mut future = future.lock();
            let future = future.as_mut().expect("not dropped").as_mut();
            assert!(future.poll(&mut Context::from_waker(Waker::noop())).is_pending());
        },
    );
}

/// A future of the permits of a lock that another thread has locked for good.
async fn waits_for_a_lock() {
    let permits = Permits::new(0, Owner::Mutex);
    assert_eq!(permits.acquire(1).await, Ok(()));
}
