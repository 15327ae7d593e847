//! What the page holds at the most, whatever its clients do, and what it says that it takes.

use super::super::requests::{body, connect, get, json, read, request};
use super::{page_of, samples};
use crate::support::guard::{exactly, guarded, until};
use liten::insight::{FlightRecorder, Server};
use liten::runtime::Runtime;
use liten::task::{JoinHandle, yield_now};
use std::io::{self, Write};
use std::iter;
use std::net::TcpStream;

/// So many tasks that are polled all the time, until the runtime ends.
fn storm(runtime: &Runtime, tasks: usize) {
    for _ in 0..tasks {
        let task: JoinHandle<()> = runtime.spawn(async {
            loop {
                yield_now().await;
            }
        });
        drop(task);
    }
}

fn ask(page: &Server, path: &str) -> TcpStream {
    let mut stream = connect(page.local_addr());
    stream.write_all(request(page, path).as_bytes()).unwrap();
    stream
}

/// The first holds its place for the ten seconds that it records, and while its answer is not read.
#[test]
fn traces_that_are_not_read_keep_no_other_out() {
    guarded(|| {
        let runtime = exactly(2).build().unwrap();
        storm(&runtime, 4);
        let page = page_of(&runtime);
        let first = ask(&page, "/trace?seconds=10");
        let others: Vec<_> = (0..20).map(|_| ask(&page, "/trace?seconds=1")).collect();
        assert!(body(&page, "/text").contains("4 tasks alive"));
        for other in others {
            let answer = read(other).unwrap();
            assert_eq!((answer.status, answer.body.lines().count()), (409, 1), "{answer:?}");
        }
        // Some bytes of it are there, and no more of them are read. Other tests send signals to the process.
        let mut peeked = iter::repeat_with(|| first.peek(&mut [0; 8]));
        let is_interrupted = |peeked: &io::Result<usize>| {
            peeked.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::Interrupted)
        };
        let peeked = peeked.find(|peeked| !is_interrupted(peeked));
        assert_eq!(peeked.expect("it is repeated for ever").unwrap(), 8);
        assert!(body(&page, "/text").contains("4 tasks alive"));
        drop(first);
        until(|| get(&page, "/trace?seconds=0").status == 200);
    });
}

/// The trace has what there was until the end.
#[test]
fn a_runtime_that_ends_while_it_is_recorded_ends_and_its_trace_is_answered() {
    guarded(|| {
        let runtime = exactly(2).build().unwrap();
        storm(&runtime, 2);
        let page = page_of(&runtime);
        let trace = ask(&page, "/trace?seconds=10");
        // That one is under way.
        assert_eq!(get(&page, "/trace?seconds=0").status, 409);
        drop(runtime);
        let answer = read(trace).unwrap();
        assert_eq!((answer.status, answer.header("Content-Type")), (200, Some("application/json")));
        let trace: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
        assert!(!trace["traceEvents"].as_array().unwrap().is_empty());
        assert!(body(&page, "/text").starts_with("no runtime is left to be observed"));
        until(|| {
            let answer = get(&page, "/trace?seconds=0");
            assert_eq!(answer.status, 409, "{answer:?}");
            answer.body.starts_with("there is no runtime with workers")
        });
    });
}

/// No browser has the page open. A scraper that asks for numbers does not change that.
#[cfg(target_os = "linux")]
#[test]
fn the_thread_of_a_page_that_is_not_watched_sleeps() {
    use crate::scheduler::idle::assert_idle;
    use crate::support::process::{alone, threads};
    const NAME: &str = "liten-insight";
    let test = "insight::page::limits::the_thread_of_a_page_that_is_not_watched_sleeps";
    guarded(|| {
        alone(test, || {
            let runtime = exactly(1).build().unwrap();
            let page = page_of(&runtime);
            let sleeps = || {
                let [thread] = &threads(NAME)[..] else { panic!("one thread") };
                thread.sleeps
            };
            // At first, it looks at listeners once in each second.
            std::thread::sleep(std::time::Duration::from_secs(5));
            // So soon after a request, a page that is watched would not sleep for so long.
            let time = std::time::Duration::from_secs(2);
            assert_idle(&[NAME], time);
            let before = sleeps();
            assert!(body(&page, "/metrics").contains("liten_runtimes 1"));
            // It has answered.
            until(|| sleeps() > before);
            assert_idle(&[NAME], time);
        });
    });
}

