//! `Async<S>`: a non-blocking source tied to the driver. Everything in `net` stands on it.
//!
//! It owns the source and its entry with the driver; when to try an operation, and when to forget a bit, is
//! `registered`'s matter.

use super::Interest;
use super::registered::Registered;
use crate::engine::driver::Driver;
use crate::engine::driver::readiness::{Direction, Ready};
use crate::engine::sync_shim::Arc;
use crate::runtime::context;
use mio::event::Source;
use std::fmt;
use std::io;
use std::panic::Location;
use std::task::{Context, Poll};

/// A non-blocking source of I/O events, tied to the driver of a runtime.
///
/// `S` is anything that mio can poll: mio's own sockets and pipes, and on Unix every file descriptor
/// wrapped in `Fd`. The source must be in non-blocking mode; `Async` neither checks nor changes that.
///
/// All methods take `&self`. Any number of tasks may wait on one source, in the same direction too: an event
/// wakes all tasks that wait for its direction. If `&S` implements [`std::io::Read`] and [`std::io::Write`],
/// then `Async<S>` and `&Async<S>` implement [`AsyncRead`](super::AsyncRead) and
/// [`AsyncWrite`](super::AsyncWrite); closing then only flushes.
///
/// Events are edge-triggered. So after an event, use the source until it returns
/// [`WouldBlock`](io::ErrorKind::WouldBlock), and do it through [`async_io`](Self::async_io) or
/// [`try_io`](Self::try_io): they notice that error and wait for the next event. An operation done on
/// [`get_ref`](Self::get_ref) alone leaves the source marked as ready.
///
/// # Examples
///
/// A socket of the standard library that liten has no face for works just as well:
///
/// ```
/// # #[cfg(unix)]
/// # fn main() -> std::io::Result<()> {
/// # liten::block_on(async {
/// use liten::io::{Async, AsyncReadExt, Fd, Interest};
/// use std::io::Write;
/// use std::os::unix::net::UnixStream;
///
/// let (ours, mut theirs) = UnixStream::pair()?;
/// ours.set_nonblocking(true)?;
/// let mut ours = Async::new(Fd::new(ours))?;
///
/// theirs.write_all(b"over")?;
/// drop(theirs);
/// let mut text = String::new();
/// ours.read_to_string(&mut text).await?;
/// assert_eq!(text, "over");
///
/// // Any other operation of the source goes through `async_io`.
/// let peer = ours.async_io(Interest::READABLE, |fd| fd.get_ref().peer_addr()).await?;
/// assert!(peer.is_unnamed());
/// # Ok(())
/// # })
/// # }
/// # #[cfg(not(unix))]
/// # fn main() {}
/// ```
pub struct Async<S: Source> {
    /// `None` only while `into_inner` or `drop` runs.
    source: Option<S>,
    registration: Registered,
}

impl<S: Source> Async<S> {
    /// Registers `source` with the current runtime, for both directions.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system if it cannot poll this source (a regular file on Linux) or
    /// has no room for another one, and an error if the runtime is shutting down.
    ///
    /// # Panics
    ///
    /// Panics if it is called outside a runtime.
    #[track_caller]
    pub fn new(source: S) -> io::Result<Self> {
        Self::with_interest(source, Interest::READABLE | Interest::WRITABLE)
    }

    /// Registers `source` with the current runtime, for `interest` only.
    ///
    /// This is for sources that can be used in one direction, such as one end of a pipe. Waiting for a
    /// direction that was not registered may last for ever.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    ///
    /// # Panics
    ///
    /// Panics if it is called outside a runtime.
    #[track_caller]
    pub fn with_interest(source: S, interest: Interest) -> io::Result<Self> {
        // Not inside the call that looks the driver up: registering runs code of `S`.
        let driver = current_driver();
        Self::register(&driver, source, interest.to_mio(), None)
    }

    /// Registers `source` with a driver that the caller has at hand, so that it needs no current runtime.
    pub(crate) fn register(
        driver: &Arc<Driver>,
        mut source: S,
        interest: mio::Interest,
        descriptor: Option<i32>,
    ) -> io::Result<Self> {
        let registration = Registered::register(driver, &mut source, interest, descriptor)?;
        Ok(Self { source: Some(source), registration })
    }

    /// Registers a source that has room for writing: a connection that has been made, or a socket for
    /// datagrams. With its descriptor, where it has one, writing to it costs no event as long as each write
    /// finds room.
    pub(crate) fn register_with_room(
        driver: &Arc<Driver>,
        mut source: S,
        interest: mio::Interest,
        descriptor: Option<i32>,
    ) -> io::Result<Self> {
        let registration =
            Registered::register_with_room(driver, &mut source, interest, descriptor)?;
        Ok(Self { source: Some(source), registration })
    }

    /// The source is not ready in this direction before the system says so. For one that has just been
    /// registered, and was asked just before that.
    pub(crate) fn expect_report(&self, direction: Direction) {
        self.registration.expect_report(direction);
    }

    /// Returns the driver that reports this source's events.
    pub(crate) fn driver(&self) -> &Arc<Driver> {
        self.registration.driver()
    }

    /// Returns the source.
    pub fn get_ref(&self) -> &S {
        self.source.as_ref().expect("only `into_inner` and `drop` take the source out")
    }

    /// Returns the source for changing it in place.
    ///
    /// Do not replace it by another one: the driver would go on reporting the events of the old one.
    pub fn get_mut(&mut self) -> &mut S {
        self.source.as_mut().expect("only `into_inner` and `drop` take the source out")
    }

