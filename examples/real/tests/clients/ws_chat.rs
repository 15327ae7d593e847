//! `ws_chat` used by Chromium, curl and tungstenite's blocking client.

use crate::chromium::Page;
use crate::http::{self, connect};
use crate::process::{self, Example, LIMIT};
use async_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use async_tungstenite::tungstenite::{Error, Message, WebSocket, client};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::process::Command;
use std::time::Instant;

fn start(seconds: &str) -> (Example, SocketAddr) {
    let mut command = Command::new(process::path("ws_chat"));
    let server = Example::start("ws_chat", command.args(["127.0.0.1:0", seconds]));
    let address = server.address();
    (server, address)
}

struct Client {
    socket: WebSocket<TcpStream>,
}

impl Client {
    fn join(address: SocketAddr, name: &str) -> Self {
        let (socket, _) = client(format!("ws://{address}/chat"), connect(address)).unwrap();
        let mut client = Self { socket };
        client.say(name);
        client.expect(&format!("* {name} came"));
        client
    }

    fn say(&mut self, text: &str) {
        self.socket.send(Message::text(text)).unwrap();
    }

    /// The next message but for pings, which are answered on the way, and which could go on for ever.
    #[track_caller]
    fn read(&mut self) -> Message {
        let deadline = Instant::now() + LIMIT;
        loop {
            match self.socket.read().unwrap() {
                Message::Ping(_) => assert!(Instant::now() < deadline, "nothing but pings"),
                message => return message,
            }
        }
    }

    #[track_caller]
    fn line(&mut self) -> String {
        match self.read() {
            Message::Text(text) => text.as_str().to_owned(),
            other => panic!("not text, but {other:?}"),
        }
    }

    #[track_caller]
    fn expect(&mut self, line: &str) {
        assert_eq!(self.line(), line);
    }

    /// Reads to the end, which has to be a close frame with `code`, and returns the number of texts before.
    #[track_caller]
    fn expect_close(mut self, code: CloseCode) -> usize {
        let mut texts = 0;
        let frame = loop {
            match self.read() {
                Message::Text(_) => texts += 1,
                Message::Close(frame) => break frame.expect("it has a reason"),
                other => panic!("neither text nor the end, but {other:?}"),
            }
        };
        assert_eq!(frame.code, code, "{frame:?}");
        // After that comes the end, and no reset.
        let end = self.socket.read().unwrap_err();
        assert!(matches!(end, Error::ConnectionClosed), "{end}");
        texts
    }
}

#[test]
fn two_browsers_see_each_other() {
    let (_server, address) = start("30");
    let url = format!("http://{address}/");
    let join = |name| {
        let mut page = Page::open(&url);
        page.expect("join");
        page.expect_loaded();
        page.run(&format!("document.getElementById('name').value = '{name}'"));
        page.run("document.querySelector('#join button').click()");
        page.expect(&format!("* {name} came"));
        page
    };
    let say = |page: &mut Page, text| {
        page.run(&format!("document.getElementById('text').value = '{text}'"));
        page.run("document.querySelector('#talk button').click()");
    };
    let mut ann = join("Ann");
    let mut bob = join("Bob");
    ann.expect("* Bob came");
    say(&mut ann, "hello <b>Bob</b>");
    bob.expect("Ann: hello <b>Bob</b>");
    say(&mut bob, "hello Ann");
    ann.expect("Bob: hello Ann");
    drop(bob);
    ann.expect("* Bob left");
}

#[test]
fn curl_gets_the_page_and_no_other_path_is_a_chat() {
    let (_server, address) = start("30");
    let page = http::curl(&["--fail", &format!("http://{address}/")]);
    assert_eq!(page, include_str!("../../examples/ws_chat.html"));

    let refused = client(format!("ws://{address}/elsewhere"), connect(address)).unwrap_err();
    assert!(refused.to_string().contains("404"), "{refused}");
}

#[test]
fn a_time_of_zero_is_refused() {
    let mut command = Command::new(process::path("ws_chat"));
    let mut server = Example::start("ws_chat", command.args(["127.0.0.1:0", "0"]));
    let (success, lines) = server.end();
    assert!(!success && lines.is_empty(), "{lines:?}");
    assert!(server.errors.recv().unwrap().contains("usage: ws_chat [ADDRESS [SECONDS]]"));
}

#[test]
fn all_members_see_who_comes_says_something_and_leaves() {
    let (_server, address) = start("30");
    let mut ann = Client::join(address, "Ann");
    let mut bob = Client::join(address, "Bob");
    ann.expect("* Bob came");
    ann.say("schöne Grüße");
    ann.expect("Ann: schöne Grüße");
    bob.expect("Ann: schöne Grüße");
    bob.socket.close(None).unwrap();
    ann.expect("* Bob left");

    // Without a usable name, and with one that is too long.
    let (socket, _) = client(format!("ws://{address}/chat"), connect(address)).unwrap();
    let mut nameless = Client { socket };
    nameless.say("\n\u{0}");
    nameless.expect("* somebody came");
    ann.expect("* somebody came");
    drop(nameless);
    ann.expect("* somebody left");
    let (socket, _) = client(format!("ws://{address}/chat"), connect(address)).unwrap();
    let mut long = Client { socket };
    long.say(&"ö".repeat(100));
    long.expect(&format!("* {} came", "ö".repeat(32)));
}

