//! A runtime at work. Each scenario is a test; its name is the promise.

use super::explorer::{explore, explore_some};
use super::ledger::Receipt;
use super::tested_runtime::{
    MOST_WORKERS, Meeting, Signals, Spawner, TestedRuntime, below, beside, join, result, rounds,
};
use crate::engine::sync_shim::atomic::{AtomicBool, Ordering};
use crate::engine::sync_shim::{Arc, Mutex, thread};
use crate::engine::task::JoinHandle;
use crate::time::{sleep, timeout};
use std::future::pending;
use std::time::Duration;

/// From outside, from the root, from tasks: each has its own way into the queues.
#[test]
fn tasks_spawned_from_everywhere_complete() {
    explore(|| {
        let tested = TestedRuntime::new(1 + below(MOST_WORKERS));
        let spawner = tested.spawner();
        let foreign = beside(move || [1, 2].map(|count| spawner.spawn(rounds(count))));
        let spawner = tested.spawner();
        tested.block_on(async {
            let parents = [0, 1].map(|count| {
                let inner = spawner.clone();
                spawner.spawn_here(async move {
                    let child = inner.spawn_here(rounds(count));
                    assert!(join(child).await);
                })
            });
            for parent in parents {
                assert!(join(parent).await);
            }
        });
        let foreign = foreign.join().expect("no panic");
        tested.block_on(async {
            for task in foreign {
                assert!(join(task).await);
            }
        });
        assert_eq!(tested.ledger.completed(), 6);
        drop(spawner);
        tested.end();
    });
}

/// Each task blocks its worker until as many tasks run as there are workers: all must be stolen in time.
#[test]
fn tasks_behind_a_blocked_worker_are_taken_by_its_peers() {
    explore(|| {
        let tested = TestedRuntime::with_time(MOST_WORKERS);
        let (spawner, meeting) = (tested.spawner(), Meeting::of(MOST_WORKERS));
        let inner = spawner.clone();
        let parent = spawner.spawn(async move {
            let children = [(); MOST_WORKERS - 1].map(|()| {
                let meeting = meeting.clone();
                inner.spawn_here(async move { meeting.attend() })
            });
            // What is woken here last is in the next slot, which only a thief of a stalled worker may take.
            rounds(below(2)).await;
            meeting.attend();
            for child in children {
                assert!(join(child).await);
            }
        });
        assert!(tested.block_on(join(parent)));
        drop(spawner);
        tested.end();
    });
}

/// A task that was woken by the one that runs is in its worker's next slot; the worker then blocks.
#[test]
fn a_task_in_the_next_slot_of_a_blocked_worker_is_taken_by_a_peer() {
    explore(|| {
        let tested = TestedRuntime::with_time(2);
        let (spawner, signals, meeting) = (tested.spawner(), Signals::new(), Meeting::of(2));
        let sleeper = spawner.spawn({
            let (signals, meeting) = (signals.clone(), meeting.clone());
            async move {
                signals.wait().await;
                meeting.attend();
            }
        });
        let waker = spawner.spawn(async move {
            signals.send();
            meeting.attend();
        });
        tested.block_on(async {
            assert!(join(waker).await);
            assert!(join(sleeper).await);
        });
        drop(spawner);
        tested.end();
    });
}

/// Burns until `end` says so, or for `most` turns.
async fn burn(end: Arc<AtomicBool>, most: usize) {
    for _ in 0..most {
        // Ordering: SeqCst, the only order there is here.
        if end.load(Ordering::SeqCst) {
            return;
        }
        rounds(1).await;
    }
}

/// Two tasks yield again and again, a third one blocks its worker until one that is woken from outside
/// has run: all of them complete.
#[test]
fn a_task_that_is_woken_beside_burners_and_a_blocked_worker_runs() {
    explore(|| {
        let tested = TestedRuntime::with_time(2);
        let (spawner, meeting, signals) = (tested.spawner(), Meeting::of(2), Signals::new());
        let end = Arc::new(AtomicBool::new(false));
        let burners = [(); 2].map(|()| spawner.spawn(burn(end.clone(), 20)));
        let blocker = spawner.spawn({
            let meeting = meeting.clone();
            async move { meeting.attend() }
        });
        let woken = spawner.spawn({
            let (end, signals) = (end, signals.clone());
            async move {
                signals.wait().await;
                meeting.attend();
                // Ordering: SeqCst, the only order there is here; `burn` reads it.
                end.store(true, Ordering::SeqCst);
            }
        });
        let sender = beside(move || signals.send());
        tested.block_on(async {
            for task in burners.into_iter().chain([blocker, woken]) {
                assert!(join(task).await);
            }
        });
        sender.join().expect("no panic");
        drop(spawner);
        tested.end();
    });
}

