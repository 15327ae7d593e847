//! `grpc` used by tonic's client on tokio, by curl, and by clients that misbehave.

use crate::file::File;
use crate::http::{self, exchange};
use crate::process::{self, Example, LIMIT, eventually};
use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::process::Command;

/// The longest text that the server takes: its limit for a message, less what says that it is a text.
const LONGEST: usize = 1024 * 1024 - 4;

struct Server {
    example: Example,
    address: SocketAddr,
}

impl Server {
    fn start() -> Self {
        let mut command = Command::new(process::path("grpc"));
        let example = Example::start("grpc", command.arg("127.0.0.1:0"));
        let address = example.address();
        Self { example, address }
    }

    /// Starts tonic's client.
    fn client(&self, arguments: &[&str]) -> Example {
        let mut command = Command::new(process::path("grpc_client_tokio"));
        let command = command.arg(self.address.to_string()).args(arguments);
        Example::start("grpc_client_tokio", command)
    }

    /// What tonic's client says about a call that has to fail.
    #[track_caller]
    fn failure(&self, arguments: &[&str]) -> String {
        let mut client = self.client(arguments);
        let (success, lines) = client.end();
        assert!(!success && lines.is_empty(), "{lines:?}");
        client.errors.recv_timeout(LIMIT).expect("it says why")
    }

    #[track_caller]
    fn expect_answers(&self) {
        assert_eq!(self.client(&["count", "näh one two"]).success(), ["3 words, 12 bytes"]);
        assert_eq!(self.client(&["split", " one  two ", "0"]).success(), ["one", "two"]);
        assert_eq!(self.example.line(), "split: 2 answers, Ok");
    }

    /// Posts `body` by curl and returns the code of gRPC's in the answer.
    #[track_caller]
    fn post(&self, name: &str, method: &str, header: &str, body: &[u8]) -> String {
        let file = File::new(&format!("grpc-{name}"));
        fs::write(file.path(), body).unwrap();
        let body = format!("@{}", file.path());
        let url = format!("http://{}/words.Words/{method}", self.address);
        let options = ["--http2-prior-knowledge", "--output", "/dev/null", "--dump-header", "-"];
        let headers = ["--header", "content-type: application/grpc", "--header", header];
        let rest = ["--header", "te: trailers", "--data-binary", &body, &url];
        let answer = http::curl(&[&options[..], &headers, &rest].concat());
        assert!(answer.starts_with("HTTP/2 200"), "{answer:?}");
        let mut lines = answer.lines().filter_map(|line| line.strip_prefix("grpc-status: "));
        lines.next().unwrap_or_else(|| panic!("no status: {answer:?}")).to_owned()
    }
}

#[test]
fn grpc_serves_tonics_client_in_one_answer_and_in_streams() {
    let server = Server::start();
    server.expect_answers();
    let lines = server.client(&["tally", "20", "30"]).success();
    let total = |number: usize| {
        (0..30).map(move |message: usize| (number * 31 + message * 7) % 5000).sum::<usize>()
    };
    let words: usize = (0..20).map(total).sum();
    assert_eq!(lines.len(), 21, "{lines:?}");
    assert_eq!(lines[20], format!("{words} words, {} bytes", 5 * words));
    for _ in 0..20 {
        assert_eq!(server.example.line(), "tally: 30 answers, Ok");
    }
}

#[test]
fn grpc_serves_many_clients_at_the_same_time() {
    let server = Server::start();
    let clients: Vec<_> = (0..4).map(|_| server.client(&["tally", "10", "20"])).collect();
    let lines = clients.into_iter().map(|client| client.success().pop());
    let lines: Vec<_> = lines.collect();
    assert!(lines[0].as_ref().is_some_and(|line| line.ends_with(" bytes")), "{lines:?}");
    assert!(lines.iter().all(|line| *line == lines[0]), "{lines:?}");
    for _ in 0..40 {
        assert_eq!(server.example.line(), "tally: 20 answers, Ok");
    }
}

#[test]
fn grpc_refuses_a_message_that_is_too_long() {
    let server = Server::start();
    let longest = server.client(&["large", &LONGEST.to_string()]).success();
    assert_eq!(longest, [format!("1 words, {LONGEST} bytes")]);
    for length in [LONGEST + 1, 64 * 1024 * 1024] {
        let error = server.failure(&["large", &length.to_string()]);
        assert!(error.contains("OutOfRange"), "{error}");
    }
    server.expect_answers();
}

