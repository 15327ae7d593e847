//! What the page is told of the last minutes, and the tables that are sorted and filtered for it.

use super::requests::{body, get, send};
use crate::support::guard::{exactly, guarded, until};
use crate::support::waiting::until_waiting;
use liten::insight::{Builder, Server};
use liten::runtime::Runtime;
use liten::sync::{Mutex, oneshot};
use liten::task::{self, JoinHandle, yield_now};
use liten::time::sleep;
use serde_json::Value;
use std::collections::BTreeSet;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

fn page_of(runtime: &Runtime) -> Server {
    Builder::new().observe(runtime.handle()).serve("127.0.0.1:0").unwrap()
}

fn fetch(page: &Server, path: &str) -> Value {
    serde_json::from_str(&body(page, path)).unwrap()
}

/// A page that reads on like the script does, and has all that it was told.
struct Reader<'a> {
    page: &'a Server,
    after: String,
    bins: Vec<Value>,
    spans: Vec<Value>,
    last: Value,
}

impl<'a> Reader<'a> {
    fn new(page: &'a Server) -> Self {
        Self { page, after: String::new(), bins: vec![], spans: vec![], last: Value::Null }
    }

    fn read_on(&mut self) {
        let answer = fetch(self.page, &format!("/live?after={}", self.after));
        let runtime = answer["runtimes"][0].clone();
        let first = runtime["first"].as_u64().unwrap();
        let expected = self.last["after"].as_u64().unwrap_or(first);
        assert_eq!(first, expected, "bins follow each other");
        self.bins.extend(runtime["bins"].as_array().unwrap().iter().cloned());
        self.spans.extend(runtime["spans"].as_array().unwrap().iter().cloned());
        let (id, bin, span) = (&runtime["id"], &runtime["after"], &runtime["spans_after"]);
        self.after = format!("{id}.{bin}.{span}");
        self.last = runtime;
    }

    fn place(&self, number: &Value) -> &str {
        let number = number.as_u64().unwrap() as usize;
        self.last["places"][number - 1].as_str().unwrap()
    }

    /// Time and polls of the tasks that were spawned there, over all lanes.
    fn sums(&self, place: &str) -> (u64, u64) {
        let (mut time, mut polls) = (0, 0);
        let lanes = self.bins.iter().flat_map(|bin| bin["lanes"].as_array().unwrap());
        for lane in lanes {
            let shares: Vec<_> = lane["shares"].as_array().unwrap().iter().collect();
            for share in shares.chunks(3) {
                if self.place(share[0]).starts_with(place) {
                    time += share[1].as_u64().unwrap();
                    polls += share[2].as_u64().unwrap();
                }
            }
        }
        (time, polls)
    }

    fn count(&self, what: &str) -> u64 {
        let counts = self.bins.iter().flat_map(|bin| bin[what].as_array().unwrap());
        counts.map(|count| count.as_u64().unwrap()).sum()
    }
}

#[test]
fn the_lanes_have_all_polls_by_the_place_of_the_spawn() {
    guarded(|| {
        let runtime = exactly(2).build().unwrap();
        let page = page_of(&runtime);
        let mut reader = Reader::new(&page);
        reader.read_on();
        let line = line!() + 1;
        let task = runtime.spawn(async {
            for _ in 0..300 {
                thread::sleep(Duration::from_millis(1));
                yield_now().await;
            }
        });
        // A recording ends when the page has not been asked for some seconds.
        until(|| {
            reader.read_on();
            task.is_finished()
        });
        runtime.block_on(task).unwrap();
        let place = format!("{}:{line}", file!());
        // In the first poll the recording may not have reached the worker.
        until(|| {
            reader.read_on();
            reader.sums(&place).1 >= 300
        });
        let (time, polls) = reader.sums(&place);
        assert!((300..=301).contains(&polls), "{polls}");
        // The time of a poll that the system has made longer than a bin is in no bin.
        let long = reader.spans.iter().filter(|span| !span["task"].is_null());
        let ends = long.map(|span| ["begin", "end"].map(|end| span[end].as_u64().unwrap()));
        let time = time + ends.map(|[begin, end]| end - begin).sum::<u64>();
        assert!(time >= 299_000, "{time} µs for 300 polls of a millisecond");
        assert!(reader.count("polls") >= polls && reader.count("waits") >= 1);
        assert_eq!(reader.last["lost"], 0);
        let asleep = |bin: &Value| bin["lanes"][0]["asleep"].as_u64().unwrap_or(0);
        assert!(reader.bins.iter().all(|bin| asleep(bin) <= 200_000), "more than there is");
    });
}

