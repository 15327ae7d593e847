//! What is told of a runtime that does not end.

use crate::support::guard::{guarded, until, workers};
use crate::support::probe::Count;
use liten::runtime::{Builder, Runtime};
use liten::task::RunningTask;
use std::future::pending;
use std::panic::Location;
use std::sync::{Mutex, mpsc};
use std::time::Duration;

/// The lines of this file that `running` names, sorted.
fn lines(running: &[RunningTask]) -> Vec<u32> {
    assert!(running.iter().all(|task| task.spawned_at().file() == file!()), "{running:?}");
    let mut lines: Vec<_> = running.iter().map(|task| task.spawned_at().line()).collect();
    lines.sort_unstable();
    lines
}

/// One of each kind: a poll, a blocking job, a destructor that the end has begun.
#[test]
fn a_bounded_shutdown_names_what_is_left() {
    struct Stubborn(mpsc::Receiver<()>, mpsc::Sender<()>);
    impl Drop for Stubborn {
        fn drop(&mut self) {
            self.1.send(()).unwrap();
            let _ = self.0.recv();
        }
    }
    guarded(|| {
        let runtime = workers(2);
        let (begun, begins) = mpsc::channel();
        let started = || begun.clone();
        let ((free_poll, poll), (free_job, job)) = (mpsc::channel::<()>(), mpsc::channel::<()>());
        let (free_drop, dropped) = mpsc::channel::<()>();
        let (a, b, c) = (started(), started(), Stubborn(dropped, started()));
        let first = line!() + 1;
        let polled = runtime.spawn(async move {
            a.send(()).unwrap();
            let _ = poll.recv();
        });
        let second = line!() + 1;
        let worked = runtime.spawn_blocking(move || {
            b.send(()).unwrap();
            let _ = job.recv();
        });
        let third = line!() + 1;
        let cold = runtime.spawn(async move {
            let _held = c;
            pending::<()>().await;
        });
        begins.recv().unwrap();
        begins.recv().unwrap();
        until(|| runtime.metrics().num_cold_tasks() == 1);
        let handle = runtime.handle().clone();
        runtime.shutdown_background();
        // The destructor has begun.
        begins.recv().unwrap();
        let running = handle.metrics().running_tasks();
        assert_eq!(lines(&running), [first, second, third]);
        for id in [polled.id(), worked.id(), cold.id()] {
            assert!(running.iter().any(|task| task.id() == id));
        }
        let text = running[0].to_string();
        assert!(text.contains("spawned at") && text.contains(file!()), "{text}");
        drop((free_poll, free_drop));
        until(|| lines(&handle.metrics().running_tasks()) == [second]);
        drop(free_job);
        until(|| handle.metrics().running_tasks().is_empty());
    });
}

#[test]
fn a_timeout_returns_what_is_left_and_an_end_returns_nothing() {
    guarded(|| {
        let runtime = workers(1);
        let (begun, begins) = mpsc::channel();
        let (free, freed) = mpsc::channel::<()>();
        let stuck = runtime.spawn(async move {
            begun.send(()).unwrap();
            let _ = freed.recv();
        });
        begins.recv().unwrap();
        let left = runtime.shutdown_timeout(Duration::from_millis(10));
        assert_eq!(left.iter().map(RunningTask::id).collect::<Vec<_>>(), [stuck.id()]);
        drop(free);
        let runtime = workers(1);
        drop(runtime.spawn(pending::<()>()));
        assert_eq!(runtime.shutdown_timeout(Duration::from_secs(30)), []);
    });
}

