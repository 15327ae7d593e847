//! What the faces have in common, written once: each macro is one section of a face's `impl`, with its
//! documentation.
//!
//! Macros and not a trait, so that the methods are inherent: a program need not import a trait to ask a
//! socket whether it is readable. A face is a struct with one field, `io: Async<the mio socket>`.

/// `from_std`, the conversion that is the same, `into_std`, `adopt` and `Debug` for a face over `$mio`,
/// registered for `$interest` by `$register`: by `register_with_room` if each such socket has room for
/// writing, otherwise by `register`.
macro_rules! conversions {
    ($face:ident, $mio:ty, $std:ty, $interest:expr, $register:ident) => {
        impl $face {
            /// Makes it of a socket of the standard library, which is put into non-blocking mode.
            ///
            /// Use this to set options that have no method here before the socket is used.
            ///
            /// # Errors
            ///
            /// Returns the error of the operating system if the mode cannot be set or the socket cannot be
            /// registered.
            ///
            /// # Panics
            ///
            /// Panics if it is called outside a runtime.
            #[track_caller]
            pub fn from_std(socket: $std) -> ::std::io::Result<Self> {
                let driver = $crate::io::current_driver();
                // First of all: a blocking socket in the driver would hold up the thread that uses it.
                socket.set_nonblocking(true)?;
                Self::adopt(&driver, <$mio>::from_std(socket))
            }

            /// Takes it out of the runtime and returns it as a socket of the standard library.
            ///
            /// It is still in non-blocking mode; `set_nonblocking(false)` changes that.
            ///
            /// # Errors
            ///
            /// Returns the error of the operating system if it refuses to deregister the socket, which is
            /// then closed.
            pub fn into_std(self) -> ::std::io::Result<$std> {
                Ok(self.io.into_inner()?.into())
            }

            /// Registers a socket that is in non-blocking mode, and of which nothing else is known.
            pub(in crate::net) fn adopt(
                driver: &$crate::engine::sync_shim::Arc<$crate::engine::driver::Driver>,
                socket: $mio,
            ) -> ::std::io::Result<Self> {
                let descriptor = $crate::net::system::descriptor(&socket);
                let io = $crate::io::Async::$register(driver, socket, $interest, descriptor)?;
                Ok(Self { io })
            }
        }

        /// As [`from_std`](Self::from_std), panic included.
        impl ::std::convert::TryFrom<$std> for $face {
            type Error = ::std::io::Error;

            #[track_caller]
            fn try_from(socket: $std) -> ::std::io::Result<Self> {
                Self::from_std(socket)
            }
        }

        impl ::std::fmt::Debug for $face {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                self.io.get_ref().fmt(f)
            }
        }
    };
}

/// `adopt_connected` for the face of a stream.
macro_rules! connections {
    ($face:ident, $mio:ty, $interest:expr) => {
        impl $face {
            /// Registers a socket that is in non-blocking mode and has a connection.
            pub(in crate::net) fn adopt_connected(
                driver: &$crate::engine::sync_shim::Arc<$crate::engine::driver::Driver>,
                socket: $mio,
            ) -> ::std::io::Result<Self> {
                let descriptor = $crate::net::system::descriptor(&socket);
                let io =
                    $crate::io::Async::register_with_room(driver, socket, $interest, descriptor)?;
                Ok(Self { io })
            }
        }
    };
}

/// Waiting for readiness, and own operations under it, for a socket that goes both ways.
macro_rules! readiness_methods {
    () => {
        read_readiness!();
        write_readiness!();
        own_operations!();

        /// Takes the error that is pending on the socket (`SO_ERROR`), if there is one.
        ///
        /// # Errors
        ///
        /// Returns the error of the operating system if it cannot be asked.
        pub fn take_error(&self) -> ::std::io::Result<Option<::std::io::Error>> {
            self.io.get_ref().take_error()
        }
    };
}

