//! `reqwest_fetch` against Python's server, and against servers that misbehave.

use crate::process::{self, Example};
use std::env;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::slice;
use std::thread;

fn fetch(urls: &[String]) -> Example {
    let mut command = Command::new(process::path("reqwest_fetch"));
    // No proxy is to answer for a server on this machine.
    Example::start("reqwest_fetch", command.args(urls).env("NO_PROXY", "127.0.0.1"))
}

/// Python's server on a folder that goes with it.
struct Python {
    _server: Example,
    address: String,
    folder: PathBuf,
}

/// `python3 -m http.server`, but with room for more than five that have not been accepted yet.
const SERVER: &str = "import runpy, socketserver
socketserver.TCPServer.request_queue_size = 128
runpy.run_module('http.server', run_name='__main__', alter_sys=True)";

impl Python {
    fn start(files: &[(&str, usize)]) -> Self {
        let name = format!("{}-reqwest", std::process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&folder).unwrap();
        for &(file, length) in files {
            fs::write(folder.join(file), vec![b'x'; length]).unwrap();
        }
        let mut command = Command::new("python3");
        command.args(["-u", "-c", SERVER, "0", "--bind", "127.0.0.1"]).current_dir(&folder);
        let server = Example::start("python3", &mut command);
        // Serving HTTP on 127.0.0.1 port 45779 (http://127.0.0.1:45779/) ...
        let line = server.line();
        let port = line.split(' ').nth(5).expect("it says so in its first line");
        Self { address: format!("http://127.0.0.1:{port}"), _server: server, folder }
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        // Left behind, it is in the folder for such things.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A server for one client: reads the request, answers that, and closes.
fn once(answer: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut client, _) = listener.accept().expect("the client comes");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            if client.read(&mut byte).expect("it sends a request") == 0 {
                return;
            }
            head.push(byte[0]);
        }
        // It may have gone by then, which its side of the test tells.
        let _ = client.write_all(answer);
    });
    address
}

#[test]
fn files_come_all_at_once_and_whole() {
    let files = [("empty", 0), ("short", 11), ("long", 3_000_000)];
    let python = Python::start(&files);
    let (mut urls, mut expected) = (Vec::new(), Vec::new());
    for _ in 0..10 {
        for (file, length) in files {
            let url = format!("{}/{file}", python.address);
            expected.push(format!("{url}: 200 OK, {length} bytes"));
            urls.push(url);
        }
    }
    assert_eq!(fetch(&urls).success(), expected);
    let url = format!("{}/nothing", python.address);
    let lines = fetch(slice::from_ref(&url)).success();
    assert!(lines[0].starts_with(&format!("{url}: 404 ")), "{lines:?}");
}

#[test]
fn a_server_that_misbehaves_is_told_by_kind() {
    // No program listens on port 1; a port that was free a moment ago may be another test's.
    let refused = SocketAddr::from(([127, 0, 0, 1], 1));
    // It never accepts; the system does, and no program answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let cases = [
        (refused, "no connection: Connection refused"),
        (
            once(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf of it"),
            "the answer breaks off: ",
        ),
        (
            once(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
            "the answer breaks off: ",
        ),
        (once(b"SSH-2.0-OpenSSH_9.2p1\r\n"), "no answer: "),
        (once(b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n"), "no answer: "),
        (once(b""), "no answer: "),
        (silent.local_addr().unwrap(), "too slow: "),
    ];
    let urls: Vec<_> = cases.iter().map(|(address, _)| format!("http://{address}/")).collect();
    let (success, lines) = fetch(&urls).end();
    assert!(!success);
    assert_eq!(lines.len(), cases.len(), "{lines:?}");
    for ((line, url), (_, reason)) in lines.iter().zip(&urls).zip(cases) {
        assert!(line.starts_with(&format!("{url}: {reason}")), "{lines:#?}");
    }
}

#[test]
fn what_is_no_url_is_told() {
    let (success, lines) = fetch(&["nonsense".to_owned(), "ftp://127.0.0.1/".to_owned()]).end();
    assert!(!success);
    assert!(lines[0].starts_with("nonsense: not a URL: "), "{lines:?}");
    assert_eq!(lines.len(), 2, "{lines:?}");
}
