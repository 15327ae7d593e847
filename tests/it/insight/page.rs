//! The page that a program serves of itself: what it shows, to which requests, and what it withstands.

#[cfg(target_os = "linux")]
mod descriptors;
mod limits;
mod names;
#[cfg(target_os = "linux")]
mod no_proc;
mod numbers;
mod past;
mod targets;

use super::requests::{Answer, body, connect, get, json, read, request, send, trees};
use crate::scheduler::steal::occupy;
use crate::support::guard::{exactly, guarded, until, workers};
use crate::support::waiting::until_waiting;
use liten::insight::{Builder, Server, serve};
use liten::runtime::{LocalRuntime, Runtime};
use liten::task::JoinHandle;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::future::pending;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::panic::resume_unwind;
use std::sync::mpsc;
use std::time::Duration;
use std::{iter, thread};

fn page_of(runtime: &Runtime) -> Server {
    Builder::new().observe(runtime.handle()).serve("127.0.0.1:0").unwrap()
}

/// Spawns so many tasks, and returns when so many wait: all that there are.
fn wait_for_ever(runtime: &Runtime, tasks: usize, all: usize) {
    for _ in 0..tasks {
        drop(runtime.spawn(pending::<()>()));
    }
    until_waiting(runtime, all);
}

/// Has a task block its worker until the sender is dropped; and the line that is to be named.
fn block(runtime: &Runtime) -> (mpsc::Sender<()>, String) {
    let ((release, held), (begun, begins)) = (mpsc::channel(), mpsc::channel());
    let line = line!() + 1;
    drop(runtime.spawn(async move {
        begun.send(()).unwrap();
        _ = held.recv();
    }));
    begins.recv().unwrap();
    (release, format!("{}:{line}", file!()))
}

#[test]
fn the_text_names_what_blocks_while_every_worker_is_stuck() {
    guarded(|| {
        let runtime = exactly(2).name("billing").build().unwrap();
        let page = page_of(&runtime);
        let blocked = [block(&runtime), block(&runtime)];
        let place = &blocked[0].1;
        drop(runtime.spawn(async {}));
        until(|| {
            let text = body(&page, "/text");
            text.starts_with("! none of 2 workers is free")
                && text.matches(&format!("spawned at {place}")).count() >= 2
                && text.contains("runtime \"billing\" with workers")
        });
        drop(blocked);
        until(|| !body(&page, "/text").starts_with("! "));
    });
}

#[test]
fn json_has_what_the_dump_has() {
    guarded(|| {
        let runtime = exactly(2).name("a \"b\"\n</script>").build().unwrap();
        let page = page_of(&runtime);
        wait_for_ever(&runtime, 700, 700);
        let (release, place) = block(&runtime);
        // The other worker looks blocked as well while the system does not let it run.
        let is_it = |finding: &Value| {
            let text = finding["text"].as_str().unwrap();
            finding["kind"] == "blocked_worker" && text.contains(&place)
        };
        let mut all = Value::Null;
        until(|| {
            all = json(&page);
            all["runtimes"][0]["findings"].as_array().unwrap().iter().any(is_it)
        });
        assert_eq!(all["process"], std::process::id());
        let seen = &all["runtimes"][0];
        assert_eq!(seen["name"], "a \"b\"\n</script>");
        assert_eq!(
            (&seen["flavor"], &seen["tasks"]["alive"]),
            (&"multi_thread".into(), &701.into())
        );
        let workers = seen["workers"].as_array().unwrap();
        assert_eq!(workers.len(), 2);
        let is_here = |at: &Value| at.as_str().is_some_and(|at| at.starts_with(&place));
        let mut blocked = workers.iter().filter(|worker| is_here(&worker["task"]["spawned_at"]));
        assert!(blocked.next().unwrap()["poll_ms"].as_u64().unwrap() >= 100);
        // The running one is the first of the table, which has so many rows and says how many are missing.
        let tasks = seen["task_list"].as_array().unwrap();
        assert_eq!((tasks.len(), &seen["task_list_left_out"]), (500, &201.into()));
        assert_eq!(
            (&tasks[0]["state"], &tasks[1]["state"]),
            (&"running".into(), &"waiting".into())
        );
        assert_eq!(
            (&seen["places"][0]["tasks"], &seen["places"][0]["waiting"]),
            (&700.into(), &700.into())
        );
        drop(release);
    });
}

