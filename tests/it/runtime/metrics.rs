//! The numbers about a runtime say what they are documented to say.

use crate::scheduler::steal::occupy;
use crate::support::guard::{guarded, until, workers};
use crate::support::probe::{Bell, Count};
use liten::runtime::{Builder, LocalRuntime};
use liten::task::yield_now;
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);

#[test]
fn tasks_are_counted_while_they_live_and_while_they_wait() {
    guarded(|| {
        let (runtime, bell) = (workers(2), Bell::default());
        let metrics = runtime.metrics();
        assert_eq!((metrics.num_alive_tasks(), metrics.num_cold_tasks()), (0, 0));
        let waiting: Vec<_> = (0..10)
            .map(|_| {
                let waits = bell.clone();
                runtime.spawn(async move { waits.wait().await })
            })
            .collect();
        until(|| metrics.num_cold_tasks() == 10);
        assert_eq!(metrics.num_alive_tasks(), 10);
        for task in &waiting[..4] {
            task.abort();
        }
        until(|| metrics.num_alive_tasks() == 6 && metrics.num_cold_tasks() == 6);
        bell.ring();
        until(|| metrics.num_alive_tasks() == 0 && metrics.num_cold_tasks() == 0);
        drop(waiting);
    });
}

#[test]
fn what_is_in_the_injector_is_counted() {
    guarded(|| {
        let runtime = workers(2);
        let metrics = runtime.metrics();
        let stuck = occupy(&runtime, 2);
        assert_eq!(metrics.global_queue_depth(), 0);
        for _ in 0..50 {
            drop(runtime.spawn(async {}));
        }
        assert_eq!(metrics.global_queue_depth(), 50);
        drop(stuck);
        runtime.block_until_completion();
        assert_eq!(metrics.global_queue_depth(), 0);
    });
}

/// Whether the worker came for them because it had nothing else to do, or in between.
#[test]
fn each_task_from_outside_is_counted() {
    guarded(|| {
        for busy in [false, true] {
            let runtime = workers(1);
            let metrics = runtime.metrics();
            let loops = busy.then(|| {
                runtime.spawn(async {
                    loop {
                        yield_now().await;
                    }
                })
            });
            let ran = Count::default();
            for i in 1..=100 {
                let counted = ran.clone();
                drop(runtime.spawn(async move {
                    counted.add();
                }));
                until(|| ran.get() == i);
            }
            let own = u64::from(busy);
            assert_eq!(metrics.worker_injected_count(0), 100 + own, "busy: {busy}");
            drop(loops.inspect(|task| task.abort()));
        }
    });
}

#[test]
fn polls_and_sleeps_of_a_worker_are_counted() {
    guarded(|| {
        let runtime = workers(1);
        let metrics = runtime.metrics();
        until(|| metrics.worker_park_count(0) > 0);
        let (polls, parks) = (metrics.worker_poll_count(0), metrics.worker_park_count(0));
        let task = runtime.spawn(async {
            for _ in 0..9 {
                yield_now().await;
            }
        });
        runtime.block_on(task).unwrap();
        assert_eq!(metrics.worker_poll_count(0), polls + 10);
        until(|| metrics.worker_park_count(0) > parks);
        // A worker that there is not.
        assert_eq!((metrics.worker_poll_count(1), metrics.worker_poll_count(9_999)), (0, 0));
        assert!(format!("{metrics:?}").contains("num_workers: 1"));
    });
}

#[test]
fn a_local_runtime_counts_its_tasks() {
    guarded(|| {
        let runtime = LocalRuntime::new().unwrap();
        let metrics = runtime.metrics();
        for _ in 0..5 {
            drop(runtime.spawn_local(std::future::pending::<()>()));
        }
        let counts =
            || (metrics.num_alive_tasks(), metrics.global_queue_depth(), metrics.num_cold_tasks());
        assert_eq!(counts(), (5, 5, 0));
        runtime.block_on(yield_now());
        assert_eq!(counts(), (5, 0, 5));
        assert_eq!(metrics.num_workers(), 1);
        runtime.spawn_local(async {}).abort();
        runtime.block_on(yield_now());
        assert_eq!(counts(), (5, 0, 5));
    });
}

