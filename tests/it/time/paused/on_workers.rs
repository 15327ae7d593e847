//! The same on workers.

use super::*;
use liten::runtime::Runtime;
use liten::spawn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn paused(workers: usize) -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(workers).start_paused(true).build().unwrap()
}

fn still<F: Future>(workers: usize, test: F) -> F::Output {
    guarded(|| paused(workers).block_on(test))
}

#[test]
fn years_pass_at_once() {
    for workers in [1, 2, 4] {
        still(workers, async {
            let start = Instant::now();
            sleep(YEAR).await;
            assert_eq!(start.elapsed(), YEAR);
            spawn(async { sleep(YEAR).await }).await.unwrap();
            assert_eq!(start.elapsed(), 2 * YEAR);
            assert!(timeout(HOUR, pending::<()>()).await.is_err());
            assert_eq!(start.elapsed(), 2 * YEAR + HOUR);
        });
    }
}

/// If time jumped while anything was runnable, some task would wake up late. The tasks wake each other,
/// are moved between workers, and many wait for the same moments.
#[test]
fn no_task_is_woken_late() {
    for workers in [1, 2, 3] {
        still(workers, async {
            let (send, receive) = smol::channel::unbounded();
            let tasks: Vec<_> = (0..60u64)
                .map(|n| {
                    let (send, receive) = (send.clone(), receive.clone());
                    spawn(async move {
                        for round in 1..40u64 {
                            let delay = Duration::from_millis((n * 7 + round * 13) % 30);
                            let deadline = Instant::now() + delay;
                            sleep_until(deadline).await;
                            assert_eq!(Instant::now(), deadline);
                            send.send(deadline).await.unwrap();
                            if round % 3 == 0 {
                                yield_now().await;
                            }
                            // Some task's, perhaps of now, and certainly not of later.
                            assert!(receive.recv().await.unwrap() <= Instant::now());
                            assert_eq!(Instant::now(), deadline, "no task waited in between");
                        }
                    })
                })
                .collect();
            // The root takes part, on a thread of its own.
            let start = Instant::now();
            for n in 1..100 {
                sleep_until(start + n * Duration::from_millis(3)).await;
                assert_eq!(start.elapsed(), n * Duration::from_millis(3));
            }
            for task in tasks {
                task.await.unwrap();
            }
        });
    }
}

#[test]
fn what_advance_wakes_has_run_when_it_returns() {
    /// `None`: that took as long as `advance` waits for tasks, so that it promises nothing.
    async fn advance(duration: Duration) -> Option<()> {
        let begin = std::time::Instant::now();
        time::advance(duration).await;
        (begin.elapsed() < Duration::from_millis(100)).then_some(())
    }

    async fn step() -> Option<()> {
        let (start, count) = (Instant::now(), Arc::new(AtomicUsize::new(0)));
        for n in 1..=100 {
            let count = count.clone();
            drop(spawn(async move {
                sleep(n * SECOND).await;
                spawn(yield_now()).await.unwrap();
                count.fetch_add(1, Ordering::SeqCst);
                sleep(HOUR).await;
                count.fetch_add(1_000, Ordering::SeqCst);
            }));
        }
        advance(Duration::ZERO).await?;
        advance(100 * SECOND).await?;
        assert_eq!(count.load(Ordering::SeqCst), 100);
        assert_eq!(start.elapsed(), 100 * SECOND);
        Some(())
    }

    // On a busy machine a worker may be held up for so long: then once more.
    async fn steps() {
        let (mut proven, mut tried) = (0, 0);
        while proven < 5 {
            assert!(tried < 300, "{proven} of {tried} were in time");
            proven += usize::from(step().await.is_some());
            tried += 1;
        }
    }
    still(2, steps());
    still(2, async { spawn(steps()).await.unwrap() });
}

#[test]
fn advance_returns_although_something_never_waits() {
    still(2, async {
        let (stop, stopped) = (Arc::new(AtomicUsize::new(0)), pending::<()>());
        let seen = stop.clone();
        let busy = spawn(async move {
            while seen.load(Ordering::SeqCst) == 0 {
                yield_now().await;
            }
        });
        time::advance(SECOND).await;
        stop.store(1, Ordering::SeqCst);
        busy.await.unwrap();
        // A root that blocks its thread.
        let (tell, told) = mpsc::channel();
        drop(spawn(async move {
            time::advance(SECOND).await;
            tell.send(()).unwrap();
        }));
        told.recv().unwrap();
        assert!(timeout(SECOND, stopped).await.is_err());
    });
}