/// All regular workers are blocked until two other tasks have run, one that is ready and one that yields
/// first: a spare runs the one, and after long the other.
#[test]
fn a_spare_runs_what_is_ready_and_what_has_yielded_behind_blocked_workers() {
    explore_some(1_000, || {
        let tested = TestedRuntime::with_time(2);
        let (spawner, meeting) = (tested.spawner(), Meeting::of(4));
        let task = |turns| {
            let meeting = meeting.clone();
            spawner.spawn(async move {
                rounds(turns).await;
                meeting.arrive();
            })
        };
        let free = [0, 1].map(task);
        let blocked = [(); 2].map(|()| {
            let meeting = meeting.clone();
            spawner.spawn(async move { meeting.attend() })
        });
        tested.block_on(async {
            for task in blocked.into_iter().chain(free) {
                assert!(join(task).await);
            }
        });
        drop(spawner);
        tested.end();
    });
}

/// Spawns `count` tasks from outside, each of which blocks its worker until all of them run.
fn all_meet(tested: &TestedRuntime, spawner: &Spawner, count: usize) {
    let meeting = Meeting::of(count);
    let task = |_| {
        let meeting = meeting.clone();
        spawner.spawn(async move { meeting.attend() })
    };
    let tasks: Vec<_> = (0..count).map(task).collect();
    tested.block_on(async {
        for task in tasks {
            assert!(join(task).await);
        }
    });
}

/// Each blocks its worker until all run: the worker that takes one of them sees to the others, without the
/// watchdog.
#[test]
fn tasks_from_outside_do_not_wait_behind_one_that_waits_for_them() {
    explore(|| {
        let tested = TestedRuntime::new(MOST_WORKERS);
        let spawner = tested.spawner();
        all_meet(&tested, &spawner, MOST_WORKERS);
        drop(spawner);
        tested.end();
    });
}

/// The same for tasks that come by the wake channels.
#[test]
fn woken_tasks_do_not_wait_behind_one_that_waits_for_them() {
    explore(|| {
        let tested = TestedRuntime::new(MOST_WORKERS);
        let (spawner, meeting) = (tested.spawner(), Meeting::of(MOST_WORKERS));
        let signals = [(); MOST_WORKERS].map(|()| Signals::new());
        let tasks = signals.clone().map(|signal| {
            let meeting = meeting.clone();
            spawner.spawn(async move {
                signal.wait().await;
                meeting.attend();
            })
        });
        let sender = beside(move || signals.iter().for_each(Signals::send));
        tested.block_on(async {
            for task in tasks {
                assert!(join(task).await);
            }
        });
        sender.join().expect("no panic");
        drop(spawner);
        tested.end();
    });
}

/// A ring of tasks that wake each other, kept going by threads that are no workers.
fn ring(spawner: &Spawner, laps: usize) -> ([Signals; 3], [JoinHandle<Receipt>; 3]) {
    let signals = [(); 3].map(|()| Signals::new());
    let tasks = [0, 1, 2].map(|index| {
        let signals = signals.clone();
        spawner.spawn(async move {
            for _ in 0..laps {
                signals[index].wait().await;
                signals[(index + 1) % 3].send();
            }
        })
    });
    (signals, tasks)
}

#[test]
fn wakes_between_workers_and_from_outside_are_not_lost() {
    explore(|| {
        let tested = TestedRuntime::new(1 + below(MOST_WORKERS));
        let spawner = tested.spawner();
        // Two wakes begin two laps; what the last task sends goes on as a third one.
        let (signals, tasks) = ring(&spawner, 3);
        let threads = [0, 1].map(|_| {
            let first = signals[0].clone();
            beside(move || first.send())
        });
        tested.block_on(async {
            for task in tasks {
                assert!(join(task).await);
            }
        });
        for thread in threads {
            thread.join().expect("no panic");
        }
        assert_eq!(tested.ledger.completed(), 3);
        drop(spawner);
        tested.end();
    });
}