/// However many tasks there are, and whatever they are called, an answer has so many rows of such a size, and
/// says how many tasks are missing.
#[test]
fn of_very_many_tasks_the_answers_have_some_and_count_the_rest() {
    const TASKS: usize = 100_000;
    guarded(|| {
        let runtime = workers(2);
        let page = page_of(&runtime);
        let name = "n".repeat(10_000);
        for _ in 0..1_000 {
            let builder = liten::task::Builder::new().name(&name);
            drop(builder.spawn_on(pending::<()>(), runtime.handle()).unwrap());
        }
        wait_for_ever(&runtime, TASKS - 1_000, TASKS);
        for (query, rows, matching) in [
            ("", 500, TASKS),
            ("?rows=1000000", 500, TASKS),
            ("?rows=7", 7, TASKS),
            ("?sort=-id", 500, TASKS),
            ("?sort=name&filter=nnnnn", 500, 1_000),
        ] {
            let answer = body(&page, &format!("/json{query}"));
            assert!(answer.len() < 1024 * 1024, "{} bytes for {query}", answer.len());
            let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
            let seen = &answer["runtimes"][0];
            assert_eq!(seen["tasks"]["waiting"], TASKS, "{query}");
            assert_eq!(seen["task_list"].as_array().unwrap().len(), rows, "{query}");
            assert_eq!(seen["task_list_left_out"], matching - rows, "{query}");
            assert_eq!(seen["task_list_matching"], matching, "{query}");
        }
        let text = body(&page, "/text");
        assert!(text.len() <= 1024 * 1024 + 100, "{} bytes", text.len());
        assert!(
            text.contains(&format!("and {} tasks more", TASKS - 100)) || text.contains("cut off")
        );
        let metrics = body(&page, "/metrics");
        assert!(metrics.len() < 256 * 1024, "{} bytes", metrics.len());
        assert!(metrics.contains(&format!("state=\"waiting\"}} {TASKS}\n")), "{metrics}");
    });
}

#[test]
fn whatever_a_task_is_called_json_stays_json() {
    guarded(|| {
        let runtime = workers(1);
        let page = page_of(&runtime);
        let name = "\u{0}\u{1f}\\ \" \u{2028} </script> ä 🦀";
        let builder = liten::task::Builder::new().name(name);
        drop(builder.spawn_on(pending::<()>(), runtime.handle()).unwrap());
        until(|| runtime.metrics().num_cold_tasks() == 1);
        until(|| json(&page)["runtimes"][0]["task_list"][0]["name"] == name);
    });
}

/// The samples of an exposition by their names and labels. Fails on what is not in the format.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let mut samples = BTreeMap::new();
    let mut kind = "";
    let (mut family, mut done) = (String::new(), BTreeSet::new());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, help) = help.split_once(' ').unwrap();
            assert!(help.ends_with('.') && !help.contains('\\'), "{line}");
            assert!(done.insert(name.to_owned()), "{name} comes twice");
            kind = lines.next().unwrap().strip_prefix(&format!("# TYPE {name} ")).unwrap();
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{name}");
            name.clone_into(&mut family);
            continue;
        }
        let (series, value) = line.rsplit_once(' ').unwrap();
        let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
        let of_histogram = |name: &str| {
            let parts = ["_bucket", "_sum", "_count"].map(|part| format!("{family}{part}"));
            kind == "histogram" && parts.iter().any(|part| part == name)
        };
        assert!(name == family || of_histogram(name), "{name}: outside of its family");
        assert!(name.starts_with("liten_") || name.starts_with("process_"), "{name}");
        assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
        check_labels(labels.strip_suffix('}').unwrap());
        let value: f64 = value.parse().unwrap();
        assert!(value.is_finite() && value >= 0.0, "{line}");
        assert_eq!(samples.insert(series.to_owned(), value), None, "{series} comes twice");
    }
    assert!(text.ends_with('\n'));
    samples
}

