//! The sick programs: what their page says of each, by HTTP as a person with `curl` would ask.

use crate::http::curl;
use crate::process::{self, Example, LIMIT};
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// What is to be found of one program.
pub(crate) struct Case {
    /// Of the file, and of the example behind `sick_`.
    pub(crate) name: &'static str,
    pub(crate) kind: &'static str,
    /// In the lines with these texts are the spawns that are to be named.
    spawns: &'static [&'static str],
    /// What the sentence says of the cause.
    pub(crate) cause: &'static [&'static str],
}

pub(crate) const BLOCKED_WORKER: Case = Case {
    name: "blocked_worker",
    kind: "blocked_worker",
    spawns: &["drop(liten::spawn(async move {"],
    // What a thread does is known on Linux only.
    cause: match cfg!(target_os = "linux") {
        true => &["has been in one poll for ", " ms: task ", ", in recvfrom(fd ", "socket:["],
        false => &["has been in one poll for ", " ms: task "],
    },
};

pub(crate) const DROPPED_WAKER: Case = Case {
    name: "dropped_waker",
    kind: "stuck_tasks",
    spawns: &["drop(liten::spawn(Answer(slot)));"],
    cause: &["proven: no waker", "(sick_dropped_waker::Answer)"],
};

pub(crate) const FULL_POOL: Case = Case {
    name: "full_pool",
    kind: "pool_full",
    spawns: &["drop(liten::spawn_blocking(query_a_slow_database));"],
    cause: &["all 4 threads of the blocking pool are busy, and ", " jobs wait, the first for "],
};

pub(crate) const JOIN_DEADLOCK: Case = Case {
    name: "join_deadlock",
    kind: "deadlock",
    spawns: &["let reader = liten::spawn(", "let writer = liten::spawn("],
    cause: &["2 tasks wait for each other: deadlock, proven: task ", " waits for task "],
};

pub(crate) const LOCK_DEADLOCK: Case = Case {
    name: "lock_deadlock",
    kind: "deadlock",
    spawns: &["transfer(&first.0[0]", "transfer(&second.0[1]"],
    cause: &[
        "2 tasks wait for each other: deadlock, proven",
        " waits for a Mutex ",
        " held by task ",
    ],
};

pub(crate) const SELF_WAKE_STORM: Case = Case {
    name: "self_wake_storm",
    kind: "busy_task",
    spawns: &["drop(liten::spawn(poll_fn(move |cx| {"],
    cause: &["times a second and never waits: suspected"],
};

#[cfg(target_os = "linux")]
pub(crate) const SILENT_PEER: Case = Case {
    name: "silent_peer",
    kind: "silent_peer",
    spawns: &["drop(liten::spawn(async move {"],
    cause: &[" s at least for 127.0.0.1:", " to send something, and for nothing else: suspected"],
};

pub(crate) const SPAWN_LEAK: Case = Case {
    name: "spawn_leak",
    kind: "growing_tasks",
    spawns: &["drop(liten::spawn(async move { shutdown.notified().await }));"],
    cause: &["become more and more, from ", "suspected leak"],
};

/// All of them.
pub(crate) const CASES: &[&Case] = &[
    &BLOCKED_WORKER,
    &DROPPED_WAKER,
    &FULL_POOL,
    &JOIN_DEADLOCK,
    &LOCK_DEADLOCK,
    &SELF_WAKE_STORM,
    #[cfg(target_os = "linux")]
    &SILENT_PEER,
    &SPAWN_LEAK,
];

impl Case {
    /// Each place as a sentence names it.
    pub(crate) fn places(&self) -> Vec<String> {
        let file = format!("examples/sick/{}.rs", self.name);
        let path = Path::new(env!("CARGO_MANIFEST_DIR"));
        // Also from a package in a folder below.
        let path = path.ancestors().map(|folder| folder.join(&file)).find(|path| path.exists());
        let source = std::fs::read_to_string(path.expect("the source is there")).unwrap();
        let place = |spawn: &&str| {
            let line = source.lines().position(|line| line.contains(spawn));
            format!("{file}:{}:", line.unwrap_or_else(|| panic!("{spawn:?} is not there")) + 1)
        };
        self.spawns.iter().map(place).collect()
    }

    /// Whether this sentence names places and cause.
    pub(crate) fn is_said_by(&self, sentence: &str) -> bool {
        let sentence = sentence.replace('\\', "/");
        let says = |part: &str| sentence.contains(part);
        self.places().iter().all(|place| says(place)) && self.cause.iter().all(|cause| says(cause))
    }

