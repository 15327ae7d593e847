//! What `--cfg tokio_unstable` adds: names, hooks, metrics, ends, dumps. It prints the same on tokio and on
//! liten. With the argument `ours` it looks at what holds on liten alone.

mod counts;
mod dumps;
mod ends;
mod sets;
mod spans;
mod waits;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use tokio::runtime::{
    Builder, HistogramConfiguration, LocalRuntime, LogHistogram, RngSeed, Runtime, UnhandledPanic,
};
use tokio::task::{self, JoinSet, LocalSet};

/// How often each of the four hooks was called, and whether the ids in them were right.
#[derive(Default)]
struct Calls {
    spawned: AtomicUsize,
    before: AtomicUsize,
    after: AtomicUsize,
    ended: AtomicUsize,
}

fn main() {
    if std::env::args().nth(1).as_deref() == Some("ours") {
        return dumps::ours();
    }
    let calls = Arc::new(Calls::default());
    let of = |what: fn(&Calls) -> &AtomicUsize| {
        let calls = calls.clone();
        move |task: &tokio::runtime::TaskMeta<'_>| {
            assert!(!task.id().to_string().is_empty());
            assert!(task.spawned_at().file().ends_with("main.rs"));
            what(&calls).fetch_add(1, Relaxed);
        }
    };
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .on_task_spawn(of(|calls| &calls.spawned))
        .on_before_task_poll(of(|calls| &calls.before))
        .on_after_task_poll(of(|calls| &calls.after))
        .on_task_terminate(of(|calls| &calls.ended))
        .disable_lifo_slot()
        .unhandled_panic(UnhandledPanic::Ignore)
        .rng_seed(RngSeed::from_bytes(b"seed"))
        .enable_metrics_poll_time_histogram()
        .metrics_poll_time_histogram_configuration(HistogramConfiguration::linear(
            Duration::from_micros(100),
            10,
        ))
        .enable_metrics_schedule_latency_histogram()
        .build()
        .unwrap();
    runtime.block_on(tasks());
    let metrics = runtime.metrics();
    let polls = || (0..2).map(|worker| metrics.worker_poll_count(worker)).sum::<u64>();
    // tokio's workers tell their numbers when they go to sleep, and a task counts for a moment after its end.
    while metrics.num_alive_tasks() > 0 || polls() < 12 {
        std::thread::yield_now();
    }
    println!("workers {}", metrics.num_workers());
    println!("histogram {}", metrics.poll_time_histogram_enabled());
    println!("waits {}", metrics.schedule_latency_histogram_enabled());
    let range = metrics.poll_time_histogram_bucket_range(0);
    println!("first bucket from {:?}", range.start);
    println!("blocking {}", metrics.num_blocking_threads() >= 1);
    println!("mean {}", metrics.worker_mean_poll_time(0) < Duration::from_secs(60));
    drop(runtime);
    let [spawned, before, after, ended] =
        [&calls.spawned, &calls.before, &calls.after, &calls.ended].map(|one| one.load(Relaxed));
    println!(
        "spawned {spawned}, all ended {}, polls are pairs {}",
        // tokio tells the end of the function that blocks, too.
        ended >= spawned,
        before == after && before >= 12
    );
    local();
    by_seed();
    counts::all();
    ends::all();
    sets::all();
    waits::all();
    dumps::all();
    spans::all();
}

/// Twelve tasks, one of which is a function that blocks and is no task for the hooks.
async fn tasks() {
    let task = task::Builder::new().name("one").spawn(async { task::try_id().is_some() }).unwrap();
    println!("inside {}", task.await.unwrap());
    let mut set = JoinSet::new();
    for number in 0..10 {
        set.build_task().name("of many").spawn(async move { number }).unwrap();
    }
    set.build_task().name("blocking").spawn_blocking(|| 100).unwrap();
    let sum: i32 = set.join_all().await.into_iter().sum();
    println!("sum {sum}");
    let failed = task::Builder::new().name("fails").spawn(async { panic!("on purpose") }).unwrap();
    println!("panicked {}", failed.await.unwrap_err().is_panic());
}

/// Two runtimes of one seed choose the same, and count polls in the buckets that were asked for.
fn by_seed() {
    let buckets = LogHistogram::builder().max_error(0.5).max_value(Duration::from_secs(1)).build();
    let choices = || {
        let runtime = Builder::new_current_thread()
            .rng_seed(RngSeed::from_bytes(b"seed"))
            .enable_metrics_poll_time_histogram()
            .metrics_poll_time_histogram_configuration(HistogramConfiguration::log(buckets))
            .build()
            .unwrap();
        let mut choices = Vec::new();
        runtime.block_on(async {
            for _ in 0..20 {
                tokio::select! {
                    () = async {} => choices.push(0),
                    () = async {} => choices.push(1),
                }
            }
            tokio::spawn(async {}).await.unwrap();
        });
        let metrics = runtime.metrics();
        let buckets = metrics.poll_time_histogram_num_buckets();
        let polls = (0..buckets).map(|bucket| metrics.poll_time_histogram_bucket_count(0, bucket));
        let last = metrics.poll_time_histogram_bucket_range(buckets - 1).start;
        println!("{buckets} buckets, the last from {last:?}, {} polls", polls.sum::<u64>());
        choices
    };
    println!("the same choices {}", choices() == choices());
}

fn local() {
    let runtime = LocalRuntime::new().unwrap();
    let number = runtime.block_on(async {
        let set = LocalSet::new();
        let number = std::rc::Rc::new(7);
        let task = task::Builder::new()
            .name("local")
            .spawn_local_on(async move { *number }, &set)
            .unwrap();
        set.await;
        let named = task::Builder::new().name("here").spawn_local(async { 1 }).unwrap();
        task.await.unwrap() + named.await.unwrap()
    });
    println!("local {number}");
}

fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Whether `f` panics.
fn panics<R>(f: impl FnOnce() -> R) -> bool {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).is_err()
}
