//! `TcpListener`: waits for connections.

use super::{TcpSocket, TcpStream};
use crate::engine::driver::Driver;
use crate::engine::sync_shim::Arc;
use crate::io::{Async, driver_for};
use crate::net::address::{ToSocketAddrs, first_success};
use crate::net::{BOTH, system};
use std::future;
use std::io;
use std::net::SocketAddr;
use std::panic::Location;

/// How many connections may wait to be accepted. The standard library's 128 loses connections when a few
/// thousand clients come at once; the operating system cuts a greater number down to its own limit.
const BACKLOG: u32 = 1024;

/// A TCP socket that waits for connections.
///
/// Several tasks may accept from one listener. Dropping it closes the socket; connections that were
/// accepted stay.
///
/// # Examples
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// # liten::block_on(async {
/// use liten::io::AsyncReadExt;
/// use liten::net::{TcpListener, TcpStream};
///
/// // Port 0 lets the operating system choose.
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// let client = TcpStream::connect(listener.local_addr()?).await?;
///
/// let (mut stream, peer) = listener.accept().await?;
/// assert_eq!(peer, client.local_addr()?);
/// drop(client);
/// assert_eq!(stream.read(&mut [0; 16]).await?, 0);
/// # Ok(())
/// # })
/// # }
/// ```
pub struct TcpListener {
    pub(in crate::net) io: Async<mio::net::TcpListener>,
}

conversions!(TcpListener, mio::net::TcpListener, std::net::TcpListener, BOTH, register);

impl TcpListener {
    /// Listens on the first address of `address` that is free.
    ///
    /// Up to 1024 connections may wait to be accepted; [`TcpSocket::listen`] takes another number. On Unix
    /// an address whose old connections are still running out can be taken over (`SO_REUSEADDR`).
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: dropping the future has no effect that lasts.
    ///
    /// # Errors
    ///
    /// Returns the error of the last address that was tried, such as
    /// [`AddrInUse`](io::ErrorKind::AddrInUse), or of the name resolution;
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if there is no address.
    ///
    /// # Panics
    ///
    /// Panics if it is polled outside a runtime. It may be called there: the runtime that polls it counts.
    #[track_caller]
    pub fn bind<A: ToSocketAddrs>(address: A) -> impl Future<Output = io::Result<Self>> {
        let made_at = Location::caller();
        let target = address.target();
        async move {
            let driver = driver_for(made_at);
            first_success(target, |address| future::ready(Self::bind_to(&driver, address))).await
        }
    }

    fn bind_to(driver: &Arc<Driver>, address: SocketAddr) -> io::Result<Self> {
        let socket = TcpSocket::for_address(address)?;
        system::allow_quick_rebind(socket.inner())?;
        socket.bind(address)?;
        socket.listen_with(driver, BACKLOG)
    }

    listener_methods!(TcpStream, SocketAddr);
    time_to_live!();
}
