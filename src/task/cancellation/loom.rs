//! Models of the tokens: no wait misses a cancel, and a cancel reaches everything below.

use super::*;
use crate::engine::sync_shim::{both_ways, thread};
use crate::engine::task::loom::Plain;
use crate::engine::wakers::tests::Flag;
use std::task::Waker;

fn is_ready(wait: Pin<&mut impl Future>, waker: &Waker) -> bool {
    wait.poll(&mut Context::from_waker(waker)).is_ready()
}

/// A wait begins beside the cancel: it is ready at once, or its waker is called.
#[test]
fn a_wait_that_begins_beside_the_cancel_ends() {
    both_ways(|way| {
        let (token, told) = (CancellationToken::new(), Plain::new());
        let cancels = {
            let (token, told) = (token.clone(), told.clone());
            thread::spawn(move || {
                told.write();
                token.cancel();
            })
        };
        way.here();
        let (flag, waker) = Flag::new();
        let mut wait = pin!(token.cancelled());
        let was_ready = is_ready(wait.as_mut(), &waker);
        if was_ready {
            assert_eq!(told.read(), 1);
        }
        cancels.join().expect("no panic");
        assert!(was_ready || flag.is_set());
        assert!(is_ready(wait, &waker));
        assert!(token.inner.latch.is_deserted());
    });
}

/// Of two waits one is given up beside the cancel: the other one's waker is called, and none stays behind.
#[test]
fn a_wait_that_is_given_up_beside_the_cancel_leaves_the_other_one() {
    both_ways(|way| {
        let token = CancellationToken::new();
        let (flag, waker) = Flag::new();
        let mut given_up = Box::pin(token.clone().cancelled_owned());
        let mut kept = pin!(token.cancelled());
        assert!(!is_ready(given_up.as_mut(), Waker::noop()));
        assert!(!is_ready(kept.as_mut(), &waker));
        let gives_up = thread::spawn(move || drop(given_up));
        way.here();
        token.cancel();
        assert!(flag.is_set());
        gives_up.join().expect("no panic");
        assert!(token.inner.latch.is_deserted());
    });
}

/// A child is made beside the cancel of its parent: it is cancelled, and no later than the parent.
#[test]
fn a_child_that_is_made_beside_the_cancel_is_cancelled() {
    both_ways(|way| {
        let parent = CancellationToken::new();
        let child = parent.child_token();
        let cancels = {
            let parent = parent.clone();
            thread::spawn(move || parent.cancel())
        };
        way.here();
        let late = parent.child_token();
        if parent.is_cancelled() {
            assert!(child.is_cancelled() && late.is_cancelled());
        }
        cancels.join().expect("no panic");
        assert!(child.is_cancelled() && late.is_cancelled());
    });
}
