//! Windows: the socket handle of an `Async`.

use super::Async;
use mio::event::Source;
use std::os::windows::io::{AsRawSocket, AsSocket, BorrowedSocket, RawSocket};

impl<S: Source + AsSocket> AsSocket for Async<S> {
    fn as_socket(&self) -> BorrowedSocket<'_> {
        self.get_ref().as_socket()
    }
}

impl<S: Source + AsRawSocket> AsRawSocket for Async<S> {
    fn as_raw_socket(&self) -> RawSocket {
        self.get_ref().as_raw_socket()
    }
}
