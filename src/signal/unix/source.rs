//! `SignalSource`: where the signals of one kind reach the listeners of one runtime.
//!
//! A kind has a count, which the signal handler raises, and a signal source has a pair of sockets. The
//! handler writes a byte to one of them after that. The other one is an ordinary I/O source of the runtime's
//! driver; the tasks of the listeners wait for it as any number of tasks may wait for one socket. Nothing
//! else is needed: no thread, no task, no code in the driver.
//!
//! # Several runtimes
//!
//! Each runtime that listens has sources of its own, and the handler raises and writes to each of them. One
//! process-wide pair was rejected: whichever runtime reads the byte would have to wake the listeners of all
//! the others, and they would go deaf with a runtime that ends, or has no workers and is not driven. A
//! pair per listener was rejected, too: a server that waits for ctrl-c in each of a thousand connections
//! would run out of descriptors. When a runtime ends, the driver tells its sources' listeners, like those of
//! any socket, and nothing of the others changes.
//!
//! # Between two listeners
//!
//! `ctrl_c` in a loop drops one listener and makes the next in one poll, and would be deaf for a moment in
//! each round if each listener only heard of what comes after it was made. So a new listener is also told of
//! a signal that is *pending*: that came since the driver was last in use, and of which no listener was told.
//! A kind therefore has an [`Outlook`] for each runtime, which says from which count on a signal is pending,
//! and which stays when the source closes with its last listener. (The count of the kind goes on, too.)
//!
//! Nothing tells the outlook when the driver is in use. It is brought up to date when a listener is made, is
//! polled or is dropped, and compares the attendance of the driver's seat then. As long as that is the same
//! and the seat is free, the count of before holds. So a signal is not taken for pending although it is, if
//! it came before the first of these moments after the driver was in use, or while a thread was in the seat.
//!
//! Rejected: sources that stay open, which would cost each runtime two descriptors per kind for good.
//!
//! # No signal is lost
//!
//! The handler raises the count, then writes: two actions, which run in the order in which they were
//! registered. A listener empties the socket until that would block, which
//! also leaves its waker with the driver, and *then* looks at the count. So a signal is either in the count
//! that it sees, or its byte comes after the socket was empty, is reported, and wakes it to look again.
//!
//! The listener that empties the socket may be another one. Then this one finds the I/O source not ready,
//! without a system call, and must see the count that the byte announced. The chain: the handler's raise is
//! before its write, the write before the read that took the byte (the system orders these two), the read
//! before the fence in `poll_drain`, and the fence before any look at the I/O source that finds the bit
//! cleared, because the bit is cleared after it and looked at with `Acquire`. Models: `source/loom.rs`.
//!
//! A write that finds the socket full is not repeated: what fills it has not been read yet.
//!
//! # Fork
//!
//! A child that has not reached its `exec` shares the sockets but not the count. A signal to it therefore
//! wakes a listener of the parent, which finds the count unchanged.

#![allow(unsafe_code)]

use super::kind::SignalKind;
use crate::engine::driver::Driver;
use crate::engine::driver::readiness::Direction;
use crate::io::{Async, Fd, Interest, current_driver};
use parking_lot::Mutex;
use signal_hook_registry::{FORBIDDEN, SigId};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ffi::c_int;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
// Not those of the shim, which the models replace: a signal handler uses these.
use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

/// A runtime, by the address of its driver, and a signal. A source keeps its driver alive, so no two
/// runtimes have had the same address as long as a `Weak` can be upgraded.
type Key = (usize, c_int);

/// All signal sources of the process; not the shim's lock, because no model has a process to itself.
static SIGNAL_SOURCES: Mutex<SignalSources> = Mutex::new(SignalSources {
    open: BTreeMap::new(),
    counts: BTreeMap::new(),
    outlooks: BTreeMap::new(),
});

