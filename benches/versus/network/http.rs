//! Hello world over hyper, on each runtime's streams.

use crate::runtimes::{Liten, Smol, Tokio};
use crate::sockets::Sockets;
use hyper::Response;
use hyper::rt::{ReadBufCursor, Timer};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use liten::hyper::LitenTimer;
use smol::io::{AsyncRead, AsyncWrite};
use std::convert::Infallible;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// As much as hyper reads at once in the beginning.
const BUFFER: usize = 8192;

/// Streams that hyper can use.
pub(crate) trait Http: Sockets {
    type Io: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static;

    fn io(stream: Self::Stream) -> Self::Io;
}

/// Runtimes that have a timer for hyper.
pub(crate) trait HttpTimer: Http {
    fn timer() -> impl Timer + Send + Sync + 'static;
}

/// liten's streams have hyper's traits themselves.
impl Http for Liten {
    type Io = Self::Stream;

    fn io(stream: Self::Stream) -> Self::Io {
        stream
    }
}

impl HttpTimer for Liten {
    fn timer() -> impl Timer + Send + Sync + 'static {
        LitenTimer::new()
    }
}

impl Http for Tokio {
    type Io = TokioIo<Self::Stream>;

    fn io(stream: Self::Stream) -> Self::Io {
        TokioIo::new(stream)
    }
}

impl HttpTimer for Tokio {
    fn timer() -> impl Timer + Send + Sync + 'static {
        TokioTimer::new()
    }
}

impl Http for Smol {
    type Io = FuturesIo<Self::Stream>;

    fn io(stream: Self::Stream) -> Self::Io {
        FuturesIo::new(stream)
    }
}

/// Serves one connection until its client closes it.
pub(crate) async fn hello<R: Http>(stream: R::Stream) {
    serve::<R>(&http1::Builder::new(), stream).await;
}

/// The same, and gives up a client that takes too long for the head of a request.
pub(crate) async fn hello_in_time<R: HttpTimer>(stream: R::Stream) {
    let mut builder = http1::Builder::new();
    builder.timer(R::timer()).header_read_timeout(Duration::from_secs(30));
    serve::<R>(&builder, stream).await;
}

async fn serve<R: Http>(builder: &http1::Builder, stream: R::Stream) {
    let service = service_fn(|_request| async {
        Ok::<_, Infallible>(Response::new(String::from("Hello, World!")))
    });
    // An error is a client that has gone: all of them go in the end.
    let _ = builder.serve_connection(R::io(stream), service).await;
}

/// A stream with the I/O traits of futures-io, as hyper wants it. Reads go through a buffer, because
/// hyper lends memory that may be uninitialized.
pub(crate) struct FuturesIo<S> {
    stream: S,
    buffer: Box<[u8]>,
}

impl<S> FuturesIo<S> {
    fn new(stream: S) -> Self {
        Self { stream, buffer: vec![0; BUFFER].into() }
    }
}

impl<S: AsyncRead + Unpin> hyper::rt::Read for FuturesIo<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut cursor: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let room = cursor.remaining().min(this.buffer.len());
        let length = ready!(Pin::new(&mut this.stream).poll_read(cx, &mut this.buffer[..room]))?;
        cursor.put_slice(&this.buffer[..length]);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> hyper::rt::Write for FuturesIo<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_close(cx)
    }

    /// True of the streams that are wrapped here.
    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }
}