/// Whether a worker sleeps can be seen, and how much of the time it did not.
#[test]
fn sleeps_and_the_time_in_between_are_counted() {
    guarded(|| {
        let runtime = workers(1);
        let metrics = runtime.metrics();
        let turns = || metrics.worker_park_unpark_count(0);
        until(|| turns() % 2 == 1);
        let (asleep, busy) = (turns(), metrics.worker_total_busy_duration(0));
        assert_eq!(metrics.worker_park_count(0), asleep.div_ceil(2));
        let (begun, ended) = (Bell::default(), Bell::default());
        let (begins, waits) = (begun.clone(), ended.clone());
        let task = runtime.spawn(async move {
            begins.ring();
            let begin = Instant::now();
            while begin.elapsed() < MS {
                std::hint::spin_loop();
            }
            waits.wait().await;
        });
        runtime.block_on(begun.wait());
        until(|| turns() >= asleep + 2 && turns() % 2 == 1);
        assert!(metrics.worker_total_busy_duration(0) >= busy + MS, "it ran for so long");
        ended.ring();
        runtime.block_on(task).unwrap();
        drop(runtime);
        assert_eq!(turns() % 2, 0, "no thread sleeps after the end");
        assert_eq!(metrics.worker_park_unpark_count(1_000_000), 0);
        assert_eq!(metrics.worker_total_busy_duration(1_000_000), Duration::ZERO);
    });
}

#[test]
fn without_workers_the_thread_in_block_on_is_counted() {
    guarded(|| {
        let runtime = Builder::new_current_thread().build().unwrap();
        let metrics = runtime.metrics();
        assert_eq!(metrics.worker_park_unpark_count(0), 0);
        assert!(metrics.worker_total_busy_duration(0).is_zero());
        runtime.block_on(async {
            // On a busy machine the time may be over before the thread can sleep.
            while metrics.worker_park_count(0) == 0 {
                liten::time::sleep(MS).await;
            }
            assert_eq!(metrics.worker_park_unpark_count(0), 2 * metrics.worker_park_count(0));
        });
        let busy = metrics.worker_total_busy_duration(0);
        assert!(!busy.is_zero());
        // A root that waits in line drives nothing: while another thread drives, it is not counted.
        let (release, wait) = std::sync::mpsc::channel::<()>();
        runtime.block_on(async {
            std::thread::scope(|scope| {
                scope.spawn(|| runtime.block_on(async { drop(release) }));
                assert!(wait.recv().is_err());
            });
            assert_eq!(metrics.worker_total_busy_duration(0), busy);
        });
        assert!(metrics.worker_total_busy_duration(0) > busy);
        assert_eq!(metrics.worker_park_count(1), 0);
    });
}

#[test]
fn without_workers_what_other_threads_send_is_counted() {
    guarded(|| {
        let runtime = Builder::new_current_thread().build().unwrap();
        let metrics = runtime.metrics();
        runtime.block_on(async { liten::spawn(async {}).await.unwrap() });
        assert_eq!(metrics.worker_injected_count(0), 0);
        let (sender, receiver) = liten::sync::oneshot::channel();
        let sent = std::thread::scope(|scope| {
            scope.spawn(|| runtime.spawn(async { receiver.await.unwrap() })).join().unwrap()
        });
        runtime.block_on(yield_now());
        assert_eq!((metrics.worker_injected_count(0), metrics.worker_injected_count(1)), (1, 0));
        // A wake counts, too.
        std::thread::scope(|scope| drop(scope.spawn(|| sender.send(()).unwrap())));
        runtime.block_on(sent).unwrap();
        assert_eq!(metrics.worker_injected_count(0), 2);
    });
}
