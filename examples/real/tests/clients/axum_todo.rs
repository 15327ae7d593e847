//! `axum_todo` used by curl, and by clients that misbehave.

use crate::http::{self, connect, curl, curl_that_listens, exchange};
use crate::process::{self, Example, eventually};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::process::{Child, Command};

struct Server {
    example: Example,
    address: SocketAddr,
}

impl Server {
    fn start() -> Self {
        let mut command = Command::new(process::path("axum_todo"));
        let example = Example::start("axum_todo", command.arg("127.0.0.1:0"));
        let address = http::address(&example);
        Self { example, address }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// What curl gets for a request: the body, and the status behind it.
    #[track_caller]
    fn ask(&self, path: &str, arguments: &[&str]) -> String {
        curl(&[&["--write-out", " %{http_code}"], arguments, &[&self.url(path)]].concat())
    }

    #[track_caller]
    fn add(&self, text: &str) -> String {
        self.ask("/todos", &["--json", &format!("{{\"text\": \"{text}\"}}")])
    }
}

/// A curl that reads the stream of changes.
struct Listener {
    curl: Child,
    lines: BufReader<std::process::ChildStdout>,
}

impl Listener {
    #[track_caller]
    fn start(server: &Server, arguments: &[&str]) -> Self {
        let mut curl = curl_that_listens(&[arguments, &[&server.url("/changes")]].concat());
        let lines = BufReader::new(curl.stdout.take().expect("it is piped"));
        assert_eq!(server.example.line(), "a listener has come");
        Self { curl, lines }
    }

    /// The next line; empty if curl has ended. It does so after a while, whatever happens.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // An error means that it has ended.
        let _ = self.curl.kill();
        let _ = self.curl.wait();
    }
}

const BOTH: [&[&str]; 2] = [&[], &["--http2-prior-knowledge"]];

