//! Models of the watchdog: when it may sleep without a limit, and what it helps.

use super::decision::SPARE_AFTER;
use super::*;
use crate::engine::driver::timers::TimerEntry;
use crate::engine::queue::wake_channel::Pushed;
use crate::engine::scheduler::enqueue::Pusher;
use crate::engine::scheduler::here::BlockedInPlace;
use crate::engine::scheduler::loom::{last_of, scheduler, up_to, worker};
use crate::engine::scheduler::worker::Worker;
use crate::engine::sync_shim::atomic::AtomicUsize;
use crate::engine::sync_shim::{ProcessFlag, thread};
use crate::engine::task::JoinHandle;
use crate::engine::task::cell::new_send_task;
use crate::engine::task::header::Runner;
use std::future::{Future, poll_fn};
use std::panic::Location;
use std::pin::pin;
use std::sync::atomic::AtomicBool as Told;
use std::task::{Context, Poll, Wake};

/// The calling thread becomes the watchdog of `shared`.
fn parker(shared: &Shared) -> Parker {
    let parker = Parker::new();
    shared.watchdog.set_unparker(parker.unparker());
    shared.watchdog.end_sleep();
    parker
}

/// All workers are parked, the watchdog lies down without a limit, and a worker leaves its park: the watchdog
/// sees that, or is woken.
#[test]
fn a_worker_that_leaves_its_park_wakes_the_watchdog() {
    ::loom::model(|| {
        let shared = scheduler(1);
        let parker = parker(&shared);
        let idler = worker(&shared, 0);
        shared.size.count_in();
        assert!(shared.idle.announce_park(0, false), "no worker searches");
        let other = thread::spawn(move || idler.end_park());
        if announce_sleep(&shared, || all_will_wake_us(&shared)) {
            parker.park();
        }
        other.join().expect("no panic");
    });
}

/// A worker is started while the watchdog lies down without a limit, and runs a task before it has ever
/// parked: the watchdog sees that, or is woken.
#[test]
fn a_worker_with_its_first_task_wakes_the_watchdog() {
    ::loom::model(|| {
        let shared = scheduler(1);
        let parker = parker(&shared);
        let starting = worker(&shared, 0);
        let surplus = shared.clone();
        let ends = async move { surplus.size.set_staying(0) };
        let (task, _join) = new_send_task(ends, &shared, Location::caller());
        starting.spawned(task);
        let starter = {
            let shared = shared.clone();
            thread::spawn(move || {
                shared.size.count_in();
                starting.work();
            })
        };
        if announce_sleep(&shared, || all_will_wake_us(&shared)) {
            parker.park();
        }
        starter.join().expect("no panic");
    });
}

/// The runtime ends while the watchdog lies down without a limit: the thread ends, too.
#[test]
fn the_end_wakes_the_watchdog() {
    ::loom::model(|| {
        let shared = scheduler(0);
        let parker = parker(&shared);
        let other = {
            let shared = shared.clone();
            thread::spawn(move || shared.close())
        };
        while !shared.shutdown.is_drained() {
            if announce_sleep(&shared, || all_will_wake_us(&shared)) {
                parker.park();
            } else {
                thread::yield_now();
            }
        }
        other.join().expect("no panic");
    });
}

/// A worker blocks in place and is back while the watchdog lies down without a limit, and its peer is
/// parked: the watchdog sees that, or is woken.
#[test]
fn a_worker_that_is_back_wakes_the_watchdog() {
    ::loom::model(|| {
        let shared = scheduler(2);
        let parker = parker(&shared);
        let [walker, _idler] = [0, 1].map(|index| worker(&shared, index));
        (0..2).for_each(|_| shared.size.count_in());
        assert!(shared.idle.announce_park(1, false), "no worker searches");
        let other = thread::spawn(move || drop(BlockedInPlace::begin(&walker)));
        if announce_sleep(&shared, || all_will_wake_us(&shared)) {
            parker.park();
        }
        other.join().expect("no panic");
    });
}

/// One task each in the next slot, the deque and the channel of a worker that is stuck.
struct Stuck {
    shared: Arc<Shared>,
    /// How many tasks are left.
    left: Arc<AtomicUsize>,
    joins: Vec<JoinHandle<()>>,
    /// Takes no step, as a worker in a poll does not.
    _worker: Worker,
}

