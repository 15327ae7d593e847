//! How runtimes end: in the middle of everything.

use super::explorer::explore;
use super::ledger::Receipt;
use super::tested_runtime::{
    MOST_WORKERS, Meeting, OnDrop, Signals, Spawner, TestedRuntime, below, beside, join, rounds,
    settled,
};
use crate::engine::sync_shim::{Arc, Mutex, thread};
use crate::engine::task::JoinHandle;
use crate::runtime::Runtime;
use crate::time::sleep;
use std::future::pending;
use std::time::Duration;

/// A task for each state in which the end may find it; some have destructors that use the runtime.
fn waiting_tasks(spawner: &Spawner, signals: &Signals) -> Vec<JoinHandle<Receipt>> {
    let waits = signals.clone();
    let (late, sends) = (spawner.clone(), signals.clone());
    let inner = spawner.clone();
    vec![
        spawner.spawn(pending()),
        spawner.spawn(rounds(below(3))),
        spawner.spawn(async move { waits.wait().await }),
        spawner.spawn(async move {
            let _spawns = OnDrop(move || drop(late.spawn(rounds(1))));
            let _wakes = OnDrop(move || sends.send());
            pending::<()>().await;
        }),
        spawner.spawn(async move {
            let child = inner.spawn_here(pending());
            join(child).await;
        }),
    ]
}

/// Other threads spawn, wake, abort and let go of handles while the runtime ends.
#[test]
fn the_end_comes_for_every_task_whatever_others_do_meanwhile() {
    explore(|| {
        let tested = TestedRuntime::new(1 + below(MOST_WORKERS));
        let (spawner, signals) = (tested.spawner(), Signals::new());
        let mut tasks = waiting_tasks(&spawner, &signals);
        let spawning = beside({
            let spawner = spawner.clone();
            let waits = signals.clone();
            move || [spawner.spawn(rounds(1)), spawner.spawn(async move { waits.wait().await })]
        });
        let dropped = tasks.pop();
        let aborts = tasks[below(tasks.len())].abort_handle();
        let meddler = beside(move || {
            signals.send();
            aborts.abort();
            signals.send();
            drop(dropped);
        });
        for _ in 0..below(3) {
            thread::yield_now();
        }
        drop(spawner);
        tested.end_then(|| {
            tasks.extend(spawning.join().expect("no panic"));
            meddler.join().expect("no panic");
            tasks.into_iter().for_each(settled);
        });
    });
}

/// The end, while another thread changes the number of workers and a root is inside.
#[test]
fn the_end_comes_while_workers_come_and_go_and_a_root_is_inside() {
    explore(|| {
        let tested = TestedRuntime::new(2);
        let (spawner, signals) = (tested.spawner(), Signals::new());
        let tasks = waiting_tasks(&spawner, &signals);
        let resizer = beside({
            let handle = spawner.handle.clone();
            move || {
                for count in [3, 1, 2] {
                    // Refused once the runtime has ended.
                    drop(handle.set_worker_threads(count));
                }
            }
        });
        let root = beside({
            let spawner = spawner.clone();
            move || {
                let root = spawner.clone();
                spawner.handle.block_on(async move {
                    let task = root.spawn_here(rounds(1));
                    drop(root.spawn_here(pending()));
                    join(task).await;
                });
            }
        });
        drop((spawner, signals));
        tested.end_then(|| {
            resizer.join().expect("no panic");
            root.join().expect("no panic");
            tasks.into_iter().for_each(settled);
        });
    });
}

/// In the background, from outside or from one of the runtime's own tasks: its threads end all the same, and
/// nothing keeps the scheduler alive.
#[test]
fn a_runtime_that_no_thread_waits_for_ends_too() {
    explore(|| {
        let tested = TestedRuntime::new(1 + below(MOST_WORKERS));
        let (spawner, signals) = (tested.spawner(), Signals::new());
        let mut tasks = waiting_tasks(&spawner, &signals);
        tasks.truncate(3);
        drop((spawner, tasks, signals));
        let own: Arc<Mutex<Option<Runtime>>> = Arc::new(Mutex::new(None));
        let way = below(3);
        tested.end_in_background(|runtime| match way {
            0 => runtime.shutdown_background(),
            1 => drop(runtime.shutdown_timeout(Duration::from_millis(1))),
            _ => {
                let (theirs, ready) = (own.clone(), Signals::new());
                let given = ready.clone();
                drop(runtime.spawn(async move {
                    given.wait().await;
                    let runtime = theirs.lock().take();
                    drop(runtime);
                }));
                *own.lock() = Some(runtime);
                ready.send();
            }
        });
    });
}