/// The addresses of a socket for datagrams, sending to its peer, receiving from any peer, and polling for
/// readiness under the names that go with that.
macro_rules! datagram_methods {
    ($address:ty) => {
        /// Polls for readability: [`poll_read_ready`](Self::poll_read_ready) under the name that goes with
        /// [`recv`](Self::recv).
        ///
        /// # Errors
        ///
        /// Returns an error if the runtime of this socket has been shut down.
        pub fn poll_recv_ready(
            &self,
            cx: &mut ::std::task::Context<'_>,
        ) -> ::std::task::Poll<::std::io::Result<()>> {
            self.poll_read_ready(cx)
        }

        /// Polls for writability: [`poll_write_ready`](Self::poll_write_ready) under the name that goes with
        /// [`send`](Self::send).
        ///
        /// # Errors
        ///
        /// Returns an error if the runtime of this socket has been shut down.
        pub fn poll_send_ready(
            &self,
            cx: &mut ::std::task::Context<'_>,
        ) -> ::std::task::Poll<::std::io::Result<()>> {
            self.poll_write_ready(cx)
        }

        /// Returns the address of this socket, also if the operating system has chosen it.
        ///
        /// # Errors
        ///
        /// Returns the error of the operating system.
        pub fn local_addr(&self) -> ::std::io::Result<$address> {
            self.io.get_ref().local_addr()
        }

        /// Returns the address of the peer that [`connect`](Self::connect) has fixed.
        ///
        /// # Errors
        ///
        /// Returns [`NotConnected`](std::io::ErrorKind::NotConnected) if there is none.
        pub fn peer_addr(&self) -> ::std::io::Result<$address> {
            self.io.get_ref().peer_addr()
        }

        /// Sends a datagram to the peer that [`connect`](Self::connect) has fixed, and returns its length. It
        /// waits while there is no room, for a Unix socket in the queue of the peer.
        ///
        /// # Cancel safety
        ///
        /// Cancel safe: a datagram is sent and reported in the same poll, or not sent.
        ///
        /// # Errors
        ///
        /// Returns the error of the operating system, such as a datagram that is too large. For a Unix socket
        /// BSD and macOS return an error for a full queue, too.
        pub async fn send(&self, buf: &[u8]) -> ::std::io::Result<usize> {
            self.io.async_io($crate::io::Interest::WRITABLE, |socket| socket.send(buf)).await
        }

        /// Polls [`send`](Self::send).
        ///
        /// # Errors
        ///
        /// As [`send`](Self::send).
        pub fn poll_send(
            &self,
            cx: &mut ::std::task::Context<'_>,
            buf: &[u8],
        ) -> ::std::task::Poll<::std::io::Result<usize>> {
            self.io.poll_io(cx, $crate::io::Direction::Write, |socket| socket.send(buf))
        }

        /// [`send`](Self::send) without waiting.
        ///
        /// # Errors
        ///
        /// Returns [`WouldBlock`](std::io::ErrorKind::WouldBlock) if there is no room, else as
        /// [`send`](Self::send).
        pub fn try_send(&self, buf: &[u8]) -> ::std::io::Result<usize> {
            self.io.try_io($crate::io::Interest::WRITABLE, |socket| socket.send(buf))
        }

        /// Receives a datagram into `buf` and returns its length, without saying from whom: see
        /// [`connect`](Self::connect).
        ///
        /// # Cancel safety
        ///
        /// Cancel safe: a datagram is taken and returned in the same poll, or left for the next call.
        ///
        /// # Errors
        ///
        /// Returns the error of the operating system.
        pub async fn recv(&self, buf: &mut [u8]) -> ::std::io::Result<usize> {
            self.io.async_io($crate::io::Interest::READABLE, |socket| socket.recv(buf)).await
        }

        /// Polls [`recv`](Self::recv).
        ///
        /// # Errors
        ///
        /// As [`recv`](Self::recv).
        pub fn poll_recv(
            &self,
            cx: &mut ::std::task::Context<'_>,
            buf: &mut [u8],
        ) -> ::std::task::Poll<::std::io::Result<usize>> {
            self.io.poll_io(cx, $crate::io::Direction::Read, |socket| socket.recv(buf))
        }

        /// [`recv`](Self::recv) without waiting.
        ///
        /// # Errors
        ///
        /// Returns [`WouldBlock`](std::io::ErrorKind::WouldBlock) if nothing has come, else as
        /// [`recv`](Self::recv).
        pub fn try_recv(&self, buf: &mut [u8]) -> ::std::io::Result<usize> {
            self.io.try_io($crate::io::Interest::READABLE, |socket| socket.recv(buf))
        }

        /// Receives a datagram into `buf` and returns its length and its sender.
        ///
        /// # Cancel safety
        ///
        /// Cancel safe: a datagram is taken and returned in the same poll, or left for the next call.
        ///
        /// # Errors
        ///
        /// Returns the error of the operating system.
        pub async fn recv_from(&self, buf: &mut [u8]) -> ::std::io::Result<(usize, $address)> {
            self.io.async_io($crate::io::Interest::READABLE, |socket| socket.recv_from(buf)).await
        }

        /// Polls [`recv_from`](Self::recv_from).
        ///
        /// # Errors
        ///
        /// As [`recv_from`](Self::recv_from).
        pub fn poll_recv_from(
            &self,
            cx: &mut ::std::task::Context<'_>,
            buf: &mut [u8],
        ) -> ::std::task::Poll<::std::io::Result<(usize, $address)>> {
            self.io.poll_io(cx, $crate::io::Direction::Read, |socket| socket.recv_from(buf))
        }

        /// [`recv_from`](Self::recv_from) without waiting.
        ///
        /// # Errors
        ///
        /// Returns [`WouldBlock`](std::io::ErrorKind::WouldBlock) if nothing has come, else as
        /// [`recv_from`](Self::recv_from).
        pub fn try_recv_from(&self, buf: &mut [u8]) -> ::std::io::Result<(usize, $address)> {
            self.io.try_io($crate::io::Interest::READABLE, |socket| socket.recv_from(buf))
        }
    };
}

