//! Spawning: from tasks, from the root, from foreign threads; many, and deep.

use crate::support::guard::{guarded, named, until, workers};
use crate::support::probe::{Bell, Count, OnDrop};
use liten::runtime::{Handle, Runtime};
use liten::task::TaskId;
use std::collections::HashSet;
use std::pin::Pin;
use std::sync::mpsc;
use std::thread;

const MILLION: usize = 1_000_000;

#[test]
fn a_task_gives_its_value_back() {
    guarded(|| {
        let text = String::from("moved into the task");
        let length = workers(1).block_on(async { liten::spawn(async move { text.len() }).await });
        assert_eq!(length.unwrap(), 19);
    });
}

#[test]
fn tasks_spawn_tasks_without_being_given_a_handle() {
    guarded(|| {
        let sum = workers(2).block_on(async {
            let outer = liten::spawn(async {
                let inner = liten::spawn(async { liten::spawn(async { 1 }).await.unwrap() + 1 });
                inner.await.unwrap() + 1
            });
            outer.await.unwrap() + 1
        });
        assert_eq!(sum, 4);
    });
}

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

fn descend(depth: usize) -> Boxed<usize> {
    Box::pin(async move {
        if depth == 0 {
            return 0;
        }
        liten::spawn(descend(depth - 1)).await.unwrap() + 1
    })
}

#[test]
fn ten_thousand_spawns_deep() {
    guarded(|| {
        for count in [1, 4] {
            let depth = workers(count).block_on(async { liten::spawn(descend(10_000)).await });
            assert_eq!(depth.unwrap(), 10_000);
        }
    });
}

/// With a bounded queue the spawning task would wait for itself.
#[test]
fn one_million_tasks_from_one_task() {
    guarded(|| {
        let (runtime, ran) = (workers(2), Count::default());
        let counted = ran.clone();
        drop(runtime.spawn(async move {
            for _ in 0..MILLION {
                let counted = counted.clone();
                drop(liten::spawn(async move {
                    counted.add();
                }));
            }
        }));
        runtime.block_until_completion();
        assert_eq!(ran.get(), MILLION);
    });
}

#[test]
fn eight_foreign_threads_spawn_at_once() {
    guarded(|| {
        let runtime = workers(2);
        let spawn = |handle: Handle| {
            thread::spawn(move || (0..10_000).map(|i| handle.spawn(async move { i })).collect())
        };
        let threads: Vec<_> = (0..8).map(|_| spawn(runtime.handle().clone())).collect();
        let mut sum = 0;
        for thread in threads {
            let handles: Vec<_> = thread.join().unwrap();
            sum += runtime.block_on(async {
                let mut sum = 0;
                for handle in handles {
                    sum += handle.await.unwrap();
                }
                sum
            });
        }
        assert_eq!(sum, 8 * (0..10_000).sum::<usize>());
    });
}

#[test]
fn very_many_tasks_wait_at_the_same_time() {
    guarded(|| {
        let (runtime, bell, dropped) = (workers(2), Bell::default(), Count::default());
        let runs = Count::default();
        let tasks: Vec<_> = (0..MILLION)
            .map(|i| {
                let (bell, dropped, runs) = (bell.clone(), OnDrop(dropped.clone()), runs.clone());
                // One in a hundred waits for the bell, the others for nothing that ever happens.
                runtime.spawn(async move {
                    let _dropped = dropped;
                    runs.add();
                    if i % 100 == 0 { bell.wait().await } else { std::future::pending().await }
                })
            })
            .collect();
        crate::support::guard::until(|| {
            runs.get() == MILLION && runtime.metrics().num_cold_tasks() == MILLION
        });
        assert_eq!(runtime.metrics().num_alive_tasks(), MILLION);
        bell.ring();
        runtime.block_on(async {
            for task in tasks.into_iter().step_by(100) {
                task.await.unwrap();
            }
        });
        assert_eq!(dropped.get(), MILLION / 100);
        drop(runtime);
        assert_eq!(dropped.get(), MILLION);
    });
}