/// Every door to a runtime knows which tasks came through it.
#[test]
fn each_way_to_spawn_knows_its_caller() {
    #[track_caller]
    fn here() -> &'static Location<'static> {
        Location::caller()
    }
    /// What runs while `f`'s task, which it spawns and hands back, is in its poll.
    fn seen(runtime: &Runtime, f: impl FnOnce(Stuck) -> u32) {
        let ((free, freed), (begun, begins)) = (mpsc::channel(), mpsc::channel());
        let line = f(Stuck(freed, begun));
        begins.recv().unwrap();
        assert_eq!(lines(&runtime.metrics().running_tasks()), [line]);
        drop(free);
        until(|| runtime.metrics().running_tasks().is_empty());
    }
    struct Stuck(mpsc::Receiver<()>, mpsc::Sender<()>);
    impl Stuck {
        fn block(self) {
            self.1.send(()).unwrap();
            let _ = self.0.recv();
        }
        async fn block_worker(self) {
            self.block();
        }
    }
    guarded(|| {
        let runtime = workers(1);
        seen(&runtime, |it| (here().line(), drop(runtime.spawn(it.block_worker()))).0);
        seen(&runtime, |it| (here().line(), drop(runtime.handle().spawn(it.block_worker()))).0);
        seen(&runtime, |it| (here().line(), drop(runtime.spawn_blocking(|| it.block()))).0);
        seen(&runtime, |it| {
            let _entered = runtime.enter();
            (here().line(), drop(liten::spawn(it.block_worker()))).0
        });
        seen(&runtime, |it| {
            // In a task, whose poll is over when the child's begins.
            let (tell, told) = mpsc::channel();
            drop(runtime.spawn(async move {
                tell.send((here().line(), drop(liten::spawn(it.block_worker()))).0).unwrap();
            }));
            told.recv().unwrap()
        });
        seen(&runtime, |it| {
            let mut set = liten::task::JoinSet::new();
            let line = (here().line(), drop(set.spawn_on(it.block_worker(), runtime.handle()))).0;
            set.detach_all();
            line
        });
        seen(&runtime, |it| {
            let _entered = runtime.enter();
            let mut set = liten::task::JoinSet::new();
            let line = (here().line(), drop(set.spawn_blocking(|| it.block()))).0;
            set.detach_all();
            line
        });
    });
}

/// What is called on the last threads may wait for a timer, which learns that the runtime is gone; and a
/// bounded shutdown does not wait for it at all.
#[test]
fn a_hook_that_waits_does_not_keep_the_runtime_from_ending() {
    guarded(|| {
        let (free, freed) = mpsc::channel::<()>();
        let begun = Count::default();
        let (begins, waits) = (begun.clone(), Mutex::new(freed));
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .on_thread_stop(move || {
                begins.add();
                let sleep = || liten::block_on(liten::time::sleep(Duration::from_secs(3600)));
                let slept = std::panic::catch_unwind(sleep);
                assert!(slept.is_err(), "no thread drives it any more");
                let _ = waits.lock().unwrap().recv();
            })
            .build()
            .unwrap();
        assert_eq!(runtime.shutdown_timeout(Duration::from_millis(10)), []);
        until(|| begun.get() == 1);
        drop(free);
    });
}

#[test]
fn hooks_are_called_on_each_thread_and_may_panic() {
    guarded(|| {
        let (started, stopped) = (Count::default(), Count::default());
        let (starts, stops) = (started.clone(), stopped.clone());
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .max_spare_workers(0)
            .thread_keep_alive(Duration::from_secs(1_000))
            .on_thread_start(move || {
                starts.add();
                assert!(liten::runtime::Handle::try_current().is_ok());
            })
            .on_thread_stop(move || {
                stops.add();
                std::panic::resume_unwind(Box::new("a hook's own affair"));
            })
            .build()
            .unwrap();
        runtime.block_on(runtime.spawn_blocking(|| ())).unwrap();
        until(|| started.get() == 3);
        runtime.handle().set_worker_threads(1).unwrap();
        until(|| runtime.metrics().num_resting_workers() == 1);
        // The same thread as before.
        runtime.handle().set_worker_threads(2).unwrap();
        runtime.block_on(runtime.spawn(async {})).unwrap();
        assert_eq!((started.get(), stopped.get()), (3, 0));
        drop(runtime);
        assert_eq!((started.get(), stopped.get()), (3, 3));
    });
}
