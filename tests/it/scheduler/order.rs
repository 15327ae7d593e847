//! With one worker, tasks start in the order in which they were spawned, and go on in the order in which they
//! were woken together.

use crate::scheduler::steal::occupy;
use crate::support::guard::{guarded, workers};
use liten::runtime::{Builder, LocalRuntime};
use liten::sync::Semaphore;
use liten::task::JoinHandle;
use std::sync::{Arc, Mutex};

const TASKS: usize = 2_000;

/// Notes the order in which tasks are polled for the first time.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<usize>>>);

impl Log {
    fn task(&self, index: usize) -> impl Future<Output = ()> + Send + 'static {
        let log = self.clone();
        async move {
            log.0.lock().unwrap().push(index);
            // What comes later must not change the order of the starts.
            if index % 3 == 0 {
                liten::task::yield_now().await;
            }
        }
    }

    #[track_caller]
    fn check(&self) {
        let started = std::mem::take(&mut *self.0.lock().unwrap());
        assert_eq!(started, (0..TASKS).collect::<Vec<_>>());
    }
}

async fn all(tasks: Vec<JoinHandle<()>>) {
    for task in tasks {
        task.await.unwrap();
    }
}

#[test]
fn from_inside_a_task() {
    guarded(|| {
        let (runtime, log) = (workers(1), Log::default());
        for _ in 0..10 {
            let theirs = log.clone();
            let spawner = runtime.spawn(async move {
                let spawn = |index| liten::spawn(theirs.task(index));
                all((0..TASKS).map(spawn).collect()).await;
            });
            runtime.block_on(spawner).unwrap();
            log.check();
        }
    });
}

/// The worker takes them while they are being spawned.
#[test]
fn from_the_root() {
    guarded(|| {
        let (runtime, log) = (workers(1), Log::default());
        for _ in 0..10 {
            runtime.block_on(async {
                all((0..TASKS).map(|index| liten::spawn(log.task(index))).collect()).await;
            });
            log.check();
        }
    });
}

#[test]
fn from_a_foreign_thread() {
    guarded(|| {
        let (runtime, log) = (workers(1), Log::default());
        for _ in 0..10 {
            let (handle, theirs) = (runtime.handle().clone(), log.clone());
            let thread = std::thread::spawn(move || {
                let tasks: Vec<_> = (0..TASKS).map(|i| handle.spawn(theirs.task(i))).collect();
                smol::block_on(all(tasks));
            });
            thread.join().unwrap();
            log.check();
        }
    });
}

/// All of them wait until the worker is free.
#[test]
fn from_everywhere_while_the_worker_is_busy() {
    guarded(|| {
        let log = Log::default();
        for from_root in [true, false] {
            let runtime = workers(1);
            let release = occupy(&runtime, 1);
            let spawn =
                || (0..TASKS).map(|i| runtime.handle().spawn(log.task(i))).collect::<Vec<_>>();
            let tasks = if from_root { runtime.block_on(async { spawn() }) } else { spawn() };
            drop(release);
            runtime.block_on(all(tasks));
            log.check();
        }
    });
}

#[test]
fn on_a_local_runtime() {
    guarded(|| {
        let (runtime, log) = (LocalRuntime::new().unwrap(), Log::default());
        runtime.block_on(async {
            let spawn = |index| liten::task::spawn_local(log.task(index));
            all((0..TASKS).map(spawn).collect()).await;
        });
        log.check();
    });
}

/// They are more than one round of wakes.
#[test]
fn with_permits_that_are_given_together() {
    guarded(|| {
        let runtime =
            Builder::new_multi_thread().worker_threads(1).max_spare_workers(0).build().unwrap();
        let (log, permits) = (Log::default(), Arc::new(Semaphore::new(0)));
        let theirs = log.clone();
        let spawner = runtime.spawn(async move {
            let spawn = |index| {
                let (permits, task) = (permits.clone(), theirs.task(index));
                liten::spawn(async move {
                    permits.acquire().await.unwrap().forget();
                    task.await;
                })
            };
            let tasks = (0..TASKS).map(spawn).collect();
            // Spawned after them, so all of them wait.
            liten::spawn(async move { permits.add_permits(TASKS) }).await.unwrap();
            all(tasks).await;
        });
        runtime.block_on(spawner).unwrap();
        log.check();
    });
}
