//! What the faces have in common, written once: each macro is one section of a face's `impl`, with its
//! documentation.
//!
//! Macros and not a trait, so that the methods are inherent: a program need not import a trait to ask a
//! socket whether it is readable. A face is a struct with one field, `io: Async<the mio socket>`.

/// `from_std`, the conversion that is the same, `into_std`, `adopt` and `Debug` for a face over `$mio`,
/// registered for `$interest`.
macro_rules! conversions {
    ($face:ident, $mio:ty, $std:ty, $interest:expr) => {
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
                Ok(Self { io: $crate::io::Async::register(driver, socket, $interest)? })
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
                    $crate::io::Async::register_connection(driver, socket, $interest, descriptor)?;
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

/// Polling for readiness under the names that go with `recv` and `send`.
macro_rules! datagram_readiness {
    () => {
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

/// Reading and writing a stream without waiting, ending it, and splitting it.
macro_rules! stream_methods {
    () => {
        try_reads!();
        try_writes!();

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

/// The field of an IPv4 packet that asks routers for a certain treatment.
macro_rules! type_of_service {
    () => {
        /// Returns the type of service in outgoing IPv4 packets (`IP_TOS`).
        ///
        /// # Errors
        ///
        /// Returns the error of the operating system; some versions of Windows do not know this option.
        pub fn tos_v4(&self) -> ::std::io::Result<u32> {
            ::socket2::SockRef::from(self).tos_v4()
        }

        /// Sets the type of service in outgoing IPv4 packets (`IP_TOS`), 0 to 255. The operating system may
        /// keep the lowest two bits, which report congestion, to itself.
        ///
        /// # Errors
        ///
        /// Returns the error of the operating system; some versions of Windows do not know this option.
        pub fn set_tos_v4(&self, tos: u32) -> ::std::io::Result<()> {
            ::socket2::SockRef::from(self).set_tos_v4(tos)
        }
    };
}