impl Stuck {
    fn new() -> Self {
        let shared = scheduler(2);
        let stuck = worker(&shared, 0);
        let left = Arc::new(AtomicUsize::new(3));
        let to_channel = |stuck: &Worker, task| {
            let channel = &stuck.shared().slots.get(0).channel;
            assert_eq!(channel.push(task), Pushed::First, "it was empty");
        };
        let joins = [Worker::woken, Worker::spawned, to_channel].map(|push| {
            let (task, join) = new_send_task(last_of(&shared, &left), &shared, Location::caller());
            push(&stuck, task);
            join
        });
        Self { shared: shared.clone(), left, joins: joins.into(), _worker: stuck }
    }

    /// The other worker, in a thread of its own.
    fn beside(&self, f: impl FnOnce(&Worker) + Send + 'static) -> thread::JoinHandle<()> {
        let shared = self.shared.clone();
        thread::spawn(move || f(&worker(&shared, 1)))
    }

    /// The watchdog looks, `step` after the last time, until all tasks have been run.
    fn look_after(&self, step: Duration) {
        // Not the system's clock, which would make the looks differ from one execution to the next.
        let mut now = clock::now();
        let mut thread = WatchdogThread::new(&self.shared, Parker::new());
        while !self.joins.iter().all(JoinHandle::is_finished) {
            now += step;
            let _ = thread.look(&self.shared, now);
            thread::yield_now();
        }
    }
}

/// A worker is stuck in a poll, and its peer parks: the watchdog's looks, the first of which come too early
/// for the peer to hear of it, bring the peer to all that is queued behind the poll.
#[test]
fn tasks_behind_a_stuck_poll_are_taken_by_a_peer() {
    // The watchdog looks again and again, so each preemption more costs ten times as long.
    up_to(2, || {
        let stuck = Stuck::new();
        let peer = stuck.beside(|peer| peer.work());
        stuck.look_after(Duration::ZERO);
        peer.join().expect("no panic");
    });
}

/// As above, but the peer has work of its own, so that no worker is idle: it takes what is queued behind the
/// poll in between.
#[test]
fn tasks_behind_a_stuck_poll_are_taken_by_a_peer_that_moves() {
    up_to(2, || {
        let stuck = Stuck::new();
        let left = stuck.left.clone();
        let peer = stuck.beside(move |peer| {
            // Ready again and again, until the others have ended.
            let burner = poll_fn(move |cx| {
                if left.load(Ordering::Relaxed) == 0 {
                    return Poll::Ready(());
                }
                cx.waker().wake_by_ref();
                thread::yield_now();
                Poll::Pending
            });
            peer.spawned(new_send_task(burner, peer.shared(), Location::caller()).0);
            peer.work();
        });
        stuck.look_after(SPARE_AFTER);
        peer.join().expect("no panic");
    });
}

/// Waits for a quiescent point.
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

/// A future has waited for a quiescent point for too long, and the last thread that was awake goes to sleep
/// at that moment. The future is told before the clock jumps, either by the watchdog or by the holder of the
/// seat.
#[test]
fn the_clock_waits_for_tasks_that_the_watchdog_tells_of_no_quiescent_point() {
    let model = || {
        let shared = scheduler(1);
        shared.count_threads(|| true);
        shared.driver.stop_clock().expect("it goes");
        let told = Arc::new(Told::new(false));
        let sleeper = Waker::from(Arc::new(Sleeper(told.clone())));
        let deadline = shared.driver.clock().now() + Duration::from_secs(1);
        let mut timer = TimerEntry::new(shared.driver.timers().shard(0).clone(), deadline);
        assert!(timer.poll(&mut Context::from_waker(&sleeper)).is_pending());
        let waiter = Waker::from(Arc::new(Waiter(told)));
        let quiescent_points = shared.driver.quiescent_points();
        let mut waiting = pin!(quiescent_points.wait(quiescent_points.count()));
        assert!(waiting.as_mut().poll(&mut Context::from_waker(&waiter)).is_pending());
        shared.add_awake();
        let holder = thread::spawn({
            let shared = shared.clone();
            move || {
                let mut wakes = Vec::new();
                while shared.driver.clock().now() < deadline {
                    let mut seat = shared.driver.try_seat().expect("the seat is free");
                    shared.turn(&mut seat, None, &mut wakes);
                    drop(seat);
                    // Not all at once, which would keep the panic of one.
                    wakes.drain(..).for_each(Waker::wake);
                }
            }
        });
        let mut thread = WatchdogThread::new(&shared, Parker::new());
        let now = clock::now();
        thread.end_quiescent_point_wait(&shared, now);
        thread.end_quiescent_point_wait(&shared, now + 2 * LONGEST_WAIT);
        holder.join().expect("no panic");
    };
    ProcessFlag::while_set(|| up_to(2, model));
}