    pub(crate) fn start(&self) -> Patient {
        let name = format!("sick_{}", self.name);
        let mut command = Command::new(process::path(&name));
        // Long enough for each test, which kills it.
        let example = Example::start(&name, command.arg("600").env_remove("LITEN_INSIGHT"));
        let line = example.errors.recv_timeout(LIMIT).expect("it says where its page is");
        let url = line.strip_prefix("insight on ").expect("it is the first line").to_owned();
        Patient { url, _example: example }
    }
}

/// A sick program that is running.
pub(crate) struct Patient {
    /// With the token.
    pub(crate) url: String,
    _example: Example,
}

impl Patient {
    /// What the page gives a program that has the token.
    pub(crate) fn get(&self, path: &str) -> String {
        let (address, token) = self.url.split_once("/#").expect("the token is behind the path");
        let header = format!("Authorization: Bearer {token}");
        curl(&["--fail", "--header", &header, &format!("{address}{path}")])
    }
}

/// The lines that say what is wrong.
fn sentences(text: &str) -> Vec<String> {
    let lines = text.lines().map_while(|line| line.strip_prefix("! "));
    lines.map(|line| line.replace('\\', "/")).collect()
}

#[track_caller]
fn expect_found(case: &Case) {
    let patient = case.start();
    let deadline = Instant::now() + LIMIT;
    loop {
        let text = patient.get("/text");
        // Of what is healthy nothing is said, however long it is looked at.
        let said = sentences(&text);
        assert!(!said.iter().any(|sentence| sentence.contains("ward.rs")), "{said:?}");
        if said.iter().any(|sentence| case.is_said_by(sentence)) {
            break;
        }
        assert!(Instant::now() < deadline, "{} at {:?}: {text}", case.kind, case.places());
        thread::sleep(Duration::from_millis(100));
    }
    let json: Value = serde_json::from_str(&patient.get("/json")).unwrap();
    let findings = json["runtimes"][0]["findings"].as_array().unwrap();
    let found = findings.iter().find(|finding| finding["kind"] == case.kind);
    let found = found.unwrap_or_else(|| panic!("{} is not among {findings:?}", case.kind));
    assert!(case.is_said_by(found["text"].as_str().unwrap()), "{found}");
}

#[test]
fn a_blocked_worker_is_named_with_its_task_and_system_call() {
    expect_found(&BLOCKED_WORKER);
}

#[test]
fn a_task_whose_waker_was_dropped_is_proven_to_be_stuck() {
    expect_found(&DROPPED_WAKER);
}

#[test]
fn a_full_pool_is_named_with_its_oldest_job() {
    expect_found(&FULL_POOL);
}

#[test]
fn tasks_that_wait_for_each_others_end_are_proven_to_be_deadlocked() {
    expect_found(&JOIN_DEADLOCK);
}

#[test]
fn locks_that_are_taken_in_two_orders_are_proven_to_be_deadlocked() {
    expect_found(&LOCK_DEADLOCK);
}

/// What a socket leads to is known on Linux only.
#[cfg(target_os = "linux")]
#[test]
fn a_peer_that_says_nothing_is_suspected() {
    expect_found(&SILENT_PEER);
}

#[test]
fn a_task_that_wakes_itself_is_suspected() {
    expect_found(&SELF_WAKE_STORM);
}

#[test]
fn tasks_that_become_more_and_more_are_suspected_to_leak() {
    expect_found(&SPAWN_LEAK);
}

#[test]
fn each_case_is_tried_and_each_sick_program_has_one() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/sick");
    let files = folder.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let names = files.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned());
    let mut names: Vec<String> = names.filter(|name| name != "ward").collect();
    names.sort();
    names.retain(|name| cfg!(target_os = "linux") || name != "silent_peer");
    assert_eq!(names, CASES.iter().map(|case| case.name).collect::<Vec<_>>());
}

#[test]
fn a_sick_program_ends_by_itself_and_refuses_what_is_no_time() {
    let start = |argument| {
        let mut command = Command::new(process::path("sick_full_pool"));
        Example::start("sick_full_pool", command.arg(argument))
    };
    assert_eq!(start("1").success(), [""; 0]);
    let mut refused = start("soon");
    assert!(!refused.end().0);
    let error = refused.errors.recv_timeout(LIMIT).unwrap();
    assert!(error.contains("usage: NAME [SECONDS]"), "{error}");
}