#[test]
fn a_frame_over_the_limit_costs_its_sender_alone_the_connection() {
    let (server, address) = start("30");
    let mut ann = Client::join(address, "Ann");
    let before = server.descriptors();
    let mut bob = Client::join(address, "Bob");
    ann.expect("* Bob came");
    // Up to the limit all is well.
    let most = "x".repeat(16 * 1024);
    bob.say(&most);
    ann.expect(&format!("Bob: {most}"));
    // Far above it, so that most is still on its way when the server has had enough.
    bob.say(&"x".repeat(4 * 1024 * 1024));
    assert_eq!(bob.expect_close(CloseCode::Size), 1);
    ann.expect("* Bob left");

    let mut bob = Client::join(address, "Bob");
    ann.expect("* Bob came");
    bob.socket.send(Message::binary(vec![0, 1, 2])).unwrap();
    bob.expect_close(CloseCode::Unsupported);
    ann.expect("* Bob left");
    process::eventually("its sockets are closed", || server.descriptors() <= before);
}

#[test]
fn garbage_instead_of_a_handshake_is_refused() {
    let (server, address) = start("30");
    let mut ann = Client::join(address, "Ann");
    let before = server.descriptors();
    let garbage: [&[u8]; 4] = [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"POST /chat HTTP/1.1\r\n\r\n",
        b"GET /chat HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        &[b'x'; 100_000],
    ];
    for bytes in garbage {
        let mut stream = connect(address);
        stream.write_all(bytes).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{answer}");
    }
    // Half a handshake, and then the end, or nothing at all.
    for shutdown in [true, false] {
        let mut stream = connect(address);
        stream.write_all(b"GET /chat HTTP/1.1\r\nConn").unwrap();
        if shutdown {
            stream.shutdown(Shutdown::Write).unwrap();
        }
        // An answer or none: what matters is that it ends.
        stream.read_to_end(&mut Vec::new()).unwrap();
    }
    process::eventually("its sockets are closed", || server.descriptors() <= before);
    ann.say("still here");
    ann.expect("Ann: still here");
}

#[test]
fn a_client_that_vanishes_is_missed() {
    let (server, address) = start("3");
    let mut ann = Client::join(address, "Ann");
    let before = server.descriptors();
    // Reset: killed in the middle of something.
    let bob = Client::join(address, "Bob");
    ann.expect("* Bob came");
    ann.say("unread");
    ann.expect("Ann: unread");
    drop(bob);
    ann.expect("* Bob left");
    // Silent: as if its cable had been cut. Ann, who answers pings, stays.
    let bob = Client::join(address, "Bob");
    ann.expect("* Bob came");
    ann.expect("* Bob left");
    bob.expect_close(CloseCode::Policy);
    process::eventually("its sockets are closed", || server.descriptors() <= before);
    ann.say("still here");
    ann.expect("Ann: still here");
}

/// Many short messages in a few packets: far more lines than a queue has room for.
#[test]
fn a_burst_costs_no_member_the_seat() {
    let (_server, address) = start("30");
    let mut ann = Client::join(address, "Ann");
    let mut bob = Client::join(address, "Bob");
    ann.expect("* Bob came");
    for number in 0..400 {
        ann.socket.write(Message::text(number.to_string())).unwrap();
    }
    ann.socket.flush().unwrap();
    for number in 0..400 {
        bob.expect(&format!("Ann: {number}"));
        ann.expect(&format!("Ann: {number}"));
    }
}

#[test]
fn a_slow_client_is_dropped_and_holds_up_no_other() {
    let (_server, address) = start("30");
    let mut ann = Client::join(address, "Ann");
    let slow = Client::join(address, "Bob");
    ann.expect("* Bob came");
    // More than the queue and both kernels' buffers hold.
    let text = "x".repeat(15 * 1024);
    let line = format!("Ann: {text}");
    let dropped = (1..=4096).find(|_| {
        ann.say(&text);
        let mut dropped = false;
        loop {
            match ann.line() {
                other if other == line => return dropped,
                other => {
                    // Which one drops Bob first, the room or Bob's task, depends on how busy they are.
                    assert!(["* Bob was too slow", "* Bob left"].contains(&&*other), "{other}");
                    dropped = true;
                }
            }
        }
    });
    let sent = dropped.expect("a queue is bounded");
    // What it was sent before it was too slow, it can still read, and then why there is no more.
    let texts = slow.expect_close(CloseCode::Policy);
    assert!(texts < sent, "{texts} of {sent}");
    ann.say("still here");
    ann.expect("Ann: still here");
}
