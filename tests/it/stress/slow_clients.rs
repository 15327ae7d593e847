//! Five thousand clients that send a byte now and then, and never a whole request, next to some that behave.

use crate::support::guard::guarded;
use crate::support::loopback::bounded;
use crate::support::probe::{Bell, Count};
use crate::support::process::alone;
use liten::io::{AsyncReadExt, AsyncWriteExt};
use liten::net::{TcpListener, TcpStream};
use liten::runtime::Runtime;
use liten::task::{JoinHandle, yield_now};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;

const SLOW: usize = 5_000;
/// Each of these tasks has its share of the slow clients.
const CROWDS: usize = 10;
const NORMAL: usize = 50;
const REQUESTS: usize = 20;
const REQUEST: &[u8] = b"a request\n";
const ANSWER: &[u8] = b"an answer\n";

/// Half of what the listener's queue has room for.
const QUEUE: usize = 512;

/// Both ends of all connections are in this process.
const DESCRIPTORS: u64 = 2 * (SLOW + NORMAL) as u64 + 200;

/// Raises the limit of descriptors; `false` if the system does not allow as many.
fn may_have_enough() -> bool {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    if hard < DESCRIPTORS {
        // Not `eprintln!`, which the test harness keeps to itself.
        let _ = writeln!(
            std::io::stderr(),
            "skipped: it takes {DESCRIPTORS} descriptors, `ulimit -H -n` is {hard}"
        );
        return false;
    }
    setrlimit(Resource::RLIMIT_NOFILE, soft.max(DESCRIPTORS), hard).unwrap();
    true
}

/// What the tasks tell each other.
#[derive(Clone, Default)]
struct Told {
    /// Slow clients that are connected.
    connected: Count,
    /// Connections that the server has had a byte from.
    heard: Count,
    /// Bytes that have come to the server.
    received: Count,
    /// Rounds that the crowds have made with all of theirs.
    rounds: Count,
    stop: Bell,
}

/// Reads one byte at a time, and answers each line.
async fn serve(mut stream: TcpStream, told: Told) {
    let mut byte = [0];
    let mut first = true;
    while stream.read(&mut byte).await.unwrap() == 1 {
        told.received.add();
        if std::mem::take(&mut first) {
            told.heard.add();
        }
        if byte == *b"\n" {
            stream.write_all(ANSWER).await.unwrap();
        }
    }
}

/// Connects its share, and sends a byte over each of them, again and again, until told to stop. Returns how
/// many it has sent.
async fn dribble(address: SocketAddr, told: Told) -> usize {
    let mut streams = Vec::new();
    for _ in 0..SLOW / CROWDS {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b".").await.unwrap();
        streams.push(stream);
        // The listener's queue is not to run over: that would cost a second.
        let connected = told.connected.add();
        while connected > told.heard.get() + QUEUE {
            yield_now().await;
        }
    }
    let mut sent = streams.len();
    while !told.stop.is_rung() {
        liten::time::sleep(Duration::from_millis(5)).await;
        for stream in &mut streams {
            stream.write_all(b".").await.unwrap();
            sent += 1;
        }
        told.rounds.add();
    }
    sent
}

async fn ask(address: SocketAddr) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let mut answer = [0; ANSWER.len()];
    for _ in 0..REQUESTS {
        stream.write_all(REQUEST).await.unwrap();
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(answer, *ANSWER);
    }
}

async fn serve_both(runtime: &Runtime) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let told = Told::default();
    let tell = told.clone();
    let accepting = liten::spawn(async move {
        let mut connections: Vec<JoinHandle<()>> = Vec::new();
        for _ in 0..SLOW + NORMAL {
            let (stream, _) = listener.accept().await.unwrap();
            connections.push(liten::spawn(serve(stream, tell.clone())));
        }
        connections
    });
    let crowds: Vec<_> =
        (0..CROWDS).map(|_| liten::spawn(dribble(address, told.clone()))).collect();
    // All of them are there, and the server has heard of them.
    while told.rounds.get() < CROWDS || told.heard.get() < SLOW {
        liten::time::sleep(Duration::from_millis(1)).await;
    }
    let clients: Vec<_> = (0..NORMAL).map(|_| liten::spawn(ask(address))).collect();
    for client in clients {
        client.await.unwrap();
    }
    assert!(runtime.metrics().num_alive_tasks() >= SLOW + CROWDS, "the slow ones have gone");
    let rounds = told.rounds.get();
    while told.rounds.get() == rounds {
        liten::time::sleep(Duration::from_millis(1)).await;
    }

    told.stop.ring();
    let mut sent = NORMAL * REQUESTS * REQUEST.len();
    for crowd in crowds {
        sent += crowd.await.unwrap();
    }
    for connection in accepting.await.unwrap() {
        connection.await.unwrap();
    }
    assert_eq!(told.received.get(), sent, "bytes received and sent");
}

#[test]
fn five_thousand_slow_clients_keep_no_client_from_being_served() {
    let test = "stress::slow_clients::five_thousand_slow_clients_keep_no_client_from_being_served";
    let body = || {
        if may_have_enough() {
            let runtime = crate::support::guard::workers(2);
            runtime.block_on(bounded(serve_both(&runtime)));
        }
    };
    guarded(|| alone(test, body));
}
