//! What the page answers where there is no `/proc`, as in some sandboxes.

use super::super::requests::{body, json};
use super::{block, page_of, samples};
use crate::support::guard::{exactly, guarded, until};
use crate::support::process::{child, is_child};
use liten::insight::{SlowPollInfo, TaskState};
use liten::net::TcpListener;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Runs what follows it in a namespace of its own, where an empty folder lies over `/proc`.
const HIDE: &str = "mount -t tmpfs none /proc && exec \"$0\" \"$@\"";

/// If it is set, a system without namespaces is a failure.
const REQUIRED: &str = "LITEN_TEST_NAMESPACES";

fn without_proc() -> Command {
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", HIDE]);
    command
}

/// On a system that gives no namespaces to a program like this one, it sees nothing, and passes unless the
/// variable asks for more.
#[test]
fn without_proc_all_answers_come_and_say_what_is_not_known() {
    let test = "insight::page::no_proc::without_proc_all_answers_come_and_say_what_is_not_known";
    if is_child() {
        return guarded(check);
    }
    if !without_proc().arg("true").status().is_ok_and(|status| status.success()) {
        assert!(
            std::env::var_os(REQUIRED).is_none(),
            "there are no namespaces, and {REQUIRED} is set"
        );
        return eprintln!("there are no namespaces: nothing was tested");
    }
    let child = child(test, &[]);
    let mut command = without_proc();
    command.arg(child.get_program()).args(child.get_args());
    for (name, value) in child.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let output = command.output().unwrap();
    let said = [output.stdout, output.stderr].map(|said| String::from_utf8(said).unwrap());
    assert!(output.status.success() && said[0].contains("1 passed"), "{said:?}");
}

fn check() {
    assert!(!Path::new("/proc/self").exists());
    let runtime = exactly(2).build().unwrap();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    drop(runtime.spawn(async move { drop(listener.accept().await) }));
    let (release, place) = block(&runtime);
    until(|| runtime.handle().tasks().any(|task| task.state() == TaskState::Waiting));
    // The other worker looks slow as well while the system does not let it run.
    let is_it = |slow: &SlowPollInfo| slow.to_string().contains(&place);
    until(|| runtime.handle().dump().slow_polls().iter().any(is_it));
    let page = page_of(&runtime);
    let trouble = "what they lead to is not known: /proc/self/fd";
    let unknown = "what its thread does is not known";
    let text = body(&page, "/text");
    let mut findings = text.lines().filter(|line| line.starts_with("! "));
    let is_it = |finding: &str| finding.contains(&place) && finding.contains(unknown);
    assert!(findings.any(is_it), "{text}");
    assert!(text.contains(trouble) && text.contains("waiting for readable"), "{text}");
    let all = json(&page);
    let seen = &all["runtimes"][0];
    assert!(all["cost"]["processor_us"].is_null(), "{all}");
    assert!(seen["sockets_trouble"].as_str().unwrap().contains("/proc/self/fd"), "{seen}");
    assert_eq!(seen["sockets"].as_array().unwrap().len(), 1);
    let mut polls = seen["last_slow_polls"].as_array().unwrap().iter();
    let is_here = |at: &Value| at.as_str().is_some_and(|at| at.starts_with(&place));
    let slow = polls.find(|poll| is_here(&poll["task"]["spawned_at"])).unwrap();
    assert_eq!(slow["activity"], unknown);
    let samples = samples(&body(&page, "/metrics"));
    assert!(!samples.contains_key("liten_insight_cpu_seconds_total"), "{samples:?}");
    drop(release);
}
