//! Models of the production worker, from its look at the queues to its sleep in the driver's seat.

use super::{Shared, Worker};
use crate::engine::park::Parker;
use crate::engine::scheduler::enqueue::{DriverThread, OBSERVED};
use crate::engine::scheduler::loom::{bounded, close, go_home, last_of, scheduler, up_to, worker};
use crate::engine::scheduler::probe::TaskEvent;
use crate::engine::scheduler::slots::Stall;
use crate::engine::sync_shim::atomic::{AtomicUsize, Ordering};
use crate::engine::sync_shim::{Arc, both_ways, thread};
use crate::engine::task::cell::new_send_task;
use crate::engine::task::header::{Hot, Runner};
use crate::engine::task::home::Home;
use crate::engine::task::{JoinHandle, RunningTask, TaskId};
use crate::engine::wakers::loom::Awaited;
use std::future::Future;
use std::panic::Location;

fn left(tasks: usize) -> Arc<AtomicUsize> {
    Arc::new(AtomicUsize::new(tasks))
}

/// A task that `worker` has polled once, and that waits for what is returned, and then ends with `end`.
fn run_once(
    worker: &Worker,
    end: impl Future<Output = ()> + Send + 'static,
) -> (Awaited, JoinHandle<()>) {
    run_once_and(worker, end, |_| ())
}

/// As [`run_once`]; calls `polled_once` with the task after its poll.
fn run_once_and(
    worker: &Worker,
    end: impl Future<Output = ()> + Send + 'static,
    polled_once: impl FnOnce(&Hot),
) -> (Awaited, JoinHandle<()>) {
    let awaited = Awaited::new();
    let wait = awaited.wait();
    let future = async move {
        wait.await;
        end.await;
    };
    let (task, join) = new_send_task(future, worker.shared(), Location::caller());
    task.run_and(worker, polled_once);
    (awaited, join)
}

/// A task is spawned from outside while the only worker goes to sleep in the driver's seat: it is run.
#[test]
fn an_injected_task_reaches_a_worker_in_the_seat() {
    bounded(|way| {
        let shared = scheduler(1);
        let left = left(1);
        let other = {
            let (shared, left) = (shared.clone(), left.clone());
            thread::spawn(move || drop(shared.spawn(last_of(&shared, &left), Location::caller())))
        };
        way.here();
        worker(&shared, 0).work();
        other.join().expect("no panic");
        assert_eq!((left.load(Ordering::Relaxed), shared.alive_tasks()), (0, 0));
    });
}

/// A cold task is woken from outside while its home worker goes to sleep on its own, because the seat is
/// taken: it comes through the wake channel, and is run.
#[test]
fn a_woken_task_reaches_its_home_worker() {
    bounded(|way| {
        let shared = scheduler(1);
        let worker = worker(&shared, 0);
        let seat = shared.driver.try_seat().expect("the seat is free");
        let (awaited, join) = run_once(&worker, last_of(&shared, &left(1)));
        let other = awaited.wake_beside();
        way.here();
        worker.work();
        other.join().expect("no panic");
        assert!(join.is_finished());
        drop(seat);
    });
}

/// A task whose polls are long is woken from outside while the only worker goes to sleep: it is sent to no
/// home, and is run.
#[test]
fn a_long_task_that_is_woken_outside_is_run() {
    bounded(|way| {
        let shared = scheduler(1);
        let worker = worker(&shared, 0);
        let (awaited, join) = run_once_and(&worker, last_of(&shared, &left(1)), |task| {
            let after_long_poll = |home: Home, _| home.after_poll(0, true);
            task.set_home((0..2).fold(task.home(), after_long_poll));
            assert!(task.home().is_long());
        });
        let other = awaited.wake_beside();
        way.here();
        worker.work();
        other.join().expect("no panic");
        assert!(join.is_finished());
    });
}

