//! Cancellation tokens: which tasks are told, which are not, and what it costs when a family is large.

use crate::support::guard::{guarded, until, workers};
use crate::support::probe::{Calls, Count, poll_with};
use liten::task::CancellationToken;
use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Poll, Wake, Waker};
use std::thread;

#[test]
fn clones_are_one_token_and_all_waiters_are_woken() {
    guarded(|| {
        let (runtime, token, woken) = (workers(2), CancellationToken::new(), Count::default());
        let tasks: Vec<_> = (0..100)
            .map(|_| {
                let (token, woken) = (token.clone(), woken.clone());
                runtime.spawn(async move {
                    token.cancelled().await;
                    woken.add();
                })
            })
            .collect();
        assert!(!token.is_cancelled());
        assert_eq!(woken.get(), 0);
        token.clone().cancel();
        assert!(token.is_cancelled());
        for task in tasks {
            runtime.block_on(task).unwrap();
        }
        assert_eq!(woken.get(), 100);
        runtime.block_on(token.cancelled());
        runtime.block_on(token.clone().cancelled_owned());
        token.cancel();
    });
}

#[test]
fn children_are_cancelled_with_their_parent_and_not_the_other_way() {
    let parent = CancellationToken::new();
    let [first, second] = [parent.child_token(), parent.child_token()];
    let grandchild = first.child_token();
    first.cancel();
    assert!(first.is_cancelled() && grandchild.is_cancelled());
    assert!(!parent.is_cancelled() && !second.is_cancelled());
    assert!(first.child_token().is_cancelled(), "made too late");
    parent.cancel();
    assert!(second.is_cancelled());
    assert_eq!(parent, parent.clone());
    assert_ne!(parent, second);
}

#[test]
fn a_token_that_is_gone_still_stands_between_parent_and_child() {
    let root = CancellationToken::new();
    let (parent, other) = (root.child_token(), root.child_token());
    let child = parent.child_token();
    let grandchild = child.child_token();
    drop((parent, child));
    assert!(!grandchild.is_cancelled(), "to be dropped is not to be cancelled");
    root.cancel();
    assert!(grandchild.is_cancelled() && other.is_cancelled());

    let root = CancellationToken::new();
    let orphans = [root.child_token(), root.child_token()];
    drop(root);
    orphans[0].cancel();
    assert!(!orphans[1].is_cancelled());
}

#[test]
fn ten_thousand_children_are_cancelled_at_once() {
    guarded(|| {
        let (runtime, root, ended) = (workers(2), CancellationToken::new(), Count::default());
        let mut kept = Vec::new();
        for number in 0..10_000 {
            let child = root.child_token();
            if number % 2 == 0 {
                kept.push(child.clone());
            }
            let ended = ended.clone();
            drop(runtime.spawn(async move {
                child.cancelled().await;
                ended.add();
            }));
        }
        // Some leave before, from the middle.
        kept.drain(1_000..2_000);
        root.cancel();
        runtime.block_until_completion();
        assert_eq!(ended.get(), 10_000);
        assert!(kept.iter().all(CancellationToken::is_cancelled));
    });
}

/// As a loop makes one that gives each round a child of the last one's.
#[test]
fn a_chain_of_a_million_is_cancelled_and_dropped_without_recursion() {
    guarded(|| {
        let root = CancellationToken::new();
        let mut last = root.child_token();
        for _ in 0..1_000_000 {
            last = last.child_token();
        }
        root.cancel();
        assert!(last.is_cancelled());
        // Here all of them are alive.
        let mut chain = vec![CancellationToken::new()];
        for parent in 0..100_000 {
            chain.push(chain[parent].child_token());
        }
        chain[0].cancel();
        assert!(chain.iter().all(CancellationToken::is_cancelled));
    });
}

struct Bad;

impl Wake for Bad {
    fn wake(self: Arc<Self>) {
        panic!("a waker that panics");
    }
}

#[test]
fn a_waker_that_panics_costs_no_other_future_its_wake() {
    let token = CancellationToken::new();
    let bad = Waker::from(Arc::new(Bad));
    let wakers: Vec<_> = (0..3).map(|_| Calls::new()).collect();
    let child = token.child_token();
    let mut waits = [token.cancelled(), child.cancelled(), token.cancelled()].map(Box::pin);
    let mut bad_waits = [token.cancelled(), child.cancelled()].map(Box::pin);
    for (wait, (_, waker)) in waits.iter_mut().zip(&wakers) {
        assert_eq!(poll_with(wait, waker), Poll::Pending);
        for wait in &mut bad_waits {
            assert_eq!(poll_with(wait, &bad), Poll::Pending);
        }
    }
    token.cancel();
    assert!(wakers.iter().all(|(calls, _)| calls.get() == 1));
    for wait in waits.iter_mut().chain(&mut bad_waits) {
        assert_eq!(poll_with(wait, Waker::noop()), Poll::Ready(()));
    }
}

