//! The error of what cannot be done because a runtime has ended, or is ending.

use crate::impls::impl_error;
use std::io;

/// The text of the error.
#[derive(Debug)]
struct Ended(&'static str);

impl_error!([] Ended, this => this.0);

/// An I/O error that [`is_rt_shutdown_err`] knows, with this text.
#[cold]
pub(crate) fn ended(text: &'static str) -> io::Error {
    io::Error::other(Ended(text))
}

/// Returns whether `error` says that the operation was not done because the runtime has ended, or is ending.
///
/// # Examples
///
/// ```
/// use liten::net::UdpSocket;
/// use liten::runtime::{Runtime, is_rt_shutdown_err};
///
/// let runtime = Runtime::new().unwrap();
/// let socket = runtime.block_on(UdpSocket::bind("127.0.0.1:0")).unwrap();
/// drop(runtime);
/// let error = liten::block_on(socket.recv(&mut [0])).unwrap_err();
/// assert!(is_rt_shutdown_err(&error));
/// ```
pub fn is_rt_shutdown_err(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Ended>())
}
