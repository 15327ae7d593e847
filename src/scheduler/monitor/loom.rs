//! Models of the driver thread: when it may sleep without a limit, and whom it helps.

use super::*;
use crate::scheduler::loom::{last_of, scheduler, up_to, worker};
use crate::scheduler::worker::Worker;
use crate::sync_shim::atomic::AtomicUsize;
use crate::sync_shim::thread;
use crate::task::JoinHandle;
use crate::task::cell::new_send_task;
use std::panic::Location;

/// The calling thread becomes the monitor of `shared`.
fn parker(shared: &Shared) -> Parker {
    let parker = Parker::new();
    let _ = shared.monitor.unparker.set(parker.unparker());
    parker
}

/// All workers are parked, the monitor lies down without a limit, and a worker leaves its park: the monitor
/// sees that, or is woken.
#[test]
fn a_worker_that_leaves_its_park_wakes_the_monitor() {
    ::loom::model(|| {
        let shared = scheduler(1);
        let parker = parker(&shared);
        let idler = worker(&shared, 0);
        // Ordering: Relaxed, no other thread is there yet.
        shared.alive.store(1, Ordering::Relaxed);
        assert!(shared.idle.park(0, false), "nobody searches");
        let other = thread::spawn(move || idler.awake());
        if announce_sleep(&shared, || all_parked(&shared)) {
            parker.park();
        }
        other.join().expect("no panic");
    });
}

/// The runtime ends while the monitor lies down without a limit: the thread ends, too.
#[test]
fn the_end_wakes_the_monitor() {
    ::loom::model(|| {
        let shared = scheduler(0);
        let parker = parker(&shared);
        let other = {
            let shared = shared.clone();
            thread::spawn(move || shared.close())
        };
        while !shared.is_drained() {
            if announce_sleep(&shared, || all_parked(&shared)) {
                parker.park();
            }
        }
        other.join().expect("no panic");
    });
}

/// A worker is stuck in a poll with a task in its next slot and one in its deque, and its peer parks: the
/// monitor's looks, `step` apart, one of which may come too early for the peer to hear of it, bring the peer
/// to both.
fn a_stuck_poll(step: Duration) {
    // The monitor looks again and again, so each preemption more costs ten times as long: two take a second.
    up_to(2, move || {
        let shared = scheduler(2);
        let stuck = worker(&shared, 0);
        let left = Arc::new(AtomicUsize::new(2));
        let joins = [Worker::woken, Worker::spawned].map(|push| {
            let (task, join) = new_send_task(last_of(&shared, &left), &shared, Location::caller());
            push(&stuck, task);
            join
        });
        let peer = {
            let shared = shared.clone();
            thread::spawn(move || worker(&shared, 1).work())
        };
        // Not the system's clock, which would make the looks differ from one execution to the next.
        let mut now = clock::now();
        let mut watch = Watch::new(&shared, Parker::new());
        while !joins.iter().all(JoinHandle::is_finished) {
            now += step;
            watch.rescue_stalled(&shared, now);
            thread::yield_now();
        }
        peer.join().expect("no panic");
    });
}

#[test]
fn tasks_behind_a_stuck_poll_are_taken_by_a_peer() {
    a_stuck_poll(Duration::ZERO);
}

/// As above, after a while: what no idle peer takes is brought to the injector, by the monitor and a peer at
/// once.
#[test]
fn tasks_behind_a_stuck_poll_are_brought_to_a_busy_peer() {
    a_stuck_poll(LONGEST_TICK);
}
