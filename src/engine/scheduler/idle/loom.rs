//! Models of the idle word, row by row: after each race the bits and the count say what has happened.

use super::*;
use crate::engine::sync_shim::{Arc, both_ways, thread};
use crate::engine::task::loom::Plain;

/// A word with these workers parked.
fn parked(workers: &[usize]) -> Arc<Idle> {
    let idle = Arc::new(Idle::new(2));
    for &worker in workers {
        assert!(idle.announce_park(worker, false), "no worker searches");
    }
    idle
}

fn searching(idle: &Idle) -> u32 {
    // Ordering: Relaxed, as in `parked`.
    Word(idle.first.word.load(Ordering::Relaxed)).searching()
}

/// Two pushers and two parked workers: one is woken, and the other pusher relies on it.
#[test]
fn two_pushers_wake_one_searcher() {
    both_ways(|way| {
        let idle = parked(&[0, 1]);
        let other = {
            let idle = idle.clone();
            thread::spawn(move || idle.pick(0, None, usize::MAX))
        };
        way.here();
        let mine = idle.pick(0, None, usize::MAX);
        let theirs = other.join().expect("no panic");
        assert!(mine.is_some() != theirs.is_some(), "{mine:?} {theirs:?}");
        assert_eq!((idle.parked(), searching(&idle)), (1, 1));
    });
}

/// A worker is claimed while it ends its park by itself: it learns whether it was, and the count agrees.
#[test]
fn a_worker_that_wakes_by_itself_learns_of_a_claim() {
    both_ways(|way| {
        let idle = parked(&[0]);
        let other = {
            let idle = idle.clone();
            thread::spawn(move || idle.claim(0))
        };
        way.here();
        let is_claimed = idle.unpark_self(0);
        let claimed = other.join().expect("no panic");
        assert_eq!(is_claimed, claimed);
        assert_eq!((idle.parked(), searching(&idle)), (0, u32::from(claimed)));
    });
}

/// Two searchers leave the count, one to park and one with work: exactly one of them is told that it was the
/// last, and a third worker may search after both.
#[test]
fn one_of_two_leaving_searchers_is_the_last() {
    both_ways(|way| {
        let idle = parked(&[0, 1]);
        assert_eq!([0, 1].map(|worker| idle.claim(worker)), [true; 2]);
        let other = {
            let idle = idle.clone();
            thread::spawn(move || idle.announce_park(1, true))
        };
        way.here();
        let is_last = idle.stop_search(0);
        assert_ne!(other.join().expect("no panic"), is_last);
        assert_eq!((idle.parked(), searching(&idle)), (1, 0));
        assert!(idle.start_search(0));
    });
}

/// Two workers run dry at once: one of them searches.
#[test]
fn one_of_two_idle_workers_searches() {
    both_ways(|way| {
        let idle = parked(&[]);
        let other = {
            let idle = idle.clone();
            thread::spawn(move || idle.start_search(1))
        };
        way.here();
        assert_ne!(idle.start_search(0), other.join().expect("no panic"));
        assert_eq!(searching(&idle), 1);
    });
}

/// A claim hands over what its caller had pushed, also without the park word: the worker sees it as soon as
/// it finds its bit cleared.
#[test]
fn a_claimed_worker_sees_what_the_claimer_had_pushed() {
    both_ways(|way| {
        let (idle, pushed) = (parked(&[0]), Plain::new());
        let other = {
            let (idle, pushed) = (idle.clone(), pushed.clone());
            thread::spawn(move || {
                pushed.write();
                let _ = idle.claim(0);
            })
        };
        way.here();
        if idle.unpark_self(0) {
            assert_eq!(pushed.read(), 1);
        }
        other.join().expect("no panic");
    });
}