/// The driver thread sends what one round of the poller made ready as one chain, while its worker goes to
/// sleep: all of it is run.
#[test]
fn a_chain_of_the_driver_thread_reaches_a_worker_that_parks() {
    bounded(|way| {
        let shared = scheduler(1);
        let worker = worker(&shared, 0);
        let left = left(2);
        let joins = [(); 2].map(|()| {
            let (awaited, join) = run_once(&worker, last_of(&shared, &left));
            awaited.wake();
            join
        });
        // The wakers of that round would give them to the driver thread like this.
        let hot: Vec<_> = shared.slots.get(0).channel.take_all().collect();
        let other = {
            let shared = shared.clone();
            thread::spawn(move || {
                let dispatcher = DriverThread::new(shared);
                hot.into_iter().for_each(|task| dispatcher.woken(task));
                dispatcher.flush();
            })
        };
        way.here();
        worker.work();
        other.join().expect("no panic");
        assert!(joins.iter().all(JoinHandle::is_finished));
    });
}

/// Two tasks that lie in the channel of `worker`: their ids and handles.
fn sent_to(worker: &Worker) -> ([TaskId; 2], [JoinHandle<()>; 2]) {
    let joins = [(); 2].map(|()| {
        let (awaited, join) = run_once(worker, async {});
        awaited.wake();
        join
    });
    (joins.each_ref().map(JoinHandle::id), joins)
}

/// Runs tasks from what `first` finds on, until one of `last` has run: as if that did not end before the
/// others of them run.
fn run_until(worker: &Worker, last: [TaskId; 2], first: impl FnOnce(&Worker) -> Option<Hot>) {
    let mut task = first(worker);
    loop {
        if let Some(task) = task {
            let task_id = task.identity().id();
            worker.run(task);
            if last.contains(&task_id) {
                return;
            }
        }
        task = worker.next_task().or_else(|| worker.search()).or_else(|| worker.park());
    }
}

/// A worker that goes to sleep finds two tasks in its channel, while its peer searches in vain and goes to
/// sleep. Each of them takes one task.
#[test]
fn what_a_last_look_finds_is_shared_with_a_peer() {
    bounded(|way| {
        let shared = scheduler(2);
        let seat = shared.driver.try_seat().expect("the seat is free");
        let owner = worker(&shared, 0);
        let (last, joins) = sent_to(&owner);
        let peer = {
            let shared = shared.clone();
            thread::spawn(move || run_until(&worker(&shared, 1), last, Worker::search))
        };
        way.here();
        run_until(&owner, last, Worker::park);
        peer.join().expect("no panic");
        assert!(joins.iter().all(JoinHandle::is_finished));
        drop(seat);
    });
}

/// A worker brings two tasks in, while its peer steals the two that were there before, runs them, and goes to
/// sleep. Each of the workers takes one of the tasks that were brought in, although no more are queued than
/// before.
#[test]
fn what_is_brought_in_is_shared_although_thieves_take_as_much() {
    up_to(2, || {
        let shared = scheduler(2);
        let seat = shared.driver.try_seat().expect("the seat is free");
        // So that the worker may keep tasks to itself.
        shared.watchdog.set_unparker(Parker::new().unparker());
        let owner = worker(&shared, 0);
        for _ in 0..2 {
            owner.spawned(new_send_task(async {}, &shared, Location::caller()).0);
        }
        let (last, joins) = sent_to(&owner);
        let peer = {
            let shared = shared.clone();
            thread::spawn(move || run_until(&worker(&shared, 1), last, Worker::search))
        };
        run_until(&owner, last, |owner| {
            owner.bring_in_shared();
            None
        });
        peer.join().expect("no panic");
        assert!(joins.iter().all(JoinHandle::is_finished));
        owner.leave();
        drop(seat);
    });
}