/// Another thread has more work with a trace than the page's, which goes on answering.
#[cfg(target_os = "linux")]
#[test]
fn a_trace_is_made_on_another_thread_than_the_pages() {
    use crate::support::process::{alone, threads};
    let test = "insight::page::limits::a_trace_is_made_on_another_thread_than_the_pages";
    guarded(|| {
        alone(test, || {
            let runtime = exactly(2).thread_name("worker").build().unwrap();
            let page = page_of(&runtime);
            storm(&runtime, 4);
            let time = |threads: Vec<crate::support::process::Thread>| -> u64 {
                threads.iter().map(|thread| thread.cpu).sum()
            };
            let before = time(threads("liten-insight"));
            until(|| body(&page, "/trace?seconds=0.5").len() > 1_000_000);
            let own = time(threads("liten-insight")) - before;
            let others = time(threads("liten-worker-bl"));
            assert!(own < others, "{own} ns on the page's thread, {others} ns on another one");
        });
    });
}

/// A page whose thread has the descriptor of its clock, as the runtime has. A thread makes it when it first
/// sleeps with a deadline, which requests that are answered at once need not lead to: a test that counts
/// descriptors before and after has it in both counts. The workers must have nothing to do yet, or none of
/// them sleeps.
#[cfg(target_os = "linux")]
pub(super) fn page_with_a_clock(runtime: &Runtime) -> Server {
    use crate::support::process::{clocks, have_clocks};
    // That of the runtime is another one.
    runtime.block_on(have_clocks(1));
    let page = page_of(runtime);
    // The page waits for its request, for some seconds at the most.
    let waits = connect(page.local_addr());
    until(|| clocks() >= 2);
    drop(waits);
    page
}

/// How many descriptors there are when nothing is under way: the page needs a moment to see that a client has
/// gone.
#[cfg(target_os = "linux")]
fn descriptors_at_rest() -> usize {
    let look = |_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        crate::support::process::descriptors()
    };
    (0..50).map(look).min().unwrap()
}

/// More than what the system takes of an answer that is not read.
#[cfg(target_os = "linux")]
#[test]
fn an_answer_that_is_not_read_is_given_up_after_some_seconds() {
    use crate::support::process::alone;
    let test = "insight::page::limits::an_answer_that_is_not_read_is_given_up_after_some_seconds";
    guarded(|| {
        alone(test, || {
            let runtime = exactly(2).build().unwrap();
            let page = page_with_a_clock(&runtime);
            storm(&runtime, 4);
            assert_eq!(get(&page, "/text").status, 200);
            let before = descriptors_at_rest();
            // On a machine that is busy with something else, the trace may be too small.
            until(|| is_given_up(&page, before));
            assert_eq!(get(&page, "/trace?seconds=0").status, 200);
            until(|| crate::support::process::descriptors() <= before);
        });
    });
}