#[test]
fn a_poll_that_is_longer_than_a_bin_is_shown_while_it_lasts_and_then_as_one() {
    guarded(|| {
        let runtime = exactly(1).build().unwrap();
        let page = page_of(&runtime);
        let mut reader = Reader::new(&page);
        reader.read_on();
        let (release, held) = std::sync::mpsc::channel::<()>();
        let line = line!() + 1;
        let task = runtime.spawn(async move { _ = held.recv() });
        let place = format!("{}:{line}", file!());
        let (mut numbers, mut first_seen) = (BTreeSet::new(), None);
        until(|| {
            reader.read_on();
            let polls = reader.last["under_way"].as_array().unwrap();
            let is_it = |poll: &&Value| reader.place(&poll["place"]).starts_with(&place);
            let Some(found) = polls.iter().find(is_it) else { return false };
            numbers.insert(found["poll"].as_u64().unwrap());
            let first_seen = first_seen.get_or_insert_with(Instant::now);
            first_seen.elapsed() > Duration::from_millis(600)
        });
        assert_eq!(numbers.len(), 1, "all looks see the same poll");
        drop(release);
        runtime.block_on(task).unwrap();
        until(|| {
            reader.read_on();
            reader.spans.iter().any(|span| !span["task"].is_null())
        });
        let span = reader.spans.iter().find(|span| !span["task"].is_null()).unwrap();
        assert!(reader.place(&span["place"]).starts_with(&place));
        assert!(span["end"].as_u64().unwrap() - span["begin"].as_u64().unwrap() > 200_000);
    });
}

/// Each look finds the task in a poll, and another one. The page must not take them for one that lasts.
#[test]
fn polls_of_one_task_that_looks_find_are_told_apart() {
    guarded(|| {
        let runtime = exactly(1).build().unwrap();
        let page = page_of(&runtime);
        let task = runtime.spawn(async {
            loop {
                yield_now().await;
            }
        });
        let mut reader = Reader::new(&page);
        let mut numbers = BTreeSet::new();
        until(|| {
            reader.read_on();
            let polls = reader.last["under_way"].as_array().unwrap();
            numbers.extend(polls.iter().map(|poll| poll["poll"].as_u64().unwrap()));
            numbers.len() > 2
        });
        task.abort();
    });
}

#[test]
fn a_page_that_is_left_records_no_longer() {
    guarded(|| {
        let runtime = exactly(1).build().unwrap();
        let page = page_of(&runtime);
        let mut reader = Reader::new(&page);
        reader.read_on();
        reader.read_on();
        assert!(!reader.after.is_empty());
        // It was asked just now. When the recording is over, the next one begins at its own time.
        until(|| {
            thread::sleep(Duration::from_millis(5_500));
            let answer = fetch(&page, "/live");
            answer["runtimes"][0]["now_us"].as_u64().unwrap() < 5_000_000
        });
        let host = page.local_addr().to_string();
        assert_eq!(send(page.local_addr(), "GET /live", &[("Host", &host)]).status, 401);
        assert_eq!(get(&page, "/live?after=x").status, 400);
    });
}

#[test]
fn a_runtime_that_ends_while_it_is_recorded_goes_from_the_page() {
    guarded(|| {
        let [first, second] = [(); 2].map(|()| exactly(1).build().unwrap());
        let page = page_of(&first);
        page.observe(second.handle());
        assert_eq!(fetch(&page, "/live")["runtimes"].as_array().unwrap().len(), 2);
        drop(first);
        let live = fetch(&page, "/live");
        let left = live["runtimes"].as_array().unwrap();
        assert_eq!(left.len(), 1);
        assert_eq!(left[0]["id"].to_string(), second.handle().id().to_string());
        drop(second);
        assert_eq!(fetch(&page, "/live")["runtimes"], Value::Array(vec![]));
    });
}

/// Many runtimes: what is not shown is counted.
#[test]
fn of_more_than_sixteen_runtimes_the_others_are_counted() {
    guarded(|| {
        let runtimes: Vec<_> = (0..19).map(|_| exactly(1).build().unwrap()).collect();
        let page = page_of(&runtimes[0]);
        runtimes.iter().for_each(|runtime| page.observe(runtime.handle()));
        let all = fetch(&page, "/json");
        assert_eq!(all["runtimes"].as_array().unwrap().len(), 16);
        assert_eq!(all["runtimes_left_out"], 3);
        assert!(body(&page, "/text").contains("3 runtimes more that are not shown"));
        assert!(body(&page, "/metrics").contains("liten_runtimes 19\n"));
        assert_eq!(fetch(&page, "/json?sort=-id")["runtimes"].as_array().unwrap().len(), 16);
    });
}

