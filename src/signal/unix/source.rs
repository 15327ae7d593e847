//! `SignalSource`: where the signals of one kind reach the listeners of one runtime.
//!
//! A kind has a count, which the signal handler raises, and a source has a pair of sockets, which the
//! handler writes a byte to after that. The end that is read is an ordinary I/O source of the runtime's
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
//! each round if each listener only heard of what comes after it was made. So a new listener is told of what
//! came since the latest look of any listener of this kind, as long as the driver has not looked for events
//! since then: what the driver has not looked for is news to everybody. This is why a source remembers its
//! latest look, and why that is kept when the source closes with its last listener. (The kind goes on being
//! counted.)
//!
//! If a thread was in the driver's seat at the time of that look, or has taken the seat since, only the
//! signals after the making of the new listener are news to it, because it would otherwise take an old signal
//! for a new one. Rejected: sources that stay open, which would cost each runtime two descriptors per kind
//! for good.
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

/// All sources of the process; not the shim's lock, because no model has a process to itself.
static SOURCES: Mutex<Sources> =
    Mutex::new(Sources { open: BTreeMap::new(), counts: BTreeMap::new(), left: BTreeMap::new() });

struct Sources {
    open: BTreeMap<Key, Weak<SignalSource>>,
    /// Of each kind that there was ever a listener for.
    counts: BTreeMap<c_int, Arc<AtomicUsize>>,
    /// Of each kind, the latest look at the source that closed last. One entry per kind bounds what is kept
    /// here.
    left: BTreeMap<c_int, (Weak<Driver>, Look)>,
}

/// The latest look of a listener at the count of its kind.
#[derive(Clone, Copy)]
struct Look {
    /// The driver's attendance before the look; `None` if a thread was in the seat, which may look for events
    /// at any time after that without taking the seat again.
    attendance: Option<u64>,
    count: usize,
}

impl Look {
    /// The count from which on a signal is news to a listener that is made now, where `count` is the count
    /// now.
    fn seen(self, driver: &Driver, count: usize) -> usize {
        if self.attendance == Some(driver.attendance()) { self.count } else { count }
    }
}

/// The driver's attendance, if no thread is in its seat.
fn unattended(driver: &Driver) -> Option<u64> {
    // Before the question, so that a thread that takes the seat in between makes this an old number.
    let attendance = driver.attendance();
    (!driver.is_attended()).then_some(attendance)
}

impl Sources {
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

    /// The latest look at the source of this driver and signal that has closed.
    fn last_look(&self, signal: c_int, driver: &Arc<Driver>) -> Option<Look> {
        let (last, look) = self.left.get(&signal)?;
        std::ptr::eq(last.as_ptr(), Arc::as_ptr(driver)).then_some(*look)
    }
}

pub(super) struct SignalSource {
    key: Key,
    driver: Arc<Driver>,
    count: Arc<AtomicUsize>,
    receiver: Async<Fd<UnixStream>>,
    action: SigId,
    latest: Mutex<Look>,
}

impl SignalSource {
    /// Returns the source of the current runtime for this kind, or opens it; and the count from which on a
    /// signal is news to a new listener.
    #[track_caller]
    pub(super) fn of_current_runtime(kind: SignalKind) -> io::Result<(Arc<Self>, usize)> {
        let driver = current_driver();
        let signal = kind.as_raw_value();
        if signal <= 0 || FORBIDDEN.contains(&signal) {
            let message = format!("no program can listen for signal {signal}");
            return Err(io::Error::new(ErrorKind::InvalidInput, message));
        }
        let key = (Arc::as_ptr(&driver) as usize, signal);
        let mut sources = SOURCES.lock();
        if let Some(source) = sources.open.get(&key).and_then(Weak::upgrade) {
            let seen = source.latest.lock().seen(&source.driver, source.count());
            return Ok((source, seen));
        }
        let (source, seen) = Self::open(key, driver, &mut sources)?;
        let source = Arc::new(source);
        sources.open.insert(key, Arc::downgrade(&source));
        Ok((source, seen))
    }

    fn open(key: Key, driver: Arc<Driver>, sources: &mut Sources) -> io::Result<(Self, usize)> {
        let (receiver, sender) = UnixStream::pair()?;
        receiver.set_nonblocking(true)?;
        sender.set_nonblocking(true)?;
        let receiver = Async::with_interest(Fd::new(receiver), Interest::READABLE)?;
        let count = sources.count(key.1)?;
        // Before the action: what comes from now on the listener is to get.
        // Ordering: Relaxed; no partner, because this is only where the first look begins to compare.
        let now = count.load(Ordering::Relaxed);
        let attendance = unattended(&driver);
        let seen = sources.last_look(key.1, &driver).map_or(now, |look| look.seen(&driver, now));
        let latest = Mutex::new(Look { attendance, count: seen });
        let action = move || {
            // An error means that the socket is full, and so that a byte is there to be read.
            let _ = (&sender).write(&[0]);
        };
        // SAFETY: the action may run in a signal handler, because all it does is one system call on a
        // non-blocking descriptor. It allocates nothing, takes no lock and cannot panic.
        let action = unsafe { signal_hook_registry::register(key.1, action) }?;
        Ok((Self { key, driver, count, receiver, action, latest }, seen))
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
        let attendance = unattended(&self.driver);
        let changed = look(seen, || self.poll_drain(cx).is_pending(), || self.count());
        *self.latest.lock() = Look { attendance, count: *seen };
        changed
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
                        // Ordering: Release, before the source is marked as not ready: pairs with the Acquire
                        // of a reader that finds it so and does not read, see the file's header.
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
        let mut sources = SOURCES.lock();
        // There may be a new one in its place.
        if sources.open.get(&self.key).is_some_and(|source| source.strong_count() == 0) {
            sources.open.remove(&self.key);
            let left = (Arc::downgrade(&self.driver), *self.latest.lock());
            sources.left.insert(self.key.1, left);
        }
    }
}

#[cfg(all(test, liten_loom))]
mod loom;
