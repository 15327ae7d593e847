//! The list of live tasks.

use crate::support::guard::{guarded, until, workers};
use crate::support::probe::Bell;
use crate::support::waiting::until_waiting;
use liten::insight::{TaskInfo, TaskState};
use liten::runtime::{Builder, Handle, LocalRuntime};
use liten::task::{self, TaskId, yield_now};
use std::collections::{HashMap, HashSet};
use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};

fn find(handle: &Handle, id: TaskId) -> TaskInfo {
    let seen: Vec<_> = handle.tasks().filter(|task| task.id() == id).collect();
    assert_eq!(seen.len(), 1, "each task once");
    seen.into_iter().next().unwrap()
}

#[test]
fn a_waiting_task_is_listed_with_all_that_is_known_of_it() {
    guarded(|| {
        let runtime = workers(1);
        let handle = runtime.handle();
        let bytes = [7_u8; 1_000];
        let future = async move {
            yield_now().await;
            pending::<()>().await;
            std::hint::black_box(bytes);
        };
        let size = size_of_val(&future);
        let (task, line) =
            (task::Builder::new().name("holds bytes").spawn_on(future, handle).unwrap(), line!());
        let unnamed = runtime.spawn(pending::<()>());
        until_waiting(&runtime, 2);
        let seen = find(handle, task.id());
        assert_eq!(seen.name(), Some("holds bytes"));
        assert_eq!(seen.state(), TaskState::Waiting);
        assert_eq!(seen.spawned_at().file(), file!());
        assert_eq!(seen.spawned_at().line(), line);
        assert_eq!(seen.future_size(), Some(size));
        let type_name = seen.type_name().unwrap();
        assert!(type_name.contains("a_waiting_task_is_listed"), "{type_name}");
        let text = seen.to_string();
        assert!(text.contains("\"holds bytes\", waiting for ever, spawned at"), "{text}");
        assert_eq!(find(handle, unnamed.id()).name(), None);
        task.abort();
        unnamed.abort();
        until(|| runtime.metrics().num_alive_tasks() == 0);
        assert_eq!(handle.tasks().count(), 0);
    });
}

/// The task itself polls a box.
#[test]
fn a_large_future_is_listed_as_the_program_has_spawned_it() {
    guarded(|| {
        let runtime = workers(1);
        let handle = runtime.handle();
        let bytes = [7_u8; 20_000];
        let future = async move {
            pending::<()>().await;
            std::hint::black_box(bytes);
        };
        let size = size_of_val(&future);
        let task = task::Builder::new().name("large").spawn_on(future, handle).unwrap();
        until(|| runtime.metrics().num_cold_tasks() == 1);
        let seen = find(handle, task.id());
        assert_eq!((seen.name(), seen.future_size()), (Some("large"), Some(size)));
        let type_name = seen.type_name().unwrap();
        assert!(!type_name.contains("Box"), "{type_name}");
        assert!(type_name.contains("a_large_future_is_listed"), "{type_name}");
    });
}

#[test]
fn a_task_is_running_ready_or_waiting() {
    guarded(|| {
        let runtime = workers(1);
        let (bell, gates) = (Bell::default(), Arc::new([Barrier::new(2), Barrier::new(2)]));
        let waits = bell.clone();
        let ready = runtime.spawn(async move { waits.wait().await });
        let waiting = runtime.spawn(pending::<()>());
        until_waiting(&runtime, 2);
        let theirs = gates.clone();
        // It has never waited.
        let running = runtime.spawn(async move { theirs.iter().map(Barrier::wait).count() });
        gates[0].wait();
        bell.ring();
        let handle = runtime.handle();
        let states = [&ready, &waiting].map(|task| find(handle, task.id()).state());
        assert_eq!(states, [TaskState::Ready, TaskState::Waiting]);
        let seen = find(handle, running.id());
        assert_eq!((seen.state(), seen.type_name()), (TaskState::Running, None));
        gates[1].wait();
    });
}

