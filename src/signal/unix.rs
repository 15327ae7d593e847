//! Unix: any signal that can be caught.

mod kind;
mod source;

pub use self::kind::SignalKind;

use self::source::SignalSource;
use crate::engine::impls::impl_debug;
use futures_core::Stream;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Listens for signals of one kind; made by [`signal`]. It is also a [`Stream`].
///
/// Any number of listeners may be there for one kind, in any number of runtimes: each of them gets each
/// signal. A signal that comes while no task waits in [`recv`](Self::recv) is not lost, the next call returns
/// at once. Signals are not counted, though: those that come before the next call are one.
/// After the last one there is always one more `recv` that completes.
///
/// Dropping it frees what it took, but does not give the signal its default action back.
#[must_use = "it does nothing unless it is asked for signals"]
pub struct Signal {
    source: Arc<SignalSource>,
    /// How many signals the source had counted when this listener looked last.
    seen: usize,
}

/// Returns a listener for signals of this kind, which works as long as the current runtime.
///
/// The handler is installed before this returns: from now on the signal does not do to the process what it
/// does by default, **even when all listeners are gone**. Handlers that were there before are still called.
///
/// A new listener is also told of a signal that came before it, if no listener was told of that yet, and if
/// it came after a listener of this kind in this runtime was made, polled or dropped, with no thread of the
/// runtime looking for events from that moment on. Other signals before it are lost to it: keep a listener
/// to miss none.
///
/// All listeners for one kind in one runtime share one pair of sockets.
///
/// # Errors
///
/// Returns [`InvalidInput`](io::ErrorKind::InvalidInput) for a number that is no signal, and for signals that
/// no handler can be installed for (`SIGKILL`, `SIGSTOP`) or that tell of a fault in the program
/// (`SIGSEGV`, `SIGFPE`, `SIGILL`). Otherwise the error of the operating system, and an error if the runtime
/// has been shut down.
///
/// # Panics
///
/// Panics if it is called outside a runtime.
///
/// # Examples
///
/// ```
/// use liten::signal::unix::{SignalKind, signal};
///
/// # liten::block_on(async {
/// let mut hangups = signal(SignalKind::hangup())?;
/// # let mut kill = std::process::Command::new("kill");
/// # kill.args(["-HUP", &std::process::id().to_string()]).status()?;
/// hangups.recv().await;
/// println!("the terminal is gone, or an operator wants us to read our configuration again");
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
#[track_caller]
pub fn signal(kind: SignalKind) -> io::Result<Signal> {
    let (source, seen) = SignalSource::of_current_runtime(kind)?;
    Ok(Signal { source, seen })
}

impl Drop for Signal {
    /// From now on a signal may be for the next listener.
    fn drop(&mut self) {
        self.source.look_out();
    }
}

pub(super) fn ctrl_c() -> io::Result<Signal> {
    signal(SignalKind::interrupt())
}

impl Signal {
    /// Waits for the next signal. `None`: the runtime in which the listener was made has been shut down.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: a future that is dropped before it is ready has taken no signal.
    pub async fn recv(&mut self) -> Option<()> {
        std::future::poll_fn(|cx| self.poll_recv(cx)).await
    }

    /// Polls for the next signal, in the sense of [`recv`](Self::recv).
    ///
    /// If it is pending, the task of `cx` is woken by the next signal; only the task of the last poll can
    /// rely on that.
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<()>> {
        self.source.poll_changed(&mut self.seen, cx)
    }
}

impl Stream for Signal {
    type Item = ();

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<()>> {
        self.poll_recv(cx)
    }
}

impl_debug!([] Signal, this => "Signal" { kind: this.source.kind(), .. });