/// Only while what is recorded is asked for, too, as the page in a browser does.
#[test]
fn a_task_is_listed_with_its_polls() {
    guarded(|| {
        let runtime = exactly(1).build().unwrap();
        let page = page_of(&runtime);
        let notify = Arc::new(liten::sync::Notify::new());
        let waits = notify.clone();
        let often = runtime.spawn(async move {
            loop {
                waits.notified().await;
            }
        });
        let never = runtime.spawn(pending::<()>());
        until(|| runtime.metrics().num_cold_tasks() == 2);
        let rows = |query: &str| fetch(&page, query)["runtimes"][0]["task_list"].clone();
        let polls = |query: &str, task: u64| {
            let rows = rows(query);
            let row = rows.as_array().unwrap().iter().find(|row| row["id"] == task);
            row.unwrap()["polls"].as_u64()
        };
        let [often, never] = [often.id(), never.id()].map(|id| id.to_string().parse().unwrap());
        assert_eq!(polls("/json", often), None, "nothing is recorded");
        drop(fetch(&page, "/live"));
        until(|| {
            notify.notify_one();
            drop(fetch(&page, "/live"));
            polls("/json", often).is_some_and(|polls| polls >= 5)
        });
        assert_eq!(polls("/json", never), Some(0), "it was polled before");
        let sorted = rows("/json?sort=-polls");
        assert_eq!([&sorted[0]["id"], &sorted[1]["id"]], [often, never]);
        assert_eq!(rows("/json?sort=polls")[0]["id"], never);
        assert!(polls("/json?sort=-polls", often) >= Some(5));
    });
}

#[test]
fn the_table_of_tasks_is_sorted_and_filtered_here() {
    guarded(|| {
        let runtime = exactly(2).build().unwrap();
        let page = page_of(&runtime);
        for number in 0..1_200 {
            let name = format!("{} {number}", if number % 3 == 0 { "Läufer" } else { "reader" });
            let spawn = task::Builder::new().name(&name);
            drop(spawn.spawn_on(pending::<()>(), runtime.handle()).unwrap());
        }
        until(|| runtime.metrics().num_cold_tasks() == 1_200);
        let rows = |query: &str| {
            let all = fetch(&page, &format!("/json?{query}"));
            let runtime = &all["runtimes"][0];
            let rows = runtime["task_list"].as_array().unwrap().clone();
            let left = runtime["task_list_left_out"].as_u64().unwrap();
            assert_eq!(rows.len() as u64 + left, runtime["task_list_matching"].as_u64().unwrap());
            (rows, left)
        };
        let (plain, left) = rows("");
        assert_eq!((plain.len(), left), (500, 700));
        assert_eq!((rows("rows=7").0.len(), rows("rows=7").1), (7, 1_193));
        let (last, left) = rows("sort=-id&rows=3");
        assert_eq!((last.len(), left, &last[0]["name"]), (3, 1_197, &"reader 1199".into()));
        let (found, left) = rows("sort=id&filter=l%C3%A4UFER&rows=2");
        assert_eq!((found.len(), left, &found[1]["name"]), (2, 398, &"Läufer 3".into()));
        // Those without a name come last in both directions.
        let unnamed = runtime.spawn(pending::<()>());
        until(|| runtime.metrics().num_cold_tasks() == 1_201);
        for sort in ["sort=name", "sort=-name"] {
            let (named, _) = rows(&format!("{sort}&rows=300"));
            assert!(named.iter().all(|task| task["name"].is_string()), "{sort}: {:?}", named[0]);
            let last = format!("{sort}&rows=300&filter={}", unnamed.id());
            assert!(rows(&last).0.last().unwrap()["name"].is_null(), "{sort}");
        }
        unnamed.abort();
        until(|| runtime.metrics().num_cold_tasks() == 1_200);
        let place = format!("filter={}", file!().replace('/', "%2F"));
        assert_eq!(rows(&place).1, 700);
        let (one, _) = rows(&format!("filter={}", last[0]["id"]));
        assert_eq!((one.len(), &one[0]["id"]), (1, &last[0]["id"]));
        assert_eq!(rows("filter=nothing+of+that+name"), (vec![], 0));
        for query in ["sort=colour", "filter=%ff", "x=1"] {
            assert_eq!(get(&page, &format!("/json?{query}")).status, 400, "{query}");
        }
    });
}

