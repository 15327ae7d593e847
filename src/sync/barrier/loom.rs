//! Models of the barrier: each group has one leader, and none of it stays behind.

use super::*;
use crate::engine::sync_shim::atomic::{AtomicUsize, Ordering};
use crate::engine::sync_shim::{Arc, thread};
use crate::runtime::block_on::wait_outside;
use std::pin::pin;
use std::task::Waker;

fn wait(barrier: &Barrier) -> bool {
    wait_outside("a model", barrier.wait()).is_leader()
}

#[test]
fn each_group_has_one_leader_and_goes_on_when_it_is_complete() {
    ::loom::model(|| {
        let shared = Arc::new((Barrier::new(2), AtomicUsize::new(0)));
        let arrive = |shared: &(Barrier, AtomicUsize)| {
            shared.1.fetch_add(1, Ordering::Relaxed);
            wait(&shared.0)
        };
        let other = {
            let shared = shared.clone();
            thread::spawn(move || {
                let both = (arrive(&shared), arrive(&shared));
                (both, shared.1.load(Ordering::Relaxed))
            })
        };
        let mine = (arrive(&shared), arrive(&shared));
        assert_eq!(shared.1.load(Ordering::Relaxed), 4);
        let (theirs, arrived) = other.join().expect("no panic");
        assert_eq!(arrived, 4);
        assert!(mine.0 != theirs.0 && mine.1 != theirs.1);
    });
}

/// One that has arrived and gives up counts; the group is complete all the same.
#[test]
fn a_future_that_gives_up_has_arrived() {
    ::loom::model(|| {
        let barrier = Arc::new(Barrier::new(2));
        let gives_up = {
            let barrier = barrier.clone();
            thread::spawn(move || {
                let mut wait = pin!(barrier.wait());
                let _ = wait.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            })
        };
        wait(&barrier);
        gives_up.join().expect("no panic");
        assert!(barrier.waiting.lock().is_empty());
    });
}

/// A future that arrives while the leader wakes its own group waits for the next group.
#[test]
fn a_future_of_the_next_group_waits_for_that_group() {
    ::loom::model(|| {
        let barrier = Arc::new(Barrier::new(2));
        let cx = &mut Context::from_waker(Waker::noop());
        let (mut first, mut second) = (pin!(barrier.wait()), pin!(barrier.wait()));
        assert!(first.as_mut().poll(cx).is_pending());
        let other = {
            let barrier = barrier.clone();
            thread::spawn(move || wait(&barrier))
        };
        if let Poll::Ready(result) = second.as_mut().poll(cx) {
            assert!(result.is_leader());
            // The other thread and this one are the next group.
            let leads = wait(&barrier);
            assert_eq!(other.join().expect("no panic"), !leads);
        } else {
            assert!(other.join().expect("no panic"));
            assert!(second.as_mut().poll(cx).is_pending(), "its group is not complete");
            assert!(wait(&barrier));
            assert!(second.poll(cx).is_ready());
        }
        assert!(first.poll(cx).is_ready());
    });
}
