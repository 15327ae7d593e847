//! Work stealing: what one worker cannot do at once, another one does.

use crate::support::guard::{guarded, named, until, workers};
use crate::support::loopback::tcp_pair;
use crate::support::probe::{Bell, Count, Report};
use liten::io::{AsyncReadExt, AsyncWriteExt};
use liten::runtime::Runtime;
use liten::task::yield_now;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// All workers have to be in a task of this at the same time, the one that spawned the others included. Each
/// of them blocks its thread: no worker gives anything away by itself.
#[test]
fn what_a_blocked_worker_has_queued_is_taken() {
    guarded(|| {
        for count in [2, 4, 8] {
            let runtime = workers(count);
            for _ in 0..20 {
                let barrier = Arc::new(Barrier::new(count));
                let task = runtime.spawn(async move {
                    for _ in 1..count {
                        let barrier = Arc::clone(&barrier);
                        drop(liten::spawn(async move {
                            barrier.wait();
                        }));
                    }
                    barrier.wait();
                });
                runtime.block_on(task).unwrap();
            }
        }
    });
}

/// More workers than fit in one word of the idle set.
#[test]
fn a_hundred_workers_all_come() {
    guarded(|| {
        let count = 100;
        let runtime = workers(count);
        for from_inside in [true, false] {
            let barrier = Arc::new(Barrier::new(count));
            let meet = |barrier: Arc<Barrier>| async move {
                barrier.wait();
            };
            if from_inside {
                let task = runtime.spawn(async move {
                    for _ in 1..count {
                        drop(liten::spawn(meet(Arc::clone(&barrier))));
                    }
                    barrier.wait();
                });
                runtime.block_on(task).unwrap();
            } else {
                for _ in 0..count {
                    drop(runtime.spawn(meet(Arc::clone(&barrier))));
                }
            }
            runtime.block_until_completion();
        }
    });
}

/// A woken task stands in the waking worker's next slot, which is its own; until the worker is stuck.
#[test]
fn a_task_woken_by_a_worker_that_blocks_then_runs_elsewhere() {
    guarded(|| {
        let runtime = workers(2);
        for _ in 0..20 {
            let bell = Bell::default();
            let waits = bell.clone();
            let (ran, has_run) = mpsc::channel();
            drop(runtime.spawn(async move {
                waits.wait().await;
                ran.send(()).unwrap();
            }));
            until(|| bell.waiting() == 1);
            let task = runtime.spawn(async move {
                bell.ring();
                has_run.recv().unwrap();
            });
            runtime.block_on(task).unwrap();
        }
    });
}

/// A task is woken from outside while the worker that polled it last is stuck; the other one comes free
/// before or after the wake.
#[test]
fn a_task_whose_last_worker_is_stuck_is_run_by_another() {
    guarded(|| {
        let runtime = workers(2);
        for round in 0..50 {
            let (report, home) = (Report::default(), Arc::new(Mutex::new(None)));
            let (mut spy, seen) = (report.spy(), Arc::clone(&home));
            let task = runtime.spawn(std::future::poll_fn(move |cx| {
                *seen.lock().unwrap() = Some(thread::current().id());
                std::pin::Pin::new(&mut spy).poll(cx)
            }));
            until(|| report.polls() == 1);
            let home = home.lock().unwrap().unwrap();
            let mut stuck = occupy(&runtime, 2);
            let home = stuck.remove(&home).unwrap();
            report.end();
            if round % 2 == 0 {
                report.waker().unwrap().wake();
                drop(stuck);
            } else {
                drop(stuck);
                report.waker().unwrap().wake();
            }
            runtime.block_on(task).unwrap();
            drop(home);
            runtime.block_until_completion();
        }
    });
}

/// Blocks all `count` workers of the runtime, each until its sender is dropped.
pub(crate) fn occupy(runtime: &Runtime, count: usize) -> HashMap<ThreadId, mpsc::Sender<()>> {
    let (tell, told) = mpsc::channel();
    for _ in 0..count {
        let tell = tell.clone();
        drop(runtime.spawn(async move {
            let (release, released) = mpsc::channel();
            tell.send((thread::current().id(), release)).unwrap();
            let _ = released.recv();
        }));
    }
    (0..count).map(|_| told.recv().unwrap()).collect()
}

/// How many tasks each thread has run, when one task spawns `tasks` that take `work` each.
fn executed(runtime: &Runtime, tasks: usize, work: Duration) -> HashMap<String, usize> {
    let counts = Arc::new(Mutex::new(HashMap::new()));
    let all = Arc::clone(&counts);
    drop(runtime.spawn(async move {
        for _ in 0..tasks {
            let counts = Arc::clone(&all);
            drop(liten::spawn(async move {
                // A sleep and not a calculation: this is about which worker takes how many, not about cores.
                thread::sleep(work);
                let name = thread::current().name().unwrap().to_owned();
                *counts.lock().unwrap().entry(name).or_default() += 1;
            }));
        }
    }));
    runtime.block_until_completion();
    let counts = counts.lock().unwrap();
    assert_eq!(counts.values().sum::<usize>(), tasks);
    counts.clone()
}

