//! A runtime of which every number is known: what the page says of it as JSON and for Prometheus.

use super::super::requests::{body, json};
use super::{page_of, samples};
use crate::support::guard::{exactly, guarded, until};
use liten::net::TcpListener;
use liten::runtime::Runtime;
use liten::sync::Mutex;
use liten::time::{Duration, sleep};
use serde_json::Value;
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll};
use std::thread;

/// A future of that size, which leaves no waker anywhere.
struct Large([u8; 1_000]);

impl Future for Large {
    type Output = u8;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<u8> {
        match self.0[999] {
            0 => Poll::Pending,
            some => Poll::Ready(some),
        }
    }
}

/// 3 tasks without a waker, 5 timers, 1 source, a holder of a lock that waits for a timer and 4 that wait for
/// the lock, a task that waits for its own lock, 2 blocking jobs and 3 behind them, 1 slow poll.
fn fill(runtime: &Runtime) -> mpsc::Sender<()> {
    let slow = runtime.metrics();
    let slow_poll = async move { until(|| slow.slow_poll_count() >= 1) };
    runtime.block_on(runtime.spawn(slow_poll)).unwrap();
    (0..3).for_each(|_| drop(runtime.spawn(Large([0; 1_000]))));
    (0..4).for_each(|_| drop(runtime.spawn(sleep(Duration::from_secs(1_000)))));
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    drop(runtime.spawn(async move { drop(listener.accept().await) }));
    let lock = Arc::new(Mutex::new(()));
    let held = lock.clone();
    drop(runtime.spawn(async move {
        let _guard = held.lock().await;
        sleep(Duration::from_secs(1_000)).await;
    }));
    until(|| lock.try_lock().is_err());
    for _ in 0..4 {
        let lock = lock.clone();
        drop(runtime.spawn(async move { drop(lock.lock().await) }));
    }
    let own = Mutex::new(());
    drop(runtime.spawn(async move {
        let _guard = own.lock().await;
        drop(own.lock().await);
    }));
    let (release, held) = mpsc::channel::<()>();
    let held = Arc::new(std::sync::Mutex::new(held));
    for _ in 0..5 {
        let held = held.clone();
        drop(runtime.spawn_blocking(move || _ = held.lock().unwrap().recv()));
    }
    until(|| {
        let dump = runtime.handle().dump();
        let pool = dump.pool();
        runtime.metrics().num_cold_tasks() == 14
            && dump.tasks().iter().all(|task| task.state().to_string() == "waiting")
            && (pool.jobs().len(), pool.queued()) == (2, 3)
            && pool.longest_wait().is_some_and(|wait| wait > Duration::from_millis(1))
    });
    release
}

#[test]
fn json_and_metrics_agree_with_the_dump() {
    guarded(|| {
        let runtime = exactly(2)
            .max_blocking_threads(2)
            // So that no other poll takes as long, also on a machine that is busy with something else.
            .slow_poll_threshold(Duration::from_secs(1))
            .build()
            .unwrap();
        let release = fill(&runtime);
        let page = page_of(&runtime);
        // Of the histograms the last poll may have been counted after the task looked as if it waited.
        thread::sleep(Duration::from_millis(200));
        let all = json(&page);
        let seen = &all["runtimes"][0];
        let dump = runtime.handle().dump();
        assert_eq!((dump.timers(), dump.sources(), dump.alive_tasks()), (5, 1, 14));
        check_json(seen);
        check_metrics(seen, &samples(&body(&page, "/metrics")));
        drop(release);
    });
}