#[test]
fn an_aborted_task_ends_once_wherever_it_is() {
    explore(|| {
        let tested = TestedRuntime::new(1 + below(MOST_WORKERS));
        let (spawner, signals) = (tested.spawner(), Signals::new());
        let waits = signals.clone();
        let tasks = [
            spawner.spawn(pending()),
            spawner.spawn(rounds(2)),
            spawner.spawn(async move { waits.wait().await }),
        ];
        let aborts: Vec<_> = tasks.iter().map(JoinHandle::abort_handle).collect();
        let foreign = beside(move || aborts.iter().for_each(|task| task.abort()));
        let sender = beside(move || signals.send());
        // From inside, too: an abort makes the task hot on the thread that calls it.
        let last = tasks[2].abort_handle();
        let inside = spawner.spawn(async move { last.abort() });
        tested.block_on(async {
            let [first, second, third] = tasks;
            assert!(!join(first).await, "it cannot complete");
            join(second).await;
            join(third).await;
            assert!(join(inside).await);
        });
        foreign.join().expect("no panic");
        sender.join().expect("no panic");
        drop(spawner);
        tested.end();
    });
}

/// The number of workers changes while tasks run, wake each other, and are woken from outside.
#[test]
fn no_task_is_lost_when_workers_come_and_go() {
    explore(|| {
        let tested = TestedRuntime::new(1);
        let spawner = tested.spawner();
        let (signals, tasks) = ring(&spawner, 2);
        let first = signals[0].clone();
        let sender = beside(move || first.send());
        let spawning = beside({
            let spawner = spawner.clone();
            move || {
                let inner = spawner.clone();
                spawner.spawn(async move { assert!(join(inner.spawn_here(rounds(2))).await) })
            }
        });
        for count in [3, 1, 1 + below(MOST_WORKERS), 1] {
            spawner.handle.set_worker_threads(count).expect("the runtime is running");
        }
        let spawned = spawning.join().expect("no panic");
        tested.block_on(async {
            for task in tasks.into_iter().chain([spawned]) {
                assert!(join(task).await);
            }
        });
        sender.join().expect("no panic");
        assert_eq!(tested.ledger.completed(), 5);
        drop(spawner);
        tested.end();
    });
}

/// A worker that was asked to leave and then to stay does one or the other, and has a successor if it left.
#[test]
fn as_many_workers_run_as_were_asked_for_last() {
    explore(|| {
        let tested = TestedRuntime::new(1);
        let spawner = tested.spawner();
        let count = 2 + below(2);
        for count in [3, 1, count] {
            spawner.handle.set_worker_threads(count).expect("the runtime is running");
        }
        all_meet(&tested, &spawner, count);
        drop(spawner);
        tested.end();
    });
}

/// Workers run what a root has spawned, also if the root blocks its thread, and also if it leaves.
#[test]
fn what_a_root_spawns_runs_although_its_thread_blocks_or_leaves() {
    explore(|| {
        let tested = TestedRuntime::new(1 + below(MOST_WORKERS));
        let roots = [0, 1].map(|_| {
            let spawner = tested.spawner();
            beside(move || {
                spawner.handle.block_on(async {
                    let meeting = Meeting::of(2);
                    let theirs = meeting.clone();
                    let met = spawner.spawn_here(async move { theirs.attend() });
                    meeting.attend();
                    drop(spawner.spawn_here(rounds(1)));
                    let awaited = spawner.spawn_here(rounds(1));
                    if below(2) == 0 {
                        assert!(join(awaited).await);
                    }
                    drop(met);
                });
            })
        });
        for root in roots {
            root.join().expect("no panic");
        }
        if below(2) == 0 {
            tested.runtime().block_until_completion();
            assert_eq!(tested.ledger.completed(), 6);
        }
        tested.end();
    });
}