/// Lets tasks be [`executed`] until it was `as_wanted`: a thread that the system does not let run gets less.
/// The fewer tasks there are, the likelier it is that all threads run meanwhile.
fn repeated(
    runtime: &Runtime,
    tasks: usize,
    work: Duration,
    as_wanted: impl Fn(&HashMap<String, usize>) -> bool,
) {
    let mut all = Vec::new();
    while all.len() < 300 {
        let counts = executed(runtime, tasks, work);
        if as_wanted(&counts) {
            return;
        }
        all.push(counts);
    }
    panic!("{all:?}");
}

#[test]
fn every_worker_takes_part_of_what_one_has() {
    guarded(|| {
        let runtime = named(4, "batch");
        repeated(&runtime, 1_000, Duration::from_micros(20), |counts| counts.len() == 4);
        let stolen = |worker| runtime.metrics().worker_steal_count(worker);
        assert!((0..4).map(stolen).sum::<u64>() > 0);
    });
}

#[test]
fn the_load_is_levelled() {
    guarded(|| {
        let runtime = named(4, "level");
        repeated(&runtime, 200, Duration::from_millis(1), |counts| {
            let (min, max) = (counts.values().min().unwrap(), counts.values().max().unwrap());
            counts.len() == 4 && max <= &(2 * min)
        });
    });
}

/// The own queue, the injector and the peers' queues: each is a source of tasks.
#[test]
fn tasks_come_from_the_own_queue_the_injector_and_the_peers() {
    guarded(|| {
        let runtime = workers(4);
        let metrics = runtime.metrics();
        let injected = |worker| metrics.worker_injected_count(worker);
        let stolen = |worker| metrics.worker_steal_count(worker);
        while (0..4).map(injected).sum::<u64>() == 0 || (0..4).map(stolen).sum::<u64>() == 0 {
            executed(&runtime, 100, Duration::from_micros(50));
        }
        // With no worker to take them, the tasks that a task has spawned come from the worker's own queue.
        let runtime = workers(1);
        executed(&runtime, 100, Duration::ZERO);
        let metrics = runtime.metrics();
        assert_eq!((metrics.worker_injected_count(0), metrics.worker_steal_count(0)), (1, 0));
        assert_eq!(metrics.worker_poll_count(0), 101);
    });
}

type Order = Box<dyn FnOnce() + Send>;

/// Keeps all `count` workers of the runtime in a poll, in which each does what it is told until its sender
/// is dropped.
fn command(runtime: &Runtime, count: usize) -> Vec<mpsc::Sender<Order>> {
    let (tell, told) = mpsc::channel();
    for _ in 0..count {
        let tell = tell.clone();
        drop(runtime.spawn(async move {
            let (sender, orders) = mpsc::channel::<Order>();
            tell.send(sender).unwrap();
            orders.into_iter().for_each(|order| order());
        }));
    }
    (0..count).map(|_| told.recv().unwrap()).collect()
}

/// Lets `worker` do something, and waits until it has been done.
fn obey(worker: &mpsc::Sender<Order>, order: impl FnOnce() + Send + 'static) {
    let (done, is_done) = mpsc::channel();
    let order = move || {
        order();
        done.send(()).unwrap();
    };
    worker.send(Box::new(order)).unwrap();
    is_done.recv().unwrap();
}

/// Where the tasks that one worker runs come from, in their order: its own queue, the injector, and the queue
/// of the other worker, which is stuck until all have run.
fn sources() -> Vec<&'static str> {
    let runtime = workers(2);
    let log = Arc::new(Mutex::new(Vec::new()));
    let task = |source| {
        let log = Arc::clone(&log);
        async move { log.lock().unwrap().push(source) }
    };
    let mut kept = command(&runtime, 2);
    let (stuck, free) = (kept.pop().unwrap(), kept.pop().unwrap());
    for (worker, source) in [(&stuck, "peer"), (&free, "own")] {
        for _ in 0..3 {
            let task = task(source);
            obey(worker, || drop(liten::spawn(task)));
        }
    }
    (0..3).for_each(|_| drop(runtime.spawn(task("global"))));
    drop(free);
    until(|| log.lock().unwrap().len() == 9);
    drop(stuck);
    runtime.block_until_completion();
    std::mem::take(&mut *log.lock().unwrap())
}

/// Once a worker has been stuck for long, the others take over what it has queued before they look into the
/// injector. On a machine that is busy with something else, that may happen here too: then once more.
#[test]
fn the_own_queue_comes_first_then_the_injector_then_the_peers() {
    guarded(|| {
        let wanted = ["own", "global", "peer"].map(|source| [source; 3]).concat();
        let mut all = Vec::new();
        while all.last() != Some(&wanted) {
            assert!(all.len() < 20, "{all:?}");
            all.push(sources());
        }
    });
}

