//! What a recording has of what the workers did, and what it leaves behind.

use super::live::Over;
use super::requests::{get, send};
use crate::support::guard::{exactly, guarded, until};
use liten::insight::{Builder, Event, EventKind, PollOutcome, Trace};
use liten::runtime::{self, Handle, LocalRuntime, Runtime};
use liten::sync::mpsc;
use liten::task::{TaskId, yield_now};
use liten::time::sleep;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// As a viewer reads it.
pub(super) struct Events(Vec<Value>);

impl Events {
    fn of(trace: &Trace) -> Self {
        Self::read(&trace.to_chrome_json())
    }

    pub(super) fn read(json: &str) -> Self {
        let mut all: Value = serde_json::from_str(json).unwrap();
        let Value::Array(events) = all["traceEvents"].take() else { panic!("{json}") };
        Self(events)
    }

    pub(super) fn with<'a>(
        &'a self,
        key: &'a str,
        value: &'a str,
    ) -> impl Iterator<Item = &'a Value> {
        self.0.iter().filter(move |event| event[key] == value)
    }

    pub(super) fn polls_of(&self, task: TaskId) -> usize {
        let id: Value = task.to_string().parse::<u64>().unwrap().into();
        self.with("cat", "poll").filter(|event| event["args"]["task"] == id).count()
    }
}

fn time(event: &Value) -> f64 {
    event["ts"].as_f64().unwrap()
}

/// Two tasks that send a message to and fro.
pub(super) async fn bounce(rounds: usize) -> [TaskId; 2] {
    let (to, mut from) = mpsc::channel(1);
    let (back, mut answers) = mpsc::channel(1);
    let echo = liten::spawn(async move {
        while let Some(message) = from.recv().await {
            back.send(message).await.unwrap();
        }
    });
    let ask = liten::spawn(async move {
        for round in 0..rounds {
            to.send(round).await.unwrap();
            assert_eq!(answers.recv().await, Some(round));
        }
    });
    let ids = [ask.id(), echo.id()];
    ask.await.unwrap();
    echo.await.unwrap();
    ids
}

/// A recording of so many rounds, and the two tasks.
fn recorded_bounce(runtime: &Runtime, rounds: usize) -> (Trace, [TaskId; 2]) {
    let recording = runtime.handle().record().unwrap();
    let ids = runtime.block_on(async move { liten::spawn(bounce(rounds)).await.unwrap() });
    (recording.stop(), ids)
}

#[test]
fn a_trace_has_the_polls_and_what_led_to_each() {
    guarded(|| {
        let runtime = exactly(2).build().unwrap();
        let (trace, ids) = recorded_bounce(&runtime, 200);
        assert_eq!(trace.lost(), 0);
        let events = Events::of(&trace);
        for id in ids {
            // A worker that was about to run the first one as the recording began does not record it. A
            // worker that the system does not let run finds more than one message in a poll.
            assert!(events.polls_of(id) >= 150, "{}", events.polls_of(id));
        }
        // Each arrow begins in a slice of its track, and ends at the begin of a poll. The poll in which a
        // worker has begun to record, if it is still under way, begins with the first event that it has
        // recorded.
        let at = |event: &Value| (event["tid"].to_string(), event["ts"].to_string());
        let mut slices: HashMap<_, Vec<&Value>> = HashMap::new();
        events
            .with("ph", "X")
            .for_each(|event| slices.entry(at(event)).or_default().push(&event["cat"]));
        let (mut begins, mut ends) = (HashMap::new(), 0);
        events.with("ph", "s").for_each(|event| _ = begins.insert(event["id"].to_string(), event));
        for end in events.with("ph", "f") {
            let begin = begins[&end["id"].to_string()];
            assert!(time(begin) <= time(end));
            assert!(slices[&at(begin)].contains(&&begin["name"]), "{begin} in {slices:?}");
            assert!(slices[&at(end)].iter().any(|kind| *kind == "poll"), "{end} in {slices:?}");
            ends += 1;
        }
        // Each message wakes the other side.
        assert!(ends == begins.len() && ends >= 300, "{ends}");
    });
}

