//! `nats_words` with Debian's nats-server, and with servers that are none.

use crate::process::{self, Example, LIMIT};
use std::io::{Read, Write};
use std::iter;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::thread;

fn start(server: SocketAddr, words: &[String]) -> Example {
    let mut command = Command::new(process::path("nats_words"));
    Example::start("nats_words", command.arg(format!("nats://{server}")).args(words))
}

fn nats_server() -> (Example, SocketAddr) {
    let mut command = Command::new("nats-server");
    let server = Example::start("nats-server", command.args(["-a", "127.0.0.1", "-p", "-1"]));
    loop {
        let line = server.errors.recv_timeout(LIMIT).expect("it says where it listens");
        if let Some((_, address)) = line.split_once("client connections on ") {
            return (server, address.parse().unwrap());
        }
    }
}

/// Fails with that reason on its standard error.
#[track_caller]
fn assert_fails(mut example: Example, reason: &str) {
    let (success, lines) = example.end();
    assert!(!success, "{lines:?}");
    // Until the process has closed it.
    let said = iter::from_fn(|| example.errors.recv_timeout(LIMIT).ok());
    let said = said.collect::<Vec<_>>().join("\n");
    assert!(said.contains(reason), "{said}");
}

#[test]
fn each_word_comes_back() {
    let (_server, address) = nats_server();
    let words: Vec<_> = (0..100).map(|i| format!("word{i}")).collect();
    let expected: Vec<_> = words.iter().map(|word| word.to_uppercase()).collect();
    // Two at once do not hear each other.
    let (first, second) = (start(address, &words), start(address, &words[..1]));
    for (example, expected) in [(first, &expected[..]), (second, &expected[..1])] {
        assert_eq!(example.line(), "connected");
        assert_eq!(example.success(), expected);
    }
}

#[test]
fn a_server_that_is_none_is_an_error() {
    let words = ["word".to_owned()];
    // No program listens on port 1; a port that was free a moment ago may be another test's.
    let refused = SocketAddr::from(([127, 0, 0, 1], 1));
    assert_fails(start(refused, &words), "Connection refused");

    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    assert_fails(start(silent.local_addr().unwrap(), &words), "no NATS server");

    let rude = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = rude.local_addr().unwrap();
    thread::spawn(move || {
        for client in rude.incoming() {
            // A client that has gone already does not need an answer.
            let _ = client.expect("a client").write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    assert_fails(start(address, &words), "invalid server operation");
}

/// The connection breaks with the first question, and there is no other.
#[test]
fn a_server_that_is_lost_in_the_middle_is_an_error() {
    let (_server, address) = nats_server();
    let relay = TcpListener::bind("127.0.0.1:0").unwrap();
    let example = start(relay.local_addr().unwrap(), &["one".to_owned(), "two".to_owned()]);
    let (client, _) = relay.accept().unwrap();
    drop(relay);
    let server = TcpStream::connect(address).unwrap();
    let (mut from, mut to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
    // An error is the end that this test makes.
    let back = thread::spawn(move || drop(std::io::copy(&mut from, &mut to)));
    let (mut seen, mut buffer) = (Vec::new(), [0; 1024]);
    while !seen.windows(4).any(|window| window == b"PUB ") {
        let count = (&client).read(&mut buffer).unwrap();
        assert_ne!(count, 0, "it asks nothing");
        seen.extend_from_slice(&buffer[..count]);
        (&server).write_all(&buffer[..count]).unwrap();
    }
    client.shutdown(Shutdown::Both).unwrap();
    server.shutdown(Shutdown::Both).unwrap();
    assert_eq!(example.line(), "connected");
    assert_fails(example, "timed out");
    back.join().unwrap();
}
