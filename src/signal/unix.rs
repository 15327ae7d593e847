//! Unix: any signal that can be caught.

mod kind;
mod positions;
mod reserve;
mod signals;
mod source;

pub use self::kind::SignalKind;
pub(crate) use self::reserve::keep_pair;

use self::positions::Asker;
use self::signals::{Listener, Signals};
use crate::engine::driver::Driver;
use crate::impls::impl_debug;
use crate::io::current_driver;
use crate::runtime::context;
use futures_core::Stream;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

/// Listens for signals of one kind; made by [`signal`]. It is also a [`Stream`].
///
/// Any number of listeners may be there for one kind, in any number of runtimes: each of them gets each
/// signal. A listener may be waited for in any runtime, and goes on when the one in which it was made has
/// ended. A signal that comes while no task waits in [`recv`](Self::recv) is not lost, the next call returns
/// at once. Signals are not counted, though: those that come before the next call are one.
/// After the last one there is always one more `recv` that completes.
///
/// A signal that comes when the listener has been dropped is told to the next one; [`signal`] says to which.
/// Dropping it does not give the signal its default action back.
#[must_use = "it does nothing unless it is asked for signals"]
pub struct Signal {
    /// The driver of the runtime that it was polled in last. No other one has its address meanwhile.
    driver: Weak<Driver>,
    /// The number of that runtime's source.
    runtime: u64,
    signals: Arc<Signals>,
    listener: Listener,
}

/// Returns a listener for signals of this kind.
///
/// The handler is installed before this returns: from now on the signal does not do to the process what it
/// does by default, **even when all listeners are gone**. Handlers that were there before are still called.
///
/// # Signals between two listeners
///
/// A loop that makes a listener in each round, such as one over a `select!` with `ctrl_c` in it, loses no
/// signal:
///
/// * In a task that has had a listener of this kind, the new one goes on where that stopped: it is also told
///   of a signal that came meanwhile, whether others were told of it or not. What is not in a task, such as
///   the future given to `block_on`, counts as the task of its thread in that runtime.
/// * In any other task, the new listener is also told of a signal that no listener was told of.
/// * The first listener of the process for a kind is told of the signals that come after it was made.
///
/// It is the task that goes on, and not the loop. So if one task runs two such loops, as with `join!`, the
/// one may miss a signal that the other was told of.
///
/// A task that has been without a listener for long, while more than a thousand others dropped theirs, may
/// count as a new one.
///
/// All listeners of one runtime share one pair of sockets, which is closed when the runtime ends.
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
    let driver = current_driver();
    let (signals, runtime) = source::signals(&driver, kind)?;
    let listener = signals.listen(Asker::current(runtime));
    Ok(Signal { driver: Arc::downgrade(&driver), runtime, signals, listener })
}

impl Drop for Signal {
    fn drop(&mut self) {
        self.signals.leave(&self.listener);
    }
}

pub(super) fn ctrl_c() -> io::Result<Signal> {
    signal(SignalKind::interrupt())
}

impl Signal {
    /// Waits for the next signal. `None`: all runtimes that have had a listener of this kind have been shut
    /// down, and this is called outside a runtime, in one that has ended, too, or in one that finds no
    /// descriptor for its sockets.
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
        self.have_reported_here();
        self.signals.poll(&mut self.listener, Asker::current(self.runtime), cx)
    }

    /// Has the current runtime report signals of this kind. Without one, or where it refuses, the others that
    /// have had a listener of this kind go on.
    fn have_reported_here(&mut self) {
        let if_other = |driver: &Arc<Driver>, _| {
            (!std::ptr::eq(Arc::as_ptr(driver), self.driver.as_ptr())).then(|| driver.clone())
        };
        let Some(Some(driver)) = context::try_with_driver(if_other) else { return };
        let Ok((signals, runtime)) = source::signals(&driver, self.signals.kind()) else { return };
        if !Arc::ptr_eq(&signals, &self.signals) {
            // This is a forked child, which counts anew. The lock of the parent's may be lost.
            (self.listener, self.signals) = (signals.listen(Asker::current(runtime)), signals);
        }
        (self.driver, self.runtime) = (Arc::downgrade(&driver), runtime);
    }
}

impl Stream for Signal {
    type Item = ();

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<()>> {
        self.poll_recv(cx)
    }
}

impl_debug!([] Signal, this => "Signal" { kind: this.signals.kind(), .. });
