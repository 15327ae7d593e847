//! What a browser or a scraper sends, and what it gets, with std's sockets: the runtimes under test may be
//! stuck.

use liten::insight::Server;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Far more than any answer takes, also on a machine that is busy with something else.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: String,
}

impl Answer {
    /// The value of a header.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        lines.filter(|(header, _)| *header == name).map(|(_, value)| value).next()
    }
}

pub(super) fn connect(to: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Reads to the end, and takes apart what has come.
pub(super) fn read(mut stream: TcpStream) -> io::Result<Answer> {
    let mut text = Vec::new();
    stream.read_to_end(&mut text)?;
    let text = String::from_utf8(text).unwrap();
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return Err(io::ErrorKind::UnexpectedEof.into());
    };
    let status = head.strip_prefix("HTTP/1.1 ").unwrap()[..3].parse().unwrap();
    Ok(Answer { status, head: head.to_owned(), body: body.to_owned() })
}

/// A request that is right in everything.
pub(super) fn request(page: &Server, path: &str) -> String {
    let (host, token) = (page.local_addr(), page.token());
    format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n")
}

/// Sends `method path` with these headers, and no others.
pub(super) fn send(to: SocketAddr, line: &str, headers: &[(&str, &str)]) -> Answer {
    let headers: String =
        headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    ask(to, &format!("{line} HTTP/1.1\r\n{headers}\r\n"))
}

/// The answer to [`request`].
pub(super) fn get(page: &Server, path: &str) -> Answer {
    ask(page.local_addr(), &request(page, path))
}

/// Asks once more if the page has not waited for all of the request: the system may not have let this thread
/// run.
fn ask(to: SocketAddr, request: &str) -> Answer {
    let once = || {
        let mut stream = connect(to);
        stream.write_all(request.as_bytes()).unwrap();
        read(stream).unwrap()
    };
    let answer = once();
    if answer.status == 408 { once() } else { answer }
}

/// As [`get`], and it is there.
pub(super) fn body(page: &Server, path: &str) -> String {
    let answer = get(page, path);
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body
}

/// As [`body`] for a path that asks for await trees: again while another test of this process has one made.
pub(super) fn trees(page: &Server, path: &str) -> String {
    loop {
        let answer = get(page, path);
        if answer.status != 409 {
            assert_eq!(answer.status, 200, "{answer:?}");
            return answer.body;
        }
    }
}

pub(super) fn json(page: &Server) -> serde_json::Value {
    let answer = get(page, "/json");
    assert_eq!(answer.header("Content-Type"), Some("application/json"));
    serde_json::from_str(&answer.body).unwrap()
}