struct SignalSources {
    open: BTreeMap<Key, Weak<SignalSource>>,
    /// How many signals have come of each kind that there was ever a listener for.
    counts: BTreeMap<c_int, Arc<AtomicUsize>>,
    /// The outlook of each kind that there was a listener for in a runtime. Those of runtimes that have ended
    /// are removed when the next source is opened.
    outlooks: BTreeMap<Key, (Weak<Driver>, Arc<Mutex<Outlook>>)>,
}

/// From which count on a signal is pending, see the file's header.
struct Outlook {
    /// The driver's attendance when this was brought up to date; `None` if a thread was in the seat.
    attendance: Option<u64>,
    count: usize,
}

impl Outlook {
    /// Brings it up to date. `attendance`: that of now; `count`: of now, read after it; `told`: whether a
    /// listener is told of `count`.
    fn update(&mut self, attendance: Option<u64>, count: usize, told: bool) {
        let is_in_use = attendance.is_none() || attendance != self.attendance;
        if is_in_use || told {
            *self = Self { attendance, count };
        }
    }
}

/// The driver's attendance, if no thread is in its seat.
fn unattended(driver: &Driver) -> Option<u64> {
    // Before the question, so that a thread that takes the seat in between makes this an old number.
    let attendance = driver.attendance();
    (!driver.is_attended()).then_some(attendance)
}

impl SignalSources {
    /// Returns the count of a kind, which the handler raises from now on.
    fn count(&mut self, signal: c_int) -> io::Result<Arc<AtomicUsize>> {
        if let Some(count) = self.counts.get(&signal) {
            return Ok(count.clone());
        }
        let count = Arc::new(AtomicUsize::new(0));
        let raised = Arc::clone(&count);
        // Ordering: Relaxed; published by the write of a source's action, see the file's header.
        let action = move || {
            raised.fetch_add(1, Ordering::Relaxed);
        };
        // SAFETY: the action may run in a signal handler, because all it does is an atomic addition.
        unsafe { signal_hook_registry::register(signal, action) }?;
        self.counts.insert(signal, count.clone());
        Ok(count)
    }

    /// Returns the outlook of this kind in the runtime of this driver.
    fn outlook(&mut self, key: Key, driver: &Arc<Driver>) -> Arc<Mutex<Outlook>> {
        self.outlooks.retain(|_, (driver, _)| driver.strong_count() > 0);
        let unknown = || Arc::new(Mutex::new(Outlook { attendance: None, count: 0 }));
        let outlook =
            self.outlooks.entry(key).or_insert_with(|| (Arc::downgrade(driver), unknown()));
        outlook.1.clone()
    }
}

pub(super) struct SignalSource {
    key: Key,
    driver: Arc<Driver>,
    count: Arc<AtomicUsize>,
    receiver: Async<Fd<UnixStream>>,
    action: SigId,
    outlook: Arc<Mutex<Outlook>>,
}

impl SignalSource {
    /// Returns the source of the current runtime for this kind, or opens it; and the count that a new
    /// listener compares with at its first look.
    #[track_caller]
    pub(super) fn of_current_runtime(kind: SignalKind) -> io::Result<(Arc<Self>, usize)> {
        let driver = current_driver();
        let signal = kind.as_raw_value();
        if signal <= 0 || FORBIDDEN.contains(&signal) {
            let message = format!("no program can listen for signal {signal}");
            return Err(io::Error::new(ErrorKind::InvalidInput, message));
        }
        let key = (Arc::as_ptr(&driver) as usize, signal);
        let mut sources = SIGNAL_SOURCES.lock();
        let source = match sources.open.get(&key).and_then(Weak::upgrade) {
            Some(source) => source,
            None => {
                let source = Arc::new(Self::open(key, driver, &mut sources)?);
                sources.open.insert(key, Arc::downgrade(&source));
                source
            }
        };
        drop(sources);
        let pending = source.look_out();
        Ok((source, pending))
    }

