//! Writing to a standard stream, and on Windows to the pipe of a child, on the pool for blocking work.
//!
//! What a write that fails leaves stays in the buffer, and the next write or flush begins with it. So a flush
//! says `Ok` only when all that was accepted before has been written. tokio drops the rest with the error,
//! and its second flush says `Ok`.

use super::{Blocking, Buf, DEFAULT_MAX_BUF_SIZE, State, gone, spawn};
use crate::blocking::Writes;
use crate::io::AsyncWrite;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

impl<T: Writes + Unpin + Send + 'static> Blocking<T> {
    /// Waits until no job is under way.
    fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let State::Busy(job) = &mut self.state else { return Poll::Ready(Ok(())) };
        let (result, buf, inner) = ready!(Pin::new(job).poll(cx))?;
        self.state = State::Idle(Some(buf));
        self.inner = Some(inner);
        self.need_flush |= result.is_err();
        Poll::Ready(result.map(drop))
    }

    /// The buffer, while no job is under way.
    ///
    /// # Errors
    ///
    /// The runtime had no thread for an earlier job, because it ends.
    fn buffer(&mut self) -> io::Result<&mut Buf> {
        match &mut self.state {
            State::Idle(buf) => buf.as_mut().ok_or_else(gone),
            State::Busy(_) => unreachable!("a job has the buffer"),
        }
    }

    /// Starts a job that writes what is in the buffer.
    fn start(&mut self, flushes: bool) -> io::Result<()> {
        let mut buf = std::mem::replace(self.buffer()?, Buf::with_capacity(0));
        self.state = State::Idle(None);
        let mut inner = self.inner.take().expect("it comes back with the buffer");
        let job = move || {
            let mut result = buf.write_to(&mut inner);
            if flushes && result.is_ok() {
                result = inner.flush_waiting();
            }
            (result.map(|()| 0), buf, inner)
        };
        self.state = State::Busy(spawn(self.mandatory, job).ok_or_else(gone)?);
        Ok(())
    }
}

impl<T: Writes + Unpin + Send + 'static> AsyncWrite for Blocking<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        src: &[u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.poll_idle(cx))?;
            let buf = self.buffer()?;
            let accepted = buf.is_empty().then(|| buf.copy_from(src, DEFAULT_MAX_BUF_SIZE));
            self.start(false)?;
            self.need_flush = true;
            if let Some(count) = accepted {
                return Poll::Ready(Ok(count));
            }
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            ready!(self.poll_idle(cx))?;
            if !self.need_flush {
                return Poll::Ready(Ok(()));
            }
            self.start(true)?;
            self.need_flush = false;
        }
    }

    /// As the trait wants it. tokio's says `Ok` at once.
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}