/// `a="b",c="d"`, where quotes, backslashes and ends of lines in the values are escaped.
fn check_labels(mut labels: &str) {
    while !labels.is_empty() {
        let (name, rest) = labels.split_once("=\"").unwrap();
        let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
        assert!(name.bytes().all(is_allowed), "{name}");
        let mut escaped = false;
        let end = rest.find(|c| {
            let ends = c == '"' && !escaped;
            assert!(!escaped || ['"', '\\', 'n'].contains(&c), "{rest}");
            escaped = c == '\\' && !escaped;
            ends
        });
        let rest = &rest[end.unwrap() + 1..];
        labels = rest.strip_prefix(',').unwrap_or_else(|| {
            assert_eq!(rest, "");
            ""
        });
    }
}

#[test]
fn metrics_are_in_the_format_of_prometheus() {
    guarded(|| {
        let runtimes = [exactly(2).name("a\\\"\n{}").build().unwrap(), workers(1)];
        let local = LocalRuntime::new().unwrap();
        let page = page_of(&runtimes[0]);
        page.observe(runtimes[1].handle());
        page.observe(local.handle());
        // Once is enough.
        page.observe(runtimes[1].handle());
        let (release, place) = block(&runtimes[1]);
        drop(runtimes[0].spawn(pending::<()>()));
        until(|| runtimes[0].metrics().num_cold_tasks() == 1);
        let blocked = format!("liten_findings{{id=\"{}\",runtime=\"\",", runtimes[1].handle().id());
        until(|| {
            body(&page, "/metrics").contains(&format!("{blocked}kind=\"blocked_worker\"}} 1\n"))
        });
        let answer = get(&page, "/metrics");
        assert_eq!(answer.header("Content-Type"), Some("text/plain; version=0.0.4; charset=utf-8"));
        let samples = samples(&answer.body);
        let of = |runtime: &Runtime, name: &str, rest: &str| {
            let id = runtime.handle().id();
            let name = if id == runtimes[0].handle().id() {
                format!("{name}{{id=\"{id}\",runtime=\"a\\\\\\\"\\n{{}}\"{rest}}}")
            } else {
                format!("{name}{{id=\"{id}\",runtime=\"\"{rest}}}")
            };
            *samples.get(&name).unwrap_or_else(|| panic!("no {name} in\n{}", answer.body))
        };
        assert_eq!(samples["liten_runtimes"], 3.0);
        assert_eq!(samples["liten_runtimes_ended_total"], 0.0);
        if cfg!(target_os = "linux") {
            assert!(samples["process_cpu_seconds_total"] > 0.0);
            assert!(samples["process_resident_memory_bytes"] > 1e6);
        }
        assert_eq!(of(&runtimes[0], "liten_task_panics_total", ""), 0.0);
        assert_eq!(of(&runtimes[0], "liten_alive_tasks", ""), 1.0);
        assert_eq!(of(&runtimes[0], "liten_tasks", ",state=\"waiting\""), 1.0);
        assert!(of(&runtimes[0], "liten_worker_polls_total", ",worker=\"1\"") <= 1.0);
        assert!(of(&runtimes[1], "liten_worker_poll_seconds", ",worker=\"0\"") >= 0.1);
        let spawned = samples.keys().filter(|name| name.starts_with("liten_tasks_spawned_at"));
        assert!(spawned.filter(|name| name.contains(&place)).count() == 1);
        drop(release);
    });
}

#[test]
fn without_the_token_nothing_of_the_program_is_seen() {
    guarded(|| {
        let runtime = workers(1);
        let page = page_of(&runtime);
        let host = page.local_addr().to_string();
        let mut wrong = page.token().to_owned();
        let last = if wrong.pop() == Some('0') { '1' } else { '0' };
        wrong.push(last);
        for path in ["/text", "/json", "/metrics", "/nothing", "//", "/page.js/", "/%2e"] {
            let line = format!("GET {path}");
            for token in ["", "Bearer", "Bearer ", &format!("Bearer {wrong}"), page.token()] {
                let headers = [("Host", &*host), ("Authorization", token)];
                let answer = send(page.local_addr(), &line, &headers);
                assert_eq!(answer.status, 401, "{path} {token}");
                assert_eq!(answer.header("WWW-Authenticate"), Some("Bearer"));
            }
            // Not in the address either, where it would be in logs.
            let line = format!("{line}?token={}", page.token());
            let answer = send(page.local_addr(), &line, &[("Host", &host)]);
            assert_eq!(answer.status, 401, "{path}");
        }
        assert_eq!(get(&page, "/nothing").status, 404);
        let other = page_of(&runtime);
        assert_ne!(page.token(), other.token());
        assert!(!format!("{page:?}").contains(page.token()));
    });
}