/// A worker pushes to its own deque, without a fence, while its peer goes to sleep: whether the peer hears
/// of it or not, each task is run once.
#[test]
fn a_push_to_the_own_deque_beside_a_parking_peer_is_run_once() {
    bounded(|way| {
        let shared = scheduler(2);
        let peer = {
            let shared = shared.clone();
            thread::spawn(move || worker(&shared, 1).work())
        };
        way.here();
        let (owner, left) = (worker(&shared, 0), left(2));
        let polls = Arc::new(AtomicUsize::new(0));
        for _ in 0..2 {
            let (polls, end) = (polls.clone(), last_of(&shared, &left));
            let future = async move {
                polls.fetch_add(1, Ordering::Relaxed);
                end.await;
            };
            owner.spawned(new_send_task(future, &shared, Location::caller()).0);
        }
        owner.work();
        peer.join().expect("no panic");
        assert_eq!(polls.load(Ordering::Relaxed), 2);
    });
}

/// A task wakes two others together and then does not come back, while the only other worker is parked: that
/// one runs both.
#[test]
fn tasks_that_are_woken_together_do_not_wait_for_their_waker() {
    bounded(|way| {
        let shared = scheduler(2);
        let seat = shared.driver.try_seat().expect("the seat is free");
        let peer = worker(&shared, 1);
        assert!(shared.idle.announce_park(1, false), "no worker searches");
        let other = {
            let shared = shared.clone();
            thread::spawn(move || {
                let (stuck, left) = (worker(&shared, 0), left(2));
                stuck.wake_together(|| {
                    for _ in 0..2 {
                        let end = last_of(&shared, &left);
                        stuck.woken(new_send_task(end, &shared, Location::caller()).0);
                    }
                });
                left
            })
        };
        way.here();
        peer.parker().park();
        peer.end_park();
        peer.work();
        let left = other.join().expect("no panic");
        assert_eq!((left.load(Ordering::Relaxed), shared.alive_tasks()), (0, 0));
        drop(seat);
    });
}

/// A task is woken whose home worker is stuck in a poll, while the only other worker runs dry: that one
/// takes it out of the channel, although it is not the one that the channel belongs to.
#[test]
fn a_channel_behind_a_stuck_worker_is_emptied_by_a_peer() {
    bounded(|way| {
        let shared = scheduler(2);
        let stuck = worker(&shared, 0);
        let (awaited, join) = run_once(&stuck, last_of(&shared, &left(1)));
        let peer = {
            let shared = shared.clone();
            thread::spawn(move || worker(&shared, 1).work())
        };
        way.here();
        awaited.wake();
        peer.join().expect("no panic");
        assert!(join.is_finished());
    });
}

/// A thread that waits for the last task looks at the counts while the worker that ran it goes to sleep: it
/// sees that the task has ended, or is told, and finds the JoinHandle finished.
#[test]
fn a_worker_that_parks_ends_the_wait_for_the_last_task() {
    bounded(|way| {
        let shared = scheduler(1);
        let join = shared.spawn(async {}, Location::caller());
        let other = {
            let shared = shared.clone();
            thread::spawn(move || worker(&shared, 0).work())
        };
        way.here();
        shared.wait_until_quiet(&crate::engine::park::Parker::new());
        assert_eq!(shared.alive_tasks(), 0);
        assert!(join.is_finished());
        go_home(&shared);
        other.join().expect("no panic");
    });
}

/// A scheduler with one regular worker, and places for `helpers` helpers.
fn with_helpers(helpers: usize) -> Arc<Shared> {
    let shared = scheduler(1 + helpers);
    shared.size.set_regular(1);
    shared.size.set_staying(1 + helpers);
    shared
}

/// A helper leaves a task that has yielded to the workers, while the only one goes to sleep: it is run.
#[test]
fn what_a_helper_leaves_to_the_workers_is_taken() {
    bounded(|way| {
        let shared = with_helpers(1);
        let helper = {
            let shared = shared.clone();
            thread::spawn(move || {
                let end = last_of(&shared, &left(1));
                let (task, join) = new_send_task(end, &shared, Location::caller());
                worker(&shared, 1).yielded(task);
                join
            })
        };
        way.here();
        worker(&shared, 0).work();
        assert!(helper.join().expect("no panic").is_finished());
    });
}

