//! `SignalSource`: how signals of all kinds reach the listeners of one runtime.
//!
//! A source has a pair of sockets. The signal handler raises the process's count of the kind (`signals.rs`)
//! and writes a byte to one of the sockets of each runtime that has had a listener of the kind. The other one
//! is an ordinary I/O source of the runtime's driver, with a waker of its own, which is not a task's: the
//! thread that the driver has told of the byte calls it, and it empties the socket and wakes the listeners of
//! each kind whose count has changed. Nothing else is needed: no thread, no task, no code in the driver.
//!
//! The source is opened with the first listener of the runtime and lasts as long as the runtime, also without
//! listeners. Its waker lies with the driver and keeps it; the driver gives it up when it is closed. So
//! `ctrl_c` in a loop opens nothing.
//!
//! Rejected:
//!
//! * One pair for the process. The runtime that reads it may end, or have no workers and not be driven, and
//!   all listeners would be deaf.
//! * A pair per kind: a program that listens for eight kinds would have 14 descriptors more.
//! * The listeners' tasks wait for the socket themselves. A signal would wake the listeners of all kinds, and
//!   a server may wait for ctrl-c in each of a thousand connections.
//! * The poller's own waker, and a flag that the thread in the seat looks at: that is code in each turn.
//!
//! # No signal is lost
//!
//! The handler raises the count, then writes. The actions for one kind are called in the order in which they
//! were registered, and the one that counts is registered before any source has the kind. [`look`] empties
//! the socket until that would block, which also leaves its waker with the driver, and *then* looks at the
//! counts. So a signal is either in the count that it sees, or its byte comes after the socket was empty, is
//! reported, and calls the waker once more. Models: `source/loom.rs`.
//!
//! A write that finds the socket full is not repeated, and leaves no byte of its own. What fills the socket
//! is read later, by a look that then sees the count. For that, the handler passes a `SeqCst` fence between
//! the count and the write, and [`look`] passes one between its last read and the counts. One of the two is
//! first in the single order of all such fences. If it were the one of the look, the write would find the
//! room that the reads have made. So it is the handler's, and the look sees the count. Model:
//! `a_signal_that_finds_the_socket_full_is_seen`.
//!
//! # From the first listener to the end
//!
//! | the source is | its actions | a listener | a new listener |
//! |---|---|---|---|
//! | open | write | waits | is added |
//! | ended | write to no purpose | waits, unless it was the last source | is refused |
//! | dropped | are taken away | as before | is refused by the driver |
//!
//! A listener that is polled in another runtime than the one before has that one report, too. So it does not
//! depend on a runtime that has ended, or that no thread drives.
//!
//! The source is open as long as the driver keeps its waker. It has ended when the driver was closed and the
//! look after that has told `Kinds`. It is dropped when nothing keeps it any more.
//!
//! It does not go back, and each state is passed once. A driver that is closed while its source is opened
//! leads to the same: the first look finds the end. The source is dropped as soon as the last look is over,
//! because a closed driver keeps no waker.
//!
//! # Fork
//!
//! A child that has not reached its `exec` shares the sockets but not the counts. A signal to it therefore
//! wakes a thread of the parent, which finds the counts unchanged. A runtime that the child makes has a
//! source of its own.

#![allow(unsafe_code)]

use super::kind::SignalKind;
use super::reserve::pair;
use super::signals::Signals;
use crate::engine::driver::Driver;
use crate::engine::driver::readiness::{Direction, shutdown_error};
use crate::engine::sync_shim::atomic::{Ordering, fence};
use crate::engine::task::current;
use crate::engine::wakers;
use crate::io::{Async, Fd, Interest};
use crate::runtime::tokio_words;
use parking_lot::Mutex;
use signal_hook_registry::{FORBIDDEN, SigId};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ffi::c_int;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};

/// The sources of all runtimes, by the addresses of their drivers. A source keeps its driver, so no two
/// runtimes have had the same address as long as a `Weak` can be upgraded. Not the shim's lock, because no
/// model has a process to itself.
static SIGNAL_SOURCES: Mutex<BTreeMap<usize, Weak<SignalSource>>> = Mutex::new(BTreeMap::new());

/// The number of the next source.
static NEXT: AtomicU64 = AtomicU64::new(0);

struct SignalSource {
    number: u64,
    receiver: Async<Fd<UnixStream>>,
    sender: Arc<UnixStream>,
    kinds: Mutex<Kinds>,
}

#[derive(Default)]
struct Kinds {
    /// Of each kind that there was ever a listener for.
    signals: BTreeMap<c_int, Arc<Signals>>,
    actions: Vec<SigId>,
    has_ended: bool,
}