/// What a browser may do with the page: fetch its parts from here, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'";

/// What a browser is allowed is in the headers, and what it needs for the page is there without the token.
#[test]
fn the_page_and_its_parts_are_the_same_for_all() {
    guarded(|| {
        let runtime = exactly(1).name("secret-name").build().unwrap();
        let page = page_of(&runtime);
        let host = page.local_addr().to_string();
        let fetch =
            |path: &str| send(page.local_addr(), &format!("GET {path}"), &[("Host", &host)]);
        let first = fetch("/");
        assert_eq!(first.status, 200);
        assert_eq!(first.header("Content-Type"), Some("text/html; charset=utf-8"));
        for header in ["href=\"", "src=\""] {
            for part in first.body.split(header).skip(1) {
                let path = part.split('"').next().unwrap();
                assert!(path.starts_with('/') && !path.starts_with("//"), "{path} is of this site");
                let part = fetch(path);
                assert_eq!(part.status, 200, "{path}");
                assert!(!part.body.contains("secret-name") && !part.body.contains("innerHTML"));
            }
        }
        assert!(!first.body.contains("secret-name"));
        for answer in [first, fetch("/text"), get(&page, "/text")] {
            assert_eq!(answer.header("Content-Security-Policy"), Some(POLICY));
            assert_eq!(answer.header("X-Content-Type-Options"), Some("nosniff"));
            assert_eq!(answer.header("Referrer-Policy"), Some("no-referrer"));
            assert_eq!(answer.header("Cache-Control"), Some("no-store"));
            assert_eq!(answer.header("Access-Control-Allow-Origin"), None);
        }
    });
}

/// Neither in a variable, nor in a message, nor in a panic.
#[test]
fn nothing_that_a_task_holds_is_shown() {
    const SECRET: &str = "5f1e6b0c-held-by-a-task";
    guarded(|| {
        let runtime = workers(2);
        let page = page_of(&runtime);
        let (sender, mut receiver) = liten::sync::mpsc::channel(2);
        let line = line!() + 1;
        let holder = runtime.spawn(async move {
            let held = SECRET.to_owned();
            sender.send(held.clone()).await.unwrap();
            pending::<()>().await;
            drop((held, sender));
        });
        let place = format!("{}:{line}", file!());
        let reader = runtime.spawn(async move {
            // The message stays in the channel.
            pending::<()>().await;
            receiver.recv().await
        });
        until(|| runtime.metrics().num_cold_tasks() == 2);
        let panics = runtime.spawn(async {
            loop {
                let task: JoinHandle<()> =
                    liten::spawn(async { resume_unwind(Box::new(SECRET.to_owned())) });
                let error = task.await.unwrap_err();
                assert_eq!(*error.into_panic().downcast::<String>().unwrap(), SECRET);
                liten::time::sleep(Duration::from_millis(20)).await;
            }
        });
        let tree = || ("/tree", trees(&page, &format!("/tree?task={}", holder.id())));
        let shown = |path| (path, body(&page, path));
        // While the trace is recorded, there are panics, which the others come after.
        let (live, trace) = (shown("/live"), shown("/trace"));
        let (text, json) = (shown("/text"), shown("/json"));
        assert!(trace.1.contains("\"panic\""), "the panics are there");
        assert!(text.1.contains(&place) && json.1.contains(&place), "the task is there");
        let others = ["/", "/live", "/json?sort=id", "/metrics"].map(shown);
        for (path, shown) in others.into_iter().chain([live, trace, text, json, tree()]) {
            assert!(!shown.is_empty() && !shown.contains(SECRET), "{path}: {shown}");
        }
        drop((reader, panics));
    });
}