/// The destructors of waiting tasks wait for each other, one per worker, while others are woken or on their
/// way: no worker keeps tasks to itself.
#[test]
fn destructors_may_wait_for_each_other() {
    explore(|| {
        let workers = 2 + below(MOST_WORKERS - 1);
        let tested = TestedRuntime::new(workers);
        let (spawner, signals, meeting) = (tested.spawner(), Signals::new(), Meeting::of(workers));
        let mut tasks = waiting_tasks(&spawner, &signals);
        for _ in 0..workers {
            let (meeting, waits) = (meeting.clone(), signals.clone());
            let meets = OnDrop(move || meeting.attend());
            tasks.push(spawner.spawn(async move {
                let _meets = meets;
                waits.wait().await;
                pending::<()>().await;
            }));
        }
        for _ in 0..below(3) {
            signals.send();
        }
        drop((spawner, signals));
        tested.end_then(|| tasks.into_iter().for_each(settled));
    });
}

/// A runtime that is ended in the background runs no destructor on the thread that ends it, also if a worker
/// finds tasks that its destructors have spawned only when it is the last one.
#[test]
fn ending_a_runtime_in_the_background_runs_no_destructor() {
    explore(|| {
        let tested = TestedRuntime::new(1 + below(2));
        let (spawner, closer) = (tested.spawner(), thread::current().id());
        // A panic in a destructor would go to the JoinHandle.
        let here = Arc::new(Mutex::new(0));
        let counted = here.clone();
        let runs = move || *counted.lock() += usize::from(thread::current().id() == closer);
        let inner = spawner.clone();
        drop(spawner.spawn(async move {
            let _spawns = OnDrop(move || {
                let (innermost, runs) = (inner.clone(), runs.clone());
                runs();
                let spawns = OnDrop(move || {
                    runs();
                    let last = OnDrop(runs.clone());
                    drop(innermost.spawn(async move { drop(last) }));
                    // Puts the last one where a worker has looked already.
                    crate::task::block_in_place(|| ());
                });
                drop(inner.spawn(async move { drop(spawns) }));
            });
            pending::<()>().await;
        }));
        drop(spawner);
        for _ in 0..below(3) {
            thread::yield_now();
        }
        tested.end_in_background(Runtime::shutdown_background);
        assert_eq!(*here.lock(), 0, "destructors on the thread that ends the runtime");
    });
}

/// One call of whatever kind.
fn act(spawner: &Spawner, signals: &Signals, tasks: &mut Vec<JoinHandle<Receipt>>) {
    let waits = signals.clone();
    let any = |tasks: &[JoinHandle<Receipt>]| below(tasks.len().max(1));
    match below(11) {
        0 => tasks.push(spawner.spawn(pending())),
        1 => tasks.push(spawner.spawn(rounds(below(3)))),
        2 => tasks.push(spawner.spawn(async move { waits.wait().await })),
        3 => tasks.push(spawner.spawn(async move { waits.send() })),
        4 => {
            let inner = spawner.clone();
            tasks.push(spawner.spawn(async move { drop(inner.spawn_here(rounds(1))) }));
        }
        5 => tasks.push(spawner.spawn(async { sleep(Duration::from_millis(1)).await })),
        6 => {
            let on_drop = OnDrop(move || waits.send());
            tasks.push(spawner.spawn(async move {
                let _on_drop = on_drop;
                rounds(2).await;
            }));
        }
        7 => signals.send(),
        8 => tasks.get(any(tasks)).into_iter().for_each(JoinHandle::abort),
        // Refused once the runtime has ended.
        9 => drop(spawner.handle.set_worker_threads(1 + below(MOST_WORKERS))),
        _ if tasks.is_empty() => {}
        _ => drop(tasks.swap_remove(any(tasks))),
    }
}

#[test]
fn the_ledger_agrees_after_any_mix_of_calls() {
    explore(|| {
        let tested = TestedRuntime::new(1 + below(MOST_WORKERS));
        let signals = Signals::new();
        let actors = [0, 1].map(|_| {
            let (spawner, signals) = (tested.spawner(), signals.clone());
            beside(move || {
                let mut tasks = Vec::new();
                for _ in 0..2 + below(4) {
                    act(&spawner, &signals, &mut tasks);
                }
                tasks
            })
        });
        let mut tasks = Vec::new();
        let spawner = tested.spawner();
        for _ in 0..below(4) {
            act(&spawner, &signals, &mut tasks);
        }
        drop((spawner, signals));
        tested.end_then(|| {
            tasks.into_iter().for_each(settled);
            for actor in actors {
                actor.join().expect("no panic").into_iter().for_each(settled);
            }
        });
    });
}
