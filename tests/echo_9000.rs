//! Nine thousand clients at once: the example `echo_load` opens them all against the example `echo_server`,
//! and every byte of ten messages each comes back. When they have left, the server holds what it held before.
//!
//! `LITEN_ECHO_CONNECTIONS` sets another number. 9000 take about 15 seconds in a debug build on two cores.
//! `cargo test --test echo_9000 -- --nocapture` prints the figures.
#![cfg(target_os = "linux")]

#[path = "examples/process.rs"]
mod process;

use process::{Example, eventually};
use std::io::Write;
use std::process::Command;
use std::time::Duration;
use std::{env, fs, io};

const CONNECTIONS: usize = 9000;

/// Descriptors that each process has besides its connections, generously.
const OTHERS: usize = 100;

/// What the server may hold in kilobytes after the first crowd beyond what it held before: the tables that
/// it has built for them and keeps for the next.
const KEPT: usize = 16_000;

/// What it may hold after the second crowd beyond that. 200 bytes lost per connection would show.
const GROWTH: usize = 1_500;

/// After this the load hangs.
const LOAD_LIMIT: Duration = Duration::from_secs(240);

#[test]
fn nine_thousand_connections_lose_no_byte_and_leave_nothing_behind() {
    let connections = match env::var("LITEN_ECHO_CONNECTIONS") {
        Ok(text) => text.parse().expect("LITEN_ECHO_CONNECTIONS is a number"),
        Err(_) => CONNECTIONS,
    };
    let needed = connections + OTHERS;
    let allowed = most_descriptors();
    if allowed < needed {
        // Not `eprintln!`, which the test harness keeps to itself.
        let _ = writeln!(
            io::stderr(),
            "skipped: {connections} connections need {needed} descriptors, `ulimit -H -n` is {allowed}"
        );
        return;
    }

    let mut shell = command("echo_server", needed, &["127.0.0.1:0"]);
    // The C library keeps small blocks that were freed, as good as unused but resident. With this it maps
    // buffers of 8 KiB one by one and gives them back, so that resident means in use.
    shell.env("MALLOC_MMAP_THRESHOLD_", "8192");
    let server = Example::start("echo_server", &mut shell);
    let address = server.address().to_string();
    let (descriptors, before) = (server.descriptors(), status(&server, "VmRSS:"));
    println!("before: {before} kB, {descriptors} descriptors");

    let mut after = Vec::new();
    for messages in [10, 1] {
        let arguments = [address.as_str(), &connections.to_string(), &messages.to_string()];
        let load = Example::start("echo_load", &mut command("echo_load", needed, &arguments));
        let line = load.line_within(LOAD_LIMIT).expect("the load ends with a line");
        println!("{line}");
        let total = connections * messages;
        let expected = format!("{connections} connections, {total} messages, ");
        assert!(line.starts_with(&expected), "{line}");
        assert!(load.success().is_empty());

        assert_eq!(server.said(), [""; 0]);
        eventually("the sockets are closed", || server.descriptors() <= descriptors);
        after.push(status(&server, "VmRSS:"));
        println!("after: {} kB, {} descriptors", after[after.len() - 1], server.descriptors());
    }
    println!("at most: {} kB", status(&server, "VmHWM:"));
    // The table of descriptors grows as needed and never shrinks.
    assert!(status(&server, "FDSize:") >= connections, "they were not open at once");
    assert!(after[0] <= before + KEPT, "{before} kB before, then {after:?}");
    assert!(after[1] <= after[0] + GROWTH, "{before} kB before, then {after:?}");
}

/// An example that may have that many descriptors: the usual limit is 1024, and a process may raise it up to
/// the hard one.
fn command(name: &str, descriptors: usize, arguments: &[&str]) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -S -n \"$0\" && exec \"$@\"", &descriptors.to_string()]);
    shell.arg(process::path(name)).args(arguments);
    shell
}

/// The hard limit of descriptors per process.
fn most_descriptors() -> usize {
    let limits = fs::read_to_string("/proc/self/limits").expect("Linux has it");
    let line =
        limits.lines().find(|line| line.starts_with("Max open files")).expect("it is listed");
    match line.split_whitespace().nth(4).expect("soft, hard") {
        "unlimited" => usize::MAX,
        hard => hard.parse().expect("a number"),
    }
}

/// A figure of `/proc/PID/status`; memory is in kilobytes.
fn status(server: &Example, name: &str) -> usize {
    let path = format!("/proc/{}/status", server.id());
    let status = fs::read_to_string(path).expect("the server is running");
    let figure = status.lines().find_map(|line| line.strip_prefix(name)).expect("it is listed");
    figure.split_whitespace().next().expect("a figure").parse().expect("a number")
}
