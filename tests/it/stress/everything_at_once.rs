//! Everything at once while the number of workers goes from one to eight and back; and the end in the middle
//! of it.

use crate::support::guard::{guarded, until, workers};
use crate::support::loopback::tcp_pair;
use crate::support::probe::{Bell, Count, OnDrop};
use crate::tasks::panic::PanicsOnDrop;
use liten::io::{AsyncReadExt, AsyncWriteExt};
use liten::runtime::{Handle, Runtime};
use liten::task::yield_now;
use std::io::ErrorKind;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

/// From one to eight workers and back, until the runtime ends or `stop` says so. Counts how often.
fn swing(handle: &Handle, stop: &AtomicBool, swings: &Count) {
    loop {
        for count in [8, 1] {
            if stop.load(Ordering::Relaxed) || handle.set_worker_threads(count).is_err() {
                return;
            }
        }
        swings.add();
    }
}

/// A connection whose bytes come one by one, and which breaks off in the end.
async fn broken_connection() {
    let (mut client, mut server) = tcp_pair().await;
    let echo = liten::spawn(async move {
        let mut byte = [0];
        loop {
            match server.read(&mut byte).await {
                Ok(1) => server.write_all(&byte).await.unwrap(),
                other => return other.unwrap_err().kind(),
            }
        }
    });
    for byte in 0..20 {
        client.write_all(&[byte]).await.unwrap();
        let mut back = [0];
        client.read_exact(&mut back).await.unwrap();
        assert_eq!(back, [byte]);
    }
    client.set_linger(Some(Duration::ZERO)).unwrap();
    drop(client);
    assert_eq!(echo.await.unwrap(), ErrorKind::ConnectionReset);
}

/// Tasks, jobs and destructors that panic, and some that are aborted.
async fn troublesome_tasks(guards: &Count) {
    let guard = || OnDrop(guards.clone());
    let kept = guard();
    let panics = liten::spawn(async move {
        let _kept = kept;
        yield_now().await;
        resume_unwind(Box::new("a task"));
    });
    let kept = (guard(), PanicsOnDrop);
    let explodes = liten::spawn(async move { drop(kept) });
    let kept = guard();
    let job = liten::spawn_blocking(move || {
        let _kept = kept;
        resume_unwind(Box::new("a job"));
    });
    let kept = guard();
    let waits = liten::spawn(async move {
        let _kept = kept;
        liten::time::sleep(Duration::MAX).await;
    });
    let kept = guard();
    let sleeps = liten::spawn(async move {
        liten::time::sleep(Duration::from_micros(200)).await;
        drop(kept);
    });
    yield_now().await;
    waits.abort();
    assert!(panics.await.unwrap_err().is_panic());
    assert!(explodes.await.unwrap_err().is_panic());
    assert!(job.await.unwrap_err().is_panic());
    assert!(waits.await.unwrap_err().is_cancelled());
    sleeps.await.unwrap();
}

#[test]
fn faults_of_all_kinds_while_the_number_of_workers_changes_lose_nothing() {
    const TASKS: usize = 8;
    const ROUNDS: usize = 40;
    guarded(|| {
        let (runtime, stop) = (workers(1), Arc::new(AtomicBool::new(false)));
        let (handle, stopped) = (runtime.handle().clone(), Arc::clone(&stop));
        let (swings, guards) = (Count::default(), Count::default());
        let counted = swings.clone();
        let swinging = thread::spawn(move || swing(&handle, &stopped, &counted));
        until(|| swings.get() > 0);
        let tasks: Vec<_> = (0..TASKS)
            .map(|_| {
                let guards = guards.clone();
                runtime.spawn(async move {
                    for _ in 0..ROUNDS {
                        liten::join!(broken_connection(), troublesome_tasks(&guards));
                    }
                })
            })
            .collect();
        for task in tasks {
            runtime.block_on(task).unwrap();
        }
        runtime.block_until_completion();
        stop.store(true, Ordering::Relaxed);
        swinging.join().unwrap();
        assert_eq!(guards.get(), TASKS * ROUNDS * 5);
    });
}

/// Tells if it is dropped more than once, and if it is never dropped.
struct Once(Arc<AtomicBool>, Count);

impl Drop for Once {
    fn drop(&mut self) {
        assert!(!self.0.swap(true, Ordering::SeqCst), "dropped twice");
        self.1.add();
    }
}

/// Spawns tasks of all kinds until it is told that the runtime has ended, and some more. Returns how many.
fn spawn_past_the_end(handle: &Handle, dropped: &Count, ended: &Bell) -> usize {
    let mut spawned = 0;
    let mut after = 0;
    while after < 20 {
        after += usize::from(ended.is_rung());
        let once = Once(Arc::default(), dropped.clone());
        spawned += 1;
        let bell = ended.clone();
        match spawned % 5 {
            0 => drop(handle.spawn(async move { drop(once) })),
            1 => drop(handle.spawn_blocking(move || drop(once))),
            2 => drop(handle.spawn(async move {
                yield_now().await;
                // A task of a task.
                drop(liten::spawn(async move { drop(once) }));
            })),
            3 => drop(handle.spawn(async move {
                bell.wait().await;
                drop(once);
            })),
            _ => drop(handle.spawn(async move {
                let _once = once;
                loop {
                    liten::time::sleep(Duration::from_micros(50)).await;
                }
            })),
        }
        if spawned % 50 == 0 {
            thread::yield_now();
        }
    }
    spawned
}

fn end_in_the_middle(runtime: Runtime) {
    const THREADS: usize = 8;
    let (dropped, ended) = (Count::default(), Bell::default());
    let (begin, stop) = (Barrier::new(THREADS + 2), AtomicBool::new(false));
    let handle = runtime.handle().clone();
    let spawned = thread::scope(|scope| {
        let spawners: Vec<_> = (0..THREADS)
            .map(|_| {
                scope.spawn(|| {
                    begin.wait();
                    spawn_past_the_end(&handle, &dropped, &ended)
                })
            })
            .collect();
        scope.spawn(|| {
            begin.wait();
            swing(&handle, &stop, &Count::default());
        });
        begin.wait();
        until(|| dropped.get() > 100);
        drop(runtime);
        ended.ring();
        spawners.into_iter().map(|spawner| spawner.join().unwrap()).sum::<usize>()
    });
    assert_eq!(dropped.get(), spawned);
}

#[test]
fn what_eight_threads_spawn_while_the_runtime_ends_is_dropped_once() {
    guarded(|| (0..40).for_each(|_| end_in_the_middle(workers(2))));
}