/// Returns whether the answer was more than what was taken of it until the page closed the connection.
#[cfg(target_os = "linux")]
fn is_given_up(page: &Server, before: usize) -> bool {
    use std::io::Read;
    use std::time::{Duration, Instant};
    let mut stream = ask(page, "/trace?seconds=1");
    // It is being sent.
    assert_eq!(stream.peek(&mut [0; 8]).unwrap(), 8);
    let begun = Instant::now();
    until(|| {
        assert!(begun.elapsed() < Duration::from_secs(60), "the page keeps the connection");
        assert_eq!(get(page, "/text").status, 200);
        crate::support::process::descriptors() <= before + 1
    });
    let mut taken = Vec::new();
    _ = stream.read_to_end(&mut taken);
    let taken = String::from_utf8_lossy(&taken);
    let (head, body) = taken.split_once("\r\n\r\n").unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap();
    body.len() < length.parse().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn no_more_than_sixteen_connections_are_open() {
    use crate::support::process::{alone, descriptors};
    let test = "insight::page::limits::no_more_than_sixteen_connections_are_open";
    guarded(|| {
        alone(test, || {
            let runtime = exactly(1).build().unwrap();
            let page = page_with_a_clock(&runtime);
            assert_eq!(get(&page, "/").status, 200);
            // Not a path for which the page looks at anything: that may open files.
            let before = descriptors_at_rest();
            let mut open = Vec::new();
            for count in 1..=40 {
                let mut stream = connect(page.local_addr());
                stream.write_all(b"GET /text HTTP/1.1\r\n").unwrap();
                open.push(stream);
                // All that came before it have been taken from the system.
                assert_eq!(get(&page, "/").status, 200);
                let of_page = descriptors() - before - count;
                // Those of the last two answers may not be closed yet.
                assert!(of_page <= 16 + 2, "{of_page} of {count}");
            }
            drop(open);
            until(|| descriptors() <= before);
        });
    });
}

#[test]
fn the_page_tells_what_it_takes_itself() {
    guarded(|| {
        let runtime = exactly(1).build().unwrap();
        let page = page_of(&runtime);
        let of_json = |path: &str| -> u64 {
            let answer: serde_json::Value = serde_json::from_str(&body(&page, path)).unwrap();
            assert!(answer["cost"]["open_us"].as_u64().unwrap() > 0);
            // Null where the system does not tell it.
            answer["cost"]["processor_us"].as_u64().unwrap_or(u64::MAX)
        };
        let of_metrics = || {
            let samples = samples(&body(&page, "/metrics"));
            assert_eq!(samples["liten_insight_lost_events_total"], 0.0);
            samples.get("liten_insight_cpu_seconds_total").copied().unwrap_or(f64::INFINITY)
        };
        if cfg!(target_os = "linux") {
            // The system counts a thread's first time when it has left the processor once.
            until(|| of_json("/json") < u64::MAX && of_metrics().is_finite());
        }
        let before = (of_json("/json"), of_json("/live"), of_metrics());
        let is_more = |now: (u64, u64, f64)| {
            let infinite = before.0 == u64::MAX;
            infinite || now.0 > before.0 && now.1 > before.1 && now.2 > before.2
        };
        // Each answer takes some time of a processor, if not a whole microsecond of it.
        let grows = (0..1_000).any(|_| is_more((of_json("/json"), of_json("/live"), of_metrics())));
        assert!(grows, "{before:?}");
        let text = body(&page, "/text");
        let [.., cost, trees] = text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
        let begins = ["this page has used ", "this page has been open for "];
        assert!(begins.iter().any(|begin| cost.starts_with(begin)), "{text}");
        assert_eq!(trees, "trees: /tree?task=ID");
    });
}

/// The page shares a ring that is too small for what comes between two of its looks.
#[test]
fn events_that_were_overwritten_are_counted_on_the_page() {
    guarded(|| {
        let runtime = exactly(1).build().unwrap();
        let small = FlightRecorder::builder().max_events(64).to_fn(|_| {}).start(runtime.handle());
        let page = page_of(&runtime);
        storm(&runtime, 2);
        let live = || -> serde_json::Value { serde_json::from_str(&body(&page, "/live")).unwrap() };
        let lost = (0..1_000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            let live = live();
            let seen = &live["runtimes"][0];
            let bins = seen["bins"].as_array().unwrap();
            seen["lost"].as_u64().unwrap() > 0 && bins.iter().any(|bin| bin["lost"] != 0)
        });
        assert!(lost, "{}", live());
        let of_live = live()["runtimes"][0]["lost"].as_u64().unwrap();
        let of_json = json(&page)["cost"]["lost_events"].as_u64().unwrap();
        let of_metrics =
            || samples(&body(&page, "/metrics"))["liten_insight_lost_events_total"] as u64;
        assert!(of_live <= of_json && of_json <= of_metrics(), "{of_live} {of_json}");
        assert!(
            body(&page, "/text").contains(" events were overwritten before it has read them\n")
        );
        assert_eq!(json(&page)["runtimes"][0]["tasks"]["alive"], 2);
        // A counter never falls: those of a recording that is over stay in it.
        drop((small, runtime));
        until(|| live()["runtimes"].as_array().unwrap().is_empty());
        assert!(of_metrics() >= of_json);
    });
}

/// To name the functions on a stack, the program's debug information is read, and that of the C library if it
/// is installed: some 30 MB for a small program.
#[cfg(target_os = "linux")]
#[test]
fn the_memory_that_the_first_tree_takes_is_given_back() {
    use crate::support::process::{alone, memory};
    const KEPT: usize = 8 << 20;
    let test = "insight::page::limits::the_memory_that_the_first_tree_takes_is_given_back";
    guarded(|| {
        alone(test, || {
            let runtime = exactly(1).build().unwrap();
            let task = runtime.spawn(std::future::pending::<()>());
            until(|| runtime.metrics().num_cold_tasks() == 1);
            let page = page_of(&runtime);
            body(&page, "/text");
            let before = memory();
            for _ in 0..3 {
                assert!(body(&page, &format!("/tree?task={}", task.id())).contains("waits"));
            }
            // At the latest when the thread that has made the trees ends.
            let kept = |_| {
                std::thread::sleep(std::time::Duration::from_millis(100));
                memory().saturating_sub(before)
            };
            let kept = (0..200).map(kept).find(|&kept| kept < KEPT);
            assert!(kept.is_some(), "{} bytes are kept", memory() - before);
        });
    });
}
