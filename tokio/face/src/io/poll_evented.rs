//! A source and its entry with liten's driver: what tokio's files of sockets and pipes stand on.

use crate::io::interest::Interest;
use crate::io::ReadBuf;
use crate::runtime::io::Registration;
use crate::runtime::scheduler;
use mio::event::Source;
use std::fmt;
use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::task::{ready, Context, Poll};

pub(crate) struct PollEvented<E: Source> {
    /// `None` only while `into_inner` or `drop` runs.
    io: Option<E>,
    registration: Registration,
}

impl<E: Source> PollEvented<E> {
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
        let registration = Registration::new_with_interest_and_handle(&mut io, interest, handle)?;
        Ok(Self { io: Some(io), registration })
    }

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
        &'a E: io::Read + 'a,
    {
        // SAFETY: nothing is made uninitialised, see above; the slice has one owner at a time.
        let unfilled = unsafe { &mut *(buf.unfilled_mut() as *mut [MaybeUninit<u8>] as *mut [u8]) };
        let mut source: &'a E = self;
        let room = unfilled.len();
        let read = self.registration.poll_read_some(cx, room, || source.read(unfilled));
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
