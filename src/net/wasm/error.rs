//! The host's error codes as `io::Error`, with the operation named.

use std::io::{self, ErrorKind};
use wasip2::sockets::network::ErrorCode;

/// Returns what makes an `io::Error` of the host's code for the failure of `operation`.
///
/// "Would block" carries no text and costs no memory: it is the answer to most first attempts.
pub(super) fn failed(operation: &'static str) -> impl FnOnce(ErrorCode) -> io::Error {
    move |code| match code {
        ErrorCode::WouldBlock => ErrorKind::WouldBlock.into(),
        _ => io::Error::new(kind(code), format!("{operation}: {}", code.message())),
    }
}

/// The kind that the same failure has natively, where there is one.
fn kind(code: ErrorCode) -> ErrorKind {
    match code {
        ErrorCode::AccessDenied => ErrorKind::PermissionDenied,
        ErrorCode::NotSupported => ErrorKind::Unsupported,
        ErrorCode::InvalidArgument | ErrorCode::DatagramTooLarge => ErrorKind::InvalidInput,
        ErrorCode::OutOfMemory => ErrorKind::OutOfMemory,
        ErrorCode::Timeout => ErrorKind::TimedOut,
        ErrorCode::ConcurrencyConflict => ErrorKind::ResourceBusy,
        ErrorCode::WouldBlock => ErrorKind::WouldBlock,
        ErrorCode::InvalidState => ErrorKind::NotConnected,
        ErrorCode::AddressNotBindable => ErrorKind::AddrNotAvailable,
        ErrorCode::AddressInUse => ErrorKind::AddrInUse,
        ErrorCode::RemoteUnreachable => ErrorKind::HostUnreachable,
        ErrorCode::ConnectionRefused => ErrorKind::ConnectionRefused,
        ErrorCode::ConnectionReset => ErrorKind::ConnectionReset,
        ErrorCode::ConnectionAborted => ErrorKind::ConnectionAborted,
        ErrorCode::NameUnresolvable => ErrorKind::NotFound,
        ErrorCode::Unknown
        | ErrorCode::NotInProgress
        | ErrorCode::NewSocketLimit
        | ErrorCode::TemporaryResolverFailure
        | ErrorCode::PermanentResolverFailure => ErrorKind::Other,
    }
}
