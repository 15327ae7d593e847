//! A runtime ends while its workers are stuck: another thread drops the tasks, and events are fetched all the
//! same.

use crate::scheduler::steal::occupy;
use crate::support::guard::{guarded, until, workers};
use liten::runtime::{Builder, Runtime};
use liten::task::block_in_place;
use liten::time::sleep;
use std::future::pending;
use std::panic::catch_unwind;
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;
use std::time::Duration;

const SHORT: Duration = Duration::from_millis(50);

struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// A task that waits for ever; its destructor calls `f`.
fn spawn_dropped(runtime: &Runtime, f: impl FnMut() + Send + 'static) {
    let dropped = OnDrop(f);
    drop(runtime.spawn(async move {
        pending::<()>().await;
        drop(dropped);
    }));
}

/// A task that blocks its worker in place until a timer has fired, and then lets go of `held`. Returns when
/// it has begun.
fn spawn_timer_in_place<T: Send + 'static>(runtime: &Runtime, held: T) {
    let (begun, begin) = mpsc::channel();
    drop(runtime.spawn(async move {
        block_in_place(|| {
            liten::block_on(async {
                let timer = sleep(SHORT);
                begun.send(()).unwrap();
                timer.await;
            });
        });
        drop(held);
    }));
    begin.recv().unwrap();
}

#[test]
fn timers_fire_at_the_end_while_a_worker_blocks_in_place_on_one() {
    guarded(|| {
        for count in [1, 4] {
            let runtime = workers(count);
            spawn_timer_in_place(&runtime, ());
            drop(runtime);
        }
    });
}

/// The destructor runs while the timer is still to come: not on the thread that fetches it.
#[test]
fn a_destructor_may_wait_for_a_worker_that_waits_for_a_timer() {
    guarded(|| {
        let runtime = workers(1);
        let (hold, held) = mpsc::channel::<()>();
        spawn_dropped(&runtime, move || assert!(held.recv().is_err()));
        until(|| runtime.metrics().num_cold_tasks() == 1);
        spawn_timer_in_place(&runtime, hold);
        drop(runtime);
    });
}

#[test]
fn a_destructor_at_the_end_is_refused_block_on_whatever_thread_runs_it() {
    guarded(|| {
        let runtime = workers(1);
        let (tell, told) = mpsc::channel();
        spawn_dropped(&runtime, move || {
            let refused = catch_unwind(|| liten::block_on(sleep(SHORT))).is_err();
            tell.send(refused).unwrap();
        });
        until(|| runtime.metrics().num_cold_tasks() == 1);
        let blocked = occupy(&runtime, 1);
        let end = thread::spawn(move || drop(runtime));
        assert!(told.recv().unwrap(), "while the only worker is stuck");
        drop(blocked);
        end.join().unwrap();
    });
}

/// What runs there is told, as what runs on workers is.
#[test]
fn a_destructor_that_does_not_end_is_among_what_still_runs() {
    guarded(|| {
        let runtime = workers(1);
        let (release, released) = mpsc::channel::<()>();
        spawn_dropped(&runtime, move || {
            let _ = released.recv();
        });
        until(|| runtime.metrics().num_cold_tasks() == 1);
        let blocked = occupy(&runtime, 1);
        let metrics = runtime.metrics();
        runtime.shutdown_background();
        until(|| metrics.running_tasks().len() == 2);
        drop((release, blocked));
        until(|| metrics.running_tasks().is_empty());
    });
}

/// Also if no task has run yet, so that nothing has needed the driver thread.
#[test]
fn destructors_of_tasks_that_never_ran_may_wait_for_each_other() {
    guarded(|| {
        for _ in 0..50 {
            let runtime = workers(1);
            let meeting = Arc::new(Barrier::new(2));
            for _ in 0..2 {
                let meeting = meeting.clone();
                spawn_dropped(&runtime, move || {
                    meeting.wait();
                });
            }
            drop(runtime);
        }
    });
}

#[test]
fn timers_fire_while_the_workers_are_kept_by_a_hook() {
    guarded(|| {
        let (release, released) = mpsc::channel::<()>();
        let released = Mutex::new(released);
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(1).on_thread_start(move || {
            let _ = released.lock().unwrap().recv();
        });
        let runtime = builder.build().unwrap();
        runtime.block_on(sleep(SHORT));
        drop(release);
    });
}
