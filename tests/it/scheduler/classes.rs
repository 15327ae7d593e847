//! Classes of tasks: which of several ready tasks runs first on a worker, and that bulk work gets its share.
//!
//! There is one worker, and no spare one takes its place while a task holds it up.

use crate::scheduler::steal::occupy;
use crate::support::guard::{guarded, until};
use liten::runtime::{Builder, LocalRuntime, Runtime};
use liten::sync::mpsc::unbounded_channel;
use liten::task::{Builder as TaskBuilder, Class, JoinHandle, spawn_bulk, yield_now};
use std::sync::{Arc, Mutex};

fn one_worker() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).max_spare_workers(0).build().unwrap()
}

/// Words in the order in which tasks say them.
#[derive(Clone, Default)]
struct Said(Arc<Mutex<Vec<&'static str>>>);

impl Said {
    fn say(&self, word: &'static str) {
        self.0.lock().unwrap().push(word);
    }

    fn task(&self, word: &'static str) -> impl Future<Output = ()> + Send + use<> {
        let said = self.clone();
        async move { said.say(word) }
    }

    fn take(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

fn spawn_in<F>(class: Class, future: F) -> JoinHandle<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    TaskBuilder::new().class(class).spawn(future).unwrap()
}

async fn all(tasks: impl IntoIterator<Item = JoinHandle<()>>) {
    for task in tasks {
        task.await.unwrap();
    }
}

#[test]
fn bulk_tasks_begin_when_nothing_else_is_ready() {
    guarded(|| {
        let (runtime, said) = (one_worker(), Said::default());
        let spawn_all = |said: &Said| {
            [
                spawn_bulk(said.task("bulk")),
                spawn_in(Class::Bulk, said.task("bulk")),
                liten::spawn(said.task("normal")),
                spawn_in(Class::Latency, said.task("latency")),
                spawn_in(Class::Normal, said.task("normal")),
            ]
        };
        let order = ["normal", "latency", "normal", "bulk", "bulk"];
        let theirs = said.clone();
        let inside = runtime.spawn(async move { all(spawn_all(&theirs)).await });
        runtime.block_on(inside).unwrap();
        assert_eq!(said.take(), order, "spawned by a task");

        let released = occupy(&runtime, 1);
        let tasks = runtime.block_on(async { spawn_all(&said) });
        drop(released);
        runtime.block_on(all(tasks));
        assert_eq!(said.take(), order, "spawned by the root");
    });
}

/// Woken by a task on the same worker, and by a thread of the program.
#[test]
fn a_woken_bulk_task_lets_ready_tasks_go_first() {
    guarded(|| {
        for is_by_task in [true, false] {
            let (runtime, said) = (one_worker(), Said::default());
            let (send, mut received) = unbounded_channel::<()>();
            let theirs = said.clone();
            let bulk = async move {
                received.recv().await.unwrap();
                theirs.say("bulk");
            };
            let builder = TaskBuilder::new().class(Class::Bulk);
            let bulk = builder.spawn_on(bulk, runtime.handle()).unwrap();
            until(|| runtime.metrics().num_cold_tasks() == 1);
            let theirs = said.clone();
            if is_by_task {
                let wakes = runtime.spawn(async move {
                    send.send(()).unwrap();
                    all([liten::spawn(theirs.task("one")), liten::spawn(theirs.task("two"))]).await;
                });
                runtime.block_on(wakes).unwrap();
            } else {
                let released = occupy(&runtime, 1);
                send.send(()).unwrap();
                let tasks = ["one", "two"].map(|word| runtime.handle().spawn(theirs.task(word)));
                drop(released);
                runtime.block_on(all(tasks));
            }
            runtime.block_on(bulk).unwrap();
            assert_eq!(said.take(), ["one", "two", "bulk"], "by a task: {is_by_task}");
        }
    });
}

#[test]
fn a_task_has_the_class_of_the_one_that_spawns_it_unless_it_is_given_one() {
    guarded(|| {
        let (runtime, said) = (one_worker(), Said::default());
        let theirs = said.clone();
        runtime.block_on(async {
            spawn_bulk(async move {
                let grandchild = theirs.task("grandchild");
                let normal = theirs.task("normal");
                let child = liten::spawn(async move {
                    let tasks = [liten::spawn(grandchild), spawn_in(Class::Normal, normal)];
                    all(tasks).await;
                });
                let named = TaskBuilder::new().name("named").spawn(theirs.task("named")).unwrap();
                let latency = spawn_in(Class::Latency, theirs.task("latency"));
                child.await.unwrap();
                all([named, latency]).await;
            })
            .await
            .unwrap();
        });
        assert_eq!(said.take(), ["latency", "normal", "named", "grandchild"]);

        // A class is not passed on by a task that ran before.
        let theirs = said.clone();
        let plain = runtime.spawn(async move {
            let tasks = [spawn_bulk(theirs.task("bulk")), liten::spawn(theirs.task("plain"))];
            all(tasks).await;
        });
        runtime.block_on(plain).unwrap();
        assert_eq!(said.take(), ["plain", "bulk"]);
    });
}

#[test]
fn bulk_tasks_get_their_share_while_others_are_always_ready() {
    guarded(|| {
        let runtime = one_worker();
        let (there, mut back) = unbounded_channel::<()>();
        let (answer, mut answered) = unbounded_channel::<()>();
        // Two tasks that wake each other without an end, and more that are ready now and then.
        drop(
            runtime.spawn(async move {
                while back.recv().await.is_some() && answer.send(()).is_ok() {}
            }),
        );
        let pair = runtime.spawn(async move {
            loop {
                there.send(()).unwrap();
                answered.recv().await.unwrap();
                drop(liten::spawn(async {}));
            }
        });
        let rounds = runtime.block_on(async {
            let (send, mut received) = unbounded_channel();
            let waits = spawn_bulk(async move {
                let mut count = 0;
                while let Some(()) = received.recv().await {
                    count += 1;
                }
                count
            });
            let yields = spawn_bulk(async move {
                for _ in 0..100 {
                    send.send(()).unwrap();
                    yield_now().await;
                }
            });
            yields.await.unwrap();
            waits.await.unwrap()
        });
        assert!(rounds == 100 && !pair.is_finished());
        pair.abort();
    });
}

#[test]
fn a_class_changes_nothing_without_workers() {
    guarded(|| {
        let said = Said::default();
        LocalRuntime::new().unwrap().block_on(async {
            all([spawn_bulk(said.task("first")), liten::spawn(said.task("second"))]).await;
        });
        assert_eq!(said.take(), ["first", "second"]);
    });
}
