//! What only shows when a poll is interrupted: the order of two steps within one poll.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use liten_sim::{Check, Preempt};

#[global_allocator]
static ALLOCATOR: Preempt = Preempt;

/// Reads and writes in two steps, with an allocation between them.
fn add_one(count: &AtomicU32) {
    let seen = count.load(Ordering::SeqCst);
    let text = Box::new(seen + 1);
    count.store(*text, Ordering::SeqCst);
}

fn count_with_two_threads() {
    let count = Arc::new(AtomicU32::new(0));
    let other = {
        let count = Arc::clone(&count);
        thread::spawn(move || add_one(&count))
    };
    add_one(&count);
    other.join().unwrap();
    assert_eq!(count.load(Ordering::SeqCst), 2, "a count is lost");
}

#[test]
#[should_panic(expected = "a count is lost")]
fn a_count_in_two_steps_is_lost() {
    Check::new().seeds(200).run(|sim| sim.client("program", count_with_two_threads));
}