#[test]
fn grpc_says_what_is_wrong_with_a_call() {
    let server = Server::start();
    let error = server.failure(&["split", "  ", "0"]);
    assert!(error.contains("InvalidArgument") && error.contains("no words"), "{error}");

    let post = |method, body: &[u8]| server.post("wrong", method, "x: y", body);
    let good = b"\0\0\0\0\x0a\x0a\x08how many";
    assert_eq!(post("Count", good), "0");
    let unimplemented = "12";
    // Without a body: the answer does not wait for it, and curl does not like to be interrupted.
    assert_eq!(post("Nothing", b""), unimplemented);
    let internal = "13";
    assert_eq!(post("Count", b"\0\0\0\0\x0a\xff\x08how many"), internal, "no message");
    assert_eq!(post("Count", b"\0\0\0\0\x0b\x0a\x08how many"), internal, "half a message");
    assert_eq!(post("Count", b"\x01\0\0\0\x0a\x0a\x08how many"), internal, "compressed, but how?");
    assert_eq!(post("Count", b"\0\0"), internal, "half a head");
    assert_eq!(post("Count", b""), internal, "nothing");
    let out_of_range = "11";
    assert_eq!(post("Count", b"\0\xff\xff\xff\xff\x0a\x08how many"), out_of_range);
    // In a stream the good ones before it are answered.
    assert_eq!(post("Tally", &[&good[..], b"\xff"].concat()), internal);
    assert_eq!(server.example.line(), "tally: 1 answers, Internal");
    server.expect_answers();
}

#[test]
fn grpc_ends_a_stream_at_its_deadline() {
    let server = Server::start();
    // Long enough for the server's answer to begin: until then the client has a timer of its own.
    let error = server.failure(&["split", "never", "600000", "3000"]);
    assert!(error.contains("DeadlineExceeded") && error.contains("wanted it sooner"), "{error}");
    assert_eq!(server.example.line(), "split: 0 answers, DeadlineExceeded");
    assert_eq!(server.client(&["split", "at once", "0", "600000"]).success(), ["at", "once"]);
    assert_eq!(server.example.line(), "split: 2 answers, Ok");

    // Two words: with a tenth of a second before each, and with ten minutes.
    let quick = b"\0\0\0\0\x0c\x0a\x08how many\x10\x64";
    let slow = b"\0\0\0\0\x0e\x0a\x08how many\x10\xc0\xcf\x24";
    let post = |timeout: &str, body: &[u8]| {
        server.post("deadline", "Split", &format!("grpc-timeout: {timeout}"), body)
    };
    for timeout in ["1H", "1M", "60S", "60000m", "60000000u", "99999999H"] {
        assert_eq!(post(timeout, quick), "0", "{timeout}");
        assert_eq!(server.example.line(), "split: 2 answers, Ok", "{timeout}");
    }
    let deadline_exceeded = "4";
    for timeout in ["1S", "100m", "1000u", "1000n", "0H"] {
        assert_eq!(post(timeout, slow), deadline_exceeded, "{timeout}");
        assert_eq!(server.example.line(), "split: 0 answers, DeadlineExceeded", "{timeout}");
    }
    let invalid_argument = "3";
    for timeout in ["1", "S", "1h", "-1S", "+1S", "1.5S", "100000000n", "1 S", "\u{e4}"] {
        assert_eq!(post(timeout, quick), invalid_argument, "{timeout}");
    }
}

#[test]
fn grpc_drops_the_calls_of_clients_that_vanish() {
    let server = Server::start();
    server.expect_answers();
    let before = server.example.descriptors();
    let client = server.client(&["split", &"word ".repeat(20_000), "20"]);
    assert_eq!(client.line(), "word");
    // Killed.
    drop(client);
    let line = server.example.line();
    assert!(line.starts_with("split: ") && line.ends_with(" answers, Cancelled"), "{line}");

    let client = server.client(&["tally", "3", "1000000"]);
    for _ in 0..3 {
        assert!(client.line().ends_with(" has begun"));
    }
    drop(client);
    for _ in 0..3 {
        let line = server.example.line();
        assert!(line.starts_with("tally: ") && !line.ends_with(" Ok"), "{line}");
    }
    eventually("the server has closed its sockets", || server.example.descriptors() <= before);
    server.expect_answers();
}

#[test]
fn grpc_outlives_bad_input() {
    let server = Server::start();
    exchange(server.address, b"\r\n\0");
    let before = server.example.descriptors();
    http::expect_patience_with_bad_input(server.address);
    eventually("the server has closed its sockets", || server.example.descriptors() <= before);
    server.expect_answers();
}

#[test]
fn grpc_finishes_its_streams_when_interrupted() {
    let server = Server::start();
    let client = server.client(&["split", "one two three four five", "100"]);
    assert_eq!(client.line(), "one");
    http::interrupt(&server.example);
    assert_eq!(client.success(), ["two", "three", "four", "five"]);
    assert_eq!(server.example.success(), ["split: 5 answers, Ok", "bye"]);
    assert!(TcpStream::connect(server.address).is_err());
}
