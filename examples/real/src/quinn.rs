//! quinn's runtime trait on liten: tasks, timers and UDP sockets for QUIC.
//!
//! The trait belongs to quinn 0.11; the next version will have another one.

use liten::io::Interest;
use liten::net::UdpSocket;
use liten::time::{Sleep, sleep_until};
use quinn::udp::{RecvMeta, Transmit, UdpSocketState};
use quinn::{AsyncTimer, AsyncUdpSocket, Runtime, UdpPoller};
use std::future::Future;
use std::io::{self, ErrorKind, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

/// Lets quinn run on the current liten runtime: `Endpoint::new(…, Arc::new(LitenRuntime))`.
///
/// Endpoints and connections must be made inside a runtime, as liten's own sockets and timers.
#[derive(Debug, Clone, Copy, Default)]
pub struct LitenRuntime;

impl Runtime for LitenRuntime {
    fn new_timer(&self, deadline: Instant) -> Pin<Box<dyn AsyncTimer>> {
        Box::pin(Timer(sleep_until(deadline.into())))
    }

    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        // It ends by itself when its endpoint or connection does.
        drop(liten::spawn(future));
    }

    fn wrap_udp_socket(&self, socket: std::net::UdpSocket) -> io::Result<Arc<dyn AsyncUdpSocket>> {
        Ok(Arc::new(Socket::new(socket)?))
    }

    /// liten's clock, which stands still in a test that wants it to.
    fn now(&self) -> Instant {
        liten::time::Instant::now().into_std()
    }
}

#[derive(Debug)]
struct Timer(Sleep);

impl AsyncTimer for Timer {
    fn reset(mut self: Pin<&mut Self>, deadline: Instant) {
        Pin::new(&mut self.0).reset(deadline.into());
    }

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context) -> Poll<()> {
        Pin::new(&mut self.0).poll(cx)
    }
}

/// Moves many datagrams per system call where the operating system can (GSO, GRO), which is quinn-udp's
/// work; liten only says when to try.
#[derive(Debug)]
struct Socket {
    io: UdpSocket,
    state: UdpSocketState,
}

impl Socket {
    fn new(socket: std::net::UdpSocket) -> io::Result<Self> {
        let state = UdpSocketState::new((&socket).into())?;
        Ok(Self { io: UdpSocket::from_std(socket)?, state })
    }
}

impl AsyncUdpSocket for Socket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Box::pin(Poller(self))
    }

    fn try_send(&self, transmit: &Transmit) -> io::Result<()> {
        let send = || self.state.send((&self.io).into(), transmit);
        self.io.try_io(Interest::WRITABLE, send)
    }

    fn poll_recv(
        &self,
        cx: &mut Context,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.io.poll_read_ready(cx))?;
            let receive = || self.state.recv((&self.io).into(), bufs, meta);
            match self.io.try_io(Interest::READABLE, receive) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                result => return Poll::Ready(result),
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.state.max_gso_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.state.gro_segments()
    }

    fn may_fragment(&self) -> bool {
        self.state.may_fragment()
    }
}

/// One per connection. The socket keeps a waker for each task that waits, so this need not.
#[derive(Debug)]
struct Poller(Arc<Socket>);

impl UdpPoller for Poller {
    fn poll_writable(self: Pin<&mut Self>, cx: &mut Context) -> Poll<io::Result<()>> {
        self.0.io.poll_write_ready(cx)
    }
}

#[cfg(test)]
mod tests;
