//! A request to insight's page.

use liten::insight::Server;
use std::io::{Read, Write};
use std::net::TcpStream;

/// Returns how many bytes the answer has.
pub(crate) fn get(page: &Server, path: &str) -> usize {
    let (host, token) = (page.local_addr(), page.token());
    let mut stream = TcpStream::connect(host).expect("the page is there");
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("the page reads");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("the page answers");
    assert!(answer.starts_with(b"HTTP/1.1 200 "), "{path}");
    answer.len()
}
