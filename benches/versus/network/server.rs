//! Servers on the runtimes: what accepts, counts the sessions and ends in order.

use crate::runtimes::{Join, Spawner};
use crate::sockets::{LOOPBACK, Sockets, echo_datagrams};
use std::future::Future;
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Ends a bench whose server never ends.
const PATIENCE: Duration = Duration::from_secs(10);

/// A server, running. Dropping it ends it.
pub(crate) trait Server {
    fn address(&self) -> SocketAddr;

    /// Waits until it has seen all its clients go.
    fn settle(&self) {}
}

/// How many sessions are open, and whether the server is to end.
#[derive(Clone, Default)]
pub(crate) struct Sessions(Arc<Counters>);

#[derive(Default)]
struct Counters {
    open: AtomicUsize,
    closing: AtomicBool,
}

/// One session. Dropping it ends the count of it.
pub(crate) struct Session(Arc<Counters>);

impl Sessions {
    /// `None` if the server is to end: then the connection was only meant to wake it.
    pub(crate) fn open(&self) -> Option<Session> {
        if self.0.closing.load(Ordering::SeqCst) {
            return None;
        }
        self.0.open.fetch_add(1, Ordering::SeqCst);
        Some(Session(self.0.clone()))
    }

    pub(crate) fn settle(&self) {
        let start = Instant::now();
        while self.0.open.load(Ordering::SeqCst) > 0 {
            assert!(start.elapsed() < PATIENCE, "a session does not end, although its client has");
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Ends what accepts at `address`: it sees the mark when a connection wakes it.
    pub(crate) fn stop_accepting(&self, address: SocketAddr) {
        self.0.closing.store(true, Ordering::SeqCst);
        TcpStream::connect(address).expect("the server listens");
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The owner's end of a task that returns nothing.
type Task<R> = <<R as crate::runtimes::Runtime>::Spawner as Spawner>::Join<()>;

/// A task that accepts, and a task for each connection.
pub(crate) struct TcpServer<R: Sockets> {
    runtime: R,
    address: SocketAddr,
    sessions: Sessions,
    acceptor: Option<Task<R>>,
}

impl<R: Sockets> TcpServer<R> {
    /// `session` serves one connection to its end.
    pub(crate) fn start<F>(
        workers: usize,
        session: impl Fn(R::Stream) -> F + Send + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let runtime = R::start(workers);
        let (listener, address) = runtime.block_on(R::listen()).expect("a port is free");
        let sessions = Sessions::default();
        let (spawner, counted) = (runtime.spawner(), sessions.clone());
        let acceptor = runtime.spawn(async move {
            loop {
                let stream = R::accept(&listener).await.expect("there are files left");
                let Some(open) = counted.open() else { return };
                let session = session(stream);
                let counting = async move {
                    session.await;
                    drop(open);
                };
                spawner.spawn(counting).detach();
            }
        });
        Self { runtime, address, sessions, acceptor: Some(acceptor) }
    }

    pub(crate) fn runtime(&self) -> &R {
        &self.runtime
    }
}

impl<R: Sockets> Server for TcpServer<R> {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn settle(&self) {
        self.sessions.settle();
    }
}

impl<R: Sockets> Drop for TcpServer<R> {
    /// Lets all tasks end before the runtime: a task that outlives smol's threads is never dropped, and
    /// keeps its socket.
    fn drop(&mut self) {
        self.sessions.stop_accepting(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            self.runtime.block_on(acceptor);
        }
        self.sessions.settle();
    }
}

/// One task that answers datagrams.
pub(crate) struct UdpServer<R: Sockets> {
    runtime: R,
    address: SocketAddr,
    task: Option<Task<R>>,
}

impl<R: Sockets> UdpServer<R> {
    pub(crate) fn start(workers: usize) -> Self {
        let runtime = R::start(workers);
        let (socket, address) = runtime.block_on(R::bind()).expect("a port is free");
        let task = runtime.spawn(async move {
            echo_datagrams::<R>(socket).await.expect("no error is due");
        });
        Self { runtime, address, task: Some(task) }
    }
}

impl<R: Sockets> Server for UdpServer<R> {
    fn address(&self) -> SocketAddr {
        self.address
    }
}

impl<R: Sockets> Drop for UdpServer<R> {
    fn drop(&mut self) {
        send_empty_datagram(self.address);
        if let Some(task) = self.task.take() {
            self.runtime.block_on(task);
        }
    }
}

/// What ends a server of datagrams.
pub(crate) fn send_empty_datagram(target: SocketAddr) {
    let socket = UdpSocket::bind(LOOPBACK).expect("a port is free");
    socket.send_to(&[], target).expect("a local operation");
}
