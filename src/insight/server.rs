//! The page that a program serves of itself: a thread with a runtime of its own, so that it answers while
//! every worker of the runtimes that it shows is stuck.
//!
//! What must hold, and where it is seen to:
//!
//! | client | gets | where |
//! |---|---|---|
//! | another machine | no connection, unless the program allows it | [`check_loopback`] |
//! | a program without the token | the empty page and its script | `access.rs` |
//! | another site's script, in a browser here | nothing: Host or Origin are not ours | `access.rs` |
//! | one that sends too much, or does not read | an error, or the end | `connection.rs` |
//! | very many | 16 at a time; the oldest without the token makes room | `listener.rs` |
//! | one that comes when the program has no descriptor left | the same; two at a time | `listener.rs` |
//! | one with the token | dumps, within bounds; nothing can be changed | `page.rs` |
//! | very many with the token | one recording at a time, made on another thread | `trace.rs` |

mod access;
mod answer;
mod connection;
mod listener;
mod lives;
mod made;
mod observed;
mod page;
pub(super) mod picture;
mod place;
mod request;
mod trace;
mod tree;
mod watch;

use self::access::{Access, Token};
use self::observed::Observed;
use self::page::Page;
use crate::impls::{impl_debug, impl_unwind_safe};
use crate::insight::own_thread::OwnThread;
use crate::runtime::{Handle, invalid};
use crate::task::CancellationToken;
use std::fmt;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::rc::Rc;
use std::sync::Arc;

/// Serves a page about the current runtime at `address`, for as long as the [`Server`] lives.
///
/// One line on standard error says where it is: `insight on http://127.0.0.1:9900/#TOKEN`, for a browser on
/// this machine. Port 0 takes a free one. The paths `/text`, `/json` and `/metrics` are for programs; those
/// send the token in a header. A command line can be read by all users of a machine, so `curl` best takes the
/// header from a file or a pipe:
///
/// ```text
/// echo "Authorization: Bearer $TOKEN" | curl -H @- http://127.0.0.1:9900/text
/// ```
///
/// See [`Builder`] for several runtimes, and [the module](crate::insight#the-page) for the whole of it.
///
/// # Errors
///
/// As [`Builder::serve`].
///
/// # Examples
///
/// ```
/// # liten::block_on(async {
/// let page = liten::insight::serve("127.0.0.1:0")?;
/// assert!(page.local_addr().ip().is_loopback());
/// assert!(page.url().ends_with(page.token()));
/// # Ok::<(), std::io::Error>(())
/// # }).unwrap();
/// ```
pub fn serve(address: impl ToSocketAddrs) -> io::Result<Server> {
    Builder::new().serve(address)
}

/// Settings of a page, and opening one.
///
/// # Examples
///
/// Two runtimes on one page, from a thread that is in none:
///
/// ```
/// use liten::runtime::Runtime;
///
/// let (front, back) = (Runtime::new()?, Runtime::new()?);
/// let page = liten::insight::Builder::new()
///     .observe(front.handle())
///     .observe(back.handle())
///     .serve("127.0.0.1:0")?;
/// # drop(page);
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
    /// The page does not keep a runtime alive, and says when it has ended.
    pub fn observe(&mut self, runtime: &Handle) -> &mut Self {
        self.observed.push(runtime.clone());
        self
    }

    /// Allows an address that other machines can reach.
    ///
    /// The connection is not encrypted: anyone who can read the traffic sees the token, and all that the page
    /// shows. The address in a browser must then be a number, not a name: a name could be another site's.
    pub fn allow_remote(&mut self) -> &mut Self {
        self.is_remote_allowed = true;
        self
    }

    /// Opens the page at `address`, as [`serve`] does.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if `address` is not on this machine and [`allow_remote`](Self::allow_remote) was not
    /// called, or if no runtime was named and there is no current one. The operating system's error if it
    /// cannot be listened there, or no thread can be made.
    pub fn serve(&mut self, address: impl ToSocketAddrs) -> io::Result<Server> {
        let current = match self.observed.is_empty() {
            true => Some(Handle::try_current().map_err(|_| invalid(NO_RUNTIME))?),
            false => None,
        };
        let server = self.open(address)?;
        self.observed.iter().chain(&current).for_each(|runtime| server.observe(runtime));
        Ok(server)
    }

    /// As [`serve`](Self::serve), but the page shows nothing yet.
    pub(super) fn open(&self, address: impl ToSocketAddrs) -> io::Result<Server> {
        let addresses: Vec<_> = address.to_socket_addrs()?.collect();
        if !self.is_remote_allowed {
            check_loopback(&addresses)?;
        }
        let listener = TcpListener::bind(&addresses[..])?;
        listener.set_nonblocking(true)?;
        let (address, token) = (listener.local_addr()?, Token::random()?);
        let observed = Arc::new(Observed::new());
        let access = Access::new(address.port(), self.is_remote_allowed, token.clone());
        let end = CancellationToken::new();
        let thread = start(listener, access, observed.clone(), end.clone())?;
        let server = Server { address, token, observed, end, thread };
        say(format_args!("insight on {}", server.url()));
        Ok(server)
    }
}

const NO_RUNTIME: &str =
    "insight: there is no current runtime to show; name one with Builder::observe";

/// All of them: a name may stand for several addresses.
fn check_loopback(addresses: &[SocketAddr]) -> io::Result<()> {
    match addresses.iter().find(|address| !address.ip().is_loopback()) {
        None => Ok(()),
        Some(address) => Err(invalid(format!(
            "insight at {address} could be seen from other machines; use 127.0.0.1, or \
             liten::insight::Builder::allow_remote in the program"
        ))),
    }
}

/// Starts the thread, and waits until it listens.
fn start(
    listener: TcpListener,
    access: Access,
    observed: Arc<Observed>,
    end: CancellationToken,
) -> io::Result<OwnThread> {
    let open = move || listener::Listener::new(listener);
    OwnThread::start("liten-insight", open, move |runtime, listener| {
        let page = Rc::new(Page::new(access, observed, end.clone()));
        let patrol = page.clone();
        drop(runtime.spawn_local(async move { patrol.patrol().await }));
        runtime.block_on(end.run_until_cancelled(listener.serve(runtime, page)));
    })
}

/// Writes a line to standard error, if there is one: a program without must not panic over it.
pub(in crate::insight) fn say(line: fmt::Arguments<'_>) {
    _ = writeln!(io::stderr(), "{line}");
}

/// A page that is open; from [`serve`]. Dropping it closes the page and ends its thread.
#[must_use = "the page is open only as long as this lives"]
pub struct Server {
    address: SocketAddr,
    token: Token,
    observed: Arc<Observed>,
    end: CancellationToken,
    thread: OwnThread,
}

impl Server {
    /// Returns where the page is, with the port that was taken.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Returns the secret that a request must bring along, in the header `Authorization: Bearer TOKEN`. It is
    /// another one each time.
    pub fn token(&self) -> &str {
        self.token.as_str()
    }

    /// Returns the address for a browser. The token stands behind a `#`, so that no browser sends it along.
    pub fn url(&self) -> String {
        format!("http://{}/#{}", self.address, self.token())
    }

    /// Shows one more runtime.
    pub fn observe(&self, runtime: &Handle) {
        self.observed.add(runtime);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end.cancel();
        // The last handle of a runtime may be dropped on the page's thread, and this with it.
        self.thread.join();
    }
}

// A panic leaves the list of what is shown as it was: its lock does not poison, and under it no user code
// runs.
impl_unwind_safe!([] Server);

// Without the token.
impl_debug!([] Server, this => "Server" { address: this.address, .. });