/// A waker that uses the token it is woken by.
struct Curious(CancellationToken);

impl Wake for Curious {
    fn wake(self: Arc<Self>) {
        self.0.cancel();
        assert!(self.0.child_token().is_cancelled());
        let mut wait = pin!(self.0.cancelled());
        assert_eq!(poll_with(&mut wait, Waker::noop()), Poll::Ready(()));
    }
}

#[test]
fn a_waker_may_use_the_token() {
    guarded(|| {
        let token = CancellationToken::new();
        let waker = Waker::from(Arc::new(Curious(token.clone())));
        let mut wait = pin!(token.cancelled());
        assert_eq!(poll_with(&mut wait, &waker), Poll::Pending);
        token.cancel();
        assert_eq!(poll_with(&mut wait, Waker::noop()), Poll::Ready(()));
    });
}

#[test]
fn only_the_last_waiter_is_woken_and_a_wait_that_was_given_up_is_not() {
    let token = CancellationToken::new();
    let ((old, old_waker), (new, new_waker)) = (Calls::new(), Calls::new());
    let mut wait = pin!(token.cancelled());
    let mut given_up = Box::pin(token.clone().cancelled_owned());
    assert_eq!(poll_with(&mut wait, &old_waker), Poll::Pending);
    assert_eq!(poll_with(&mut given_up, &old_waker), Poll::Pending);
    assert_eq!(poll_with(&mut wait, &new_waker), Poll::Pending);
    drop(given_up);
    assert_eq!(Arc::strong_count(&old), 2, "one here, one in the waker here");
    token.cancel();
    assert_eq!((old.get(), new.get()), (0, 1));
}

#[test]
fn the_guard_cancels_unless_it_is_disarmed() {
    let token = CancellationToken::new();
    let same = token.clone().drop_guard().disarm();
    assert!(!same.is_cancelled());
    drop(same.drop_guard());
    assert!(token.is_cancelled());
}

#[test]
fn running_until_cancelled_prefers_the_result_and_drops_the_future() {
    guarded(|| {
        let (runtime, token) = (workers(1), CancellationToken::new());
        assert_eq!(runtime.block_on(token.run_until_cancelled(async { 1 })), Some(1));
        // It cancels and is done in the same poll.
        let both = async {
            token.cancel();
            2
        };
        assert_eq!(runtime.block_on(token.run_until_cancelled(both)), Some(2));
        let never = async { panic!("cancelled before the first poll") };
        assert_eq!(runtime.block_on(token.run_until_cancelled(never)), None::<()>);

        let token = CancellationToken::new();
        let (dropped, theirs) = (Count::default(), token.clone());
        let guard = crate::support::probe::OnDrop(dropped.clone());
        let task = runtime.spawn(theirs.run_until_cancelled_owned(async move {
            let _guard = guard;
            pending::<()>().await
        }));
        until(|| runtime.metrics().num_cold_tasks() == 1);
        token.cancel();
        assert_eq!(runtime.block_on(task).unwrap(), None);
        assert_eq!(dropped.get(), 1);
    });
}

/// Children are made, dropped and cancelled on several threads while the root is cancelled: each child that
/// is left is cancelled in the end, and each wait ends.
#[test]
fn no_token_is_missed_when_all_happens_at_once() {
    guarded(|| {
        for _ in 0..50 {
            let root = CancellationToken::new();
            thread::scope(|scope| {
                for _ in 0..3 {
                    let root = root.clone();
                    scope.spawn(move || {
                        let mut kept = Vec::new();
                        while !root.is_cancelled() {
                            let child = root.child_token();
                            kept.push(child.child_token());
                            if kept.len() % 3 == 0 {
                                child.cancel();
                            }
                            let (_, waker) = Calls::new();
                            let _ = poll_with(&mut pin!(child.cancelled()), &waker);
                        }
                        assert!(kept.iter().all(CancellationToken::is_cancelled));
                    });
                }
                let waits = scope.spawn(|| liten::block_on(root.cancelled()));
                thread::yield_now();
                root.cancel();
                waits.join().unwrap();
            });
        }
    });
}
