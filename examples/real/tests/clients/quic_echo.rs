//! `quic_echo` used by quinn's client on tokio, in processes of its own.

use crate::file::File;
use crate::process::{self, Example, LIMIT};
use std::net::{SocketAddr, UdpSocket};
use std::process::Command;
use std::time::{Duration, Instant};

struct Server {
    example: Example,
    address: SocketAddr,
    certificate: File,
}

impl Server {
    fn start(name: &str) -> Self {
        let certificate = File::new(name);
        let mut command = Command::new(process::path("quic_echo"));
        let example =
            Example::start("quic_echo", command.args(["127.0.0.1:0", certificate.path()]));
        let address = example.address();
        Self { example, address, certificate }
    }

    /// Starts a client that trusts `certificate`.
    fn client(&self, certificate: &File, streams: &str) -> Example {
        let mut command = Command::new(process::path("quic_client_tokio"));
        let address = self.address.to_string();
        Example::start("quic_client_tokio", command.args([&address, certificate.path(), streams]))
    }

    /// The end of the next line of its report, after the client's address.
    #[track_caller]
    fn report(&self) -> String {
        let line = self.example.line();
        line.split_once(' ').expect("an address comes first").1.to_owned()
    }

    /// Lets a client do all it can, and checks what both sides say to it.
    #[track_caller]
    fn expect_echo(&self) {
        let lines = self.client(&self.certificate, "3").success();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert_eq!(lines[0], "connected");
        assert!(
            lines[1].starts_with("3 streams, ") && lines[1].ends_with(" 10 datagrams"),
            "{lines:?}"
        );
        assert_eq!(self.report(), "came");
        let left = self.report();
        assert!(left.starts_with("left: 3 streams, "), "{left}");
    }
}

#[test]
fn a_client_on_tokio_gets_back_its_streams_and_datagrams() {
    let server = Server::start("one");
    // More than the server allows at the same time.
    let lines = server.client(&server.certificate, "70").success();
    assert!(lines[1].starts_with("70 streams, "), "{lines:?}");
    assert_eq!(server.report(), "came");
    let left = server.report();
    assert!(left.starts_with("left: 70 streams, "), "{left}");
}

#[test]
fn many_clients_are_served_at_the_same_time() {
    let server = Server::start("many");
    let clients: Vec<_> = (0..4).map(|_| server.client(&server.certificate, "10")).collect();
    for client in clients {
        let lines = client.success();
        assert!(lines[1].starts_with("10 streams, "), "{lines:?}");
    }
    let mut reports: Vec<_> = (0..8).map(|_| server.report()).collect();
    reports.sort();
    assert!(reports[..4].iter().all(|report| report == "came"), "{reports:?}");
    let left = |report: &String| report.starts_with("left: 10 streams, ");
    assert!(reports[4..].iter().all(left), "{reports:?}");
}

#[test]
fn a_client_that_vanishes_is_missed() {
    let server = Server::start("vanish");
    server.expect_echo();
    let client = server.client(&server.certificate, "0");
    assert_eq!(client.line(), "connected");
    assert_eq!(server.report(), "came");
    // Killed: it says nothing any more, and no other program tells the server.
    drop(client);
    assert_eq!(server.report(), "failed: timed out");
    server.expect_echo();
}

#[test]
fn the_clients_of_an_interrupted_server_are_told() {
    let server = Server::start("interrupted");
    let client = server.client(&server.certificate, "0");
    assert_eq!(client.line(), "connected");
    assert_eq!(server.report(), "came");
    let interrupted =
        Command::new("kill").args(["-INT", &server.example.id().to_string()]).status();
    assert!(interrupted.unwrap().success());
    assert_eq!(client.success(), ["closed by peer: the server ends (code 0)"]);
    server.example.success();
}

#[test]
fn a_certificate_that_is_not_trusted_is_an_error_on_both_sides() {
    let (server, other) = (Server::start("mine"), Server::start("other"));
    let mut client = server.client(&other.certificate, "3");
    let (success, lines) = client.end();
    assert!(!success && lines.is_empty(), "{lines:?}");
    let error = client.errors.recv_timeout(LIMIT).unwrap();
    assert!(error.contains("invalid peer certificate"), "{error}");
    let report = server.report();
    assert!(
        report.starts_with("failed: ") && report.contains("invalid peer certificate"),
        "{report}"
    );
    server.expect_echo();
}

/// Asks for a version that does not exist, which is answered by those that do: when the answer is there, all
/// that was sent before has been read.
#[track_caller]
fn expect_versions(socket: &UdpSocket) {
    let mut unknown = vec![0; 1200];
    unknown[..6].copy_from_slice(&[0xc0, 0x0a, 0x1a, 0x2a, 0x3a, 8]);
    let deadline = Instant::now() + LIMIT;
    let mut answer = [0; 2048];
    while Instant::now() < deadline {
        socket.send(&unknown).unwrap();
        // Either datagram may get lost, and to garbage there may be answers too.
        while let Ok(length) = socket.recv(&mut answer) {
            if answer[1..5] == [0; 4] {
                let version_1 = [0, 0, 0, 1];
                assert!(answer[..length].windows(4).any(|version| version == version_1));
                return;
            }
        }
    }
    panic!("no answer");
}

#[test]
fn garbage_leaves_nothing_behind() {
    let server = Server::start("garbage");
    server.expect_echo();
    let before = server.example.descriptors();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    socket.connect(server.address).unwrap();
    for number in 0..2000_usize {
        // All lengths, and the first byte, which says what the rest is, in all values.
        let mut datagram = vec![(number * 7) as u8; number * 13 % 1400];
        let head = [number as u8, 0, 0, 0, 1, 8];
        datagram.iter_mut().zip(head).for_each(|(byte, new)| *byte = new);
        socket.send(&datagram).unwrap();
        // More at once would not fit into the socket's buffer.
        if number % 50 == 0 {
            expect_versions(&socket);
        }
    }
    server.expect_echo();
    process::eventually("nothing is left open", || server.example.descriptors() <= before);
}