#[test]
fn time_waits_for_a_root_and_a_worker_that_block_their_threads() {
    still(2, async {
        let start = Instant::now();
        let sleeper = spawn(async { sleep(SECOND).await });
        thread::sleep(Duration::from_millis(20));
        assert_eq!(start.elapsed(), Duration::ZERO);
        spawn(async move {
            thread::sleep(Duration::from_millis(20));
            assert_eq!(start.elapsed(), Duration::ZERO);
        })
        .await
        .unwrap();
        assert!(!sleeper.is_finished());
        sleeper.await.unwrap();
        assert_eq!(start.elapsed(), SECOND);
    });
}

#[test]
fn time_waits_for_blocking_work_and_goes_on_after_it() {
    still(2, async {
        let start = Instant::now();
        for _ in 0..200 {
            let (tell, told) = mpsc::channel();
            drop(spawn_blocking(move || told.recv().unwrap()));
            drop(spawn_blocking(move || tell.send(()).unwrap()));
            sleep(HOUR).await;
        }
        assert_eq!(start.elapsed(), 200 * HOUR);
        let work = spawn_blocking(|| {
            thread::sleep(Duration::from_millis(20));
            Instant::now()
        });
        let late = spawn(async { sleep(SECOND).await });
        assert_eq!(work.await.unwrap(), start + 200 * HOUR);
        late.await.unwrap();
    });
}

#[test]
fn a_clock_can_go_and_stop_again() {
    still(2, async {
        let start = Instant::now();
        time::resume();
        let real = std::time::Instant::now();
        let hour = spawn(async { sleep(HOUR).await });
        sleep(Duration::from_millis(20)).await;
        assert!(real.elapsed() >= Duration::from_millis(20));
        spawn(async { time::pause() }).await.unwrap();
        hour.await.unwrap();
        assert!((HOUR..2 * HOUR).contains(&start.elapsed()));
    });
}

/// As the test of that name on one thread.
#[test]
fn a_timer_that_was_slept_for_before_a_pause_comes_in_time_after_it() {
    guarded(|| {
        paused(2).block_on(async {
            time::resume();
            let start = Instant::now();
            let hour = spawn(sleep(HOUR));
            nap().await;
            time::pause();
            time::advance(start + HOUR - SOON - Instant::now()).await;
            time::resume();
            hour.await.unwrap();
            assert!(start.elapsed() >= HOUR);
        });
    });
}

#[test]
fn several_roots_count() {
    guarded(|| {
        let runtime = paused(2);
        let start = {
            let _entered = runtime.enter();
            Instant::now()
        };
        let (tell, told) = mpsc::channel::<()>();
        let handle = runtime.handle().clone();
        let (running, runs) = mpsc::channel();
        let other = thread::spawn(move || {
            handle.block_on(async {
                running.send(()).unwrap();
                told.recv().unwrap();
                let now = Instant::now();
                sleep(SECOND).await;
                now
            })
        });
        runs.recv().unwrap();
        let nap = thread::spawn(move || {
            thread::sleep(Duration::from_millis(20));
            tell.send(()).unwrap();
        });
        runtime.block_on(async { sleep(2 * SECOND).await });
        // While it was blocked no time passed, and both sleeps are of one moment.
        assert_eq!(other.join().unwrap(), start);
        nap.join().unwrap();
    });
}

#[test]
fn other_runtimes_are_refused() {
    guarded(|| {
        let runtime = crate::support::guard::workers(1);
        let _entered = runtime.enter();
        let message = panic_of(time::pause);
        assert!(message.contains("start_paused"), "{message}");
    });
}

#[test]
fn completion_is_waited_for_in_no_time() {
    guarded(|| {
        let runtime = paused(2);
        for n in 0..100 {
            drop(runtime.spawn(async move { sleep(n * HOUR).await }));
        }
        runtime.block_until_completion();
    });
}