    /// Takes the source out of the driver and returns it. It is still in non-blocking mode.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system if it refuses to forget the source, which is then dropped.
    pub fn into_inner(mut self) -> io::Result<S> {
        let mut source =
            self.source.take().expect("only `into_inner` and `drop` take the source out");
        self.registration.deregister(&mut source)?;
        Ok(source)
    }

    /// Waits until the source is probably readable: data, an incoming connection or the end has come.
    ///
    /// It may complete although reading would block: readiness is a hint, and a new source is assumed to be
    /// ready. Try the operation with [`try_io`](Self::try_io) and wait again on `WouldBlock`.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: readiness is not used up by waiting for it.
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime that drives this source has been shut down.
    pub async fn readable(&self) -> io::Result<()> {
        self.registration.wait(Interest::READABLE).await.map(drop)
    }

    /// Waits until the source is probably writable, in the sense of [`readable`](Self::readable).
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: readiness is not used up by waiting for it.
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime that drives this source has been shut down.
    pub async fn writable(&self) -> io::Result<()> {
        self.registration.wait(Interest::WRITABLE).await.map(drop)
    }

    /// Waits until the source is probably ready for anything in `interest`, and returns
    /// the part of `interest` that is ready.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: readiness is not used up by waiting for it.
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime that drives this source has been shut down.
    pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
        Ok(self.registration.wait(interest).await?.ready)
    }

    /// Polls for readability, in the sense of [`readable`](Self::readable).
    ///
    /// If it is pending, the task of `cx` is woken by the next event; several tasks may be waiting.
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime that drives this source has been shut down.
    pub fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.registration.poll_event(cx, Direction::Read).map_ok(drop)
    }

    /// Polls for writability, in the sense of [`readable`](Self::readable).
    ///
    /// If it is pending, the task of `cx` is woken by the next event; several tasks may be waiting.
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime that drives this source has been shut down.
    pub fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.registration.poll_event(cx, Direction::Write).map_ok(drop)
    }

    /// Runs `operation` now if the source may be ready for `interest`, without waiting.
    ///
    /// `operation` must return `WouldBlock` if it could do nothing, and in no other case: the source then
    /// counts as not ready for `interest` until the next event. So the interest has to be that of the
    /// operation: one that fetches urgent data or looks into the error queue says nothing about data.
    ///
    /// # Errors
    ///
    /// Returns `WouldBlock`, without running `operation`, if the source is known not to be ready; otherwise
    /// what `operation` returns.
    pub fn try_io<R>(
        &self,
        interest: Interest,
        operation: impl FnOnce(&S) -> io::Result<R>,
    ) -> io::Result<R> {
        self.registration.try_io(interest, || operation(self.get_ref()))
    }

    /// Runs `operation` when the source is ready for `interest`, again and again until it does not block.
    ///
    /// The first run comes at once if the source may be ready. `operation` must return `WouldBlock` if it
    /// could do nothing, and in no other case.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe if `operation` is: it has had no effect, or the call completes in the same poll.
    ///
    /// # Errors
    ///
    /// Returns what `operation` returns other than `WouldBlock` and `Interrupted`, and an error if the
    /// runtime that drives this source has been shut down.
    pub async fn async_io<R>(
        &self,
        interest: Interest,
        mut operation: impl FnMut(&S) -> io::Result<R>,
    ) -> io::Result<R> {
        self.registration.async_io(interest, || operation(self.get_ref())).await
    }

    /// Repeats `operation` until it does not block, and registers the task of `cx` where it does.
    pub(crate) fn poll_io<R>(
        &self,
        cx: &mut Context<'_>,
        direction: Direction,
        mut operation: impl FnMut(&S) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        self.registration.poll_io(cx, direction, || operation(self.get_ref()))
    }

    /// [`poll_io`](Self::poll_io) for an operation that may have nothing to do: it runs once before anything
    /// is waited for, also in a direction that was not registered.
    pub(crate) fn poll_first<R>(
        &self,
        cx: &mut Context<'_>,
        direction: Direction,
        mut operation: impl FnMut(&S) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        self.registration.poll_first(cx, direction, || operation(self.get_ref()))
    }

    /// [`poll_io`](Self::poll_io) for a stream whose buffer is known to be drained (filled) by a transfer
    /// of fewer than `full` bytes: it saves the call that would only say `WouldBlock`. `full` is what the
    /// system was asked to move: of several buffers, only those that one call uses (`MOST_BUFFERS`).
    pub(crate) fn poll_transfer(
        &self,
        cx: &mut Context<'_>,
        direction: Direction,
        full: usize,
        mut operation: impl FnMut(&S) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        self.registration.poll_transfer(cx, direction, full, || operation(self.get_ref()))
    }
}

/// Returns the driver of the current runtime, or panics at the caller outside one.
#[track_caller]
pub(crate) fn current_driver() -> Arc<Driver> {
    context::with_driver(|driver, _| Arc::clone(driver))
}

/// Returns the driver of the current runtime to a future that was made at `made_at` and is polled for the
/// first time.
pub(crate) fn driver_for(made_at: &'static Location<'static>) -> Arc<Driver> {
    context::with_driver_for(made_at, |driver, _| Arc::clone(driver))
}

impl<S: Source> Drop for Async<S> {
    fn drop(&mut self) {
        if let Some(source) = &mut self.source {
            // No caller is left that could be told of an error, and the poller forgets a source that is
            // closed anyway.
            let _ = self.registration.deregister(source);
        }
    }
}

impl<S: Source + fmt::Debug> fmt::Debug for Async<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Async").field(self.get_ref()).finish()
    }
}