#[test]
fn polls_of_one_worker_do_not_overlap() {
    guarded(|| {
        let runtime = exactly(2).build().unwrap();
        let (trace, _) = recorded_bounce(&runtime, 200);
        let events = Events::of(&trace);
        let mut tracks: HashMap<String, Vec<(f64, f64)>> = HashMap::new();
        for event in events.with("cat", "poll").chain(events.with("cat", "sleep")) {
            let duration = event["dur"].as_f64().unwrap();
            assert!(duration >= 0.0);
            tracks.entry(event["tid"].to_string()).or_default().push((time(event), duration));
        }
        for track in tracks.values_mut() {
            track.sort_by(|a, b| a.partial_cmp(b).unwrap());
            for pair in track.windows(2) {
                // The numbers are decimal.
                assert!(pair[0].0 + pair[0].1 <= pair[1].0 + 0.001, "{pair:?}");
            }
        }
    });
}

/// A worker that has nothing to do but a timer is asleep until then. On a machine that is busy with something
/// else, another thread may have looked after the timer.
#[test]
fn sleeps_and_rounds_of_events_are_recorded() {
    guarded(|| {
        let runtime = exactly(1).build().unwrap();
        let mut seen = Vec::new();
        let is_recorded = (0..50).any(|_| {
            let recording = runtime.handle().record().unwrap();
            let sleeps = async {
                // The worker begins to record with a poll.
                yield_now().await;
                sleep(Duration::from_millis(50)).await;
            };
            runtime.block_on(liten_task(&runtime, sleeps));
            let events = Events::of(&recording.stop());
            let longest = events.with("cat", "sleep").map(|event| event["dur"].as_f64().unwrap());
            let longest = longest.fold(0.0, f64::max);
            let fired = events.with("cat", "driver").map(|event| &event["args"]["of_timers"]);
            let fired: u64 = fired.map(|count| count.as_u64().unwrap()).sum();
            seen.push((longest, fired));
            longest >= 40_000.0 && fired >= 1
        });
        assert!(is_recorded, "the longest sleeps in microseconds, and timers: {seen:?}");
    });
}

#[test]
fn the_last_events_are_kept_and_the_others_counted() {
    guarded(|| {
        let runtime = exactly(1).build().unwrap();
        let recording = runtime.handle().record().unwrap();
        let yields = async {
            for _ in 0..100_000 {
                yield_now().await;
            }
        };
        runtime.block_on(liten_task(&runtime, yields));
        let trace = recording.stop();
        assert!(trace.lost() >= 60_000 && trace.len() <= 32_768, "{trace:?}");
        assert!(trace.lost() as usize + trace.len() >= 100_000, "{trace:?}");
    });
}

async fn liten_task(runtime: &Runtime, task: impl Future<Output = ()> + Send + 'static) {
    runtime.spawn(task).await.unwrap();
}

#[test]
fn a_poll_that_does_not_end_is_shown() {
    guarded(|| {
        let runtime = exactly(1).build().unwrap();
        let (release, held) = std::sync::mpsc::channel::<()>();
        let line = line!() + 1;
        let task = runtime.spawn(async move { _ = held.recv() });
        until(|| runtime.metrics().running_tasks().len() == 1);
        let recording = runtime.handle().record().unwrap();
        let trace = recording.stop();
        let events = Events::of(&trace);
        let under_way = events.with("cat", "poll").next().unwrap();
        assert_eq!(under_way["args"]["outcome"], "under way");
        let place = under_way["name"].as_str().unwrap();
        assert!(place.starts_with(&format!("{}:{line}", file!())), "{place}");
        drop(release);
        runtime.block_on(task).unwrap();
    });
}

fn polls(trace: &Trace) -> Vec<(Event, TaskId, PollOutcome)> {
    let poll = |event: Event| match event.kind() {
        EventKind::Poll { task, outcome, .. } => Some((event, task.id(), outcome)),
        _ => None,
    };
    trace.events().filter_map(poll).collect()
}

