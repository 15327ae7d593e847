//! Echo of 64 bytes, and a client without any runtime: only the server differs.
//!
//! The client is one std thread with blocking sockets. In each round it sends one message on every
//! connection, then reads all answers; so there are as many messages on their way as there are
//! connections, and the client costs little beside the server.

use crate::row::{Row, time};
use crate::runtimes::Spawner;
use crate::sockets::{LOOPBACK, Sockets, echo, echo_datagrams};
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::time::Duration;

const MESSAGE: usize = 64;
/// Ends a bench whose answer never comes.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) fn rows<R: Sockets>() -> Vec<Row<R>> {
    vec![
        Row::new("tcp_echo_1", 1, |runtime, n| tcp_echo(runtime, 1, n)),
        Row::new("tcp_echo_8", 8, |runtime, n| tcp_echo(runtime, 8, n)),
        Row::new("tcp_echo_64", 64, |runtime, n| tcp_echo(runtime, 64, n)),
        Row::new("udp_echo_1", 1, |runtime, n| udp_echo(runtime, 1, n)),
        Row::new("udp_echo_16", 16, |runtime, n| udp_echo(runtime, 16, n)),
    ]
}

/// The time of so many rounds, with one message on each connection per round.
fn tcp_echo<R: Sockets>(runtime: &R, connections: usize, rounds: u64) -> Duration {
    let spawner = runtime.spawner();
    let (listener, address) = runtime.block_on(R::listen()).expect("a port is free");
    let server = runtime.spawn(async move {
        let mut sessions = Vec::new();
        for _ in 0..connections {
            let stream = R::accept(&listener).await.expect("the client connects");
            sessions.push(spawner.spawn(echo::<R>(stream)));
        }
        for session in sessions {
            session.await.expect("the client closes in order");
        }
    });
    let mut clients: Vec<_> = (0..connections).map(|_| connect(address)).collect();
    let message = [7; MESSAGE];
    let mut answer = [0; MESSAGE];
    // One round unmeasured: every connection has its task then.
    exchange(&mut clients, &message, &mut answer);
    let taken = time(rounds, || exchange(&mut clients, &message, &mut answer));
    drop(clients);
    runtime.block_on(server);
    taken
}

fn connect(address: SocketAddr) -> std::net::TcpStream {
    let stream = std::net::TcpStream::connect(address).expect("the server listens");
    stream.set_nodelay(true).expect("an ordinary option");
    stream.set_read_timeout(Some(PATIENCE)).expect("an ordinary option");
    stream
}

fn exchange(clients: &mut [std::net::TcpStream], message: &[u8], answer: &mut [u8]) {
    for client in &mut *clients {
        client.write_all(message).expect("the server reads");
    }
    for client in clients {
        client.read_exact(answer).expect("the server answers");
        assert_eq!(answer, message);
    }
}

/// The time of so many rounds, with so many datagrams on their way per round.
fn udp_echo<R: Sockets>(runtime: &R, datagrams: usize, rounds: u64) -> Duration {
    let (socket, address) = runtime.block_on(R::bind()).expect("a port is free");
    let server = runtime.spawn(echo_datagrams::<R>(socket));
    let client = std::net::UdpSocket::bind(LOOPBACK).expect("a port is free");
    client.connect(address).expect("a local operation");
    client.set_read_timeout(Some(PATIENCE)).expect("an ordinary option");
    let mut answer = [0; MESSAGE];
    let taken = time(rounds, || {
        for _ in 0..datagrams {
            client.send(&[7; MESSAGE]).expect("the server is there");
        }
        // None is lost on the way: all of them together fit into the smallest receive buffer.
        for _ in 0..datagrams {
            assert_eq!(client.recv(&mut answer).expect("the server answers"), MESSAGE);
        }
    });
    client.send(&[]).expect("the server is there");
    runtime.block_on(server).expect("no error is due");
    taken
}
