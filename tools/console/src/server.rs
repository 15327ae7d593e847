//! Opening a console: its thread, with a runtime of its own, so that it answers while every worker is stuck.

use crate::follower::Follower;
use crate::hub::Hub;
use crate::listener::Listener;
use liten::future::{Either, select};
use liten::net::TcpListener;
use liten::runtime::{self, Handle, Runtime};
use liten::task::CancellationToken;
use std::fmt;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::pin::pin;
use std::sync::{Arc, mpsc};
use std::thread;

/// Serves a console about the current runtime at `address`, for as long as the [`Server`] lives.
///
/// See [`Builder`] for several runtimes.
///
/// # Errors
///
/// As [`Builder::serve`].
///
/// # Examples
///
/// See [the crate](crate).
pub fn serve(address: impl ToSocketAddrs) -> io::Result<Server> {
    Builder::new().serve(address)
}

/// Settings of a console, and opening one.
///
/// # Examples
///
/// Two runtimes in one console, from a thread that is in none:
///
/// ```
/// use liten::runtime::Runtime;
///
/// let (front, back) = (Runtime::new()?, Runtime::new()?);
/// let console = liten_console::Builder::new()
///     .observe(front.handle())
///     .observe(back.handle())
///     .serve("127.0.0.1:0")?;
/// # drop(console);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Builder {
    observed: Vec<Handle>,
    is_remote_allowed: bool,
}

impl Builder {
    /// Returns the default settings: the current runtime, on this machine only.
    pub fn new() -> Self {
        Self::default()
    }

    /// Shows that runtime, instead of the current one; each call adds one.
    ///
    /// The console does not keep a runtime alive.
    pub fn observe(&mut self, runtime: &Handle) -> &mut Self {
        self.observed.push(runtime.clone());
        self
    }

    /// Allows an address that other machines can reach.
    ///
    /// The protocol has neither a secret nor encryption: a client that reaches the address sees all that the console
    /// shows.
    pub fn allow_remote(&mut self) -> &mut Self {
        self.is_remote_allowed = true;
        self
    }

    /// Opens the console at `address`. Port 0 takes a free one.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if `address` is not on this machine and [`allow_remote`](Self::allow_remote) was not
    /// called, or if no runtime was named and there is no current one. The operating system's error if it
    /// cannot be listened there, or no thread can be made.
    pub fn serve(&self, address: impl ToSocketAddrs) -> io::Result<Server> {
        let mut observed = self.observed.clone();
        if observed.is_empty() {
            observed.push(Handle::try_current().map_err(|_| no_runtime())?);
        }
        let addresses: Vec<_> = address.to_socket_addrs()?.collect();
        if !self.is_remote_allowed {
            check_loopback(&addresses)?;
        }
        let listener = std::net::TcpListener::bind(&addresses[..])?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let end = CancellationToken::new();
        let thread = start(listener, observed, end.clone())?;
        Ok(Server { address, end, thread: Some(thread) })
    }
}

fn no_runtime() -> io::Error {
    let message = "console: there is no current runtime to show; name one with Builder::observe";
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

/// All of them: a name may stand for several addresses.
fn check_loopback(addresses: &[SocketAddr]) -> io::Result<()> {
    match addresses.iter().find(|address| !address.ip().is_loopback()) {
        None => Ok(()),
        Some(address) => {
            let message = format!(
                "console at {address} could be seen from other machines; use 127.0.0.1, or \
                 liten_console::Builder::allow_remote in the program"
            );
            Err(io::Error::new(io::ErrorKind::InvalidInput, message))
        }
    }
}

/// Starts the thread, and waits until it listens.
fn start(
    listener: std::net::TcpListener,
    observed: Vec<Handle>,
    end: CancellationToken,
) -> io::Result<thread::JoinHandle<()>> {
    let (ready, opened) = mpsc::channel();
    let live = move || match open(listener) {
        Ok((runtime, listener)) => {
            _ = ready.send(Ok(()));
            runtime.block_on(end.run_until_cancelled(live(listener, observed)));
        }
        Err(error) => _ = ready.send(Err(error)),
    };
    let thread = thread::Builder::new().name("liten-console".to_owned()).spawn(live)?;
    match opened.recv() {
        Ok(Ok(())) => Ok(thread),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(io::Error::other("console: its thread has panicked")),
    }
}

fn open(listener: std::net::TcpListener) -> io::Result<(Runtime, TcpListener)> {
    let runtime = runtime::Builder::new_current_thread().name("liten-console").build()?;
    let entered = runtime.enter();
    let listener = TcpListener::from_std(listener)?;
    drop(entered);
    Ok((runtime, listener))
}

async fn live(listener: TcpListener, observed: Vec<Handle>) {
    let hub = Arc::new(Hub::new());
    let serving = pin!(Listener::new(listener, hub.clone()).serve());
    let following = pin!(Follower::new(hub, observed).follow());
    match select(serving, following).await {
        Either::Left((never, _)) | Either::Right((never, _)) => match never {},
    }
}

/// A console that is open; from [`serve`]. Dropping it ends its connections and its thread.
#[must_use = "the console is open only as long as this lives"]
pub struct Server {
    address: SocketAddr,
    end: CancellationToken,
    /// `None` only while it is dropped.
    thread: Option<thread::JoinHandle<()>>,
}

impl Server {
    /// Returns where the console is, with the port that was taken.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end.cancel();
        // What the last handle of a runtime drops may be dropped on the console's thread, and this with it: a
        // thread does not wait for itself.
        let others =
            |thread: &thread::JoinHandle<()>| thread.thread().id() != thread::current().id();
        if let Some(thread) = self.thread.take().filter(others) {
            // It has told of a panic itself.
            _ = thread.join();
        }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}
