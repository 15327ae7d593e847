//! Relays: what a message costs that is passed on by tasks which wake each other.
//!
//! Two runtimes lie between the load and an echo server by hand. Each of them takes a message from one
//! socket, sends it over a channel to another task, and that task writes it to a second socket; answers come
//! back in the same way. One message is under way at a time, so each event finds a runtime at rest.

use super::lane::{Connections, Loaded};
use super::load::Protocol;
use super::poller::{self, Served};
use super::server::Server;
use crate::contest::{Contest, Figure, Lane, Start, lane};
use crate::mixed::threads::Watch;
use crate::runtimes::{Liten, Runtime, Tokio};
use crate::sockets::LOOPBACK;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// Messages that wait in a channel between two tasks.
const CAPACITY: usize = 64;
/// Larger than any message.
const BUFFER: usize = 1024;

const fn figure(suffix: &'static str, unit: &'static str) -> Figure {
    Figure { suffix, unit, goal: Some(1.0) }
}

pub(crate) fn contests(workers: usize) -> Vec<Contest> {
    let row = |name: &str, lanes| Contest {
        name: name.to_owned(),
        figures: vec![figure("", "ns"), figure("cpu", "ns"), figure("switches", "")],
        lanes,
        slice: super::SLICE,
        rounds: super::ROUNDS,
    };
    vec![
        row("udp_relay", vec![udp_lane::<Liten>(workers), udp_lane::<Tokio>(workers)]),
        row("tcp_relay", vec![tcp_lane::<Liten>(workers), tcp_lane::<Tokio>(workers)]),
    ]
}

fn udp_lane<R: Relay>(workers: usize) -> (&'static str, Start) {
    lane::<R, _>(move || {
        let relays = Relays::<R>::start(workers, poller::serve_datagrams(), R::relay_datagrams);
        Relayed::start(relays, Protocol::Udp)
    })
}

fn tcp_lane<R: Relay>(workers: usize) -> (&'static str, Start) {
    lane::<R, _>(move || {
        let relays = Relays::<R>::start(workers, poller::serve_streams(), R::relay_streams);
        Relayed::start(relays, Protocol::Tcp)
    })
}

/// Passing messages on, written once for the two runtimes whose channels have the same names.
pub(crate) trait Relay: Runtime {
    /// Starts the tasks, and returns the address at which messages for `target` are taken.
    fn relay_datagrams(target: SocketAddr) -> impl Future<Output = io::Result<SocketAddr>>;
    fn relay_streams(target: SocketAddr) -> impl Future<Output = io::Result<SocketAddr>>;
}

macro_rules! relays {
    ($runtime:ident of $library:ident) => {
        impl Relay for $runtime {
            async fn relay_datagrams(target: SocketAddr) -> io::Result<SocketAddr> {
                use $library::net::UdpSocket;
                let front = Arc::new(UdpSocket::bind(LOOPBACK).await?);
                let behind = Arc::new(UdpSocket::bind(LOOPBACK).await?);
                behind.connect(target).await?;
                let address = front.local_addr()?;
                let (asks, mut questions) = $library::sync::mpsc::channel::<Vec<u8>>(CAPACITY);
                let (answers, mut answered) = $library::sync::mpsc::channel::<Vec<u8>>(CAPACITY);
                let (from, to) = (front.clone(), behind.clone());
                $library::spawn(async move {
                    let mut buffer = [0; BUFFER];
                    // The load is one socket, which the first message tells.
                    let (length, peer) = from.recv_from(&mut buffer).await?;
                    from.connect(peer).await?;
                    let _ = asks.send(buffer[..length].to_vec()).await;
                    while let Ok(length) = from.recv(&mut buffer).await {
                        let _ = asks.send(buffer[..length].to_vec()).await;
                    }
                    Ok::<(), io::Error>(())
                });
                $library::spawn(async move {
                    while let Some(message) = questions.recv().await {
                        to.send(&message).await?;
                    }
                    Ok::<(), io::Error>(())
                });
                $library::spawn(async move {
                    let mut buffer = [0; BUFFER];
                    while let Ok(length) = behind.recv(&mut buffer).await {
                        let _ = answers.send(buffer[..length].to_vec()).await;
                    }
                });
                $library::spawn(async move {
                    while let Some(message) = answered.recv().await {
                        front.send(&message).await?;
                    }
                    Ok::<(), io::Error>(())
                });
                Ok(address)
            }

            async fn relay_streams(target: SocketAddr) -> io::Result<SocketAddr> {
                use $library::io::{AsyncReadExt, AsyncWriteExt};
                use $library::net::{TcpListener, TcpStream};
                let listener = TcpListener::bind(LOOPBACK).await?;
                let address = listener.local_addr()?;
                $library::spawn(async move {
                    while let Ok((front, _)) = listener.accept().await {
                        let behind = TcpStream::connect(target).await?;
                        front.set_nodelay(true)?;
                        behind.set_nodelay(true)?;
                        let (front, behind) = (front.into_split(), behind.into_split());
                        for (mut from, mut to) in [(front.0, behind.1), (behind.0, front.1)] {
                            let (sender, mut receiver) =
                                $library::sync::mpsc::channel::<Vec<u8>>(CAPACITY);
                            $library::spawn(async move {
                                let mut buffer = [0; BUFFER];
                                while let Ok(length @ 1..) = from.read(&mut buffer).await {
                                    let _ = sender.send(buffer[..length].to_vec()).await;
                                }
                            });
                            $library::spawn(async move {
                                while let Some(message) = receiver.recv().await {
                                    to.write_all(&message).await?;
                                }
                                Ok::<(), io::Error>(())
                            });
                        }
                    }
                    Ok::<(), io::Error>(())
                });
                Ok(address)
            }
        }
    };
}

relays!(Liten of liten);
relays!(Tokio of tokio);

/// Two relays, one behind the other, and the echo server behind both.
struct Relays<R> {
    // In this order: the echo server waits until its client, the second relay, has gone.
    _relays: [R; 2],
    _echo: Served,
    address: SocketAddr,
}

impl<R: Relay> Relays<R> {
    fn start<F>(workers: usize, echo: Served, relay: fn(SocketAddr) -> F) -> Self
    where
        F: Future<Output = io::Result<SocketAddr>>,
    {
        let relays = [R::start(workers), R::start(workers)];
        let address = relays.iter().fold(echo.address(), |target, runtime| {
            runtime.block_on(relay(target)).expect("a port is free")
        });
        Self { _relays: relays, _echo: echo, address }
    }
}

impl<R: Relay> Server for Relays<R> {
    fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Relays under load, whose context switches are counted.
struct Relayed<R>(Loaded<Relays<R>>);

impl<R: Relay> Relayed<R> {
    fn start(relays: Relays<R>, protocol: Protocol) -> Self {
        Self(Loaded::start(relays, protocol, 1, Connections::Lasting, |sample| {
            vec![sample.elapsed, sample.cpu]
        }))
    }
}

impl<R: Relay> Lane for Relayed<R> {
    fn warm_up(&mut self, slice: Duration) {
        self.0.warm_up(slice);
    }

    fn measure(&mut self, slice: Duration) -> Vec<f64> {
        let watch = Watch::start(None);
        let mut values = self.0.measure(slice);
        let messages = slice.as_nanos() as f64 / values[0];
        values.push(watch.stop().switches / messages);
        values
    }
}
