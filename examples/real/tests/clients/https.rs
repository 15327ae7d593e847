//! `https` used by curl and openssl, and as a client of openssl's server.

use crate::file::File;
use crate::process::{self, Example, LIMIT};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Output, Stdio};
use std::thread;

struct Server {
    example: Example,
    address: SocketAddr,
    certificate: File,
}

impl Server {
    fn start(name: &str) -> Self {
        let certificate = File::new(name);
        let mut command = Command::new(process::path("https"));
        let command = command.args(["serve", "127.0.0.1:0", certificate.path()]);
        let example = Example::start("https", command);
        let address = example.address();
        Self { example, address, certificate }
    }

    /// The end of the next line of its report, after the client's address.
    #[track_caller]
    fn report(&self) -> String {
        let line = self.example.line();
        line.split_once(' ').expect("an address comes first").1.to_owned()
    }

    #[track_caller]
    fn expect_answer(&self) {
        let port = self.address.port();
        let answer =
            curl(&["--cacert", self.certificate.path(), &format!("https://localhost:{port}/a")]);
        assert!(answer.status.success(), "{answer:?}");
        assert_eq!(text(&answer.stdout), "you asked for /a\n");
        assert_eq!(self.report(), "GET /a HTTP/1.1");
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn curl(arguments: &[&str]) -> Output {
    let mut command = Command::new("curl");
    // The server listens on one of the two addresses that `localhost` has.
    command.args(["--silent", "--show-error", "--ipv4", "--max-time", "60"]).args(arguments);
    command.output().expect("curl is there")
}

fn openssl(arguments: &[&str], input: &str) -> Output {
    let mut command = Command::new("timeout");
    command.args(["60", "openssl"]).args(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("openssl is there");
    // An error means that it has given up before it has read this.
    let _ = child.stdin.take().expect("it is piped").write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

/// What the client makes of a server that claims to be `name`; an error is what it has printed.
fn get(address: SocketAddr, name: &str, file: &File) -> Result<String, String> {
    let mut command = Command::new(process::path("https"));
    let mut client =
        Example::start("https", command.args(["get", &address.to_string(), name, file.path()]));
    let (success, lines) = client.end();
    if success { Ok(lines.join("\n")) } else { Err(client.errors.recv().unwrap()) }
}

/// Connects a client that fails instead of waiting for ever.
fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream.set_write_timeout(Some(LIMIT)).unwrap();
    stream
}

#[test]
fn curl_gets_an_answer_if_it_trusts_the_certificate() {
    let server = Server::start("trust");
    server.expect_answer();
    let url = format!("https://{}/b", server.address);
    let unchecked = curl(&["--insecure", &url]);
    assert_eq!(text(&unchecked.stdout), "you asked for /b\n", "{unchecked:?}");
    assert_eq!(server.report(), "GET /b HTTP/1.1");

    let stranger = curl(&[&url]);
    assert!(text(&stranger.stderr).contains("self-signed certificate"), "{stranger:?}");
    assert_eq!(server.report(), "failed: received fatal alert: UnknownCA");
    let posted = curl(&["--cacert", server.certificate.path(), "--data", "x", &url]);
    assert_eq!(text(&posted.stdout), "GET is all I know\n", "{posted:?}");
    assert_eq!(server.report(), "POST /b HTTP/1.1");
}

#[test]
fn openssl_speaks_both_versions_and_gets_the_end_of_the_answer() {
    let server = Server::start("versions");
    let address = server.address.to_string();
    for version in ["-tls1_2", "-tls1_3"] {
        let mut arguments = vec!["s_client", "-connect", &address, version, "-quiet"];
        arguments.extend(["-verify_return_error", "-verify_hostname", "localhost"]);
        arguments.extend(["-CAfile", server.certificate.path()]);
        let answer = openssl(&arguments, "GET /c HTTP/1.0\r\n\r\n");
        // It would fail if the stream ended without the notice that belongs to it.
        assert!(answer.status.success(), "{answer:?}");
        assert!(text(&answer.stdout).ends_with("\r\n\r\nyou asked for /c\n"), "{answer:?}");
        assert_eq!(server.report(), "GET /c HTTP/1.0");
    }
    let old = openssl(&["s_client", "-connect", &address, "-tls1_1", "-quiet"], "");
    assert!(!old.status.success(), "{old:?}");
    assert!(server.report().starts_with("failed: peer is incompatible: "));
}

#[test]
fn the_client_fetches_from_openssl() {
    let (certificate, key) = (File::new("openssl.pem"), File::new("openssl.key"));
    let mut arguments = vec!["req", "-x509", "-newkey", "ec", "-pkeyopt"];
    arguments.extend(["ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=localhost"]);
    arguments.extend(["-addext", "subjectAltName=DNS:localhost"]);
    // What is not said otherwise is a certificate for signing others, which is none for a server.
    arguments.extend(["-addext", "basicConstraints=critical,CA:FALSE"]);
    arguments.extend(["-keyout", key.path(), "-out", certificate.path()]);
    let made = openssl(&arguments, "");
    assert!(made.status.success(), "{made:?}");

    let mut command = Command::new("openssl");
    command.args(["s_server", "-www", "-accept", "127.0.0.1:0"]);
    let command = command.args(["-cert", certificate.path(), "-key", key.path()]);
    let server = Example::start("openssl", command);
    let address = loop {
        if let Some(address) = server.line().strip_prefix("ACCEPT ") {
            break address.parse().unwrap();
        }
    };
    let answer = get(address, "localhost", &certificate).unwrap();
    assert!(answer.starts_with("HTTP/1.0 200 ok"), "{answer}");
    assert!(answer.contains("New, TLSv1.3") && answer.contains("</HTML>"), "{answer}");

    let other = Server::start("other");
    let stranger = get(address, "localhost", &other.certificate).unwrap_err();
    assert!(stranger.contains("InvalidCertificate(UnknownIssuer)"), "{stranger}");
}

#[test]
fn a_certificate_for_another_name_is_an_error_on_both_sides() {
    let server = Server::start("name");
    let answer = get(server.address, "localhost", &server.certificate).unwrap();
    assert!(answer.ends_with("you asked for /"), "{answer}");
    assert_eq!(server.report(), "GET / HTTP/1.1");

    let error = get(server.address, "elsewhere.example", &server.certificate).unwrap_err();
    assert!(error.contains("InvalidData") && error.contains("NotValidForName"), "{error}");
    assert_eq!(server.report(), "failed: received fatal alert: BadCertificate");
    server.expect_answer();
}

#[test]
fn a_server_that_speaks_no_tls_or_nothing_is_an_error() {
    let other = Server::start("no-tls");
    let serve = |answer: &'static [u8]| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let thread = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(answer).unwrap();
            // To the end, which the client makes; it may do so by a reset.
            let _ = stream.read_to_end(&mut Vec::new());
        });
        (address, thread)
    };
    let (address, thread) = serve(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    let error = get(address, "localhost", &other.certificate).unwrap_err();
    assert!(error.contains("InvalidContentType"), "{error}");
    thread.join().unwrap();
    let (address, thread) = serve(b"");
    let error = get(address, "localhost", &other.certificate).unwrap_err();
    assert!(error.contains("TimedOut"), "{error}");
    thread.join().unwrap();
}

#[test]
fn bad_clients_are_reported_and_leave_nothing_behind() {
    let server = Server::start("bad");
    let address = server.address;
    server.expect_answer();
    let before = server.example.descriptors();

    let plain = curl(&["--http0.9", &format!("http://{address}/")]);
    assert!(!text(&plain.stdout).contains("you asked for"), "{plain:?}");
    assert_eq!(server.report(), "failed: received corrupt message of type InvalidContentType");
    // The beginning of a handshake, and then something else.
    let mut garbage = vec![0x16, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3];
    garbage.resize(1000, 0xff);
    let mut stream = connect(address);
    stream.write_all(&garbage).unwrap();
    let mut alert = Vec::new();
    stream.read_to_end(&mut alert).unwrap();
    assert_eq!(alert[..3], [0x15, 3, 3], "{alert:?}");
    assert!(server.report().starts_with("failed: received corrupt message of type "));
    // The beginning, and then the end, or nothing at all; nothing from the beginning.
    let mut stream = connect(address);
    stream.write_all(&garbage[..11]).unwrap();
    drop(stream);
    assert_eq!(server.report(), "failed: tls handshake eof");
    for sent in [&garbage[..11], &[]] {
        let mut stream = connect(address);
        stream.write_all(sent).unwrap();
        assert_eq!(stream.read_to_end(&mut Vec::new()).unwrap(), 0);
        assert_eq!(server.report(), "failed: the time limit was reached");
    }
    // All well, but no request, or one that never ends.
    let address = address.to_string();
    let silent = openssl(&["s_client", "-connect", &address, "-quiet"], "");
    assert!(silent.stdout.is_empty(), "{silent:?}");
    assert_eq!(server.report(), "failed: the time limit was reached");
    let endless = format!("GET / HTTP/1.1\r\nX: {}", "x".repeat(10_000));
    let endless = openssl(&["s_client", "-connect", &address, "-quiet"], &endless);
    assert!(endless.stdout.is_empty(), "{endless:?}");
    assert_eq!(server.report(), "failed: the head of the request is too long");

    process::eventually("its sockets are closed", || server.example.descriptors() == before);
    server.expect_answer();
}