/// The handle may go before, while, or after the task completes; it may have been polled.
#[test]
fn a_dropped_join_handle_leaves_the_output_to_the_task() {
    explore(|| {
        let tested = TestedRuntime::new(1 + below(2));
        let spawner = tested.spawner();
        let signals = Signals::new();
        let tasks = [0, 1].map(|count| spawner.spawn(rounds(count)));
        let waits = signals.clone();
        let waiting = spawner.spawn(async move { waits.wait().await });
        // A task that has polled the handle and then lets go of it.
        let impatient = spawner.spawn(async move {
            let mut waiting = waiting;
            futures_util::future::select(&mut waiting, Box::pin(rounds(1))).await;
            drop(waiting);
        });
        let dropper = beside(move || drop(tasks));
        signals.send();
        assert!(tested.block_on(join(impatient)));
        dropper.join().expect("no panic");
        tested.runtime().block_until_completion();
        assert_eq!(tested.ledger.completed(), 4);
        drop(spawner);
        tested.end();
    });
}

/// A thread that waits for the last task does not wait for ever, and does not return too early.
#[test]
fn the_wait_for_the_last_task_ends_with_it() {
    explore(|| {
        let tested = TestedRuntime::new(1 + below(MOST_WORKERS));
        let (spawner, signals) = (tested.spawner(), Signals::new());
        let waits = signals.clone();
        let inner = spawner.clone();
        let child = Arc::new(Mutex::new(None));
        let slot = child.clone();
        let parent = spawner.spawn(async move {
            waits.wait().await;
            *slot.lock() = Some(inner.spawn_here(rounds(1)));
        });
        let sender = beside(move || signals.send());
        drop(spawner);
        tested.runtime().block_until_completion();
        assert_eq!(tested.ledger.completed(), 2);
        let child = child.lock().take().expect("spawned");
        assert!(parent.is_finished() && child.is_finished(), "a JoinHandle does not know");
        // The ledger counts the receipts that are dropped.
        drop((parent, child));
        sender.join().expect("no panic");
        tested.end();
    });
}

/// Blocking work runs once, or, if the pool is closed first, not at all.
#[test]
fn blocking_work_runs_once_or_is_cancelled() {
    explore(|| {
        let tested = TestedRuntime::new(1 + below(2));
        let spawner = tested.spawner();
        let ran = Arc::new(Mutex::new(0));
        let work = |handle: &crate::runtime::Handle| {
            let ran = ran.clone();
            handle.spawn_blocking(move || *ran.lock() += 1)
        };
        let jobs = [(); 3].map(|()| work(&spawner.handle));
        let inside = spawner.spawn({
            let handle = spawner.handle.clone();
            async move { handle.spawn_blocking(thread::yield_now).await.expect("it runs") }
        });
        let waits = below(2) == 0;
        if waits {
            assert!(tested.block_on(join(inside)));
            for job in jobs {
                tested.block_on(job).expect("it runs");
            }
            assert_eq!(*ran.lock(), 3);
            drop(spawner);
            tested.end();
        } else {
            drop(inside);
            drop(spawner);
            let results = tested.end_then(|| jobs.map(|job| result(job).is_ok()));
            assert_eq!(*ran.lock(), results.iter().filter(|ran| **ran).count());
        }
    });
}

/// Sleeps end, by the thread in the driver's seat; those that are dropped, aborted or cut short do not.
#[test]
fn timers_fire_while_workers_come_and_go() {
    explore(|| {
        let tested = TestedRuntime::with_time(1 + below(MOST_WORKERS));
        let spawner = tested.spawner();
        let nap = Duration::from_millis(1);
        let sleepers = [1, 3].map(|naps| spawner.spawn(async move { sleep(nap * naps).await }));
        let timed = spawner.spawn(async move {
            let in_vain = timeout(nap, pending::<()>()).await;
            assert!(in_vain.is_err());
            timeout(1000 * nap, rounds(1)).await.expect("in time");
        });
        let endless = spawner.spawn(async { sleep(Duration::MAX).await });
        spawner.handle.set_worker_threads(1 + below(MOST_WORKERS)).expect("the runtime is running");
        tested.block_on(async {
            // The root's own timer, which a worker or the driver's thread fires.
            sleep(nap).await;
            for sleeper in sleepers {
                assert!(join(sleeper).await);
            }
            assert!(join(timed).await);
            endless.abort();
            assert!(!join(endless).await);
        });
        drop(spawner);
        tested.end();
    });
}