#[test]
fn tasks_run_on_the_workers_and_nowhere_else() {
    guarded(|| {
        let runtime = named(3, "onlyw");
        let names: HashSet<String> = runtime.block_on(async {
            let tasks: Vec<_> = (0..100)
                .map(|_| {
                    liten::spawn(async {
                        let first = thread::current().name().unwrap().to_owned();
                        liten::task::yield_now().await;
                        // Woken by a foreign thread, and by the driver.
                        let (sender, receiver) = liten::sync::oneshot::channel();
                        thread::spawn(move || sender.send(()));
                        receiver.await.unwrap();
                        let second = thread::current().name().unwrap().to_owned();
                        liten::time::sleep(std::time::Duration::from_millis(1)).await;
                        [first, second, thread::current().name().unwrap().to_owned()]
                    })
                })
                .collect();
            let mut names = HashSet::new();
            for task in tasks {
                names.extend(task.await.unwrap());
            }
            names
        });
        let expected = ["onlyw-0", "onlyw-1", "onlyw-2"];
        assert!(names.iter().all(|name| expected.contains(&name.as_str())), "{names:?}");
    });
}

#[test]
fn there_is_a_worker_per_cpu_unless_told_otherwise() {
    guarded(|| {
        crate::support::process::alone(
            "tasks::spawn::there_is_a_worker_per_cpu_unless_told_otherwise",
            || {
                let metrics = Runtime::new().unwrap().metrics();
                let limits = metrics.cpu_limits();
                let quota = limits.quota().map_or(usize::MAX, |quota| quota.ceil() as usize);
                assert_eq!(metrics.num_workers(), limits.cpus().min(quota));
                assert_eq!(workers(3).metrics().num_workers(), 3);
            },
        );
    });
}

#[test]
fn ids_are_unique_and_known_inside_and_outside() {
    guarded(|| {
        let runtime = workers(2);
        assert_eq!(liten::task::try_id(), None);
        let ids: HashSet<TaskId> = runtime.block_on(async {
            assert_eq!(liten::task::try_id(), None, "the root is no task");
            let mut ids = HashSet::new();
            for _ in 0..5_000 {
                let task = liten::spawn(async {
                    liten::task::yield_now().await;
                    liten::task::id()
                });
                let outside = task.id();
                assert_eq!(task.await.unwrap(), outside);
                ids.insert(outside);
            }
            ids
        });
        assert_eq!(ids.len(), 5_000);
    });
}

/// The output's destructor is the last of the task's code, whichever thread runs it.
#[test]
fn the_destructor_of_an_output_knows_the_id_of_its_task() {
    struct Tells(mpsc::Sender<Option<TaskId>>);
    impl Drop for Tells {
        fn drop(&mut self) {
            self.0.send(liten::task::try_id()).unwrap();
        }
    }
    guarded(|| {
        let runtime = workers(1);
        for completes_first in [true, false] {
            let (tell, told) = mpsc::channel();
            let (go, gone) = liten::sync::oneshot::channel::<()>();
            let task = runtime.spawn(async move {
                let _ = gone.await;
                Tells(tell)
            });
            let id = task.id();
            if completes_first {
                drop(go);
                until(|| task.is_finished());
                drop(task);
            } else {
                drop(task);
                drop(go);
            }
            assert_eq!(told.recv(), Ok(Some(id)));
            assert_eq!(liten::task::try_id(), None);
        }
    });
}

#[test]
fn futures_of_any_size_and_alignment_are_kept_whole() {
    #[repr(align(256))]
    #[derive(Clone, Copy, PartialEq, Debug)]
    struct Aligned([u8; 256]);

    guarded(|| {
        let runtime = workers(2);
        runtime.block_on(async {
            let big = [7u8; 20_000];
            let aligned = Aligned([9; 256]);
            let task = liten::spawn(async move {
                liten::task::yield_now().await;
                assert_eq!(&raw const aligned as usize % 256, 0);
                (big, aligned)
            });
            let (big, aligned) = task.await.unwrap();
            assert!(big.iter().all(|byte| *byte == 7));
            assert_eq!(aligned, Aligned([9; 256]));
            liten::spawn(async {}).await.unwrap();
        });
    });
}