#[test]
fn a_recording_is_read_in_parts_and_each_event_once() {
    guarded(|| {
        let runtime = exactly(2).build().unwrap();
        let mut recording = runtime.handle().record().unwrap();
        let (mut seen, mut ended, mut spawned) = (HashSet::new(), HashSet::new(), HashSet::new());
        let mut ids = Vec::new();
        let mut look = |trace: &Trace| {
            assert_eq!(trace.lost(), 0);
            for (event, task, outcome) in polls(trace) {
                assert!(trace.begin() <= event.begin() && event.begin() <= event.end());
                if outcome == PollOutcome::UnderWay {
                    continue;
                }
                assert!(event.end() <= trace.end());
                assert!(seen.insert((event.worker(), event.end(), task)), "twice: {event:?}");
                assert!(outcome != PollOutcome::Ended || ended.insert(task), "{event:?}");
            }
            let spawns = trace.events().filter_map(|event| match event.kind() {
                EventKind::Spawn(task) => Some(task.id()),
                _ => None,
            });
            spawned.extend(spawns);
        };
        for _ in 0..20 {
            ids.extend(runtime.block_on(async { liten::spawn(bounce(50)).await.unwrap() }));
            look(&recording.read());
        }
        // The worker notes the end of the last poll after the task's output has been handed over.
        drop(runtime);
        look(&recording.stop());
        assert_eq!(ids.len(), 40);
        // A worker that was about to run the first ones as the recording began does not record it.
        for known in [&ended, &spawned] {
            let lacking = ids.iter().filter(|id| !known.contains(id)).count();
            assert!(lacking <= 2, "{lacking}");
        }
        assert!(seen.len() > 1_500, "{}", seen.len());
    });
}

#[test]
fn a_poll_under_way_begins_after_what_has_been_read() {
    guarded(|| {
        let runtime = exactly(1).build().unwrap();
        let mut recording = runtime.handle().record().unwrap();
        runtime.block_on(liten_task(&runtime, yield_now()));
        let (release, held) = std::sync::mpsc::channel::<()>();
        let task = runtime.spawn(async move { _ = held.recv() });
        let is_it = |(event, id, outcome): (Event, TaskId, PollOutcome)| {
            (id == task.id() && outcome == PollOutcome::UnderWay).then_some(event)
        };
        // Until it runs; then with nothing new.
        until(|| polls(&recording.read()).into_iter().find_map(is_it).is_some());
        let trace = recording.read();
        let event = polls(&trace).into_iter().find_map(is_it).unwrap();
        assert_eq!((event.worker(), event.end()), (Some(0), trace.end()));
        assert!(event.begin() > trace.begin(), "the worker had recorded a poll before");
        drop(release);
        runtime.block_on(task).unwrap();
    });
}

#[test]
fn wakes_by_other_threads_are_recorded() {
    guarded(|| {
        let runtime = exactly(1).build().unwrap();
        let (send, mut receive) = mpsc::channel(1);
        let task = runtime.spawn(async move { receive.recv().await });
        until(|| runtime.metrics().num_cold_tasks() == 1);
        let recording = runtime.handle().record().unwrap();
        thread::spawn(move || send.blocking_send(()).unwrap()).join().unwrap();
        let name = format!("wake task {}", task.id());
        runtime.block_on(task).unwrap();
        let events = Events::of(&recording.stop());
        let wake = events.with("name", &name).next().unwrap();
        let tracks = events.with("name", "thread_name");
        let names: HashMap<_, _> =
            tracks.map(|track| (track["tid"].to_string(), &track["args"]["name"])).collect();
        assert_eq!(names[&wake["tid"].to_string()], "other threads");
    });
}

#[test]
fn each_recording_has_what_came_after_its_start() {
    guarded(|| {
        let runtime = exactly(2).build().unwrap();
        let handle = runtime.handle().clone();
        let (outer, bounce) =
            (handle.record().unwrap(), || liten_task(&runtime, async { _ = bounce(50).await }));
        runtime.block_on(bounce());
        let mut inner = handle.record().unwrap();
        let before = outer.snapshot().len();
        assert!(before >= 100, "{before}");
        runtime.block_on(bounce());
        let (whole, part) = (outer.stop(), inner.snapshot());
        assert!(part.len() >= 100 && whole.len() >= before + 100, "{part:?} of {whole:?}");
        assert!(part.len() <= whole.len() - before / 2, "{part:?} of {whole:?}, {before} before");
        // The end of the outer one is not that of the inner one.
        runtime.block_on(bounce());
        let both = inner.snapshot().len();
        assert!(both >= part.len() + 100);
        // A snapshot takes nothing of what is read next, and that takes all.
        assert!(inner.read().len() >= both);
        let rest = inner.snapshot().len();
        assert!(rest < 50, "{rest}");
        runtime.block_on(bounce());
        assert!(inner.stop().len() >= rest + 100);
    });
}

