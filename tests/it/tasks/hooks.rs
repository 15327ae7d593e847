//! What a runtime calls for each task: when it is spawned, around its polls, and when it has ended.

use crate::support::guard::{guarded, until};
use liten::runtime::{Builder, Handle, TaskMeta};
use liten::task::{self, JoinHandle, TaskId, spawn_local, yield_now};
use std::collections::HashMap;
use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// What was called for each task, a letter for each call.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<HashMap<TaskId, String>>>);

impl Log {
    fn note(&self, letter: char) -> impl Fn(&TaskMeta<'_>) + Send + Sync + 'static {
        let log = self.clone();
        move |task| log.0.lock().unwrap().entry(task.id()).or_default().push(letter)
    }

    /// Spawned `s`, before a poll `(`, after it `)`, ended `t`.
    fn on(builder: &mut Builder) -> Self {
        let log = Self::default();
        builder
            .on_task_spawn(log.note('s'))
            .on_before_task_poll(log.note('('))
            .on_after_task_poll(log.note(')'))
            .on_task_terminate(log.note('t'));
        log
    }

    fn of(&self, id: TaskId) -> String {
        self.0.lock().unwrap().get(&id).cloned().unwrap_or_default()
    }
}

fn one_worker() -> Builder {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(1).max_spare_workers(0);
    builder
}

fn each_flavor() -> [Builder; 2] {
    [one_worker(), Builder::new_current_thread()]
}

async fn yields_twice() {
    yield_now().await;
    yield_now().await;
}

#[test]
fn each_task_is_told_of_in_order_whatever_its_end() {
    guarded(|| {
        for mut builder in each_flavor() {
            let log = Log::on(&mut builder);
            let runtime = builder.build().unwrap();
            let spawn = |task: JoinHandle<()>| (task.id(), task);
            let (waits, waiting) = spawn(runtime.spawn(pending()));
            let (left, _left) = spawn(runtime.spawn(pending()));
            let (returns, panics) = runtime.block_on(async {
                let (returns, task) = spawn(liten::spawn(yields_twice()));
                task.await.unwrap();
                // The JoinHandle learns of the end after the hook.
                assert_eq!(log.of(returns), "s()()()t");
                let (panics, task) = spawn(liten::spawn(async { panic!("in a poll") }));
                assert!(task.await.unwrap_err().is_panic());
                waiting.abort();
                assert!(waiting.await.unwrap_err().is_cancelled());
                (returns, panics)
            });
            let handle = runtime.handle().clone();
            drop(runtime);
            let (late, refused) = spawn(handle.spawn(async {}));
            assert!(refused.is_finished());
            let told = [returns, panics, waits, left, late].map(|id| log.of(id));
            assert_eq!(told, ["s()()()t", "s()t", "s()t", "s()t", "st"]);
            assert_eq!(log.0.lock().unwrap().len(), told.len(), "the root is no task");
        }
    });
}

#[test]
fn local_tasks_of_a_runtime_are_told_of() {
    guarded(|| {
        let mut builder = Builder::new_current_thread();
        let log = Log::on(&mut builder);
        let runtime = builder.build_local().unwrap();
        let ids = runtime.block_on(async {
            let tasks = [spawn_local(yields_twice()), liten::spawn(yields_twice())];
            let ids = [tasks[0].id(), tasks[1].id()];
            for task in tasks {
                task.await.unwrap();
            }
            ids
        });
        assert_eq!(ids.map(|id| log.of(id)), ["s()()()t", "s()()()t"]);
    });
}

/// What the future owns is dropped, and the task can be told by place and name.
#[test]
fn a_hook_sees_place_and_name_and_the_end_comes_after_the_future() {
    guarded(|| {
        let (owned, seen) = (Arc::new(()), Arc::new(Mutex::new(Vec::new())));
        let (watched, sees) = (Arc::downgrade(&owned), seen.clone());
        let runtime = one_worker()
            .on_task_terminate(move |task| {
                let name = task.name().map(str::to_owned);
                let (count, line) = (watched.strong_count(), task.spawned_at().line());
                assert_eq!(task.spawned_at().file(), file!());
                sees.lock().unwrap().push((task.id(), line, name, count));
            })
            .build()
            .unwrap();
        let (handle, future) = (runtime.handle(), async move { drop(owned.clone()) });
        let (named, line) =
            (task::Builder::new().name("one").spawn_on(future, handle).unwrap(), line!());
        let id = named.id();
        runtime.block_on(named).unwrap();
        let unnamed = runtime.spawn(async {});
        let other = unnamed.id();
        runtime.block_on(unnamed).unwrap();
        let seen = seen.lock().unwrap();
        assert_eq!(seen[0], (id, line, Some("one".to_owned()), 0));
        assert_eq!((seen[1].0, &seen[1].2), (other, &None));
    });
}

#[test]
fn hooks_that_panic_cost_no_task() {
    guarded(|| {
        for mut builder in each_flavor() {
            let runtime = builder
                .on_task_spawn(|_| panic!("at the spawn"))
                .on_before_task_poll(|_| panic!("before a poll"))
                .on_after_task_poll(|_| panic!("after a poll"))
                .on_task_terminate(|_| panic!("at the end"))
                .build()
                .unwrap();
            let task = runtime.spawn(async {
                yields_twice().await;
                liten::spawn(async { 1 }).await.unwrap()
            });
            assert_eq!(runtime.block_on(task).unwrap(), 1);
            until(|| runtime.metrics().num_alive_tasks() == 0);
        }
    });
}

/// On the thread that spawns, which may be the worker or in no runtime at all.
#[test]
fn a_hook_may_spawn() {
    guarded(|| {
        for mut builder in each_flavor() {
            let (left, handle) = (AtomicUsize::new(10), Arc::new(Mutex::new(None::<Handle>)));
            let own = handle.clone();
            let runtime = builder
                .on_task_spawn(move |_| {
                    let fewer = |left: usize| left.checked_sub(1);
                    if left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fewer).is_ok() {
                        let handle = own.lock().unwrap().clone().unwrap();
                        drop(handle.spawn(async {}));
                    }
                })
                .build()
                .unwrap();
            *handle.lock().unwrap() = Some(runtime.handle().clone());
            let before = runtime.metrics().num_alive_tasks();
            assert_eq!(before, 0);
            runtime.block_on(runtime.spawn(yields_twice())).unwrap();
            runtime.block_on(async {
                while Handle::current().metrics().num_alive_tasks() != 0 {
                    yield_now().await;
                }
            });
            // The hook has it, and the runtime has the hook.
            handle.lock().unwrap().take();
        }
    });
}
