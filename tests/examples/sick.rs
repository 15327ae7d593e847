//! The sick programs: what their page says of each, by HTTP as a person with `curl` would ask.

use crate::process::{self, Example, LIMIT};
#[cfg(target_os = "linux")]
use crate::sick_cases::SILENT_PEER;
use crate::sick_cases::{
    BLOCKED_WORKER, CASES, Case, DROPPED_WAKER, FULL_POOL, JOIN_DEADLOCK, LOCK_DEADLOCK,
    SELF_WAKE_STORM, SPAWN_LEAK,
};
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// The lines that say what is wrong.
fn sentences(text: &str) -> Vec<String> {
    let lines = text.lines().map_while(|line| line.strip_prefix("! "));
    lines.map(|line| line.replace('\\', "/")).collect()
}

/// Of what is healthy nothing is said, however long it is looked at.
///
/// There is one exception. If the system does not let the thread of a healthy task run for long, that task
/// seems to block its worker. These are the tasks of which that was said, and since when at each look.
#[derive(Default)]
struct HeldUp(HashMap<String, Instant>);

impl HeldUp {
    /// For longer than this no thread is held up.
    const LONGEST: Duration = Duration::from_secs(10);

    #[track_caller]
    fn look(&mut self, said: &[String]) {
        let task = |sentence: &String| {
            let poll =
                sentence.strip_prefix("worker ")?.split_once(" has been in one poll for ")?.1;
            Some(poll.split_once(": task ")?.1.split(',').next()?.to_owned())
        };
        let healthy = said.iter().filter(|sentence| sentence.contains("ward.rs"));
        let tasks: Option<Vec<String>> = healthy.map(task).collect();
        let tasks = tasks.unwrap_or_else(|| panic!("{said:?}"));
        self.0.retain(|task, _| tasks.contains(task));
        for task in tasks {
            let since = self.0.entry(task).or_insert_with(Instant::now);
            assert!(since.elapsed() < Self::LONGEST, "{said:?}");
        }
    }
}

#[track_caller]
fn expect_found(case: &Case) {
    let patient = case.start();
    let (deadline, mut held_up) = (Instant::now() + LIMIT, HeldUp::default());
    loop {
        let text = patient.get("/text");
        let said = sentences(&text);
        held_up.look(&said);
        if held_up.0.is_empty() && said.iter().any(|sentence| case.is_said_by(sentence)) {
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