/// More than one chunk of them, on more than one worker, while others come and go.
#[test]
fn tasks_that_stay_are_seen_once_while_others_die() {
    guarded(|| {
        let runtime = workers(2);
        let stay: HashSet<_> = (0..1_000).map(|_| runtime.spawn(pending::<()>()).id()).collect();
        until(|| runtime.metrics().num_cold_tasks() == stay.len());
        let over = Arc::new(AtomicBool::new(false));
        let (ends, handle) = (over.clone(), runtime.handle().clone());
        let churn = runtime.spawn(async move {
            while !ends.load(Ordering::Relaxed) {
                let name = String::from("short-lived");
                let tasks = (0..50).map(|_| {
                    let builder = task::Builder::new().name(&name);
                    builder.spawn(liten::time::sleep(std::time::Duration::from_micros(50))).unwrap()
                });
                for task in tasks.collect::<Vec<_>>() {
                    task.await.unwrap();
                }
            }
        });
        for _ in 0..200 {
            let mut seen = HashMap::<_, usize>::new();
            for task in handle.tasks() {
                assert!(matches!(task.name(), None | Some("short-lived")));
                *seen.entry(task.id()).or_default() += 1;
            }
            assert!(stay.iter().all(|id| seen.get(id) == Some(&1)), "each that stays, once");
        }
        over.store(true, Ordering::Relaxed);
        runtime.block_on(churn).unwrap();
    });
}

#[test]
fn tasks_of_every_kind_of_runtime_are_listed() {
    guarded(|| {
        let names = |handle: &Handle| {
            let mut names: Vec<_> =
                handle.tasks().map(|task| task.name().unwrap_or("none").to_owned()).collect();
            names.sort();
            names
        };
        let named = |name| task::Builder::new().name(name);
        let runtime = Builder::new_current_thread().build().unwrap();
        let handle = runtime.handle();
        drop(named("sent").spawn_on(pending::<()>(), handle).unwrap());
        assert_eq!(names(handle), [""; 0], "nothing has driven it");
        // It has a thread of its own.
        drop(handle.spawn_pinned(move || async move {
            drop(named("beside").spawn_local(pending::<()>()));
            pending::<()>().await;
        }));
        runtime.block_on(yield_now());
        until(|| runtime.metrics().num_cold_tasks() == 3);
        assert_eq!(names(handle), ["beside", "none", "sent"]);

        let runtime = LocalRuntime::new().unwrap();
        runtime.block_on(async {
            drop(named("local").spawn_local(pending::<()>()).unwrap());
            drop(named("sent").spawn(pending::<()>()).unwrap());
            yield_now().await;
        });
        assert_eq!(names(runtime.handle()), ["local", "sent"]);
    });
}

#[test]
fn the_list_outlives_the_runtime() {
    guarded(|| {
        let runtime = workers(1);
        let handle = runtime.handle().clone();
        for _ in 0..100 {
            drop(runtime.spawn(pending::<()>()));
        }
        until_waiting(&runtime, 100);
        let mut tasks = handle.tasks();
        let first = tasks.next().unwrap();
        drop(runtime);
        assert_eq!(first.state(), TaskState::Waiting);
        // What had been read, and no more.
        assert!(tasks.count() < 64);
        assert_eq!(handle.tasks().count(), 0);
    });
}

#[test]
fn named_work_returns_what_unnamed_work_does() {
    guarded(|| {
        let runtime = workers(1);
        let handle = runtime.handle();
        let builder = task::Builder::new().name("named");
        let job = builder.spawn_blocking_on(|| 1, handle).unwrap();
        let other = runtime.block_on(async { builder.spawn_blocking(|| 2).unwrap().await });
        let plain = task::Builder::new().spawn_on(async { 3 }, handle).unwrap();
        let inside = runtime.block_on(async { builder.spawn(async { 4 }).unwrap().await });
        let sum = runtime.block_on(async { job.await.unwrap() + plain.await.unwrap() });
        assert_eq!((sum, other.unwrap(), inside.unwrap()), (4, 2, 4));
        let panics = builder.spawn_on(async { panic!("on purpose") }, handle).unwrap();
        assert!(runtime.block_on(panics).unwrap_err().is_panic());
        let closed = handle.clone();
        drop(runtime);
        assert!(builder.spawn_blocking_on(|| 1, &closed).is_err());
    });
}
