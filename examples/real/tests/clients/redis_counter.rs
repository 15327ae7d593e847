//! `redis_counter` with a real Redis, which each test starts for itself.

use crate::process::{self, Example};
use crate::server::{Folder, Server};
use std::net::SocketAddr;
use std::process::Command;
use std::time::Instant;

fn redis(name: &str) -> Server {
    let folder = Folder::new(name);
    let place = folder.path().to_owned();
    Server::start(folder, move |port| {
        let mut command = Command::new("redis-server");
        command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""]);
        command.arg("--dir").arg(&place);
        command
    })
}

fn start(address: SocketAddr, count: &str) -> Example {
    let mut command = Command::new(process::path("redis_counter"));
    Example::start("redis_counter", command.args([&address.to_string(), count]))
}

#[test]
fn ten_tasks_count_over_one_connection() {
    let server = redis("counter");
    let lines = start(server.address, "500").success();
    assert_eq!(lines, ["counted to 5000, and heard of 5000"]);
    // Redis' own client sees the same.
    let mut client = Command::new("redis-cli");
    client.args(["-p", &server.address.port().to_string(), "get", "liten:counter"]);
    let output = client.output().expect("redis-cli is there");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "5000");
}

#[test]
fn a_server_that_dies_is_an_error_and_no_hang() {
    let mut server = redis("dies");
    let mut example = start(server.address, "1000000000");
    let key = || {
        let mut client = Command::new("redis-cli");
        client.args(["-p", &server.address.port().to_string(), "get", "liten:counter"]);
        client.output().expect("redis-cli is there").stdout
    };
    let deadline = Instant::now() + process::LIMIT;
    while key().trim_ascii().is_empty() {
        assert!(Instant::now() < deadline, "it does not begin to count");
    }
    server.kill();
    let error = example.errors.recv_timeout(process::LIMIT).expect("it reports an error");
    assert!(error.contains("Error"), "{error}");
    assert!(!example.end().0);
}
