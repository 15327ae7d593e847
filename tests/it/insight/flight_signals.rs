//! A signal has the last seconds kept, also while every worker is stuck.
//!
//! A handler is the whole process's, so each test has a process of its own.

use super::flight_recorder::Dir;
use crate::support::guard::{exactly, guarded, until};
use crate::support::process::alone;
use liten::insight::FlightRecorder;
use liten::signal::unix::SignalKind;
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

/// Has another process send this one a signal; whichever thread the system likes handles it, soon.
fn send(name: &str) {
    let process = std::process::id().to_string();
    assert!(Command::new("kill").args([name, &process]).status().unwrap().success());
}

#[test]
fn while_all_workers_are_stuck_a_signal_has_what_they_are_stuck_in_kept() {
    let body = || {
        let (runtime, dir) = (exactly(2).build().unwrap(), Dir::new());
        let recorder = FlightRecorder::builder()
            .on_signal(SignalKind::user_defined1())
            .on_signal(SignalKind::quit())
            .min_interval(Duration::MAX)
            .to_dir(&dir.0)
            .start(runtime.handle())
            .unwrap();
        let (mut tasks, mut releases) = (Vec::new(), Vec::new());
        for _ in 0..2 {
            let (release, held) = mpsc::channel::<()>();
            tasks.push(runtime.spawn(async move { _ = held.recv() }));
            releases.push(release);
        }
        until(|| runtime.metrics().running_tasks().len() == 2);
        send("-USR1");
        until(|| recorder.kept() == 1);
        let (name, file) = dir.only();
        assert!(name.ends_with("-signal.json"), "{name}");
        assert_eq!(file.reason(), format!("signal {}", SignalKind::user_defined1().as_raw_value()));
        for task in &tasks {
            assert_eq!(file.events.polls_of(task.id()), 1);
        }
        let polls = file.events.with("cat", "poll");
        let under_way = polls.filter(|poll| poll["args"]["outcome"] == "under way");
        assert_eq!(under_way.count(), 2);
        // The next one comes too early, and is counted. Signals that come at once are one.
        for skipped in 1..=3 {
            send(if skipped == 2 { "-QUIT" } else { "-USR1" });
            until(|| recorder.skipped() == skipped);
        }
        assert_eq!((recorder.kept(), dir.names().len()), (1, 1));
        drop(recorder);
        // The process does not end from it.
        send("-USR1");
        drop(releases);
        tasks.into_iter().for_each(|task| runtime.block_on(task).unwrap());
        assert_eq!(dir.names(), [name]);
    };
    let test = "insight::flight_signals::\
                while_all_workers_are_stuck_a_signal_has_what_they_are_stuck_in_kept";
    guarded(|| alone(test, body));
}

#[test]
fn a_storm_of_signals_is_one_snapshot_in_an_interval() {
    let body = || {
        let (runtime, dir) = (exactly(1).build().unwrap(), Dir::new());
        let recorder = FlightRecorder::builder()
            .on_signal(SignalKind::user_defined2())
            .min_interval(Duration::MAX)
            .to_dir(&dir.0)
            .start(runtime.handle())
            .unwrap();
        let storm = "for i in $(seq 200); do kill -USR2 $0; done";
        let process = std::process::id().to_string();
        assert!(Command::new("sh").args(["-c", storm, &process]).status().unwrap().success());
        until(|| recorder.kept() == 1);
        assert_eq!(runtime.block_on(runtime.spawn(async { 7 })).unwrap(), 7);
        drop(recorder);
        assert_eq!(dir.names().len(), 1);
    };
    guarded(|| {
        alone("insight::flight_signals::a_storm_of_signals_is_one_snapshot_in_an_interval", body)
    });
}

#[test]
fn a_signal_that_cannot_be_had_is_an_error() {
    let runtime = exactly(1).build().unwrap();
    let started = FlightRecorder::builder()
        .on_signal(SignalKind::from_raw(9))
        .to_fn(|_| {})
        .start(runtime.handle());
    assert_eq!(started.unwrap_err().kind(), std::io::ErrorKind::InvalidInput);
}