/// The brake is released while a worker that it kept from tasks that have yielded pushes such a task, and
/// parks: the worker runs the task.
#[test]
fn a_task_that_has_yielded_runs_when_the_brake_is_released() {
    up_to(3, || {
        let shared = scheduler(1);
        let mut thread = WatchdogThread::new(&shared, Parker::new());
        thread.allow(&shared, 0);
        let braked = {
            let shared = shared.clone();
            thread::spawn(move || {
                let worker = worker(&shared, 0);
                let left = Arc::new(AtomicUsize::new(1));
                let mut last = Box::pin(last_of(&shared, &left));
                let mut yielded = false;
                let task = poll_fn(move |cx| {
                    if yielded {
                        return last.as_mut().poll(cx);
                    }
                    yielded = true;
                    cx.waker().wake_by_ref();
                    Poll::Pending
                });
                worker.spawned(new_send_task(task, &shared, Location::caller()).0);
                worker.work();
            })
        };
        thread.allow(&shared, brake::ALL);
        braked.join().expect("no panic");
    });
}

/// A worker hears of the brake when a task yields to it, without a fair turn between, which may be many long
/// polls away. It gives up the tasks that are queued at it, too.
#[test]
fn a_worker_hears_of_the_brake_when_a_task_yields_to_it() {
    ::loom::model(|| {
        let shared = scheduler(1);
        let mut thread = WatchdogThread::new(&shared, Parker::new());
        let worker = worker(&shared, 0);
        let left = Arc::new(AtomicUsize::new(4));
        let yields = || {
            let task = new_send_task(last_of(&shared, &left), &shared, Location::caller()).0;
            worker.yielded(task);
        };
        let queued_here = || shared.slots.get(0).has_yielded();
        yields();
        yields();
        assert!(queued_here());
        thread.allow(&shared, 0);
        yields();
        assert!(!queued_here() && !shared.queues.yielded.is_empty());
        thread.allow(&shared, brake::ALL);
        yields();
        assert!(queued_here());
        worker.work();
    });
}

/// Another thread wakes a long task while the brake keeps all workers from it, and the watchdog falls asleep:
/// the watchdog sees the task, or is woken.
#[test]
fn a_long_task_from_outside_reaches_a_watchdog_that_brakes() {
    up_to(3, || {
        let shared = scheduler(1);
        let mut thread = WatchdogThread::new(&shared, parker(&shared));
        thread.allow(&shared, 0);
        let left = Arc::new(AtomicUsize::new(1));
        let task = new_send_task(last_of(&shared, &left), &shared, Location::caller()).0;
        task.set_home(task.home().after_poll(0, true).after_poll(0, true));
        let other = {
            let shared = shared.clone();
            thread::spawn(move || shared.enqueue(Pusher::Waker, task))
        };
        let brakes = thread.brakes();
        let sleeps = announce_sleep(&shared, || may_rest(&shared, brakes));
        other.join().expect("no panic");
        assert!(!sleeps || !shared.watchdog.is_asleep());
        shared.cancel(shared.queues.yielded.pop().expect("it is long"));
    });
}

/// The last worker that is awake leaves a task to the brake, and parks: the watchdog goes on looking.
#[test]
fn the_watchdog_stays_awake_beside_a_task_that_the_brake_keeps_back() {
    up_to(3, || {
        let shared = scheduler(1);
        let mut thread = WatchdogThread::new(&shared, parker(&shared));
        thread.allow(&shared, 0);
        let worker = worker(&shared, 0);
        shared.size.count_in();
        let left = Arc::new(AtomicUsize::new(1));
        let task = new_send_task(last_of(&shared, &left), &shared, Location::caller()).0;
        let other = {
            let shared = shared.clone();
            thread::spawn(move || {
                worker.yielded(task);
                assert!(shared.idle.announce_park(0, false), "no worker searches");
                worker
            })
        };
        let brakes = thread.brakes();
        let sleeps = announce_sleep(&shared, || may_rest(&shared, brakes));
        let worker = other.join().expect("no panic");
        assert!(!sleeps);
        thread.allow(&shared, brake::ALL);
        worker.end_park();
        worker.work();
    });
}
