//! Models of the driver thread: when it may sleep without a limit, and whom it helps.

use super::*;
use crate::driver::timers::TimerEntry;
use crate::scheduler::loom::{last_of, scheduler, up_to, worker};
use crate::scheduler::worker::Worker;
use crate::sync_shim::atomic::AtomicUsize;
use crate::sync_shim::{ProcessFlag, thread};
use crate::task::JoinHandle;
use crate::task::cell::new_send_task;
use std::panic::Location;
use std::sync::atomic::AtomicBool as Told;
use std::task::{Context, Wake};

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

/// Waits for a lull.
struct Waiter(Arc<Told>);

impl Wake for Waiter {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Waits for the clock.
struct Sleeper(Arc<Told>);

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        assert!(self.0.load(Ordering::Relaxed), "the clock has jumped too early");
    }
}

/// Somebody has waited for a lull for too long, and the last one who was awake lies down at that moment: who
/// waited is told before the clock jumps, be it by the monitor or by the holder of the seat.
#[test]
fn the_clock_waits_for_whom_the_monitor_tells_of_no_lull() {
    let model = || {
        let shared = scheduler(1);
        shared.take_census(|| true);
        shared.driver.stop_clock().expect("it goes");
        let told = Arc::new(Told::new(false));
        let sleeper = Waker::from(Arc::new(Sleeper(told.clone())));
        let deadline = shared.driver.clock().now() + Duration::from_secs(1);
        let mut timer = TimerEntry::new(shared.driver.timers().shard(0).clone(), deadline);
        assert!(timer.poll(&mut Context::from_waker(&sleeper)).is_pending());
        let waiter = Waker::from(Arc::new(Waiter(told)));
        let lulls = shared.driver.lulls();
        assert!(lulls.poll(lulls.count(), &Context::from_waker(&waiter)).is_pending());
        shared.comes();
        let holder = thread::spawn({
            let shared = shared.clone();
            move || {
                let mut wakes = Vec::new();
                while shared.driver.clock().now() < deadline {
                    let mut seat = shared.driver.try_seat().expect("nobody else sits");
                    shared.turn(&mut seat, None, &mut wakes);
                    drop(seat);
                    // Not all at once, which would keep the panic of one.
                    wakes.drain(..).for_each(Waker::wake);
                }
            }
        });
        let mut watch = Watch::new(&shared, Parker::new());
        let now = clock::now();
        watch.end_lull(&shared, now);
        watch.end_lull(&shared, now + 2 * PATIENCE);
        holder.join().expect("no panic");
    };
    ProcessFlag::while_set(|| up_to(2, model));
}

/// While the holder of the seat looks at one queue after the other, the monitor moves a task from a channel,
/// which has not been looked at, to the injector, which has: the clock stands.
#[test]
fn the_clock_waits_for_what_the_monitor_brings_out() {
    let model = || {
        let shared = scheduler(1);
        shared.take_census(|| true);
        shared.driver.stop_clock().expect("it goes");
        let deadline = shared.driver.clock().now() + Duration::from_secs(1);
        let mut timer = TimerEntry::new(shared.driver.timers().shard(0).clone(), deadline);
        assert!(timer.poll(&mut Context::from_waker(Waker::noop())).is_pending());
        let task = new_send_task(async {}, &shared, Location::caller()).0;
        assert!(shared.slots.get(0).channel.push(task), "it was empty");
        shared.slots.raise(1);
        shared.comes();
        let monitor = thread::spawn({
            let shared = shared.clone();
            move || bring_out(&shared, shared.slots.get(0))
        });
        let mut wakes = Vec::new();
        let mut seat = shared.driver.try_seat().expect("nobody else sits");
        shared.turn(&mut seat, Some(Duration::ZERO), &mut wakes);
        assert!(wakes.is_empty(), "the clock has jumped too early");
        drop(seat);
        monitor.join().expect("no panic");
        shared.bury(shared.injector.pop().expect("nobody else takes it"));
    };
    ProcessFlag::while_set(|| up_to(2, model));
}
