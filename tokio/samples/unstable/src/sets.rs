//! Whose tasks those of `spawn_local` are: those of the set that runs or was entered, and not those of a set
//! or runtime around it.

use crate::ends::{ending, ending_set};
use crate::{current_thread, panics};
use std::future::pending;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tokio::runtime::{Builder, LocalOptions, UnhandledPanic};
use tokio::task::{JoinSet, LocalSet, spawn_local};

pub(crate) fn all() {
    a_plain_set_in_a_runtime_that_ends();
    sets_in_sets();
    entered_sets();
    a_local_runtime();
    tasks_of_a_set_are_not_measured();
}

/// Spawns a task that panics, and says that nothing else has come of it.
async fn a_task_fails() -> bool {
    spawn_local(async { panic!("on purpose") }).await.is_err()
}

fn a_plain_set_in_a_runtime_that_ends() {
    let (runtime, set) = (ending(), LocalSet::new());
    println!("a plain set {}", runtime.block_on(set.run_until(a_task_fails())));
    println!(
        "by its method {}",
        runtime.block_on(
            set.run_until(async { set.spawn_local(async { panic!("on purpose") }).await.is_err() })
        )
    );
    println!(
        "a set of tasks {}",
        runtime.block_on(set.run_until(async {
            let mut tasks = JoinSet::new();
            tasks.spawn_local(async { panic!("on purpose") });
            tasks.join_next().await.unwrap().is_err()
        }))
    );
    set.spawn_local(async { println!("in a task {}", a_task_fails().await) });
    runtime.block_on(set);
}

fn sets_in_sets() {
    let (runtime, outer, inner) = (current_thread(), ending_set(), LocalSet::new());
    let survives = runtime.block_on(outer.run_until(inner.run_until(a_task_fails())));
    println!("a plain set in a set that ends {survives}");
    let (outer, inner) = (LocalSet::new(), ending_set());
    let ends = panics(|| runtime.block_on(outer.run_until(inner.run_until(a_task_fails()))));
    println!("a set that ends in a plain set {ends}");
    println!("and the outer one goes on {}", runtime.block_on(outer.run_until(a_task_fails())));
    // A set that is a task of another set.
    let outer = ending_set();
    let inner = outer.spawn_local(async { LocalSet::new().run_until(a_task_fails()).await });
    println!("a plain set in a task {}", runtime.block_on(outer.run_until(inner)).unwrap());
}

fn entered_sets() {
    let (runtime, set) = (current_thread(), ending_set());
    let entered = set.enter();
    spawn_local(async { panic!("on purpose") });
    drop(entered);
    println!("an entered set {}", panics(|| runtime.block_on(set.run_until(pending::<()>()))));
    let (plain, set) = (Rc::new(LocalSet::new()), ending_set());
    let entered = plain.clone();
    let task = runtime.block_on(set.run_until(async move {
        let _entered = entered.enter();
        spawn_local(async { panic!("on purpose") })
    }));
    println!("an entered plain set {}", runtime.block_on(plain.run_until(task)).is_err());
    println!("and the other one goes on {}", runtime.block_on(set.run_until(async { 7 })));
}

fn a_local_runtime() {
    let build = || {
        Builder::new_current_thread()
            .unhandled_panic(UnhandledPanic::ShutdownRuntime)
            .build_local(LocalOptions::default())
            .unwrap()
    };
    println!("a local runtime {}", panics(|| build().block_on(a_task_fails())));
    let runtime = build();
    let entered = runtime.enter();
    spawn_local(async { panic!("on purpose") });
    drop(entered);
    println!("an entered one {}", panics(|| runtime.block_on(pending::<()>())));
    println!(
        "a plain set in it {}",
        build().block_on(async {
            let set = LocalSet::new();
            let task = set.spawn_local(async { panic!("on purpose") });
            set.await;
            task.await.is_err()
        })
    );
    // One that is plain, made inside of a set that ends, on the way to another runtime.
    let (runtime, set) = (current_thread(), ending_set());
    let _entered = set.enter();
    let plain = Builder::new_current_thread().build_local(LocalOptions::default()).unwrap();
    println!("a plain one while a set is entered {}", plain.block_on(a_task_fails()));
    println!("and the set goes on {}", runtime.block_on(set.run_until(async { 7 })));
}

fn tasks_of_a_set_are_not_measured() {
    let polls = Arc::new(AtomicUsize::new(0));
    let counted = polls.clone();
    let runtime = Builder::new_current_thread()
        .enable_metrics_schedule_latency_histogram()
        .on_before_task_poll(move |_| _ = counted.fetch_add(1, Relaxed))
        .build()
        .unwrap();
    runtime.block_on(LocalSet::new().run_until(async { spawn_local(async {}).await.unwrap() }));
    let metrics = runtime.metrics();
    let buckets = 0..metrics.schedule_latency_histogram_num_buckets();
    let count: u64 =
        buckets.map(|bucket| metrics.schedule_latency_histogram_bucket_count(0, bucket)).sum();
    println!("waits {count}, polls {}", polls.load(Relaxed));
}