/// How many tasks a worker steals from one that is stuck, and in how many operations: each of them is seen by
/// the tasks that it brings, as a number of stolen tasks that no task before them has seen.
fn thefts() -> (u64, u64) {
    const TASKS: usize = 256;
    let runtime = workers(2);
    let (numbers, ran) = (Arc::new(Mutex::new(HashSet::new())), Count::default());
    let mut kept = command(&runtime, 2);
    let (stuck, free) = (kept.pop().unwrap(), kept.pop().unwrap());
    let metrics = runtime.metrics();
    let stolen = move || metrics.worker_steal_count(0) + metrics.worker_steal_count(1);
    let tasks: Vec<_> = (0..TASKS)
        .map(|_| {
            let (numbers, ran, stolen) = (Arc::clone(&numbers), ran.clone(), stolen.clone());
            async move {
                numbers.lock().unwrap().insert(stolen());
                ran.add();
            }
        })
        .collect();
    obey(&stuck, || tasks.into_iter().for_each(|task| drop(liten::spawn(task))));
    drop(free);
    until(|| ran.get() == TASKS);
    let operations = numbers.lock().unwrap().iter().filter(|number| **number != 0).count();
    let stolen = stolen();
    drop(stuck);
    runtime.block_until_completion();
    (stolen, operations as u64)
}

/// A thief takes half of a queue at a time. What is taken over from a worker that has been stuck for long is
/// not counted as stolen: if that was most of it, then once more.
#[test]
fn one_operation_steals_many_tasks() {
    guarded(|| {
        let mut all = Vec::new();
        while all.last().is_none_or(|&(stolen, _)| stolen < 128) {
            assert!(all.len() < 20, "tasks stolen, operations: {all:?}");
            all.push(thefts());
        }
        let (stolen, operations) = all[all.len() - 1];
        assert!(operations > 0 && 8 * operations <= stolen, "{stolen} in {operations} operations");
    });
}

/// All but one worker are stuck: tasks, timers and sockets go on.
#[test]
fn one_free_worker_keeps_everything_going() {
    guarded(|| {
        let runtime = workers(4);
        let blocked = occupy(&runtime, 3);
        runtime.block_on(async {
            let (mut client, mut server) = tcp_pair().await;
            let echo = liten::spawn(async move {
                let mut buf = [0; 5];
                for _ in 0..50 {
                    server.read_exact(&mut buf).await.unwrap();
                    server.write_all(&buf).await.unwrap();
                }
            });
            let asks = liten::spawn(async move {
                let mut buf = [0; 5];
                for _ in 0..50 {
                    client.write_all(b"hello").await.unwrap();
                    client.read_exact(&mut buf).await.unwrap();
                    liten::time::sleep(Duration::from_micros(100)).await;
                    yield_now().await;
                }
            });
            asks.await.unwrap();
            echo.await.unwrap();
        });
        drop(blocked);
        runtime.block_until_completion();
    });
}

/// Every worker is stuck: no task can run, but the root can, and its timers and sockets work.
#[test]
fn the_root_waits_for_time_and_sockets_while_every_worker_is_stuck() {
    guarded(|| {
        let runtime = workers(2);
        let blocked = occupy(&runtime, 2);
        let ran = Count::default();
        let counted = ran.clone();
        runtime.block_on(async {
            drop(liten::spawn(async move {
                counted.add();
            }));
            let (mut client, mut server) = tcp_pair().await;
            for _ in 0..20 {
                liten::time::sleep(Duration::from_millis(1)).await;
                let mut buf = [0; 5];
                let (sent, received) =
                    liten::join!(client.write_all(b"hello"), server.read_exact(&mut buf));
                sent.unwrap();
                received.unwrap();
            }
        });
        assert_eq!(ran.get(), 0);
        drop(blocked);
        runtime.block_until_completion();
        assert_eq!(ran.get(), 1);
    });
}

/// One round of the driver makes two tasks ready on one worker. If one of them blocks it until the other one
/// has started, a peer takes the other one.
#[test]
fn timers_that_fire_together_may_wait_for_each_other() {
    guarded(|| {
        let runtime = workers(2);
        for _ in 0..20 {
            let deadline = liten::time::Instant::now() + Duration::from_millis(5);
            let both = Arc::new(Barrier::new(2));
            let task = |both: Arc<Barrier>| async move {
                liten::time::sleep_until(deadline).await;
                both.wait();
            };
            let (one, other) = (runtime.spawn(task(both.clone())), runtime.spawn(task(both)));
            runtime.block_on(async {
                one.await.unwrap();
                other.await.unwrap();
            });
        }
    });
}
