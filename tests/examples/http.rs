//! Clients of a web server that runs as an example: curl, and bytes such as no client sends.

use crate::process::{Example, LIMIT};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;

/// The address on the first line of a web server.
#[track_caller]
pub(crate) fn address(server: &Example) -> SocketAddr {
    let line = server.line();
    let address = line.strip_prefix("listening on http://").and_then(|text| text.parse().ok());
    address.unwrap_or_else(|| panic!("the first line is {line:?}"))
}

/// A curl that has not been started.
pub(crate) fn curl_command(arguments: &[&str]) -> Command {
    let mut command = Command::new("curl");
    command.args(["--silent", "--show-error", "--noproxy", "*", "--max-time", "60"]);
    command.args(arguments);
    command
}

/// What curl prints; it has to succeed.
#[track_caller]
pub(crate) fn curl(arguments: &[&str]) -> String {
    let output = curl_command(arguments).output().expect("curl is installed");
    assert!(output.status.success(), "curl {arguments:?}: {output:?}");
    String::from_utf8(output.stdout).expect("the answer is text")
}

/// A curl that goes on, and prints what it gets as it gets it.
#[allow(dead_code, reason = "not every program that has this module streams")]
pub(crate) fn curl_that_listens(arguments: &[&str]) -> Child {
    let mut command = curl_command(arguments);
    command.arg("--no-buffer").stdin(Stdio::null()).stdout(Stdio::piped());
    command.spawn().expect("curl is installed")
}

/// Connects a client that fails instead of waiting for ever.
pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream.set_write_timeout(Some(LIMIT)).unwrap();
    stream
}

/// Sends `bytes`, stays, and returns what comes until the server ends the connection.
pub(crate) fn exchange(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = connect(address);
    // The server may hang up in the middle; a reset comes from bytes that it has not read.
    if let Err(error) = stream.write_all(bytes) {
        let kinds = [ErrorKind::BrokenPipe, ErrorKind::ConnectionReset];
        assert!(kinds.contains(&error.kind()), "{error}");
    }
    let mut answer = Vec::new();
    if let Err(error) = stream.read_to_end(&mut answer) {
        assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}");
    }
    String::from_utf8_lossy(&answer).into_owned()
}

/// Ends a server the way a terminal does.
#[cfg(unix)]
pub(crate) fn interrupt(server: &Example) {
    let status = Command::new("kill").args(["-INT", &server.id().to_string()]).status();
    assert!(status.expect("kill is installed").success());
}

/// Whatever a client sends, or does not send, the server ends the connection and lives on.
pub(crate) fn expect_patience_with_bad_input(address: SocketAddr) {
    let head = "GET / HTTP/1.1\r\nhost: a\r\n";
    let large = format!("{head}x: {}\r\n\r\n", "a".repeat(1 << 20));
    let many = format!("{head}{}\r\n", "x: y\r\n".repeat(1_000));
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let cases: Vec<(&'static str, Vec<u8>, &'static [&'static str])> = vec![
        ("garbage", b"\x16\x03\x01\0\xff\xfe\r\n\r\n".to_vec(), &["400"]),
        ("a header of 1 MiB", large.into_bytes(), &["431", "400"]),
        ("a thousand headers", many.into_bytes(), &["431"]),
        ("no HTTP of ours", b"GET / HTTP/3.0\r\n\r\n".to_vec(), &["400", "505"]),
        (
            "two lengths",
            format!("{head}content-length: 1\r\ncontent-length: 2\r\n\r\n").into(),
            &["400"],
        ),
        ("half a head", head.as_bytes().to_vec(), &["408"]),
        ("nothing", Vec::new(), &[]),
        ("half a preface of HTTP/2", preface[..9].to_vec(), &[]),
        ("a preface and garbage", [&preface[..], &[0xff; 64]].concat(), &[]),
    ];
    let clients = cases.into_iter().map(|(name, bytes, statuses)| {
        thread::spawn(move || {
            let answer = exchange(address, &bytes);
            // A refusal that is cut off by a reset is as good.
            let said = answer.strip_prefix("HTTP/1.1 ").map(|rest| &rest[..3]);
            assert!(said.is_none_or(|status| statuses.contains(&status)), "{name}: {answer:?}");
        })
    });
    for client in clients.collect::<Vec<_>>() {
        client.join().unwrap();
    }
}