#[test]
fn axum_keeps_a_list_for_curl() {
    for version in BOTH {
        let server = Server::start();
        assert_eq!(server.ask("/todos", version), "[] 200");
        let add = |text: &str| server.ask("/todos", &[version, &["--json", text]].concat());
        assert_eq!(add(r#"{"text":"näh"}"#), r#"{"id":1,"text":"näh","done":false} 201"#);
        assert_eq!(add(r#"{"text":"dig"}"#), r#"{"id":2,"text":"dig","done":false} 201"#);
        let put = [version, &["--request", "PUT", "--json", r#"{"done":true}"#]].concat();
        assert_eq!(server.ask("/todos/2", &put), r#"{"id":2,"text":"dig","done":true} 200"#);
        assert_eq!(server.ask("/todos/2", version), r#"{"id":2,"text":"dig","done":true} 200"#);
        let delete = [version, &["--request", "DELETE"]].concat();
        assert_eq!(server.ask("/todos/1", &delete), " 204");
        assert_eq!(server.ask("/todos/1", &delete), "there is no 1\n 404");
        assert_eq!(server.ask("/todos", version), r#"[{"id":2,"text":"dig","done":true}] 200"#);
    }
}

#[test]
fn axum_says_what_is_wrong_with_a_request() {
    let server = Server::start();
    let status = |path: &str, arguments: &[&str]| {
        let answer = server.ask(path, arguments);
        answer.rsplit_once(' ').expect("the status comes last").1.to_owned()
    };
    assert_eq!(status("/nowhere", &[]), "404");
    assert_eq!(status("/todos/one", &[]), "400");
    assert_eq!(status("/todos/7", &["--request", "PUT", "--json", r#"{"done":true}"#]), "404");
    assert_eq!(status("/todos", &["--request", "DELETE"]), "405");
    assert_eq!(status("/todos", &["--json", "{"]), "400");
    assert_eq!(status("/todos", &["--json", r#"{"texts":"x"}"#]), "422");
    assert_eq!(status("/todos", &["--data", "text=x"]), "415");
    // One byte more than axum takes, so that the server reads all of it before it refuses: no reset.
    let large = format!("{}/large-{}", env!("CARGO_TARGET_TMPDIR"), std::process::id());
    std::fs::write(&large, format!("{{\"text\": \"{}\"}}", "x".repeat((2 << 20) + 1 - 12)))
        .unwrap();
    let answer = status("/todos", &["--header", "expect:", "--json", &format!("@{large}")]);
    std::fs::remove_file(&large).unwrap();
    assert_eq!(answer, "413");
    assert_eq!(server.ask("/todos", &[]), "[] 200");
}

#[test]
fn axum_streams_changes_as_they_happen() {
    let server = Server::start();
    let mut listeners = BOTH.map(|version| Listener::start(&server, version));
    for number in 1..=200 {
        server_add(&server, number);
        for listener in &mut listeners {
            let todo = format!("{{\"id\":{number},\"text\":\"{number}\",\"done\":false}}");
            assert_eq!(listener.line(), format!("{{\"added\":{todo}}}\n"));
        }
    }
}

/// Adds one without a process per request.
fn server_add(server: &Server, number: u32) {
    let body = format!("{{\"text\":\"{number}\"}}");
    let request = format!(
        "POST /todos HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let answer = exchange(server.address, request.as_bytes());
    assert!(answer.starts_with("HTTP/1.1 201 "), "{answer:?}");
}

#[test]
fn axum_forgets_clients_that_leave_in_the_middle_of_a_stream() {
    let server = Server::start();
    for version in BOTH {
        let mut listener = Listener::start(&server, version);
        server.add("first");
        assert!(listener.line().contains("first"));
        drop(listener);
        assert_eq!(server.example.line(), "a listener has left");
    }
    // One that resets the connection, with bytes unread.
    let mut client = connect(server.address);
    client.write_all(b"GET /changes HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
    assert_eq!(server.example.line(), "a listener has come");
    server.add("second");
    let mut byte = [0];
    client.read_exact(&mut byte).unwrap();
    drop(client);
    assert_eq!(server.example.line(), "a listener has left");
    assert!(server.add("third").ends_with(" 201"));
}

/// It may fall behind by what the buffers hold, and is then let go.
#[test]
fn axum_keeps_no_endless_list_for_a_client_that_does_not_read() {
    let server = Server::start();
    let mut client = connect(server.address);
    client.write_all(b"GET /changes HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
    assert_eq!(server.example.line(), "a listener has come");
    let text = format!("{{\"text\": \"{}\"}}", "x".repeat(128_000));
    let file = format!("{}/long-{}", env!("CARGO_TARGET_TMPDIR"), std::process::id());
    std::fs::write(&file, text).unwrap();
    let body = format!("@{file}");
    let arguments = ["--header", "expect:", "--output", "/dev/null", "--json", &body];
    // 64 wait in the channel, 8 MB; the rest is more than the buffers of two sockets and hyper's hold.
    for _ in 0..200 {
        assert_eq!(server.ask("/todos", &arguments), " 201");
    }
    std::fs::remove_file(&file).unwrap();
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).unwrap();
    assert!(answer.len() < 200 * 128_000, "{} bytes", answer.len());
    assert_eq!(server.example.line(), "a listener has left");
}

#[test]
fn axum_outlives_bad_input() {
    let server = Server::start();
    exchange(server.address, b"\r\n\0");
    let before = server.example.descriptors();
    http::expect_patience_with_bad_input(server.address);
    // A body that never comes to its end holds up its sender only.
    let mut half = connect(server.address);
    let head = "POST /todos HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n";
    let body = "content-length: 100\r\n\r\n{\"text\": \"ha";
    half.write_all(format!("{head}{body}").as_bytes()).unwrap();
    assert_eq!(server.ask("/todos", &[]), "[] 200");
    drop(half);
    eventually("the server has closed its sockets", || server.example.descriptors() <= before);
    assert_eq!(server.ask("/todos", &[]), "[] 200");
}

#[test]
fn axum_ends_its_streams_gracefully_when_interrupted() {
    let server = Server::start();
    let mut listeners = BOTH.map(|version| Listener::start(&server, version));
    server.add("last");
    http::interrupt(&server.example);
    for listener in &mut listeners {
        assert!(listener.line().contains("last"));
        assert_eq!(listener.line(), "");
        // Not cut off: curl has seen the end of the body.
        assert!(listener.curl.wait().unwrap().success());
    }
    // A stream of HTTP/2 is a task of its own, and the end of its connection does not wait for it.
    let mut lines = server.example.success();
    lines.sort();
    assert_eq!(lines, ["a listener has left", "a listener has left", "bye"]);
}
