//! What the tasks of a runtime wait for.

use std::future::{Future, pending};
use std::pin::pin;
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Dump, Runtime};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

pub(crate) fn all() {
    without_a_free_thread_for_blocking_work();
    outside_a_runtime();
    with_spans_and_waits();
}

/// Where the tasks wait.
#[inline(never)]
async fn nap() {
    tokio::time::sleep(Duration::from_secs(3600)).await;
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for `future` on a thread that is in no runtime; `None`: not within half a minute.
fn outside<R>(future: impl Future<Output = R>) -> Option<R> {
    let (waker, begin) = (Waker::from(Arc::new(Unpark(thread::current()))), Instant::now());
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Some(output);
        }
        let left = Duration::from_secs(30).checked_sub(begin.elapsed())?;
        thread::park_timeout(left);
    }
}

fn workers() -> Builder {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(2).max_blocking_threads(1).enable_all();
    builder
}

/// Starts a task that naps, and lets it do so.
fn start_a_nap(runtime: &Runtime) {
    drop(runtime.spawn(nap()));
    let polls = || (0..2).map(|worker| runtime.metrics().worker_poll_count(worker)).sum::<u64>();
    while polls() < 1 {
        thread::sleep(Duration::from_millis(1));
    }
}

/// Whether a task of the dump is in [`nap`].
fn is_napping(dump: &Dump) -> bool {
    dump.tasks().iter().any(|task| task.trace().to_string().contains("nap"))
}

/// Each dump has a runtime of its own, because the second one of a runtime may have no end on tokio.
fn without_a_free_thread_for_blocking_work() {
    let (runtime, stuck) = with_a_stuck_thread();
    let dump = outside(runtime.handle().dump());
    println!("without a free thread {:?}", dump.as_ref().map(is_napping));
    drop(stuck);
    end_without_waiting(runtime);

    let (runtime, stuck) = with_a_stuck_thread();
    let handle = runtime.handle().clone();
    let dump = runtime.block_on(async {
        let dump = tokio::spawn(async move { handle.dump().await });
        tokio::time::timeout(Duration::from_secs(30), dump).await
    });
    println!("from a task {:?}", dump.map(|dump| is_napping(&dump.unwrap())));
    drop(stuck);
    end_without_waiting(runtime);
}

/// A runtime whose only thread for blocking work has work until the sender is dropped.
fn with_a_stuck_thread() -> (Runtime, mpsc::Sender<()>) {
    let runtime = workers().build().unwrap();
    start_a_nap(&runtime);
    let (end, is_over) = mpsc::channel::<()>();
    drop(runtime.spawn_blocking(move || _ = is_over.recv()));
    (runtime, end)
}

/// tokio's worker may begin one dump more than were asked for. At a barrier it then waits for a worker that
/// has ended, and a drop of the runtime waits for it.
fn end_without_waiting(runtime: Runtime) {
    runtime.shutdown_background();
}

fn outside_a_runtime() {
    let runtime = workers().build().unwrap();
    start_a_nap(&runtime);
    let handle = runtime.handle().clone();
    let dumped = thread::spawn(move || outside(handle.dump()).as_ref().map(is_napping));
    println!("outside a runtime {:?}", dumped.join().map_err(|_| "it panics"));
    end_without_waiting(runtime);
}

/// Wants all spans.
struct All;

impl Subscriber for All {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// What a task is wrapped in for them hides nothing, and it can be woken afterwards.
fn with_spans_and_waits() {
    for (spans, waits) in [(false, true), (true, false), (true, true)] {
        let (is_napping, _) = dumped(spans, waits);
        println!("spans {spans}, waits {waits}: {is_napping}");
    }
}

/// Whether a dump shows where a task waits, and how many waits were counted by then.
fn dumped(spans: bool, waits: bool) -> (bool, u64) {
    let dispatch = tracing::Dispatch::new(All);
    let _spans = spans.then(|| tracing::dispatcher::set_default(&dispatch));
    let mut builder = workers();
    if waits {
        builder.enable_metrics_schedule_latency_histogram();
    }
    let runtime = builder.build().unwrap();
    let (end, is_over) = tokio::sync::oneshot::channel::<()>();
    let task = runtime.spawn(naps_until(is_over));
    while (0..2).map(|worker| runtime.metrics().worker_poll_count(worker)).sum::<u64>() < 1 {
        thread::sleep(Duration::from_millis(1));
    }
    let dump = outside(runtime.handle().dump()).unwrap();
    let metrics = runtime.metrics();
    let buckets = 0..metrics.schedule_latency_histogram_num_buckets();
    let count = |worker| -> u64 {
        let of = |bucket| metrics.schedule_latency_histogram_bucket_count(worker, bucket);
        buckets.clone().map(of).sum()
    };
    let counted = count(0) + count(1);
    drop(end);
    runtime.block_on(task).unwrap();
    end_without_waiting(runtime);
    (is_napping(&dump), counted)
}

#[inline(never)]
async fn naps_until(is_over: tokio::sync::oneshot::Receiver<()>) {
    _ = is_over.await;
}

/// On tokio a dump waits until each worker takes part.
pub(crate) fn ours() {
    a_dump_waits_no_longer_for_many_tasks_than_for_one();
    one_dump_after_the_other();
    assert_eq!(dumped(true, true).1, 1, "the poll for a dump is no wait");
    println!("all as it should be");
}

fn one_dump_after_the_other() {
    let runtime = workers().build().unwrap();
    start_a_nap(&runtime);
    for _ in 0..3 {
        let dump = outside(runtime.handle().dump());
        assert_eq!(dump.as_ref().map(is_napping), Some(true));
    }
}

/// Nothing runs the tasks.
fn a_dump_waits_no_longer_for_many_tasks_than_for_one() {
    let took = |count| {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        (0..count).for_each(|_| drop(runtime.spawn(pending::<()>())));
        runtime.block_on(async {
            for _ in 0..count {
                tokio::task::yield_now().await;
            }
        });
        let begin = Instant::now();
        let dump = outside(runtime.handle().dump()).expect("it has an end");
        assert_eq!(dump.tasks().iter().count(), count);
        begin.elapsed()
    };
    // The first one reads the names of the functions.
    took(1);
    let (one, many) = (took(1), took(200));
    assert!(many < 20 * one, "{one:?} for a task, {many:?} for many");
}
