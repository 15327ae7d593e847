//! The variable that turns the page on in a program that says nothing of it.

use super::requests::send;
use crate::guard::{guarded, until, workers};
use crate::process::{child, is_child};
use liten::runtime::{LocalRuntime, Runtime};
use std::future::pending;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, Stdio};
use std::sync::mpsc;

const VARIABLE: &str = "LITEN_INSIGHT";

/// Starts the calling test once more with the variable, and its standard input held open.
fn start(test: &str, value: &str) -> Child {
    let mut command = child(test, &[(VARIABLE, value)]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn until_input_ends() {
    _ = std::io::stdin().read(&mut [0]);
}

#[test]
fn the_variable_shows_every_runtime_of_a_program() {
    let test = "insight::page_variable::the_variable_shows_every_runtime_of_a_program";
    guarded(|| {
        if is_child() {
            let runtimes = [workers(1), workers(2)];
            let local = LocalRuntime::new().unwrap();
            drop(Runtime::new().unwrap());
            let (release, held) = mpsc::channel::<()>();
            drop(runtimes[0].spawn(async move { _ = held.recv() }));
            drop(runtimes[1].spawn(pending::<()>()));
            until_input_ends();
            drop(release);
            return drop(local);
        }
        let mut process = start(test, "127.0.0.1:0");
        let mut line = String::new();
        BufReader::new(process.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
        let url = line.strip_prefix("insight on http://").unwrap().trim_end();
        let (address, token) = url.split_once("/#").unwrap();
        let authorization = format!("Bearer {token}");
        let to: SocketAddr = address.parse().unwrap();
        let headers = [("Host", address), ("Authorization", &*authorization)];
        until(|| {
            let answer = send(to, "GET /json", &headers);
            let all: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
            all["runtimes"].as_array().unwrap().len() == 3
                && all["runtimes_ended"] == 1
                && all["runtimes"][0]["findings"][0]["kind"] == "blocked_worker"
        });
        drop(process.stdin.take());
        assert!(process.wait().unwrap().success());
    });
}

#[test]
fn a_value_of_no_use_is_told_and_the_program_goes_on() {
    let test = "insight::page_variable::a_value_of_no_use_is_told_and_the_program_goes_on";
    guarded(|| {
        if is_child() {
            // Told once, however many there are.
            for _ in 0..3 {
                assert_eq!(workers(1).block_on(async { 42 }), 42);
            }
            return;
        }
        for value in ["", "yes", "9900", "127.0.0.1", "127.0.0.1:99999", "0.0.0.0:0", "192.0.2.1:0"]
        {
            let output = start(test, value).wait_with_output().unwrap();
            assert!(output.status.success(), "{value}");
            let said = String::from_utf8(output.stderr).unwrap();
            let begin = format!("no insight: LITEN_INSIGHT is {value:?}: ");
            assert!(said.starts_with(&begin) && said.lines().count() == 1, "{said}");
        }
    });
}