#[test]
fn what_has_ended_or_has_no_workers_is_not_recorded() {
    guarded(|| {
        let runtime = exactly(2).build().unwrap();
        let handle = runtime.handle().clone();
        let recording = handle.record().unwrap();
        drop(runtime);
        assert!(recording.stop().to_chrome_json().contains("other threads"));
        assert!(handle.record().is_none(), "the runtime has ended");
        let local = LocalRuntime::new().unwrap();
        assert!(local.handle().record().is_none(), "there are no workers");
        let current = runtime::Builder::new_current_thread().build().unwrap();
        assert!(current.handle().record().is_none());
    });
}

/// Recordings that begin and end all the time, while tasks run and the number of workers changes.
#[test]
fn recordings_that_come_and_go_stop_no_worker() {
    fn keep_recording(handle: &Handle, is_over: &AtomicBool, events: &AtomicUsize) {
        while !is_over.load(Ordering::Relaxed) {
            let recording = handle.record().unwrap();
            // Most are over before a worker has seen them. Not all of them, on a machine that is busy.
            until(|| {
                events.load(Ordering::Relaxed) > 0
                    || !recording.snapshot().is_empty()
                    || is_over.load(Ordering::Relaxed)
            });
            let found = recording.stop().len();
            let workers = 1 + events.fetch_add(found, Ordering::Relaxed) % 3;
            handle.set_worker_threads(workers).unwrap();
        }
    }
    guarded(|| {
        let runtime = exactly(2).build().unwrap();
        let (is_over, events) = (AtomicBool::new(false), AtomicUsize::new(0));
        thread::scope(|scope| {
            let recorder = scope.spawn(|| keep_recording(runtime.handle(), &is_over, &events));
            let mut rounds = 0;
            // A recording that begins and ends at once may find nothing.
            while rounds < 50 || events.load(Ordering::Relaxed) == 0 {
                let tasks: Vec<_> = (0..8).map(|_| runtime.spawn(bounce(50))).collect();
                for task in tasks {
                    runtime.block_on(task).unwrap();
                }
                rounds += 1;
            }
            is_over.store(true, Ordering::Relaxed);
            recorder.join().unwrap();
        });
    });
}

#[test]
fn the_page_records_for_as_long_as_the_request_says() {
    guarded(|| {
        let runtime = exactly(2).build().unwrap();
        let page = Builder::new().observe(runtime.handle()).serve("127.0.0.1:0").unwrap();
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let _over = Over(&is_over);
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    runtime.block_on(liten_task(&runtime, async { _ = bounce(10).await }));
                }
            });
            // Once, but on a machine that does not let the workers run meanwhile.
            until(|| {
                let answer = get(&page, "/trace?seconds=0.2");
                assert_eq!(
                    (answer.status, answer.header("Content-Type")),
                    (200, Some("application/json"))
                );
                Events::read(&answer.body).with("cat", "poll").count() > 10
            });
        });
        for (path, status) in
            [("/trace?seconds=60", 400), ("/trace?seconds=x", 400), ("/trace?seconds=0", 200)]
        {
            assert_eq!(get(&page, path).status, status, "{path}");
        }
        let host = page.local_addr().to_string();
        let unauthorized = send(page.local_addr(), "GET /trace", &[("Host", host.as_str())]);
        assert_eq!(unauthorized.status, 401);
        let recording = runtime.handle().record().unwrap();
        assert_eq!(get(&page, "/trace?seconds=0").status, 200, "beside the program's own");
        drop(recording);
        drop(runtime);
        assert_eq!(get(&page, "/trace").status, 409);
    });
}