/// Waiting until something can be read.
macro_rules! read_readiness {
    () => {
        /// Waits until the socket is probably readable.
        ///
        /// It may complete although reading would block: readiness is a hint, and a new socket is assumed
        /// to be ready. Use it with the `try_` methods and wait again on `WouldBlock`.
        ///
        /// # Cancel safety
        ///
        /// Cancel safe: readiness is not used up by waiting for it.
        ///
        /// # Errors
        ///
        /// Returns an error if the runtime of this socket has been shut down.
        pub async fn readable(&self) -> ::std::io::Result<()> {
            self.io.readable().await
        }

        /// Polls for readability, in the sense of [`readable`](Self::readable).
        ///
        /// If it is pending, the task of `cx` is woken by the next event; several tasks may be waiting.
        ///
        /// # Errors
        ///
        /// Returns an error if the runtime of this socket has been shut down.
        pub fn poll_read_ready(
            &self,
            cx: &mut ::std::task::Context<'_>,
        ) -> ::std::task::Poll<::std::io::Result<()>> {
            self.io.poll_read_ready(cx)
        }
    };
}

/// Waiting until something can be written.
macro_rules! write_readiness {
    () => {
        /// Waits until the socket is probably writable.
        ///
        /// It may complete although writing would block: readiness is a hint, and a new socket is assumed
        /// to be ready. Use it with the `try_` methods and wait again on `WouldBlock`.
        ///
        /// # Cancel safety
        ///
        /// Cancel safe: readiness is not used up by waiting for it.
        ///
        /// # Errors
        ///
        /// Returns an error if the runtime of this socket has been shut down.
        pub async fn writable(&self) -> ::std::io::Result<()> {
            self.io.writable().await
        }

        /// Polls for writability, in the sense of [`writable`](Self::writable).
        ///
        /// If it is pending, the task of `cx` is woken by the next event; several tasks may be waiting.
        ///
        /// # Errors
        ///
        /// Returns an error if the runtime of this socket has been shut down.
        pub fn poll_write_ready(
            &self,
            cx: &mut ::std::task::Context<'_>,
        ) -> ::std::task::Poll<::std::io::Result<()>> {
            self.io.poll_write_ready(cx)
        }
    };
}

/// Waiting for a choice of directions, and operations of the caller's own.
macro_rules! own_operations {
    () => {
        /// Waits until the socket is probably ready for anything in `interest`, and returns what it is
        /// ready for.
        ///
        /// # Cancel safety
        ///
        /// Cancel safe: readiness is not used up by waiting for it.
        ///
        /// # Errors
        ///
        /// Returns an error if the runtime of this socket has been shut down.
        pub async fn ready(
            &self,
            interest: $crate::io::Interest,
        ) -> ::std::io::Result<$crate::io::Ready> {
            self.io.ready(interest).await
        }

        /// Runs `operation`, a call on the socket that has no method here, if the socket may be ready for
        /// `interest`.
        ///
        /// `operation` must return `WouldBlock` if it could do nothing, and in no other case: the socket
        /// then counts as not ready for `interest` until the next event. So the interest has to be that of
        /// the operation: [`ERROR`](crate::io::Interest::ERROR) for a receive with `MSG_ERRQUEUE`, and
        /// `PRIORITY` for one with `MSG_OOB`, or data that has come is overlooked.
        ///
        /// # Errors
        ///
        /// Returns `WouldBlock`, without running `operation`, if the socket is known not to be ready;
        /// otherwise what `operation` returns.
        pub fn try_io<R>(
            &self,
            interest: $crate::io::Interest,
            operation: impl FnOnce() -> ::std::io::Result<R>,
        ) -> ::std::io::Result<R> {
            self.io.try_io(interest, |socket| socket.try_io(operation))
        }

        /// Runs `operation`, a call on the socket that has no method here, again and again until it does
        /// not block.
        ///
        /// `operation` must return `WouldBlock` if it could do nothing, and in no other case.
        ///
        /// # Cancel safety
        ///
        /// Cancel safe if `operation` is: it has had no effect, or the call completes in the same poll.
        ///
        /// # Errors
        ///
        /// Returns what `operation` returns other than `WouldBlock` and `Interrupted`, and an error if the
        /// runtime of this socket has been shut down.
        pub async fn async_io<R>(
            &self,
            interest: $crate::io::Interest,
            mut operation: impl FnMut() -> ::std::io::Result<R>,
        ) -> ::std::io::Result<R> {
            self.io.async_io(interest, |socket| socket.try_io(&mut operation)).await
        }
    };
}

