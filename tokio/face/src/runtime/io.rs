//! A source's entry with the driver, under the names that tokio's files know: on liten's driver.

use super::{context, Handle};
use crate::io::interest::Interest;
use crate::io::ready::Ready;
use liten::io::{Direction, Interest as Wanted, Ready as Bits, Registered};
use mio::event::Source;
use std::io::{self, ErrorKind};
use std::task::{Context, Poll};
use std::time::Duration;

/// tokio's bits and liten's.
const BITS: &[(Ready, Bits)] = &[
    (Ready::READABLE, Bits::READABLE),
    (Ready::WRITABLE, Bits::WRITABLE),
    (Ready::READ_CLOSED, Bits::READ_CLOSED),
    (Ready::WRITE_CLOSED, Bits::WRITE_CLOSED),
    (Ready::ERROR, Bits::ERROR),
    #[cfg(any(target_os = "linux", target_os = "android"))]
    (Ready::PRIORITY, Bits::PRIORITY),
];

/// How long an operation waits, before it returns, if there was no descriptor for what it makes. A server
/// that only repeats `accept` would turn in circles otherwise: liten's own listeners do the same.
const PAUSE: Duration = Duration::from_millis(10);

/// Whether there is no descriptor left, in the process or in the system.
#[cfg(unix)]
fn is_lacking(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

#[cfg(not(unix))]
fn is_lacking(_: &io::Error) -> bool {
    false
}

fn to_bits(ready: Ready) -> Bits {
    let held = BITS.iter().filter(|(ours, _)| ready.contains(*ours));
    held.fold(Bits::EMPTY, |all, (_, bit)| all | *bit)
}

fn from_bits(bits: Bits) -> Ready {
    let held = BITS.iter().filter(|(_, theirs)| bits.intersects(*theirs));
    held.fold(Ready::EMPTY, |all, (bit, _)| all | *bit)
}

fn wanted(interest: Interest) -> Wanted {
    // Interests that liten does not know are those of sources that are read.
    let mut asked = None;
    let mut add = |is_asked, part| {
        if is_asked {
            asked = Some(asked.map_or(part, |others| others | part));
        }
    };
    add(interest.is_readable(), Wanted::READABLE);
    add(interest.is_writable(), Wanted::WRITABLE);
    add(interest.is_error(), Wanted::ERROR);
    #[cfg(any(target_os = "linux", target_os = "android"))]
    add(interest.is_priority(), Wanted::PRIORITY);
    asked.unwrap_or(Wanted::READABLE)
}

/// What was ready at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadyEvent {
    event: liten::io::ReadyEvent,
    pub(crate) ready: Ready,
}

impl ReadyEvent {
    fn new(event: liten::io::ReadyEvent) -> Self {
        Self { event, ready: from_bits(event.ready) }
    }

    pub(crate) fn with_ready(&self, ready: Ready) -> Self {
        Self { event: self.event, ready }
    }
}

#[derive(Debug)]
pub(crate) struct Registration {
    registered: Registered,
}

impl Registration {
    /// `descriptor`: the number that the source has in the process, if it has one.
    #[track_caller]
    pub(crate) fn new(
        source: &mut impl Source,
        descriptor: Option<i32>,
        interest: Interest,
        handle: Handle,
    ) -> io::Result<Self> {
        context::assert_io_of(&handle);
        let interest = interest.to_mio();
        let registered = Registered::unassumed(handle.inner(), source, interest, descriptor)?;
        Ok(Self { registered })
    }

    /// Registers a source of which nothing else is known.
    #[track_caller]
    pub(crate) fn new_with_interest_and_handle(
        source: &mut impl Source,
        interest: Interest,
        handle: Handle,
    ) -> io::Result<Self> {
        Self::new(source, None, interest, handle)
    }

    #[cfg(unix)]
    #[track_caller]
    pub(crate) fn of_descriptor(fd: i32, interest: Interest, handle: Handle) -> io::Result<Self> {
        Self::new(&mut mio::unix::SourceFd(&fd), Some(fd), interest, handle)
    }

    /// Registers a source that has room for writing. It is ready for that, and for reading if `is_readable`.
    #[track_caller]
    pub(crate) fn with_room(
        source: &mut impl Source,
        descriptor: Option<i32>,
        is_readable: bool,
    ) -> io::Result<Self> {
        let handle = Handle::current();
        context::assert_io_of(&handle);
        let registered =
            Registered::with_room(handle.inner(), source, descriptor, is_readable)?;
        Ok(Self { registered })
    }

    pub(crate) fn deregister(&mut self, source: &mut impl Source) -> io::Result<()> {
        self.registered.deregister(source)
    }

    pub(crate) fn assume_ready(&self, ready: Ready) {
        self.registered.assume(to_bits(ready));
    }

    /// The program says that the source is not ready for what the event shows. tokio keeps closed sides then.
    /// liten asks the system, and keeps those that it still reports: the others have passed, such as that of
    /// a socket that was not connected yet, and would end each wait at once for ever.
    pub(crate) fn clear_readiness(&self, event: ReadyEvent) {
        self.registered.clear(event.event, to_bits(event.ready));
    }

    pub(crate) fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<ReadyEvent>> {
        self.registered.poll_event(cx, Direction::Read).map_ok(ReadyEvent::new)
    }

    pub(crate) fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<ReadyEvent>> {
        self.registered.poll_event(cx, Direction::Write).map_ok(ReadyEvent::new)
    }

    pub(crate) fn poll_read_io<R>(
        &self,
        cx: &mut Context<'_>,
        f: impl FnMut() -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        self.registered.poll_io(cx, Direction::Read, f)
    }

    pub(crate) fn poll_write_io<R>(
        &self,
        cx: &mut Context<'_>,
        f: impl FnMut() -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        self.registered.poll_io(cx, Direction::Write, f)
    }

    /// Reads. That it brings fewer than `full` bytes tells that nothing is left.
    pub(crate) fn poll_read_some(
        &self,
        cx: &mut Context<'_>,
        full: usize,
        f: impl FnMut() -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        self.registered.poll_transfer(cx, Direction::Read, full, f)
    }

    /// Writes up to `length` bytes. A short write tells that there is no room left.
    pub(crate) fn poll_write_some(
        &self,
        cx: &mut Context<'_>,
        length: usize,
        f: impl FnMut() -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        self.registered.poll_transfer(cx, Direction::Write, length, f)
    }

    pub(crate) fn try_io<R>(
        &self,
        interest: Interest,
        f: impl FnOnce() -> io::Result<R>,
    ) -> io::Result<R> {
        self.registered.try_io(wanted(interest), f)
    }

    pub(crate) async fn readiness(&self, interest: Interest) -> io::Result<ReadyEvent> {
        self.registered.wait_uncharged(wanted(interest)).await.map(ReadyEvent::new)
    }

    pub(crate) async fn async_io<R>(
        &self,
        interest: Interest,
        mut f: impl FnMut() -> io::Result<R>,
    ) -> io::Result<R> {
        // What was interrupted is the caller's to repeat.
        let once = || match f() {
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(Err(error)),
            result => result.map(Ok),
        };
        let done = self.registered.async_io(wanted(interest), once).await;
        let done = done.and_then(|result| result);
        if done.as_ref().is_err_and(is_lacking) && liten::runtime::is_inside() {
            Box::pin(liten::time::sleep(PAUSE)).await;
        }
        done
    }
}