/// As above, while the only regular worker is parked and a second helper searches, in vain, so that the push
/// wakes no worker: the searcher does.
#[test]
fn what_is_left_to_the_workers_beside_a_searching_helper_is_taken() {
    up_to(2, || {
        let shared = with_helpers(2);
        let seat = shared.driver.try_seat().expect("the seat is free");
        let regular = worker(&shared, 0);
        assert!(shared.idle.announce_park(0, false), "no worker searches");
        let searcher = {
            let shared = shared.clone();
            thread::spawn(move || worker(&shared, 1).work())
        };
        let helper = {
            let shared = shared.clone();
            thread::spawn(move || {
                let theirs = shared.clone();
                let end = async move {
                    theirs.size.set_regular(0);
                    (0..2).for_each(|worker| theirs.unpark(worker));
                };
                let (task, join) = new_send_task(end, &shared, Location::caller());
                worker(&shared, 2).yielded(task);
                join
            })
        };
        regular.parker().park();
        regular.end_park();
        regular.work();
        assert!(helper.join().expect("no panic").is_finished());
        searcher.join().expect("no panic");
        drop(seat);
    });
}

/// A worker takes what is queued at one that is stuck, beside one that moves: this one keeps its next task.
#[test]
fn a_rescue_leaves_the_next_slot_of_a_worker_that_moves() {
    both_ways(|way| {
        let shared = scheduler(3);
        let [stuck, mover] = [0, 1].map(|index| worker(&shared, index));
        for owner in [&stuck, &mover] {
            owner.woken(new_send_task(async {}, &shared, Location::caller()).0);
        }
        shared.slots.get(0).set_stall(Stall::Short);
        let rescuer = {
            let shared = shared.clone();
            thread::spawn(move || {
                let rescuer = worker(&shared, 2);
                rescuer.rescue();
                rescuer.own.ready.pop()
            })
        };
        way.here();
        let kept = mover.next_task();
        let rescued = rescuer.join().expect("no panic");
        for task in [kept, rescued] {
            shared.cancel(task.expect("one each"));
        }
        assert_eq!(shared.slots.get(0).next.is_empty(), shared.slots.get(1).next.is_empty());
    });
}

impl Worker {
    /// One step of [`Worker::work`], as far as a probe is concerned, in which the worker wakes a task.
    pub(crate) fn observed_step(&self) {
        assert!(self.has_no_step_to_report() || self.stays_observed(), "the worker stays");
        let task = RunningTask::new(TaskId::next(), Location::caller());
        if self.own.flags.has(OBSERVED) {
            self.report_observed(TaskEvent::Woken(task));
        }
    }

    pub(crate) fn has_no_step_to_report(&self) -> bool {
        self.shared.size.stays_unobserved(self.own.index)
    }
}

/// The end of an observation stores anew that no worker stays, beside a close that has stored it: a worker
/// that leaves because of either knows that the runtime is closed, and does its part of the end.
///
/// The worker is a thread of its own: loom gives a thread no old value that it has seen before a yield.
#[test]
fn a_worker_that_the_end_of_an_observation_sends_away_sees_the_close() {
    fn end(shared: &Arc<Shared>) {
        shared.end_observation(|| true);
    }
    fn leave(shared: &Arc<Shared>) {
        if shared.size.must_stop(0) {
            assert!(shared.shutdown.is_closed(), "the worker would take itself for a surplus one");
        }
    }
    up_to(3, || {
        let shared = scheduler(1);
        shared.begin_observation(|_| ()).expect("the runtime is not closed");
        let steps = [|shared: &Arc<Shared>| close(shared, 1), end, leave];
        let threads = steps.map(|step| {
            let shared = shared.clone();
            thread::spawn(move || step(&shared))
        });
        threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
        assert!(shared.size.must_stop(0) && !shared.size.stays_unobserved(0));
    });
}
