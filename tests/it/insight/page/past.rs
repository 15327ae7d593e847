//! What has blocked before is named when it is over, also without a callback.

use super::super::requests::{body, json};
use super::super::slow_polls::{ALL_ROUNDS, rounds_until_half};
use super::page_of;
use crate::support::guard::{exactly, guarded, until, within};
use liten::runtime::{Handle, Runtime};
use liten::task;
use liten::time::sleep;
use serde_json::Value;
use std::thread;
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);

/// What the page says of the last slow polls of the task.
fn past(page: &liten::insight::Server, task: u64) -> Option<Value> {
    let all = json(page);
    let polls = all["runtimes"][0]["last_slow_polls"].as_array().unwrap();
    polls.iter().find(|poll| poll["task"]["id"] == task).cloned()
}

/// With the settings of a runtime that says nothing of slow polls. On a machine that is busy with something
/// else, the look may come too late, or find a thread that runs, and something else may have held up a worker
/// for longer: so half of them are enough, and if fewer are named, they are made longer.
#[test]
fn blocks_of_200_ms_are_named_when_they_are_over() {
    within(ALL_ROUNDS, || {
        let runtime = exactly(2).build().unwrap();
        let line = line!() + 4;
        let block = |length| {
            let builder = task::Builder::new().name("reads-config");
            // A name is found after the first wait.
            let task = builder.spawn_on(
                async move {
                    sleep(MS).await;
                    thread::sleep(length);
                },
                runtime.handle(),
            );
            let task = task.unwrap();
            let id = u64::from(task.id());
            runtime.block_on(task).unwrap();
            id
        };
        let place = format!("{}:{line}:", file!());
        let mut seen = Vec::new();
        let is_named = |length: Duration| {
            let task = block(length);
            // The first look of all.
            let page = page_of(&runtime);
            let Some(poll) = past(&page, task) else { return false };
            if !poll["ended_ms_ago"].is_u64() {
                // No look has seen yet that it is over.
                return false;
            }
            assert!(poll["task"]["spawned_at"].as_str().unwrap().starts_with(&place), "{poll}");
            assert!(poll["duration_ms"].as_u64().unwrap() >= 100, "{poll}");
            assert!(poll["worker"].as_u64() < Some(2), "{poll}");
            let activity = poll["activity"].as_str().unwrap();
            let is_known = activity.contains("nanosleep") || !cfg!(target_os = "linux");
            let (text, lately) = (body(&page, "/text"), &json(&page)["runtimes"][0]["lately"]);
            let sentence = text.lines().find(|line| line.starts_with("in the last minute "));
            let sentence = sentence.unwrap_or_else(|| panic!("{text}"));
            // They name the longest one.
            let is_said = sentence.contains(&place) && lately.as_str().unwrap().contains(&place);
            let row = format!("task {task} \"reads-config\", spawned at {place}");
            let row = text.lines().find(|line| line.starts_with("  ") && line.contains(&row));
            // The watchdog may have missed some of it. It has counted 100 ms when it tells of the poll.
            let long = (length / 2).max(180 * MS).as_millis();
            let is_long = u128::from(poll["duration_ms"].as_u64().unwrap()) >= long;
            seen.push(format!("{row:?} {poll} {sentence}"));
            is_known && is_said && is_long && row.is_some_and(|row| row.contains(" ms until "))
        };
        let named = rounds_until_half(is_named);
        assert!(named.len() < 5, "{named:?} of 20 each: {seen:#?}");
    });
}

/// Spawns a task that blocks its worker until the runtime has noticed.
fn block_until_seen(runtime: &Runtime) -> u64 {
    let task = runtime.spawn(async {
        let (handle, task) = (Handle::current(), task::id());
        until(|| {
            let dump = handle.dump();
            let of_task = dump
                .slow_polls()
                .iter()
                .find(|slow| slow.task().is_some_and(|running| running.id() == task));
            of_task.is_some_and(|slow| slow.ended_ago().is_none() && slow.duration() >= 10 * MS)
        });
    });
    let id = u64::from(task.id());
    runtime.block_on(task).unwrap();
    id
}

#[inline(never)]
fn reads_the_config() {
    thread::sleep(200 * MS);
    std::hint::black_box(());
}

#[inline(never)]
fn sums_up() -> u64 {
    let begun = Instant::now();
    let mut sum = 0_u64;
    while begun.elapsed() < 200 * MS {
        sum = sum.wrapping_mul(31).wrapping_add(7);
    }
    sum
}

/// The page glances often while it is watched, so it finds each of them under way, unless the machine is busy
/// with something else.
#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn of_a_slow_poll_that_is_over_the_function_is_known() {
    guarded(|| {
        let runtime = exactly(2).build().unwrap();
        let page = page_of(&runtime);
        until(|| {
            // The watch begins with the first request.
            body(&page, "/text");
            runtime.block_on(runtime.spawn(async { reads_the_config() })).unwrap();
            runtime.block_on(runtime.spawn(async { std::hint::black_box(sums_up()) })).unwrap();
            let all = json(&page);
            let polls = all["runtimes"][0]["last_slow_polls"].as_array().unwrap();
            let over = polls.iter().filter(|poll| poll["ended_ms_ago"].is_u64());
            let calls: Vec<_> = over.filter_map(|poll| poll["call"].as_str()).collect();
            let has = |function| calls.iter().any(|call| call.contains(function));
            has("sleep in ") && has("reads_the_config") && has("sums_up")
        });
        let text = body(&page, "/text");
        let row =
            text.lines().find(|line| line.contains(" was held up ") && line.contains("sums_up"));
        assert!(row.is_some_and(|row| row.contains(", seen in ")), "{text}");
    });
}

#[test]
fn of_many_blocks_the_last_sixteen_are_named_the_newest_first() {
    guarded(|| {
        let runtime = exactly(1).slow_poll_threshold(10 * MS).build().unwrap();
        let mut tasks: Vec<_> = (0..20).map(|_| block_until_seen(&runtime)).collect();
        tasks.reverse();
        let page = page_of(&runtime);
        let all = json(&page);
        let polls = all["runtimes"][0]["last_slow_polls"].as_array().unwrap();
        assert_eq!(polls.len(), 16, "{polls:?}");
        assert!(all["runtimes"][0]["slow_polls"].as_u64().unwrap() >= 20);
        // On a machine that is busy with something else, a worker between two polls may look slow, too.
        let of_tasks = polls.iter().filter_map(|poll| poll["task"]["id"].as_u64());
        let of_tasks: Vec<_> = of_tasks.filter(|task| tasks.contains(task)).collect();
        assert!(!of_tasks.is_empty() && tasks.starts_with(&of_tasks), "{tasks:?} {polls:?}");
        let ended = |poll: &Value| poll["ended_ms_ago"].as_u64();
        assert!(polls.is_sorted_by_key(ended), "{polls:?}");
    });
}
