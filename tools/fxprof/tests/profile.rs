//! Reads profiles back, as the viewer does: tables of columns that refer to each other by index.

use liten::insight::{EventKind, PollOutcome, Trace};
use liten::runtime::{Builder, Runtime};
use liten::task::yield_now;
use serde_json::Value;
use std::collections::HashMap;
use std::panic::Location;
use std::time::{Duration, Instant};

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).name("kitchen").build().unwrap()
}

/// Where the tasks of [`recorded`] come from.
#[track_caller]
fn place() -> &'static Location<'static> {
    Location::caller()
}

/// What two workers did while ten tasks yielded a hundred times.
fn recorded(runtime: &Runtime) -> (Trace, String) {
    let recording = runtime.handle().record().unwrap();
    let mut spawned_at = String::new();
    let tasks: Vec<_> = (0..10)
        .map(|_| {
            let (here, task) = (place(), runtime.spawn(yields(100)));
            spawned_at = format!("{}:{}:", here.file(), here.line());
            task
        })
        .collect();
    for task in tasks {
        runtime.block_on(task).unwrap();
    }
    (recording.stop(), spawned_at)
}

async fn yields(times: usize) {
    for _ in 0..times {
        yield_now().await;
    }
}

fn profile(trace: &Trace) -> Value {
    serde_json::from_str(&liten_fxprof::to_json(trace)).unwrap()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("{value} is no list"))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// A track of the profile.
struct Track<'a>(&'a Value);

impl<'a> Track<'a> {
    fn named(profile: &'a Value, name: &str) -> Self {
        Self(list(&profile["threads"]).iter().find(|track| track["name"] == name).unwrap())
    }

    fn string(&self, index: &Value) -> &'a str {
        list(&self.0["stringArray"])[index.as_u64().unwrap() as usize].as_str().unwrap()
    }

    /// The markers of that type: name, begin, end, and what else is known.
    fn markers(&self, kind: &str) -> Vec<(&'a str, f64, f64, &'a Value)> {
        let markers = &self.0["markers"];
        let column = |name: &str| list(&markers[name]);
        let all = column("data").iter().zip(column("name"));
        let all = all.zip(column("startTime").iter().zip(column("endTime")));
        let of_kind = all.filter(|((data, _), _)| data["type"] == kind);
        let row =
            |((data, name), (begin, end)): ((&'a Value, &'a Value), (&'a Value, &'a Value))| {
                (self.string(name), number(begin), end.as_f64().unwrap_or_default(), data)
            };
        let rows: Vec<_> = of_kind.map(row).collect();
        assert_eq!(markers["length"], column("data").len());
        rows
    }

    /// How many samples are in which label.
    fn samples(&self) -> HashMap<&'a str, usize> {
        let cell = |table: &str, column: &str, row: &Value| {
            list(&self.0[table][column])[row.as_u64().unwrap() as usize].clone()
        };
        let mut counts = HashMap::new();
        for stack in list(&self.0["samples"]["stack"]) {
            let frame = cell("stackTable", "frame", stack);
            let function = cell("frameTable", "func", &frame);
            let name = cell("funcTable", "name", &function);
            *counts.entry(self.string(&name)).or_default() += 1;
        }
        counts
    }
}