/// A name of another site that has been made to mean this machine (DNS rebinding), and another site's script.
#[test]
fn requests_that_were_meant_for_others_are_refused() {
    guarded(|| {
        let runtime = workers(1);
        let page = page_of(&runtime);
        let port = page.local_addr().port();
        let token = format!("Bearer {}", page.token());
        let ask = |line: &str, host: &str, origin: Option<&str>| -> Answer {
            let mut headers = vec![("Host", host), ("Authorization", &*token)];
            headers.extend(origin.map(|origin| ("Origin", origin)));
            send(page.local_addr(), line, &headers)
        };
        for name in ["127.0.0.1", "localhost", "[::1]"] {
            let host = format!("{name}:{port}");
            for path in ["/", "/text"] {
                let line = format!("GET {path}");
                assert_eq!(ask(&line, &host, None).status, 200);
                assert_eq!(ask(&line, &host, Some(&format!("http://{host}"))).status, 200);
                for origin in
                    ["null", "http://example.org", "https://127.0.0.1", "http://127.0.0.1:1"]
                {
                    assert_eq!(ask(&line, &host, Some(origin)).status, 403, "{origin}");
                }
            }
        }
        let names = ["example.org", "127.0.0.1.example.org", "localhost6", "10.0.0.1", "0.0.0.0"];
        for host in names.map(|name| format!("{name}:{port}")).iter().map(|host| &**host) {
            for line in ["GET /", "GET /text", "POST /text", "GET /page.js"] {
                assert_eq!(ask(line, host, None).status, 403, "{host}");
                assert_eq!(ask(line, host, Some(&format!("http://{host}"))).status, 403, "{host}");
            }
        }
        let other = format!("127.0.0.1:{}", port.wrapping_add(1));
        assert_eq!(ask("GET /text", &other, None).status, 403);
        assert_eq!(ask("GET /text", "127.0.0.1", None).status, 403);
        assert_eq!(send(page.local_addr(), "GET /", &[]).status, 400);
    });
}

#[test]
fn nothing_can_be_changed() {
    guarded(|| {
        let runtime = workers(1);
        let page = page_of(&runtime);
        let (host, token) = (page.local_addr().to_string(), format!("Bearer {}", page.token()));
        let headers = [("Host", &*host), ("Authorization", &*token)];
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "CONNECT", "get", "X"]
        {
            let answer = send(page.local_addr(), &format!("{method} /text"), &headers);
            assert_eq!(
                (answer.status, answer.header("Allow")),
                (405, Some("GET, HEAD")),
                "{method}"
            );
        }
        let head = send(page.local_addr(), "HEAD /text", &headers);
        assert_eq!((head.status, &*head.body), (200, ""));
        assert!(head.header("Content-Length").unwrap().parse::<usize>().unwrap() > 100);
        for (target, host_only, status) in
            [("/text", true, 401), ("/trace", true, 401), ("/tree?task=x", false, 400)]
        {
            let headers = if host_only { &headers[..1] } else { &headers };
            let head = send(page.local_addr(), &format!("HEAD {target}"), headers);
            assert_eq!((head.status, &*head.body), (status, ""), "{target}");
        }
        let head = send(page.local_addr(), "HEAD /trace?seconds=0.1", &headers);
        assert_eq!((head.status, &*head.body), (200, ""));
    });
}

#[test]
fn a_head_of_a_megabyte_is_refused() {
    guarded(|| {
        let runtime = workers(1);
        let page = page_of(&runtime);
        for line in ["a", "a: b\r\n"] {
            let mut stream = connect(page.local_addr());
            stream.write_all(b"GET / HTTP/1.1\r\nHost: ").unwrap();
            // The page reads on for a second only, and closes; then neither the rest nor the answer arrives.
            let sent = stream.write_all(line.repeat(1024 * 1024 / line.len()).as_bytes());
            let answer = read(stream);
            if sent.is_ok() || answer.is_ok() {
                assert_eq!(answer.unwrap().status, 431);
            }
        }
        let many = "a: b\r\n".repeat(100);
        let mut stream = connect(page.local_addr());
        stream.write_all(format!("GET / HTTP/1.1\r\n{many}\r\n").as_bytes()).unwrap();
        assert_eq!(read(stream).unwrap().status, 431);
        let mut stream = connect(page.local_addr());
        stream.write_all(b"\x16\x03\x01 no http at all \r\n\r\n").unwrap();
        assert_eq!(read(stream).unwrap().status, 400);
        assert_eq!(get(&page, "/text").status, 200);
    });
}