/// What a task waits for, and that this is for ever, is known only after a look at all that the runtime has.
#[test]
fn sorted_tasks_say_what_they_wait_for() {
    guarded(|| {
        let runtime = exactly(1).build().unwrap();
        let page = page_of(&runtime);
        let sleeper = runtime.spawn(sleep(Duration::from_secs(1_000)));
        let (give, handle) = oneshot::channel::<JoinHandle<()>>();
        let itself = runtime.spawn(async { handle.await.unwrap().await.unwrap() });
        let circle = Value::from(u64::from(itself.id()));
        give.send(itself).unwrap();
        until(|| {
            let all = fetch(&page, "/json?sort=id");
            let [first, second] = &all["runtimes"][0]["task_list"].as_array().unwrap()[..] else {
                return false;
            };
            assert_eq!(first["id"].to_string(), sleeper.id().to_string());
            first["waits_for"][0]["kind"] == "timer"
                && second["waits_for"][0]["task"] == circle
                && second["is_deadlocked"] == true
        });
    });
}

/// Says that it is over when it is dropped, so that a panic of the test ends the storm, too.
pub(super) struct Over<'a>(pub(super) &'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The tasks of each row may have ended before it is written; those that have not are shown.
#[test]
fn tasks_that_die_while_they_are_looked_at_do_no_harm() {
    guarded(|| {
        let runtime = exactly(2).build().unwrap();
        let page = page_of(&runtime);
        let is_over = AtomicBool::new(false);
        drop(runtime.spawn(pending::<()>()));
        thread::scope(|scope| {
            let _over = Over(&is_over);
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let tasks: Vec<_> = (0..500).map(|_| runtime.spawn(pending::<()>())).collect();
                    // One that dies before its first poll is in no list.
                    until(|| runtime.metrics().num_cold_tasks() > 250);
                    tasks.iter().for_each(|task| task.abort());
                    // The next ones come when most of these have died.
                    until(|| runtime.metrics().num_alive_tasks() < 250);
                }
            });
            for _ in 0..10 {
                for path in ["/json?sort=-id&rows=500", "/json?filter=live.rs", "/text", "/live"] {
                    assert_eq!(get(&page, path).status, 200);
                }
            }
        });
    });
}

/// The holder of a lock has a number of tasks that wait for it, and waits for a task itself.
#[test]
fn it_is_told_which_task_waits_for_which_and_how_many_more() {
    guarded(|| {
        let runtime = exactly(1).build().unwrap();
        let page = page_of(&runtime);
        let lock = Arc::new(Mutex::new(()));
        let sleeper = runtime.spawn(sleep(Duration::from_secs(1_000)));
        let (inner, held) = (sleeper.id(), lock.clone());
        let holder = liten::task::Builder::new().name("holder");
        let holder = holder.spawn_on(
            async move {
                let guard = held.lock().await;
                sleeper.await.unwrap();
                drop(guard);
            },
            runtime.handle(),
        );
        let holder = holder.unwrap().id();
        until(|| runtime.metrics().num_cold_tasks() == 2);
        for _ in 0..300 {
            let lock = lock.clone();
            drop(runtime.spawn(async move { drop(lock.lock().await) }));
        }
        until_waiting(&runtime, 302);
        let all = fetch(&page, "/json");
        let graph = &all["runtimes"][0]["wait_graph"];
        let waits = graph["waits"].as_array().unwrap();
        assert_eq!((waits.len(), &graph["waits_left_out"]), (200, &Value::from(101)));
        let [sleeper, holder] = [inner, holder].map(|id| Value::from(u64::from(id)));
        assert_eq!((&waits[0]["task"], &waits[0]["for_task"]), (&holder, &sleeper));
        assert!(waits[1..].iter().all(|wait| wait["for_task"] == holder), "{graph}");
        assert!(waits[1]["text"].as_str().unwrap().ends_with(&format!("held by task {holder}")));
        let tasks = graph["tasks"].as_array().unwrap();
        assert_eq!(tasks.len(), 201, "{graph}");
        let holder = tasks.iter().find(|task| task["id"] == holder).unwrap();
        assert_eq!((&holder["name"], &holder["state"]), (&"holder".into(), &"waiting".into()));
        assert!(holder["spawned_at"].as_str().unwrap().contains("live.rs:"), "{holder}");
    });
}
