//! `http_hello` used by curl, and by clients that misbehave.

use crate::http::{address, curl, exchange, expect_patience_with_bad_input};
use crate::{ANY_PORT, start};

#[test]
fn http_hello_answers_curl_over_both_versions() {
    let server = start("http_hello", ANY_PORT);
    let url = format!("http://{}/", address(&server));
    assert_eq!(curl(&[&url]), "hello over HTTP/1.1\n");
    assert_eq!(curl(&["--http2-prior-knowledge", &url]), "hello over HTTP/2.0\n");
    // Several requests over one connection.
    assert_eq!(curl(&[&url, &url, &url]), "hello over HTTP/1.1\n".repeat(3));

    let status = ["--output", "-", "--write-out", "%{http_code}"];
    let missing = format!("{url}missing");
    assert_eq!(curl(&[&status[..], &[&missing]].concat()), "/missing is not here\n404");
    assert_eq!(curl(&[&status[..], &["--data", "x", &url]].concat()), "only GET here\n405");
}

#[test]
fn http_hello_outlives_bad_input() {
    let server = start("http_hello", ANY_PORT);
    let address = address(&server);
    // After the first client everything is open that stays open.
    exchange(address, b"\r\n\0");
    #[cfg(target_os = "linux")]
    let before = server.descriptors();
    expect_patience_with_bad_input(address);
    #[cfg(target_os = "linux")]
    crate::process::eventually("the server has closed its sockets", || {
        server.descriptors() <= before
    });
    assert_eq!(curl(&[&format!("http://{address}/")]), "hello over HTTP/1.1\n");
}

#[cfg(unix)]
#[test]
fn http_hello_ends_gracefully_when_interrupted() {
    use std::io::{Read, Write};

    let server = start("http_hello", ANY_PORT);
    let address = address(&server);
    // This one has been answered, and keeps its connection for more.
    let mut client = crate::http::connect(address);
    client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
    let mut answer = String::new();
    while !answer.ends_with("hello over HTTP/1.1\n") {
        let mut buf = [0; 512];
        let length = client.read(&mut buf).unwrap();
        assert!(length > 0, "{answer:?}");
        answer.push_str(std::str::from_utf8(&buf[..length]).unwrap());
    }
    crate::http::interrupt(&server);
    assert_eq!(client.read(&mut [0]).unwrap(), 0);
    assert_eq!(server.success(), ["bye"]);
    std::net::TcpStream::connect(address).unwrap_err();
}