/// Connections that say nothing, say half of it, or ask and do not read: more of each than there are places.
#[test]
fn connections_that_stand_still_keep_no_other_out() {
    guarded(|| {
        let runtime = workers(1);
        wait_for_ever(&runtime, 600, 600);
        let page = page_of(&runtime);
        let host = page.local_addr();
        let whole = request(&page, "/json");
        let mut open = Vec::new();
        for sent in ["", "GET / HTTP/1.1\r\nHost: ", &whole] {
            for _ in 0..40 {
                let mut stream = connect(host);
                // The page may have closed it already: there are too many.
                _ = stream.write_all(sent.as_bytes());
                open.push(stream);
            }
            assert_eq!(get(&page, "/text").status, 200);
        }
        // None waits for ever: the first have made room.
        for mut stream in open.drain(..40) {
            let mut rest = Vec::new();
            _ = stream.read_to_end(&mut rest);
            assert_eq!(String::from_utf8(rest).unwrap(), "");
        }
    });
}

#[test]
fn a_head_that_does_not_end_is_waited_for_some_seconds() {
    guarded(|| {
        let runtime = workers(1);
        let page = page_of(&runtime);
        let mut stream = connect(page.local_addr());
        stream.write_all(b"GET / HTTP/1.1\r\n").unwrap();
        assert_eq!(read(stream).unwrap().status, 408);
    });
}

#[test]
fn many_ask_at_the_same_time() {
    guarded(|| {
        let runtime = workers(1);
        let page = page_of(&runtime);
        let ask = || (0..50).filter(|_| get(&page, "/text").status == 200).count();
        let asked: usize = thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(asked, 400);
    });
}

/// More than there are places, and all of them are there before the first is answered.
#[test]
fn requests_that_come_at_once_are_all_answered() {
    guarded(|| {
        let runtime = workers(1);
        wait_for_ever(&runtime, 5_000, 5_000);
        let page = page_of(&runtime);
        let head = request(&page, "/text");
        for _ in 0..5 {
            let ask = || {
                let mut stream = connect(page.local_addr());
                stream.write_all(head.as_bytes()).unwrap();
                stream
            };
            let asked: Vec<_> = (0..60).map(|_| ask()).collect();
            for stream in asked {
                assert_eq!(read(stream).unwrap().status, 200);
            }
        }
    });
}

#[test]
fn a_request_may_come_in_parts_and_its_sender_close_its_side() {
    guarded(|| {
        let runtime = workers(1);
        let page = page_of(&runtime);
        let mut stream = connect(page.local_addr());
        let head = format!(
            "GET /text HTTP/1.1\r\nhost: {}\r\nauthorization: bearer {}\r\n\r\n",
            page.local_addr(),
            page.token()
        );
        for byte in head.as_bytes() {
            stream.write_all(&[*byte]).unwrap();
        }
        stream.shutdown(Shutdown::Write).unwrap();
        assert_eq!(read(stream).unwrap().status, 200);
        // A client that leaves in the middle.
        drop(connect(page.local_addr()));
        assert_eq!(get(&page, "/text").status, 200);
    });
}

