//! A source and its entry with liten's driver: what tokio's files of sockets and pipes stand on.
//!
//! # Why the types of `net` are tokio's files
//!
//! The other way would be newtypes over liten's own sockets. tokio's files have every signature of tokio's.
//! What liten's sockets do better lies below them, so they need not be given up for it:
//!
//! * After a short write a source counts as full, and after a short read a TCP connection counts as drained.
//!   That saves the call that would only say `WouldBlock` ([`Registration::poll_read_some`]). Of a Unix
//!   socket and a pipe a short read tells nothing ([`ShortRead`]).
//! * A connection that has been made, or a socket for datagrams, is registered for reading only, until a
//!   write finds no room. That saves an event per connection and per datagram, and the wake of the thread
//!   that waits for it ([`PollEvented::with_room`]). A `connect` over TCP that has its connection at once
//!   does not wait for an event. `packer/src/edits.rs` puts both into tokio's files. A connection that is
//!   made, used for one message and closed (row `connect` of `tokio/checks/bars`) waits 2.6 to 2.9 times in
//!   the poller with both, and 3.4 times without. The question whether it is there is one more call. Its time
//!   did not change by more than the noise: seven runs of one against the other gave 0.68 to 1.65 of the
//!   time, and 0.87 to 1.02 of the processors' time.
//!
//! Under a server of axum a request costs one read and one `writev`, as on tokio. There are more futex calls
//! than on tokio. The figures of the servers are in `tokio/README.md`.

use crate::io::interest::Interest;
use crate::io::ReadBuf;
use crate::runtime::io::Registration;
use crate::runtime::scheduler;
use mio::event::Source;
use std::fmt;
use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::ops::Deref;
#[cfg(unix)]
use std::os::fd::AsRawFd;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::task::{ready, Context, Poll};

/// The number that a source has in the process.
trait Descriptor {
    fn descriptor(&self) -> Option<i32>;
}

#[cfg(unix)]
impl<E: AsRawFd> Descriptor for E {
    fn descriptor(&self) -> Option<i32> {
        Some(self.as_raw_fd())
    }
}

#[cfg(not(unix))]
impl<E> Descriptor for E {
    fn descriptor(&self) -> Option<i32> {
        None
    }
}

/// What a read of fewer bytes than there was room for tells of a source. One of a new kind has to say it.
pub(crate) trait ShortRead {
    /// Whether it proves that nothing is left, so that the next read may wait for an event.
    const DRAINS: bool;
}

impl ShortRead for mio::net::TcpStream {
    const DRAINS: bool = true;
}

/// A read ends early, with more to come, where descriptors were passed along or the sender's credentials
/// change. No event would tell of the rest: tokio, which takes it for drained, then waits until more is sent.
#[cfg(unix)]
impl ShortRead for mio::net::UnixStream {
    const DRAINS: bool = false;
}

/// A pipe in packet mode (`O_DIRECT`) returns a packet per read, with more to come. A child may put its end
/// into that mode.
#[cfg(unix)]
impl ShortRead for mio::unix::pipe::Receiver {
    const DRAINS: bool = false;
}

#[cfg(windows)]
impl ShortRead for mio::windows::NamedPipe {
    const DRAINS: bool = false;
}

pub(crate) struct PollEvented<E: Source> {
    /// `None` only while `into_inner` or `drop` runs.
    io: Option<E>,
    registration: Registration,
}

#[allow(private_bounds)]
impl<E: Source + Descriptor> PollEvented<E> {
    #[track_caller]
    pub(crate) fn new(io: E) -> io::Result<Self> {
        Self::new_with_interest(io, Interest::READABLE | Interest::WRITABLE)
    }

    #[track_caller]
    pub(crate) fn new_with_interest(io: E, interest: Interest) -> io::Result<Self> {
        Self::new_with_interest_and_handle(io, interest, scheduler::Handle::current())
    }

    #[track_caller]
    pub(crate) fn new_with_interest_and_handle(
        mut io: E,
        interest: Interest,
        handle: scheduler::Handle,
    ) -> io::Result<Self> {
        let descriptor = io.descriptor();
        let registration = Registration::new(&mut io, descriptor, interest, handle)?;
        Ok(Self { io: Some(io), registration })
    }

    /// A connection that has been made, or a socket for datagrams. It counts as ready for writing, and for
    /// reading if `is_readable`. Where sources have descriptors, that it has room for writing is an event
    /// only after a write that found none.
    #[track_caller]
    pub(crate) fn with_room(mut io: E, is_readable: bool) -> io::Result<Self> {
        let descriptor = io.descriptor();
        let registration = Registration::with_room(&mut io, descriptor, is_readable)?;
        Ok(Self { io: Some(io), registration })
    }
}

impl<E: Source> PollEvented<E> {
    pub(crate) fn registration(&self) -> &Registration {
        &self.registration
    }

    pub(crate) fn into_inner(mut self) -> io::Result<E> {
        let mut io = self.io.take().expect("only `into_inner` and `drop` take it out");
        self.registration.deregister(&mut io)?;
        Ok(io)
    }

    /// # Safety
    ///
    /// `read` of the source must not look into its buffer, and must not say that it has written more bytes
    /// than it has.
    pub(crate) unsafe fn poll_read<'a>(
        &'a self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>>
    where
        E: ShortRead,
        &'a E: io::Read + 'a,
    {
        // SAFETY: nothing is made uninitialised, see above; the slice has one owner at a time.
        let unfilled = unsafe { &mut *(buf.unfilled_mut() as *mut [MaybeUninit<u8>] as *mut [u8]) };
        let mut source: &'a E = self;
        // Any read is long enough for one that has to bring nothing.
        let full = if E::DRAINS { unfilled.len() } else { 0 };
        let read = self.registration.poll_read_some(cx, full, || source.read(unfilled));
        let length = ready!(read)?;
        // SAFETY: so many bytes were written, see above.
        unsafe { buf.assume_init(length) };
        buf.advance(length);
        Poll::Ready(Ok(()))
    }

    pub(crate) fn poll_write<'a>(
        &'a self,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>>
    where
        &'a E: io::Write + 'a,
    {
        let mut source: &'a E = self;
        self.registration.poll_write_some(cx, buf.len(), || source.write(buf))
    }

    pub(crate) fn poll_write_vectored<'a>(
        &'a self,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>>
    where
        &'a E: io::Write + 'a,
    {
        let mut source: &'a E = self;
        self.registration.poll_write_io(cx, || source.write_vectored(bufs))
    }
}

impl<E: Source> UnwindSafe for PollEvented<E> {}
impl<E: Source> RefUnwindSafe for PollEvented<E> {}

impl<E: Source> Deref for PollEvented<E> {
    type Target = E;

    fn deref(&self) -> &E {
        self.io.as_ref().expect("only `into_inner` and `drop` take it out")
    }
}

impl<E: Source + fmt::Debug> fmt::Debug for PollEvented<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PollEvented").field("io", &self.io).finish()
    }
}

impl<E: Source> Drop for PollEvented<E> {
    fn drop(&mut self) {
        if let Some(mut io) = self.io.take() {
            // The poller forgets a source that is closed anyway.
            let _ = self.registration.deregister(&mut io);
        }
    }
}