#[test]
fn the_polls_of_each_worker_are_in_its_track() {
    let runtime = runtime();
    let (trace, spawned_at) = recorded(&runtime);
    assert_eq!(trace.lost(), 0);
    let profile = profile(&trace);
    // There may be a spare worker: if the machine holds up a thread, a poll takes long.
    let names = (0..trace.workers()).map(|worker| format!("worker {worker}"));
    let names = names.chain(["other threads".to_owned()]);
    let tracks: Vec<_> = names.map(|name| Track::named(&profile, &name)).collect();
    assert_eq!(list(&profile["threads"]).len(), tracks.len());
    let length = (trace.end() - trace.begin()).as_secs_f64() * 1e3;
    let mut outcomes = HashMap::new();
    for (index, track) in tracks.iter().enumerate() {
        let polls = track.markers("Poll");
        let recorded = trace.events().filter(|event| {
            event.worker() == Some(index) && matches!(event.kind(), EventKind::Poll { .. })
        });
        assert_eq!(polls.len(), recorded.count(), "{}", track.0["name"]);
        for (place, begin, end, data) in polls {
            assert!(place.starts_with(&spawned_at), "{place}, not {spawned_at}");
            assert!(
                0.0 <= begin && begin <= end && end <= length + 0.001,
                "{begin}, {end} of {length}"
            );
            assert!(track.string(&data["task"]).starts_with("task "));
            *outcomes.entry(track.string(&data["outcome"])).or_insert(0) += 1;
        }
    }
    // A worker that was about to run the first one as the recording began does not record it; and that the last
    // poll has ended is noted after the task's output has been handed over.
    assert!((985..=1_000).contains(&outcomes["yielded"]), "{outcomes:?}");
    assert!((8..=10).contains(&outcomes["ended"]), "{outcomes:?}");
    let others = &tracks[trace.workers()];
    let spawns: Vec<_> = others.markers("Cause");
    assert_eq!(spawns.iter().filter(|(name, ..)| *name == "spawn").count(), 10);
    assert!(spawns.iter().all(|(.., data)| others.string(&data["place"]).starts_with(&spawned_at)));
}

#[test]
fn the_head_says_what_was_recorded() {
    let runtime = runtime();
    let (trace, _) = recorded(&runtime);
    let profile = profile(&trace);
    let meta = &profile["meta"];
    // What the viewer asks for before it reads the rest.
    for key in [
        "categories",
        "interval",
        "markerSchema",
        "preprocessedProfileVersion",
        "startTime",
        "version",
    ] {
        assert!(!meta[key].is_null(), "{key}: {meta}");
    }
    assert_eq!(meta["symbolicated"], true);
    let process = profile["threads"][0]["processName"].as_str().unwrap();
    assert_eq!(process, format!("kitchen (runtime {})", trace.runtime_id()));
    let mut schemas: Vec<_> =
        list(&meta["markerSchema"]).iter().map(|schema| schema["name"].as_str().unwrap()).collect();
    schemas.retain(|name| ["Poll", "Cause"].contains(name));
    schemas.sort_unstable();
    assert_eq!(schemas, ["Cause", "Poll"]);
}

#[test]
fn a_poll_that_does_not_end_fills_the_samples() {
    let runtime = Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let (release, held) = std::sync::mpsc::channel::<()>();
    let task = runtime.spawn(async move { _ = held.recv() });
    let start = Instant::now();
    let recording = runtime.handle().record().unwrap();
    while runtime.metrics().running_tasks().is_empty() {
        std::thread::yield_now();
    }
    // Some samples more. There are no more of a long recording than of a short one.
    std::thread::sleep(Duration::from_millis(20).max(start.elapsed() / 50));
    let trace = recording.stop();
    let poll = trace.events().find_map(|event| match event.kind() {
        EventKind::Poll { task, outcome: PollOutcome::UnderWay, .. } => Some(task),
        _ => None,
    });
    let place = poll.unwrap().spawned_at().to_string();
    let profile = profile(&trace);
    let track = Track::named(&profile, "worker 0");
    let polls = track.markers("Poll");
    let (name, .., data) = polls.last().unwrap();
    assert_eq!((*name, track.string(&data["outcome"])), (place.as_str(), "under way"));
    let samples = track.samples();
    assert!(samples[place.as_str()] >= 100, "{samples:?}");
    drop(release);
    runtime.block_on(task).unwrap();
}

#[test]
fn lost_events_are_said() {
    let runtime = Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let recording = runtime.handle().record().unwrap();
    runtime.block_on(runtime.spawn(yields(100_000))).unwrap();
    let trace = recording.stop();
    assert!(trace.lost() > 0);
    let profile = profile(&trace);
    let name = profile["threads"][0]["processName"].as_str().unwrap();
    assert!(name.ends_with(&format!(", {} events lost", trace.lost())), "{name}");
}
