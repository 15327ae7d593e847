//! How long polls take and tasks wait, as far as a sample of them tells, and exactly for the longest.

use crate::support::guard::{guarded, workers};
use liten::runtime::{LocalRuntime, Runtime, RuntimeMetrics};
use liten::sync::Notify;
use liten::task::yield_now;
use std::sync::Arc;
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);

fn spin(time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// How many are in the buckets that end after `time`, and in the others.
fn split(
    metrics: &RuntimeMetrics,
    time: Duration,
    count: fn(&RuntimeMetrics, usize, usize) -> u64,
) -> (u64, u64) {
    let buckets = 0..metrics.poll_time_histogram_num_buckets();
    let (above, below): (Vec<usize>, Vec<usize>) =
        buckets.partition(|&bucket| metrics.poll_time_histogram_bucket_range(bucket).end > time);
    let sum =
        |buckets: Vec<usize>| buckets.into_iter().map(|bucket| count(metrics, 0, bucket)).sum();
    (sum(above), sum(below))
}

fn poll_times(runtime: &Runtime, time: Duration) -> (u64, u64) {
    split(&runtime.metrics(), time, RuntimeMetrics::poll_time_histogram_bucket_count)
}

fn latencies(runtime: &Runtime, time: Duration) -> (u64, u64) {
    split(&runtime.metrics(), time, RuntimeMetrics::schedule_latency_histogram_bucket_count)
}

#[test]
fn a_poll_that_is_timed_counts_for_those_that_are_not() {
    guarded(|| {
        let runtime = workers(1);
        let each = Duration::from_micros(20);
        let handle = runtime.handle().clone();
        let task = runtime.spawn(async move {
            // Until some thousand of them have been counted, one for many.
            while handle.metrics().worker_poll_count(0) < 10_000 {
                spin(each);
                yield_now().await;
            }
        });
        runtime.block_on(task).unwrap();
        let (long, short) = poll_times(&runtime, each);
        // The last poll is the only one that may be shorter.
        assert!(short <= 100, "{short} polls are shorter than all of them are");
        // Those that the watchdog has seen to be long are counted beside the sample.
        assert!((1_000..=11_000).contains(&long), "{long} of 10,000");
    });
}

/// They take nearly all of the time, so what comes by the clock comes in one of them, and short ones follow.
///
/// On a busy machine some of them are so long that the watchdog counts them. These are left out, and if there
/// are too few others, the sample says little.
#[test]
fn rare_polls_that_are_not_short_are_in_the_sample() {
    const LONGEST: Duration = Duration::from_secs(60);
    guarded(|| {
        let runtime = workers(1);
        let handle = runtime.handle().clone();
        let counted = move || {
            let count = RuntimeMetrics::poll_time_histogram_bucket_count;
            let [longest, all] = [17, 2].map(|ms| split(&handle.metrics(), ms * MS, count).0);
            all - longest
        };
        let task = runtime.spawn(async move {
            let begin = Instant::now();
            let (mut polls, mut sampled) = (0, 0);
            while counted() < 1_000 && polls < 2_000 && begin.elapsed() < LONGEST {
                let before = Instant::now();
                std::thread::sleep(2 * MS);
                polls += 1;
                sampled += u64::from(before.elapsed() < 16 * MS);
                for _ in 0..20 {
                    yield_now().await;
                }
            }
            (polls, sampled, counted())
        });
        let (polls, sampled, counted) = runtime.block_on(task).unwrap();
        assert!(counted <= 5 * polls, "{counted} of {polls}");
        assert!(sampled < 500 || sampled <= 5 * counted, "{counted} of {sampled}");
    });
}

/// A sample would miss some of them, and count others for many. On a machine that is busy with something
/// else, the watchdog may not be let run for so long that it misses some, too: then all of it once more, with
/// polls of twice the length. And a short poll takes long there if the system takes the processor away in it,
/// so the task looks at the clock whenever it goes on: what was long lies in a time that it has seen.
#[test]
fn each_of_the_longest_polls_is_counted_once() {
    const POLLS: u64 = 20;
    guarded(|| {
        let runtime = workers(1);
        let mut long = 40 * MS;
        let handle = runtime.handle().clone();
        let counted = move || {
            split(&handle.metrics(), 17 * MS, RuntimeMetrics::poll_time_histogram_bucket_count).0
        };
        let task = runtime.spawn(async move {
            let mut all = Vec::new();
            // Over all tries: the last poll of one may be counted in the next.
            let (first, mut polls, mut last) = (counted(), 0, Instant::now());
            while all.last().is_none_or(|&count| count < POLLS * 3 / 4) {
                assert!(all.len() < 6, "{all:?} of {POLLS} each");
                let before = counted();
                for _ in 0..POLLS {
                    std::thread::sleep(long);
                    // The short ones are there so that one of them is timed now and then.
                    for _ in 0..=1_000 {
                        yield_now().await;
                        let now = Instant::now();
                        // The watchdog adds half of its last two pauses to the time in which it has seen
                        // the poll. If it was held up, even a poll that two of its looks have just found
                        // seems long. A gap may begin in one of these times and end in the next.
                        polls += u64::from(now - last >= MS / 4);
                        last = now;
                    }
                    assert!(counted() - first <= polls, "{} of {polls}", counted() - first);
                }
                all.push(counted() - before);
                long *= 2;
            }
        });
        runtime.block_on(task).unwrap();
    });
}

#[test]
fn a_task_that_is_ready_waits_for_the_end_of_the_poll_that_has_woken_it() {
    guarded(|| {
        let runtime = workers(1);
        let (bell, each) = (Arc::new(Notify::new()), 2 * MS);
        let listens = bell.clone();
        let listener = runtime.spawn(async move {
            loop {
                listens.notified().await;
            }
        });
        let handle = runtime.handle().clone();
        let counted = move || {
            split(
                &handle.metrics(),
                Duration::ZERO,
                RuntimeMetrics::schedule_latency_histogram_bucket_count,
            )
            .0
        };
        let ringer = runtime.spawn(async move {
            while counted() < 50 {
                bell.notify_one();
                spin(each);
                yield_now().await;
            }
        });
        runtime.block_on(ringer).unwrap();
        listener.abort();
        let (long, short) = latencies(&runtime, each);
        // Each of the two has waited once after its spawn.
        assert!(short <= 2, "{short} beside {long} that are as long as the poll");
    });
}

#[test]
fn without_workers_nothing_is_counted() {
    let runtime = LocalRuntime::new().unwrap();
    let metrics = runtime.handle().metrics();
    assert!(!metrics.poll_time_histogram_enabled());
    assert!(!metrics.schedule_latency_histogram_enabled());
    assert_eq!(metrics.poll_time_histogram_bucket_count(0, 0), 0);
    assert_eq!(metrics.schedule_latency_histogram_bucket_count(0, 0), 0);
    let metrics = workers(1).metrics();
    assert!(metrics.poll_time_histogram_enabled() && metrics.schedule_latency_histogram_enabled());
    let buckets = metrics.schedule_latency_histogram_num_buckets();
    let last = metrics.schedule_latency_histogram_bucket_range(buckets - 1);
    assert_eq!(last.end, Duration::MAX);
    assert_eq!(metrics.poll_time_histogram_bucket_count(usize::MAX, buckets), 0);
}