fn check_json(seen: &Value) {
    let number = |path: &str| {
        let found = path.split('.').fold(seen, |value, key| match key.parse::<usize>() {
            Ok(index) => &value[index],
            Err(_) => &value[key],
        });
        found.as_u64().unwrap_or_else(|| panic!("{path}: {found} in {seen}"))
    };
    for (path, expected) in [
        ("tasks.alive", 14),
        ("tasks.waiting", 14),
        ("tasks.running", 0),
        ("tasks.ready", 0),
        ("tasks.never_waited", 0),
        ("timers", 5),
        ("sources", 1),
        ("injected_tasks", 0),
        ("slow_poll_threshold_us", 1_000_000),
        ("pool.max_threads", 2),
        ("pool.threads", 2),
        ("pool.idle_threads", 0),
        ("pool.queued", 3),
        ("pool.jobs_left_out", 0),
        ("task_list_matching", 14),
        ("task_list_left_out", 0),
        ("sockets_left_out", 0),
    ] {
        assert_eq!(number(path), expected, "{path}");
    }
    assert!(number("pool.longest_wait_ms") >= 1);
    // More on a machine that is busy with something else.
    assert!(number("slow_polls") >= 1);
    assert_eq!(seen["pool"]["jobs"].as_array().unwrap().len(), 2);
    let large = |row: &&Value| row["future_size"] == 1_000;
    let places: Vec<_> = seen["places"].as_array().unwrap().iter().filter(large).collect();
    let [place] = places[..] else { panic!("{seen}") };
    assert_eq!((&place["tasks"], &place["stuck"]), (&3.into(), &3.into()));
    assert!(place["type_name"].as_str().unwrap().ends_with("::Large"), "{place}");
    let rows = seen["task_list"].as_array().unwrap();
    assert_eq!(rows.iter().filter(large).count(), 3);
    assert!(rows.iter().filter(large).all(|row| row["is_stuck"] == true));
    assert_eq!(rows.iter().filter(|row| row["is_deadlocked"] == true).count(), 1);
    // The one slow poll took longer than the threshold.
    assert!(number("poll_times.count") >= 1 && number("poll_times.sum_us") >= 900_000);
}

fn check_metrics(seen: &Value, samples: &BTreeMap<String, f64>) {
    let whose = format!("id=\"{}\",runtime=\"\"", seen["id"]);
    let value = |name: &str, labels: &str| {
        let name = format!("{name}{{{whose}{labels}}}");
        *samples.get(&name).unwrap_or_else(|| panic!("no {name} in {samples:#?}"))
    };
    for (name, labels, expected) in [
        ("liten_alive_tasks", "", 14.0),
        ("liten_tasks", ",state=\"waiting\"", 14.0),
        ("liten_tasks", ",state=\"running\"", 0.0),
        ("liten_timers", "", 5.0),
        ("liten_sources", "", 1.0),
        ("liten_stuck_tasks", ",why=\"no_waker\"", 3.0),
        ("liten_stuck_tasks", ",why=\"deadlock\"", 1.0),
        ("liten_waiting_tasks", ",waits_for=\"timer\"", 5.0),
        ("liten_waiting_tasks", ",waits_for=\"source\"", 1.0),
        ("liten_waiting_tasks", ",waits_for=\"mutex\"", 5.0),
        ("liten_injector_tasks", "", 0.0),
        ("liten_spare_workers", "", 0.0),
        ("liten_resting_workers", "", 0.0),
        ("liten_blocking_threads", "", 2.0),
        ("liten_blocking_idle_threads", "", 0.0),
        ("liten_blocking_max_threads", "", 2.0),
        ("liten_blocking_queued_jobs", "", 3.0),
    ] {
        assert_eq!(value(name, labels), expected, "{name} {labels}");
    }
    assert!(value("liten_slow_polls_total", "") >= 1.0);
    assert!(value("liten_blocking_longest_wait_seconds", "") > 0.0);
    assert!(value("liten_blocking_oldest_job_seconds", "") > 0.0);
    for (family, field) in [
        ("liten_poll_duration_seconds", "poll_times"),
        ("liten_schedule_latency_seconds", "schedule_latencies"),
    ] {
        let count = value(&format!("{family}_count"), "");
        assert_eq!(Some(count as u64), seen[field]["count"].as_u64(), "{field}");
        let begin = format!("{family}_bucket{{{whose},le=\"");
        let bucket = |(name, &below): (&String, &f64)| {
            let end = name.strip_prefix(&begin)?.strip_suffix("\"}")?;
            Some((end.parse::<f64>().unwrap(), below))
        };
        let mut buckets: Vec<_> = samples.iter().filter_map(bucket).collect();
        buckets.sort_by(|a, b| a.partial_cmp(b).unwrap());
        assert!(buckets.len() > 10 && buckets.is_sorted_by_key(|bucket| bucket.1), "{buckets:?}");
        assert_eq!(buckets.last(), Some(&(f64::INFINITY, count)));
        let sum = value(&format!("{family}_sum"), "");
        assert_eq!(sum > 0.0, count > 0.0, "{family}");
    }
}
