//! Tasks that compute, and what waits beside them: events and wakes come first, a spare worker helps, and
//! what yields on it is not lost.

use crate::scheduler::fairness::{Stop, StopOnDrop, yields};
use crate::support::guard::{guarded, until, workers};
use crate::support::loopback::tcp_pair;
use crate::support::probe::{Bell, Count};
use liten::io::{AsyncReadExt, AsyncWriteExt};
use liten::runtime::{Builder, Runtime};
use liten::task::{block_in_place, yield_now};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

fn with_spares(workers: usize, spares: usize) -> Runtime {
    Builder::new_multi_thread().worker_threads(workers).max_spare_workers(spares).build().unwrap()
}

/// A task that computes in each poll until there are more than there were, then yields.
async fn computes_until_more(of: Count, stop: Stop) {
    while !stop.is_set() {
        let before = of.get();
        while of.get() == before && !stop.is_set() {
            std::hint::spin_loop();
        }
        yield_now().await;
    }
}

/// Every worker computes until the echo has answered once more, again and again; so do as many tasks that
/// wait for a worker. Without help the first answer never comes.
#[test]
fn an_echo_is_served_beside_tasks_that_compute_until_it_is() {
    const FEWEST: usize = 10;
    const ROUNDS: usize = 50;
    // Fewer rounds on a busy machine.
    const LONGEST: Duration = Duration::from_secs(20);
    guarded(|| {
        for (workers, computing) in [(1, 1), (2, 2), (2, 4)] {
            let runtime = with_spares(workers, workers + 1);
            let (answers, stop) = (Count::default(), Stop::default());
            let stopper = StopOnDrop(stop.clone());
            let (mut client, mut server) = runtime.block_on(tcp_pair());
            drop(runtime.spawn(async move {
                let mut byte = [0];
                while server.read(&mut byte).await.unwrap() == 1 {
                    server.write_all(&byte).await.unwrap();
                }
            }));
            for _ in 0..computing {
                drop(runtime.spawn(computes_until_more(answers.clone(), stop.clone())));
            }
            let begin = Instant::now();
            runtime.block_on(async {
                while answers.get() < FEWEST
                    || (answers.get() < ROUNDS && begin.elapsed() < LONGEST)
                {
                    client.write_all(b"x").await.unwrap();
                    client.read_exact(&mut [0]).await.unwrap();
                    answers.add();
                }
            });
            drop((stopper, client));
            runtime.block_until_completion();
        }
    });
}

/// A wake from outside, beside a thousand tasks that only yield: the woken task does not wait for a turn
/// of each.
#[test]
fn a_woken_task_runs_before_those_that_have_yielded() {
    const CROWD: usize = 1_000;
    guarded(|| {
        let runtime = workers(1);
        let stop = Stop::default();
        let stopper = StopOnDrop(stop.clone());
        for _ in 0..CROWD {
            drop(runtime.spawn(yields(stop.clone())));
        }
        let metrics = runtime.metrics();
        let polls = || metrics.worker_poll_count(0);
        until(|| polls() > 2 * CROWD as u64);
        let mut fewest = u64::MAX;
        // The system may not let the thread that wakes run on between its look and its wake: then once more.
        for _ in 0..50 {
            let (bell, metrics) = (Bell::default(), metrics.clone());
            let waits = bell.clone();
            let woken = runtime.spawn(async move {
                waits.wait().await;
                metrics.worker_poll_count(0)
            });
            until(|| bell.waiting() == 1);
            let before = polls();
            bell.ring();
            fewest = fewest.min(runtime.block_on(woken).unwrap() - before);
        }
        drop(stopper);
        runtime.block_until_completion();
        assert!(fewest < CROWD as u64 / 2, "{fewest} polls between the wake and the woken task's");
    });
}

/// All workers block until a task has run that yields on the helper: it comes back in spite of that.
#[test]
fn what_yields_on_a_helper_runs_although_no_worker_takes_it() {
    guarded(|| {
        // The last one has no other spare that could follow.
        for (workers, spares) in [(1, 4), (2, 2), (1, 1)] {
            let runtime = with_spares(workers, spares);
            let (release, released) = mpsc::channel::<()>();
            let released = std::sync::Arc::new(std::sync::Mutex::new(released));
            for _ in 1..workers {
                let (released, (begin, begun)) = (released.clone(), mpsc::channel());
                drop(runtime.spawn(async move {
                    begin.send(()).unwrap();
                    let _ = released.lock().unwrap().recv();
                }));
                begun.recv().unwrap();
            }
            let waits = runtime.spawn(async {
                let (send, receive) = mpsc::channel();
                drop(liten::spawn(async move {
                    for _ in 0..3 {
                        yield_now().await;
                    }
                    send.send(42).unwrap();
                }));
                receive.recv().unwrap()
            });
            assert_eq!(runtime.block_on(waits).unwrap(), 42);
            drop(release);
            runtime.block_until_completion();
        }
    });
}

/// A worker blocks in place for a task that it has queued and that has yielded, while its helper is in a
/// long poll: the helper is there in its place then, and finds the task when it looks for work.
#[test]
fn a_helper_takes_the_place_of_a_worker_that_blocks_in_place() {
    guarded(|| {
        for spares in [1, 2, 8] {
            let runtime = with_spares(1, spares);
            let task = runtime.spawn(async {
                let (begin, begun) = mpsc::channel();
                drop(liten::spawn(async move {
                    begin.send(()).unwrap();
                    thread::sleep(Duration::from_millis(20));
                }));
                // By the helper, as this worker is in this poll.
                begun.recv().unwrap();
                let (go, gone) = (Bell::default(), mpsc::channel());
                let (waits, (send, receive)) = (go.clone(), gone);
                drop(liten::spawn(async move {
                    while !waits.is_rung() {
                        yield_now().await;
                    }
                    send.send(()).unwrap();
                }));
                yield_now().await;
                yield_now().await;
                go.ring();
                block_in_place(|| receive.recv().unwrap());
            });
            runtime.block_on(task).unwrap();
        }
    });
}

/// A worker that does not come back to its queue, one that always has work, and a helper that is idle: what
/// has yielded at the first is brought to the second.
#[test]
fn what_has_yielded_behind_a_blocked_worker_is_brought_to_its_busy_peer() {
    guarded(|| {
        let runtime = with_spares(2, 2);
        let stop = Stop::default();
        let stopper = StopOnDrop(stop.clone());
        drop(runtime.spawn(yields(stop)));
        let (release, released) = mpsc::channel::<()>();
        let waits = Bell::default();
        let (bell, (send, receive)) = (waits.clone(), mpsc::channel());
        drop(runtime.spawn(async move {
            bell.wait().await;
            yield_now().await;
            send.send(()).unwrap();
        }));
        until(|| waits.waiting() == 1);
        let blocker = runtime.spawn(async move {
            waits.ring();
            yield_now().await;
            let _ = released.recv();
        });
        receive.recv().unwrap();
        drop((release, stopper));
        runtime.block_on(blocker).unwrap();
        runtime.block_until_completion();
    });
}
