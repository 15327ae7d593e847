//! Models of the cell: its value is made once and seen whole, and a task that gives up hands its turn on.

use super::*;
use crate::engine::sync_shim::atomic::{AtomicUsize, Ordering};
use crate::engine::sync_shim::{Arc, block_on, both_ways, thread};
use std::future::pending;
use std::pin::pin;
use std::sync::atomic::AtomicUsize as Count;
use std::task::{Context, Poll, Waker};

/// A value that was changed by the task that made it. A reader that does not see the change has not been
/// synchronised with that task.
struct Made {
    by: AtomicUsize,
    drops: Arc<Count>,
}

impl Drop for Made {
    fn drop(&mut self) {
        // Ordering: SeqCst, a count of the test.
        self.drops.fetch_add(1, Ordering::SeqCst);
    }
}

impl Made {
    fn new(by: usize, drops: &Arc<Count>) -> Self {
        let made = Self { by: AtomicUsize::new(0), drops: drops.clone() };
        // Ordering: Relaxed, the cell publishes it.
        made.by.store(by, Ordering::Relaxed);
        made
    }

    fn by(&self) -> usize {
        // Ordering: Relaxed, the cell has published what `new` stored.
        self.by.load(Ordering::Relaxed)
    }
}

/// A cell, and a count that loom does not follow.
fn cell() -> (Arc<OnceCell<Made>>, Arc<Count>) {
    (Arc::new(OnceCell::new()), Arc::default())
}

#[test]
fn a_value_that_two_tasks_want_is_made_once_and_seen_by_both() {
    ::loom::model(|| {
        let (cell, drops) = cell();
        let makes = |by: usize| {
            let (cell, drops) = (cell.clone(), drops.clone());
            move || block_on(cell.get_or_init(|| async { Made::new(by, &drops) })).by()
        };
        let other = thread::spawn(makes(1));
        let mine = makes(2)();
        assert_eq!(other.join().expect("no panic"), mine);
        assert!(mine > 0);
        // Ordering: SeqCst, a count of the test.
        assert_eq!(drops.load(Ordering::SeqCst), 0, "a second value was made");
        drop(cell);
        assert_eq!(drops.load(Ordering::SeqCst), 1);
    });
}

/// A task that only looks finds nothing, or the whole value.
#[test]
fn a_value_that_is_found_is_whole() {
    both_ways(|way| {
        let (cell, drops) = cell();
        let sets = {
            let cell = cell.clone();
            thread::spawn(move || assert!(cell.set(Made::new(1, &drops)).is_ok()))
        };
        way.here();
        assert!(cell.get().is_none_or(|made| made.by() == 1));
        sets.join().expect("no panic");
        assert_eq!(cell.get().map(Made::by), Some(1));
    });
}

/// The first of two tasks begins to make the value, and gives up: at its first wait, or by an error.
#[test]
fn a_task_that_gives_up_hands_its_turn_on() {
    for fails in [false, true] {
        ::loom::model(move || {
            let (cell, drops) = cell();
            let gives_up = {
                let cell = cell.clone();
                thread::spawn(move || {
                    let makes = pin!(cell.get_or_try_init(|| async {
                        if !fails {
                            pending::<()>().await;
                        }
                        Err(())
                    }));
                    match makes.poll(&mut Context::from_waker(Waker::noop())) {
                        Poll::Ready(result) => result.is_err_and(|()| fails),
                        Poll::Pending => true,
                    }
                })
            };
            let made = block_on(cell.get_or_init(|| async { Made::new(2, &drops) }));
            assert_eq!(made.by(), 2);
            // It may also have come so late that it found the value.
            let _ = gives_up.join().expect("no panic");
            assert_eq!(cell.set(Made::new(3, &drops)).map_err(|_| ()), Err(()));
        });
    }
}

/// The turn goes to a task that gives up at the same time, and on to the one behind it.
#[test]
fn a_turn_is_handed_past_a_task_that_gives_up_too() {
    ::loom::model(|| {
        let (cell, drops) = cell();
        let cx = &mut Context::from_waker(Waker::noop());
        let never = || {
            let cell = cell.clone();
            Box::pin(async move { cell.get_or_init(pending).await.by() })
        };
        let (mut makes, mut waits) = (never(), never());
        assert!(makes.as_mut().poll(cx).is_pending());
        assert!(waits.as_mut().poll(cx).is_pending());
        let mut last = pin!(cell.get_or_init(|| async { Made::new(3, &drops) }));
        assert!(last.as_mut().poll(cx).is_pending());
        let gives_up = thread::spawn(move || drop(waits));
        drop(makes);
        gives_up.join().expect("no panic");
        let Poll::Ready(made) = last.poll(cx) else { panic!("the turn was lost") };
        assert_eq!(made.by(), 3);
    });
}

/// One of the two values stays, and the other one comes back or is never made.
#[test]
fn a_value_is_set_or_made() {
    ::loom::model(|| {
        let (cell, drops) = cell();
        let sets = {
            let (cell, drops) = (cell.clone(), drops.clone());
            thread::spawn(move || cell.set(Made::new(1, &drops)).is_ok())
        };
        let made = block_on(cell.get_or_init(|| async { Made::new(2, &drops) })).by();
        let set = sets.join().expect("no panic");
        assert_eq!(made, if set { 1 } else { 2 });
        // Ordering: SeqCst, a count of the test.
        assert_eq!(drops.load(Ordering::SeqCst), usize::from(!set));
    });
}
