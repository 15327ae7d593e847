//! How long the watchdog lets a task wait for a quiescent point, and in which order it calls wakers.

use super::super::worker::Worker;
use super::*;
use crate::engine::driver::Driver;
use crate::engine::sync_shim::atomic::AtomicUsize;
use crate::engine::task::cell::new_send_task;
use crate::engine::task::header::Hot;
use std::future::poll_fn;
use std::panic::Location;
use std::sync::OnceLock;
use std::task::{Context, Poll, Wake};

/// A task waits for the next quiescent point.
fn wait(shared: &Shared) -> impl Future<Output = ()> {
    let quiescent_points = shared.driver.quiescent_points();
    let mut waiting = Box::pin(quiescent_points.wait(quiescent_points.count()));
    assert!(waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    waiting
}

/// Step after step, each of which is over soon, for longer than any of them may last.
#[test]
fn waits_for_one_quiescent_point_after_the_other_are_not_late() {
    let shared = Shared::new(1, Driver::new(1).unwrap());
    shared.count_threads(|| true);
    let mut thread = WatchdogThread::new(&shared, Parker::new());
    let (mut now, mut wakes) = (clock::now(), Vec::new());
    for _ in 0..10 {
        let _waiting = wait(&shared);
        assert!(!thread.is_quiescent_point_overdue(&shared, now));
        now += LONGEST_WAIT / 2;
        assert!(!thread.is_quiescent_point_overdue(&shared, now));
        shared.driver.quiescent_points().begin(&mut wakes);
    }
    let _waiting = wait(&shared);
    assert!(!thread.is_quiescent_point_overdue(&shared, now));
    assert!(thread.is_quiescent_point_overdue(&shared, now + 2 * LONGEST_WAIT));
}

/// A task that waits, its waker, and the scheduler whose worker has polled it.
fn waiting_task(shared: &Arc<Shared>) -> Waker {
    let (worker, kept) = (Worker::new(shared.clone(), 0), Arc::new(OnceLock::new()));
    let keep = kept.clone();
    let future = poll_fn(move |cx| {
        keep.get_or_init(|| cx.waker().clone());
        Poll::<()>::Pending
    });
    new_send_task(future, shared, Location::caller()).0.run(&worker);
    kept.get().cloned().expect("polled")
}

/// A waker that finds out how many tasks other threads can take when it is called, and wakes one more.
struct Foreign {
    shared: Arc<Shared>,
    wakes: Waker,
    found: AtomicUsize,
}

impl Foreign {
    fn queued(&self) -> usize {
        let tasks: Vec<Hot> = self.shared.slots.get(0).channel.take_all().collect();
        let count = tasks.len();
        tasks.into_iter().for_each(Hot::schedule);
        count
    }
}

impl Wake for Foreign {
    fn wake(self: Arc<Self>) {
        self.wakes.wake_by_ref();
        self.found.store(self.queued(), Ordering::Relaxed);
    }
}

/// A waker of the program may wait for tasks that are woken in the same round, before or by it.
#[test]
fn tasks_do_not_wait_for_wakers_of_the_program() {
    let shared = Shared::new(1, Driver::new(1).unwrap());
    shared.slots.get(0).activate(Parker::new().unparker());
    let [first, second, third] = [(); 3].map(|()| waiting_task(&shared));
    let foreign = Foreign { shared: shared.clone(), wakes: third, found: AtomicUsize::new(0) };
    let foreign = Arc::new(foreign);
    let mut thread = WatchdogThread::new(&shared, Parker::new());
    let role = Role::DriverThread(DriverThread::new(shared.clone()));
    thread.wakes.extend([first, foreign.clone().into(), second]);
    thread.wake(&role);
    assert!(thread.wakes.is_empty());
    assert_eq!(foreign.found.load(Ordering::Relaxed), 3);
    shared.slots.get(0).channel.take_all().for_each(|task| shared.cancel(task));
}
