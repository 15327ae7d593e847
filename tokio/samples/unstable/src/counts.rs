//! Which thread ran the tasks, and which thread has made them ready.

use crate::current_thread;
use std::thread;
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::time::sleep;

pub(crate) fn all() {
    threads();
    without_workers();
    with_workers();
    counts_do_not_fall();
}

fn threads() {
    let runtime = current_thread();
    let metrics = runtime.metrics();
    println!("where it was built {}", metrics.worker_thread_id(0) == Some(thread::current().id()));
    runtime.block_on(async {});
    println!("here {}", metrics.worker_thread_id(0) == Some(thread::current().id()));
    let other = thread::scope(|scope| {
        let other = scope.spawn(|| {
            runtime.block_on(async {});
            thread::current().id()
        });
        other.join().unwrap()
    });
    println!("there {}", metrics.worker_thread_id(0) == Some(other));
}

fn without_workers() {
    let runtime = current_thread();
    let metrics = runtime.metrics();
    runtime.block_on(async { tokio::spawn(async {}).await.unwrap() });
    println!("{} from outside", metrics.remote_schedule_count());
    let outside = thread::scope(|scope| scope.spawn(|| runtime.spawn(async {})).join().unwrap());
    runtime.block_on(outside).unwrap();
    println!("{} from outside", metrics.remote_schedule_count());
    drop(runtime);
    println!("{} by tasks", metrics.worker_local_schedule_count(0));
}

fn with_workers() {
    let runtime = Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let metrics = runtime.metrics();
    for _ in 0..3 {
        let task = runtime.spawn(async { tokio::spawn(async {}).await.unwrap() });
        runtime.block_on(task).unwrap();
    }
    drop(runtime);
    let by_tasks = (0..2).map(|worker| metrics.worker_local_schedule_count(worker)).sum::<u64>();
    println!("{} from outside, by tasks {}", metrics.remote_schedule_count(), by_tasks >= 3);
}

/// Workers go to sleep and are woken while the numbers are read: programs take the differences of two looks.
fn counts_do_not_fall() {
    const WORKERS: usize = 4;
    let mut builder = Builder::new_multi_thread();
    let runtime = builder.worker_threads(WORKERS).enable_time().build().unwrap();
    let metrics = runtime.metrics();
    let tasks: Vec<_> = (0..WORKERS)
        .map(|_| {
            runtime.spawn(async {
                for _ in 0..100 {
                    sleep(Duration::from_millis(1)).await;
                    tokio::spawn(async {}).await.unwrap();
                }
            })
        })
        .collect();
    let look = |worker| {
        [
            metrics.worker_noop_count(worker),
            metrics.worker_local_schedule_count(worker),
            metrics.worker_park_count(worker),
            metrics.worker_poll_count(worker),
            metrics.worker_steal_count(worker),
            metrics.remote_schedule_count(),
        ]
    };
    let (mut before, mut falls) = ([[0; 6]; WORKERS], 0);
    while !tasks.iter().all(|task| task.is_finished()) {
        for (worker, before) in before.iter_mut().enumerate() {
            let now = look(worker);
            falls += now.iter().zip(&*before).filter(|(now, before)| now < before).count();
            *before = now;
        }
    }
    println!("numbers that fell {falls}");
}