/// Returns the signals of this kind, which the runtime with this driver reports from now on, and the number
/// of the runtime's source.
pub(super) fn signals(driver: &Arc<Driver>, kind: SignalKind) -> io::Result<(Arc<Signals>, u64)> {
    let signal = kind.as_raw_value();
    if signal <= 0 || FORBIDDEN.contains(&signal) {
        let message = format!("no program can listen for signal {signal}");
        return Err(io::Error::new(tokio_words::REFUSED_SIGNAL, message));
    }
    let source = SignalSource::of(driver)?;
    Ok((source.signals(kind)?, source.number))
}

impl SignalSource {
    /// Returns the source of the current runtime, which has this driver, or opens it.
    fn of(driver: &Arc<Driver>) -> io::Result<Arc<Self>> {
        let key = Arc::as_ptr(driver) as usize;
        let mut sources = SIGNAL_SOURCES.lock();
        if let Some(source) = sources.get(&key).and_then(Weak::upgrade) {
            return Ok(source);
        }
        let source = Arc::new(Self::open()?);
        sources.retain(|_, source| source.strong_count() > 0);
        sources.insert(key, Arc::downgrade(&source));
        drop(sources);
        // Leaves the waker with the driver.
        source.look();
        Ok(source)
    }

    /// For the current runtime.
    fn open() -> io::Result<Self> {
        let (receiver, sender) = pair()?;
        let receiver = Async::with_interest(Fd::new(receiver), Interest::READABLE)?;
        // Ordering: Relaxed, only the numbers matter.
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Ok(Self { number, receiver, sender: Arc::new(sender), kinds: Mutex::default() })
    }

    /// Returns the signals of this kind, which this source reports from now on.
    fn signals(&self, kind: SignalKind) -> io::Result<Arc<Signals>> {
        let mut kinds = self.kinds.lock();
        if kinds.has_ended {
            return Err(shutdown_error());
        }
        let signal = kind.as_raw_value();
        if let Some(signals) = kinds.signals.get(&signal) {
            return Ok(signals.clone());
        }
        // Counts before the sender writes.
        let signals = Signals::of(kind)?;
        let sender = self.sender.clone();
        let action = move || {
            // An error means that the socket is full: see the header.
            let _ = (&*sender).write(&[0]);
        };
        // SAFETY: the action may run in a signal handler, because all it does is one system call on a
        // non-blocking descriptor. It allocates nothing, takes no lock and cannot panic.
        let action = unsafe { signal_hook_registry::register(signal, action) }?;
        kinds.actions.push(action);
        kinds.signals.insert(signal, signals.clone());
        signals.begin_reports();
        Ok(signals)
    }

    /// Wakes the listeners of the kinds that have had signals, and waits for the next signal.
    fn look(self: &Arc<Self>) {
        let waker = Waker::from(self.clone());
        // Outside of the task that runs here, if one does: the waker of a source has no budget.
        let drain = || current::outside(|| self.poll_drain(&mut Context::from_waker(&waker)));
        look(
            || drain().is_ready(),
            |has_ended, wakes| {
                let mut kinds = self.kinds.lock();
                for signals in kinds.signals.values() {
                    signals.report(wakes);
                    if has_ended && !kinds.has_ended {
                        signals.end_reports(wakes);
                    }
                }
                kinds.has_ended |= has_ended;
            },
        );
    }

    /// Empties the socket and leaves the waker with the driver: pending, unless the runtime has ended.
    fn poll_drain(&self, cx: &mut Context<'_>) -> Poll<io::Result<Infallible>> {
        self.receiver.poll_io(cx, Direction::Read, |mut receiver| {
            let mut bytes = [0; 64];
            // The other end is closed after this one.
            while receiver.read(&mut bytes)? > 0 {}
            Err(ErrorKind::UnexpectedEof.into())
        })
    }
}

/// A look at the signals that have come, in the order of the file's header. `drain` returns whether the
/// runtime has ended; if not, the next signal leads to another look.
fn look(drain: impl FnOnce() -> bool, report: impl FnOnce(bool, &mut Vec<Waker>)) {
    let has_ended = drain();
    // Ordering: partner of the fence in `Signals::raise`: a handler that has found the socket full has
    // counted before.
    fence(Ordering::SeqCst);
    let mut wakes = Vec::new();
    report(has_ended, &mut wakes);
    wakers::wake_all(&mut wakes);
}

impl Wake for SignalSource {
    fn wake(self: Arc<Self>) {
        self.look();
    }
}

impl Drop for SignalSource {
    fn drop(&mut self) {
        for action in self.kinds.get_mut().actions.drain(..) {
            // Returns when no handler is in the action any more, so no handler writes to a socket without a
            // reader.
            signal_hook_registry::unregister(action);
        }
    }
}

#[cfg(all(test, liten_loom))]
mod loom;
