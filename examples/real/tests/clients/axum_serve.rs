//! `axum_serve` used by curl, and by clients that misbehave.

use crate::http::{connect, curl, interrupt};
use crate::process::{self, Example, eventually};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;

fn start() -> (Example, SocketAddr) {
    let mut command = Command::new(process::path("axum_serve"));
    let server = Example::start("axum_serve", command.arg("127.0.0.1:0"));
    let address = server.address();
    (server, address)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
fn assert_serves(address: SocketAddr) {
    let answer = curl(&[&format!("http://{address}/")]);
    assert!(answer.starts_with("answered on liten-tokio, worked on liten-worker-"), "{answer}");
}

#[test]
fn curl_is_answered() {
    let (server, address) = start();
    assert_serves(address);
    let body = "a line\n".repeat(100_000);
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("{}-axum", std::process::id()));
    std::fs::write(&file, body).unwrap();
    let data = format!("@{}", file.display());
    let url = format!("http://{address}/length");
    assert_eq!(curl(&["--data-binary", &data, &url]), "700000 bytes, 100000 lines\n");
    std::fs::remove_file(&file).unwrap();
    // Many at once, each with a connection of its own.
    let url = format!("http://{address}/?[1-200]");
    let answers = curl(&["--parallel", "--parallel-immediate", "--parallel-max", "50", &url]);
    assert_eq!(answers.matches("worked on liten-worker-").count(), 200);
    assert_eq!(server.said(), [""; 0]);
}

#[test]
fn clients_that_misbehave_disturb_no_others() {
    let (server, address) = start();
    let mut garbage = connect(address);
    garbage.write_all(b"\x16\x03\x01\x02\0garbage\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    // A connection that ends with bytes unread may be reset.
    if let Err(error) = garbage.read_to_end(&mut answer) {
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    }
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 400 "), "{}", text(&answer));

    let mut half = connect(address);
    half.write_all(b"POST /length HTTP/1.1\r\nHost: it\r\nContent-Length: 100\r\n\r\nhalf")
        .unwrap();
    drop(half);

    let long = format!("GET /{} HTTP/1.1\r\n", "x".repeat(1_000_000));
    let mut client = connect(address);
    // It is cut off before it has sent all of that.
    let _ = client.write_all(long.as_bytes());
    let _ = client.read_to_end(&mut Vec::new());

    let mut silent = connect(address);
    assert_serves(address);
    // One byte more than axum takes, so that the server reads all of it before it refuses.
    let large = "x".repeat(2 * 1024 * 1024 + 1);
    let head =
        format!("POST /length HTTP/1.1\r\nHost: it\r\nContent-Length: {}\r\n\r\n", large.len());
    silent.write_all(format!("{head}{large}").as_bytes()).unwrap();
    let mut answer = [0; 12];
    silent.read_exact(&mut answer).unwrap();
    assert_eq!(text(&answer), "HTTP/1.1 413");
    assert_serves(address);
    assert_eq!(server.said(), [""; 0]);
}

/// Whether the process has a handler for SIGINT, which is number 2.
fn catches_interrupts(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("it is there");
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    u64::from_str_radix(caught.expect("it says so").trim(), 16).expect("it is a mask") & 2 != 0
}

/// The request that is under way when ctrl-c comes is answered; no new client is let in.
#[test]
fn ctrl_c_ends_it_when_the_last_answer_is_out() {
    let (server, address) = start();
    let mut client = connect(address);
    client.write_all(b"POST /length HTTP/1.1\r\nHost: it\r\nContent-Length: 10\r\n").unwrap();
    client.write_all(b"Expect: 100-continue\r\n\r\n").unwrap();
    // From this answer on the handler has the request.
    let mut go_on = [0; 25];
    client.read_exact(&mut go_on).unwrap();
    assert_eq!(text(&go_on), "HTTP/1.1 100 Continue\r\n\r\n");
    eventually("it listens for ctrl-c", || catches_interrupts(server.id()));
    interrupt(&server);
    eventually("the server lets no client in", || TcpStream::connect(address).is_err());
    client.write_all(b"ten\nbytes\n").unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.ends_with("\r\n\r\n10 bytes, 2 lines\n"), "{answer}");
    server.success();
}