/// Taking connections from a listener, and its address.
macro_rules! listener_methods {
    ($stream:ty, $address:ty) => {
        /// Waits for a connection and returns it with the address of its peer, which for a Unix socket is
        /// mostly unnamed.
        ///
        /// # Cancel safety
        ///
        /// Cancel safe: a connection is taken and returned in the same poll. One that comes later goes to the
        /// next call.
        ///
        /// # Errors
        ///
        /// Returns the error of the operating system. Most are about one connection (reset before it was
        /// accepted) or pass by (no descriptors left): the listener stays usable and can accept again.
        ///
        /// While descriptors are lacking, the error comes after a pause of 10 ms, so that a server that only
        /// repeats the call does not turn in circles. Let it wait for longer, until some of its connections
        /// have ended.
        pub async fn accept(&self) -> ::std::io::Result<($stream, $address)> {
            let readable = $crate::io::Interest::READABLE;
            match self.io.async_io(readable, |socket| socket.accept()).await {
                Ok((stream, peer)) => {
                    Ok((<$stream>::adopt_connected(self.io.driver(), stream)?, peer))
                }
                Err(error) => Err($crate::net::lacking::after_pause(error).await),
            }
        }

        /// Polls [`accept`](Self::accept).
        ///
        /// # Errors
        ///
        /// As [`accept`](Self::accept), but without a pause: while descriptors are lacking, a caller that
        /// only repeats the call turns in circles.
        pub fn poll_accept(
            &self,
            cx: &mut ::std::task::Context<'_>,
        ) -> ::std::task::Poll<::std::io::Result<($stream, $address)>> {
            let accept = self.io.poll_io(cx, $crate::io::Direction::Read, |socket| socket.accept());
            accept.map(|accepted| {
                let (stream, peer) = accepted?;
                Ok((<$stream>::adopt_connected(self.io.driver(), stream)?, peer))
            })
        }

        /// Returns the connections as a stream that never ends.
        ///
        /// An error concerns one attempt to accept, as with [`accept`](Self::accept); the next item may be a
        /// connection again.
        ///
        /// # Cancel safety
        ///
        /// Waiting for the next item is cancel safe.
        ///
        /// # Examples
        ///
        /// ```
        /// # fn main() -> std::io::Result<()> {
        /// # liten::block_on(async {
        /// use liten::future::StreamExt;
        /// use liten::net::{TcpListener, TcpStream};
        ///
        /// let listener = TcpListener::bind("127.0.0.1:0").await?;
        /// let client = TcpStream::connect(listener.local_addr()?).await?;
        ///
        /// let mut incoming = listener.incoming();
        /// let stream = incoming.next().await.expect("it never ends")?;
        /// assert_eq!(stream.peer_addr()?, client.local_addr()?);
        /// # Ok(())
        /// # })
        /// # }
        /// ```
        pub fn incoming(
            &self,
        ) -> impl ::futures_core::Stream<Item = ::std::io::Result<$stream>> + Unpin {
            let mut pause = $crate::net::lacking::Pause::default();
            ::futures_util::stream::poll_fn(move |cx| {
                let accepted = pause.poll(cx, |cx| self.poll_accept(cx));
                accepted.map_ok(|(stream, _peer)| stream).map(Some)
            })
        }

        /// Returns the address that is listened on, also if the operating system has chosen the port.
        ///
        /// # Errors
        ///
        /// Returns the error of the operating system.
        pub fn local_addr(&self) -> ::std::io::Result<$address> {
            self.io.get_ref().local_addr()
        }
    };
}