#[test]
fn a_runtime_that_ends_is_said_to_have_ended() {
    guarded(|| {
        let runtimes = [workers(1), workers(1)];
        let page = page_of(&runtimes[0]);
        page.observe(runtimes[1].handle());
        let [first, second] = runtimes;
        let kept = first.handle().clone();
        assert_eq!(json(&page)["runtimes"].as_array().unwrap().len(), 2);
        drop(first);
        until(|| json(&page)["runtimes_ended"] == 1);
        assert_eq!(json(&page)["runtimes"][0]["id"].to_string(), second.handle().id().to_string());
        drop((second, kept));
        until(|| body(&page, "/text").starts_with("no runtime is left to be observed"));
        let metrics = samples(&body(&page, "/metrics"));
        assert_eq!(metrics["liten_runtimes"], 0.0);
        assert_eq!(metrics["liten_runtimes_ended_total"], 2.0);
    });
}

/// While a runtime's end waits for a task, that is what is looked for.
#[test]
fn a_runtime_whose_end_is_held_up_is_still_shown() {
    guarded(|| {
        let runtime = workers(1);
        let page = page_of(&runtime);
        let release = occupy(&runtime, 1);
        let end = thread::spawn(move || drop(runtime));
        until(|| body(&page, "/text").contains("has been in one poll for"));
        drop(release);
        end.join().unwrap();
        until(|| body(&page, "/text").starts_with("no runtime is left to be observed"));
    });
}

#[test]
fn a_dropped_page_is_closed_and_its_port_free() {
    guarded(|| {
        let runtime = workers(1);
        let page = page_of(&runtime);
        let address = page.local_addr();
        assert_eq!(
            serve_on(&runtime, &address.to_string()).unwrap_err().kind(),
            ErrorKind::AddrInUse
        );
        let idle = connect(address);
        drop(page);
        // A process that another test starts has a copy of the socket until its exec.
        until(|| TcpStream::connect(address).is_err());
        drop(idle);
        let mut pages = iter::repeat_with(|| serve_on(&runtime, &address.to_string()));
        assert_eq!(pages.find_map(Result::ok).unwrap().local_addr(), address);
    });
}

fn serve_on(runtime: &Runtime, address: &str) -> std::io::Result<Server> {
    Builder::new().observe(runtime.handle()).serve(address)
}

#[test]
fn other_machines_are_let_in_only_if_the_program_says_so() {
    guarded(|| {
        let runtime = workers(1);
        for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
            let error = serve_on(&runtime, address).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
            assert!(error.to_string().contains("allow_remote"), "{error}");
        }
        let page =
            Builder::new().observe(runtime.handle()).allow_remote().serve("0.0.0.0:0").unwrap();
        let to = format!("127.0.0.1:{}", page.local_addr().port()).parse().unwrap();
        let token = format!("Bearer {}", page.token());
        let port = page.local_addr().port();
        for (name, status) in [("127.0.0.1", 200), ("192.0.2.1", 200), ("example.org", 403)] {
            let host = format!("{name}:{port}");
            let headers = [("Host", &*host), ("Authorization", &*token)];
            assert_eq!(send(to, "GET /text", &headers).status, status, "{name}");
            let without_token = if status == 200 { 401 } else { status };
            assert_eq!(send(to, "GET /text", &headers[..1]).status, without_token, "{name}");
        }
    });
}

#[test]
fn it_shows_the_current_runtime_unless_told_otherwise() {
    guarded(|| {
        let error = serve("127.0.0.1:0").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains("observe"), "{error}");
        let runtime = exactly(1).name("current").build().unwrap();
        let page = runtime.block_on(async { serve("127.0.0.1:0").unwrap() });
        assert!(body(&page, "/text").contains("runtime \"current\""));
        let error = serve_on(&runtime, "127.0.0.1").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    });
}

/// The page's thread and descriptors end with it.
#[cfg(target_os = "linux")]
#[test]
fn a_hundred_pages_leave_nothing_behind() {
    use crate::support::process::{alone, descriptors, until_threads_are};
    let test = "insight::page::a_hundred_pages_leave_nothing_behind";
    guarded(|| {
        alone(test, || {
            let runtime = workers(1);
            let before = descriptors();
            for _ in 0..100 {
                let page = page_of(&runtime);
                let idle = connect(page.local_addr());
                assert_eq!(get(&page, "/text").status, 200);
                drop((page, idle));
            }
            until_threads_are("liten-insight", 0);
            // The runtime may be reading a file at the moment.
            until(|| descriptors() <= before);
        });
    });
}
