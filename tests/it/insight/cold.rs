//! For how long tasks have waited, as far as the page's looks have shown.

use super::requests::{body, json};
use crate::support::guard::{guarded, until, workers};
use crate::support::waiting::until_waiting;
use liten::insight::{Builder, Server};
use liten::runtime::Runtime;
use liten::sync::Notify;
use liten::task::TaskId;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

fn page_of(runtime: &Runtime) -> Server {
    Builder::new().observe(runtime.handle()).serve("127.0.0.1:0").unwrap()
}

/// What one answer of the page says of the tasks. `None` also if its picture is from before the task.
fn cold_ms<const N: usize>(page: &Server, query: &str, tasks: [TaskId; N]) -> [Option<u64>; N] {
    let all: serde_json::Value =
        serde_json::from_str(&body(page, &format!("/json{query}"))).unwrap();
    let listed = all["runtimes"][0]["task_list"].as_array().unwrap();
    tasks.map(|task| {
        let seen = listed.iter().find(|seen| seen["id"].as_u64() == Some(u64::from(task)));
        seen.and_then(|seen| seen["cold_ms"].as_u64())
    })
}

#[test]
fn a_task_waits_for_as_long_at_least_as_looks_have_found_it_waiting() {
    guarded(|| {
        let runtime = workers(1);
        let begun = Instant::now();
        let stays = runtime.spawn(pending::<()>()).id();
        let (notify, rounds) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
        let (notified, counts) = (notify.clone(), rounds.clone());
        let wakes = runtime.spawn(async move {
            loop {
                notified.notified().await;
                counts.fetch_add(1, Ordering::Relaxed);
            }
        });
        until_waiting(&runtime, 2);
        let page = page_of(&runtime);
        let both = |query: &str| cold_ms(&page, query, [stays, wakes.id()]);
        until(|| both("").iter().all(|time| time.is_some_and(|time| time >= 300)));
        assert!(both("?sort=-wait").iter().all(|time| time.is_some_and(|time| time >= 300)));
        // Others look in between, and change nothing about it.
        drop(runtime.handle().dump());
        assert_eq!(runtime.handle().tasks().count(), 2);
        // One of them is polled, and waits again.
        let [waited] = cold_ms(&page, "", [stays]).map(Option::unwrap);
        notify.notify_one();
        until(|| rounds.load(Ordering::Relaxed) == 1);
        until_waiting(&runtime, 2);
        let [still, anew] = both("?sort=wait");
        // That one has waited since then at the most.
        let expected = waited + anew.unwrap_or(0);
        assert!(still >= Some(expected), "{still:?} {anew:?}, {waited} before");
        let text = body(&page, "/text");
        let row = text.lines().find(|line| line.contains(&format!("task {stays},"))).unwrap();
        assert!(row.contains(", waiting for ever, for ") && row.contains(" s at least"), "{row}");
        // Never longer than it can have been.
        let [told] = cold_ms(&page, "", [stays]).map(Option::unwrap);
        assert!(Duration::from_millis(told) <= begun.elapsed());
    });
}

/// The one that has waited longest is the first; of those that have been spawned since, nothing is known.
#[test]
fn tasks_are_sorted_by_the_time_for_which_they_have_waited() {
    guarded(|| {
        let runtime = workers(1);
        let page = page_of(&runtime);
        let old = runtime.spawn(pending::<()>()).id();
        until(|| runtime.metrics().num_cold_tasks() == 1);
        until(|| cold_ms(&page, "", [old])[0].is_some_and(|time| time > 200));
        let young = runtime.spawn(pending::<()>()).id();
        until(|| runtime.metrics().num_cold_tasks() == 2);
        until(|| cold_ms(&page, "", [young])[0].is_some());
        let order = |query: &str| {
            let all: serde_json::Value = serde_json::from_str(&body(&page, query)).unwrap();
            let tasks = all["runtimes"][0]["task_list"].as_array().unwrap().clone();
            tasks.iter().map(|task| task["id"].as_u64().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(order("/json?sort=-wait"), [old, young].map(u64::from));
        assert_eq!(order("/json?sort=wait"), [young, old].map(u64::from));
        let new = runtime.spawn(pending::<()>()).id();
        until(|| runtime.metrics().num_cold_tasks() == 3);
        assert!(json(&page)["runtimes"][0]["task_list"].as_array().unwrap().len() >= 2);
        let last = order("/json?sort=-wait&rows=3");
        assert_eq!(last.last(), Some(&u64::from(new)), "{last:?}");
        // Without a page, nothing is told.
        drop(page);
        assert!(runtime.handle().dump().tasks().iter().all(|task| task.cold_for().is_none()));
    });
}
