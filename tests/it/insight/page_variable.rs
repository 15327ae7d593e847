//! The variable that turns the page on in a program that says nothing of it.

use super::requests::send;
use crate::support::guard::{guarded, until, workers};
use crate::support::process::{child, is_child};
use liten::runtime::{LocalRuntime, Runtime};
use std::ffi::OsStr;
use std::future::pending;
use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Stdio};
use std::sync::mpsc;

const VARIABLE: &str = "LITEN_INSIGHT";

/// Starts the calling test once more with the variable, and its standard input held open.
fn start(test: &str, value: &str) -> Child {
    let mut command = child(test, &[(VARIABLE, value)]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Where the page of a process is, and its token, from the line on its standard error.
fn page_of(process: &mut Child) -> (SocketAddr, String) {
    let mut line = String::new();
    BufReader::new(process.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
    let url = line.strip_prefix("insight on http://").unwrap_or_else(|| panic!("{line}"));
    let (address, token) = url.trim_end().split_once("/#").unwrap();
    (address.parse().unwrap(), token.to_owned())
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
        let (to, token) = page_of(&mut process);
        let (address, authorization) = (to.to_string(), format!("Bearer {token}"));
        let headers = [("Host", &*address), ("Authorization", &*authorization)];
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

/// What a program with that value says on its standard error until it ends.
fn said(test: &str, value: &OsStr) -> String {
    let mut command = child(test, &[]);
    command.env(VARIABLE, value).stdin(Stdio::null());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{value:?}: {output:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// It builds several runtimes, because there is one line however many there are.
fn use_runtimes() {
    for _ in 0..3 {
        assert_eq!(workers(1).block_on(async { 42 }), 42);
    }
}

#[test]
fn a_value_of_no_use_is_told_and_the_program_goes_on() {
    let test = "insight::page_variable::a_value_of_no_use_is_told_and_the_program_goes_on";
    guarded(|| {
        if is_child() {
            return use_runtimes();
        }
        let no_address = [
            "yes",
            "127.0.0.1",
            "127.0.0.1:",
            "127.0.0.1:99999",
            "127.0.0.1:+80",
            "127.1:80",
            "99999",
            "-1",
            "+80",
            "0x50",
            ":",
            ":x",
            "::1",
            "[::1]",
            "[::1]9900",
            "localhost",
            "localhost:",
            "example.org:9900",
            "http://127.0.0.1:0",
            "127.0.0.1:0/",
            "127.0.0.1:0\n127.0.0.1:0",
        ];
        let elsewhere =
            ["0.0.0.0:0", "[::]:0", "192.0.2.1:0", "[2001:db8::1]:0", "[::ffff:192.0.2.1]:0"];
        let with_hint = no_address.map(|value| (value, "[::1]:9900, localhost:9900"));
        let with_warning = elsewhere.map(|value| (value, "could be seen from other machines"));
        for (value, hint) in with_hint.into_iter().chain(with_warning) {
            let said = said(test, value.as_ref());
            let begin = format!("no insight: LITEN_INSIGHT is {value:?}: ");
            assert!(said.starts_with(&begin) && said.lines().count() == 1, "{said}");
            assert!(said.contains(hint) && said.contains("127.0.0.1"), "{said}");
        }
        let said = said(test, "ä".repeat(50_000).as_ref());
        assert!(said.starts_with("no insight: LITEN_INSIGHT is \"ää"), "{said}");
        assert!(said.len() < 2_000 && said.lines().count() == 1 && said.contains('…'), "{said}");
    });
}

#[cfg(unix)]
#[test]
fn a_value_that_is_no_text_is_told() {
    use std::os::unix::ffi::OsStrExt;
    let test = "insight::page_variable::a_value_that_is_no_text_is_told";
    guarded(|| {
        if is_child() {
            return use_runtimes();
        }
        let said = said(test, OsStr::from_bytes(b"127.0.0.1:\xff"));
        assert!(said.starts_with("no insight: LITEN_INSIGHT is \"127.0.0.1:\\xFF\": "), "{said}");
        assert!(said.contains("127.0.0.1:9900") && said.lines().count() == 1, "{said}");
    });
}

#[test]
fn an_empty_value_is_none() {
    let test = "insight::page_variable::an_empty_value_is_none";
    guarded(|| {
        if is_child() {
            return use_runtimes();
        }
        for value in ["", " ", "\t \n"] {
            assert_eq!(said(test, value.as_ref()), "", "{value:?}");
        }
    });
}

/// The port may stand alone, and `localhost` is looked up nowhere.
#[test]
fn a_port_or_an_address_of_this_machine_and_a_port_is_where_the_page_is() {
    let test = "insight::page_variable::a_port_or_an_address_of_this_machine_and_a_port_is_where_the_page_is";
    guarded(|| {
        if is_child() {
            let runtime = workers(1);
            until_input_ends();
            return drop(runtime);
        }
        let any = "127.0.0.1";
        let mut values = vec![
            ("0", any),
            (":0", any),
            ("localhost:0", any),
            ("LocalHost:0", any),
            (" 127.0.0.1:0 ", any),
            ("127.9.8.7:0", "127.9.8.7"),
        ];
        // Some machines have no IPv6.
        if TcpListener::bind("[::1]:0").is_ok() {
            values.push(("[::1]:0", "::1"));
        }
        for (value, address) in values {
            let mut process = start(test, value);
            let (to, token) = page_of(&mut process);
            assert_eq!(to.ip().to_string(), address, "{value}");
            let (host, authorization) = (to.to_string(), format!("Bearer {token}"));
            let headers = [("Host", &*host), ("Authorization", &*authorization)];
            assert_eq!(send(to, "GET /text", &headers).status, 200, "{value}");
            drop(process.stdin.take());
            assert!(process.wait().unwrap().success(), "{value}");
        }
    });
}
