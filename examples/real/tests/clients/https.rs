//! `https` used by curl and openssl, and as a client of openssl's server.

use crate::file::File;
use crate::http::{self, connect};
use crate::process::{self, Example};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::{Command, Output, Stdio};
use std::thread;

struct Server {
    example: Example,
    address: SocketAddr,
    certificate: File,
}

impl Server {
    fn start(glue: &str, name: &str) -> Self {
        let certificate = File::new(&format!("{glue}-{name}"));
        let mut command = Command::new(process::path("https"));
        let command = command.args([glue, "serve", "127.0.0.1:0", certificate.path()]);
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
        assert_eq!(self.report(), "GET /a");
    }
}

/// Each test runs with both libraries.
macro_rules! with_both {
    ($($test:ident)*) => {
        mod futures {$(
            #[test]
            fn $test() {
                super::$test("futures");
            }
        )*}

        mod tokio {$(
            #[test]
            fn $test() {
                super::$test("tokio");
            }
        )*}
    };
}

with_both! {
    curl_gets_an_answer_if_it_trusts_the_certificate
    openssl_speaks_both_versions_and_gets_the_end_of_the_answer
    the_client_fetches_from_openssl
    a_certificate_for_another_name_is_an_error_on_both_sides
    a_server_that_speaks_no_tls_or_nothing_is_an_error
    bad_clients_are_reported_and_leave_nothing_behind
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn curl(arguments: &[&str]) -> Output {
    // The server listens on one of the two addresses that `localhost` has.
    http::curl_command(arguments).arg("--ipv4").output().expect("curl is there")
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
fn get(glue: &str, address: SocketAddr, name: &str, file: &File) -> Result<String, String> {
    let mut command = Command::new(process::path("https"));
    let mut client = Example::start(
        "https",
        command.args([glue, "get", &address.to_string(), name, file.path()]),
    );
    let (success, lines) = client.end();
    if success { Ok(lines.join("\n")) } else { Err(client.errors.recv().unwrap()) }
}

fn curl_gets_an_answer_if_it_trusts_the_certificate(glue: &str) {
    let server = Server::start(glue, "trust");
    server.expect_answer();
    let url = format!("https://{}/b", server.address);
    let unchecked = curl(&["--insecure", &url]);
    assert_eq!(text(&unchecked.stdout), "you asked for /b\n", "{unchecked:?}");
    assert_eq!(server.report(), "GET /b");

    let stranger = curl(&[&url]);
    assert!(text(&stranger.stderr).contains("self-signed certificate"), "{stranger:?}");
    assert_eq!(server.report(), "failed: received fatal alert: UnknownCA");
    let posted = curl(&["--cacert", server.certificate.path(), "--data", "x", &url]);
    assert_eq!(text(&posted.stdout), "GET is all I know\n", "{posted:?}");
    assert_eq!(server.report(), "POST /b");
}

fn openssl_speaks_both_versions_and_gets_the_end_of_the_answer(glue: &str) {
    let server = Server::start(glue, "versions");
    let address = server.address.to_string();
    for version in ["-tls1_2", "-tls1_3"] {
        let mut arguments = vec!["s_client", "-connect", &address, version, "-quiet"];
        arguments.extend(["-verify_return_error", "-verify_hostname", "localhost"]);
        arguments.extend(["-CAfile", server.certificate.path()]);
        let answer = openssl(&arguments, "GET /c HTTP/1.0\r\n\r\n");
        // It would fail if the stream ended without the notice that belongs to it.
        assert!(answer.status.success(), "{answer:?}");
        assert!(text(&answer.stdout).ends_with("\r\n\r\nyou asked for /c\n"), "{answer:?}");
        assert_eq!(server.report(), "GET /c");
    }
    let old = openssl(&["s_client", "-connect", &address, "-tls1_1", "-quiet"], "");
    assert!(!old.status.success(), "{old:?}");
    assert!(server.report().starts_with("failed: peer is incompatible: "));
}

fn the_client_fetches_from_openssl(glue: &str) {
    let certificate = File::new(&format!("{glue}-openssl.pem"));
    let key = File::new(&format!("{glue}-openssl.key"));
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
    let answer = get(glue, address, "localhost", &certificate).unwrap();
    assert!(answer.starts_with("HTTP/1.0 200 OK"), "{answer}");
    assert!(answer.contains("New, TLSv1.3") && answer.contains("</HTML>"), "{answer}");

    let other = Server::start(glue, "other");
    let stranger = get(glue, address, "localhost", &other.certificate).unwrap_err();
    assert!(stranger.contains("InvalidCertificate(UnknownIssuer)"), "{stranger}");
}

fn a_certificate_for_another_name_is_an_error_on_both_sides(glue: &str) {
    let server = Server::start(glue, "name");
    let answer = get(glue, server.address, "localhost", &server.certificate).unwrap();
    assert!(answer.contains("you asked for /"), "{answer}");
    assert_eq!(server.report(), "GET /");

    let error = get(glue, server.address, "elsewhere.example", &server.certificate).unwrap_err();
    assert!(error.contains("InvalidData") && error.contains("NotValidForName"), "{error}");
    assert_eq!(server.report(), "failed: received fatal alert: BadCertificate");
    server.expect_answer();
}

fn a_server_that_speaks_no_tls_or_nothing_is_an_error(glue: &str) {
    let other = Server::start(glue, "no-tls");
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
    let error = get(glue, address, "localhost", &other.certificate).unwrap_err();
    assert!(error.contains("InvalidContentType"), "{error}");
    thread.join().unwrap();
    let (address, thread) = serve(b"");
    let error = get(glue, address, "localhost", &other.certificate).unwrap_err();
    assert!(error.contains("Elapsed"), "{error}");
    thread.join().unwrap();
}

fn bad_clients_are_reported_and_leave_nothing_behind(glue: &str) {
    let server = Server::start(glue, "bad");
    let address = server.address;
    // No client has been there yet, so that no socket is still being closed.
    let before = server.example.descriptors();
    server.expect_answer();

    let plain = curl(&["--http0.9", &format!("http://{address}/")]);
    assert!(!text(&plain.stdout).contains("you asked for"), "{plain:?}");
    assert_eq!(server.report(), "failed: received corrupt message of type InvalidContentType");
    // The beginning of a handshake, and then something else.
    let mut garbage = vec![0x16, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3];
    garbage.resize(500_000, 0xff);
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
    assert_eq!(server.report(), "failed: read header from client timeout");
    let endless = format!("GET / HTTP/1.1\r\nX: {}", "x".repeat(10_000));
    let endless = openssl(&["s_client", "-connect", &address, "-quiet"], &endless);
    assert!(text(&endless.stdout).starts_with("HTTP/1.1 431 "), "{endless:?}");
    assert_eq!(server.report(), "failed: message head is too large");

    process::eventually("its sockets are closed", || server.example.descriptors() <= before);
    server.expect_answer();
}