/// Reading and writing a stream without waiting, its addresses, ending it, and splitting it.
macro_rules! stream_methods {
    ($address:ty) => {
        try_reads!();
        try_writes!();

        /// Returns the address of this end.
        ///
        /// # Errors
        ///
        /// Returns the error of the operating system.
        pub fn local_addr(&self) -> ::std::io::Result<$address> {
            self.io.get_ref().local_addr()
        }

        /// Returns the address of the peer.
        ///
        /// # Errors
        ///
        /// Returns [`NotConnected`](std::io::ErrorKind::NotConnected) if the connection is gone.
        pub fn peer_addr(&self) -> ::std::io::Result<$address> {
            self.io.get_ref().peer_addr()
        }

        /// Shuts the reading side, the writing side or both down.
        ///
        /// After [`Write`](std::net::Shutdown::Write) the peer reads the end; this is what
        /// [`close`](crate::io::AsyncWriteExt::close), and `shutdown` of tokio's `AsyncWriteExt`, do. It is
        /// no error if the peer has gone already.
        ///
        /// It is what the standard library calls `shutdown`. A method of that name here would come before
        /// the one of tokio's trait, and `stream.shutdown().await` would not compile.
        ///
        /// # Errors
        ///
        /// Returns the error of the operating system.
        pub fn shutdown_std(&self, how: ::std::net::Shutdown) -> ::std::io::Result<()> {
            match self.io.get_ref().shutdown(how) {
                Err(error) if error.kind() == ::std::io::ErrorKind::NotConnected => Ok(()),
                result => result,
            }
        }

        /// Borrows the stream as two halves that read and write independently.
        ///
        /// See [`split`](crate::net::split) for the difference to [`into_split`](Self::into_split).
        ///
        /// Call it as `Self::split(&mut stream)` where [`AsyncReadExt`](crate::io::AsyncReadExt) is in
        /// scope: that trait has a `split` too, which takes the stream by value and therefore wins as a
        /// method. Its halves share a lock.
        pub fn split(
            &mut self,
        ) -> ($crate::net::split::ReadHalf<'_, Self>, $crate::net::split::WriteHalf<'_, Self>) {
            $crate::net::split::borrowed(self)
        }

        /// Turns the stream into two halves that two tasks can own.
        ///
        /// Dropping the writing half ends the stream for the peer; see [`split`](crate::net::split).
        pub fn into_split(
            self,
        ) -> ($crate::net::split::OwnedReadHalf<Self>, $crate::net::split::OwnedWriteHalf<Self>) {
            $crate::net::split::owned(self, |stream| {
                // No caller is left that could be told of an error.
                let _ = stream.shutdown_std(::std::net::Shutdown::Write);
            })
        }
    };
}

/// Reading without waiting.
macro_rules! try_reads {
    () => {
        /// Reads some bytes into `buf` and returns how many, without waiting; 0 means the end.
        ///
        /// # Errors
        ///
        /// Returns `WouldBlock` if nothing has come, else the error of the operating system.
        pub fn try_read(&self, buf: &mut [u8]) -> ::std::io::Result<usize> {
            self.io.try_io($crate::io::Interest::READABLE, |mut stream| {
                ::std::io::Read::read(&mut stream, buf)
            })
        }

        /// Reads some bytes into `bufs`, one after the other, and returns how many, without waiting; 0
        /// means the end.
        ///
        /// # Errors
        ///
        /// Returns `WouldBlock` if nothing has come, else the error of the operating system.
        pub fn try_read_vectored(
            &self,
            bufs: &mut [::std::io::IoSliceMut<'_>],
        ) -> ::std::io::Result<usize> {
            self.io.try_io($crate::io::Interest::READABLE, |mut stream| {
                ::std::io::Read::read_vectored(&mut stream, bufs)
            })
        }
    };
}

/// Writing without waiting.
macro_rules! try_writes {
    () => {
        /// Writes some bytes of `buf` and returns how many, without waiting.
        ///
        /// # Errors
        ///
        /// Returns `WouldBlock` if there is no room, else the error of the operating system.
        pub fn try_write(&self, buf: &[u8]) -> ::std::io::Result<usize> {
            self.io.try_io($crate::io::Interest::WRITABLE, |mut stream| {
                ::std::io::Write::write(&mut stream, buf)
            })
        }

        /// Writes some bytes of `bufs`, one after the other, and returns how many, without waiting.
        ///
        /// # Errors
        ///
        /// Returns `WouldBlock` if there is no room, else the error of the operating system.
        pub fn try_write_vectored(
            &self,
            bufs: &[::std::io::IoSlice<'_>],
        ) -> ::std::io::Result<usize> {
            self.io.try_io($crate::io::Interest::WRITABLE, |mut stream| {
                ::std::io::Write::write_vectored(&mut stream, bufs)
            })
        }
    };
}