    fn open(key: Key, driver: Arc<Driver>, sources: &mut SignalSources) -> io::Result<Self> {
        let (receiver, sender) = UnixStream::pair()?;
        receiver.set_nonblocking(true)?;
        sender.set_nonblocking(true)?;
        let receiver = Async::with_interest(Fd::new(receiver), Interest::READABLE)?;
        let count = sources.count(key.1)?;
        let outlook = sources.outlook(key, &driver);
        let action = move || {
            // An error means that the socket is full, and so that a byte is there to be read.
            let _ = (&sender).write(&[0]);
        };
        // SAFETY: the action may run in a signal handler, because all it does is one system call on a
        // non-blocking descriptor. It allocates nothing, takes no lock and cannot panic.
        let action = unsafe { signal_hook_registry::register(key.1, action) }?;
        Ok(Self { key, driver, count, receiver, action, outlook })
    }

    /// Brings the outlook up to date, and returns the count from which on a signal is pending.
    ///
    /// To be called when a listener is made and when one is dropped.
    pub(super) fn look_out(&self) -> usize {
        let mut outlook = self.outlook.lock();
        let attendance = unattended(&self.driver);
        outlook.update(attendance, self.count(), false);
        outlook.count
    }

    pub(super) fn kind(&self) -> SignalKind {
        SignalKind::from_raw(self.key.1)
    }

    /// How many signals of its kind there were; it may come round. A listener asks only whether it has
    /// changed, and would have to sleep through 2^32 signals, at the least, to be mistaken.
    pub(super) fn count(&self) -> usize {
        // Ordering: Relaxed; the raise that matters is before the last `poll_drain`, see the file's header.
        self.count.load(Ordering::Relaxed)
    }

    /// Ready when the count is another than `seen`, which follows it, or with `None` if the runtime has
    /// ended.
    pub(super) fn poll_changed(&self, seen: &mut usize, cx: &mut Context<'_>) -> Poll<Option<()>> {
        let before = *seen;
        // One listener at a time, so that none puts back what it has seen before another one.
        let mut outlook = None;
        let count = || {
            let locked = outlook.insert(self.outlook.lock());
            let attendance = unattended(&self.driver);
            let count = self.count();
            locked.update(attendance, count, count != before);
            count
        };
        look(seen, || self.poll_drain(cx).is_pending(), count)
    }

    /// Empties the socket and leaves the waker with the driver: pending, unless the runtime has ended.
    fn poll_drain(&self, cx: &mut Context<'_>) -> Poll<io::Result<Infallible>> {
        self.receiver.poll_io(cx, Direction::Read, |mut receiver| {
            let mut bytes = [0; 64];
            loop {
                match receiver.read(&mut bytes) {
                    // The other end is closed after this one.
                    Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                    Ok(_) => {}
                    Err(error) => {
                        // Ordering: Release, before the I/O source is marked as not ready: pairs with the
                        // Acquire of a reader that finds it so and does not read, see the file's header.
                        fence(Ordering::Release);
                        return Err(error);
                    }
                }
            }
        })
    }
}

/// A listener's look, in the order of the file's header. `drain` says whether the next signal wakes it.
fn look(
    seen: &mut usize,
    drain: impl FnOnce() -> bool,
    count: impl FnOnce() -> usize,
) -> Poll<Option<()>> {
    let listening = drain();
    let count = count();
    if count != *seen {
        *seen = count;
        return Poll::Ready(Some(()));
    }
    if listening { Poll::Pending } else { Poll::Ready(None) }
}

impl Drop for SignalSource {
    fn drop(&mut self) {
        // Returns when no handler is in the action any more, so no handler writes to a socket without a
        // reader.
        signal_hook_registry::unregister(self.action);
        let mut sources = SIGNAL_SOURCES.lock();
        // There may be a new one in its place.
        if sources.open.get(&self.key).is_some_and(|source| source.strong_count() == 0) {
            sources.open.remove(&self.key);
        }
    }
}

#[cfg(all(test, liten_loom))]
mod loom;
