//! Where the selector knows sources by their sockets, which have no descriptors.

use mio::{Interest, Registry, Token};
use std::io;

/// No source has a descriptor.
pub(in crate::engine::driver) const KNOWS_DESCRIPTORS: bool = false;

/// Fails: no source has a descriptor.
pub(in crate::engine::driver) fn reregister(
    _registry: &Registry,
    _descriptor: i32,
    _token: Token,
    _interest: Interest,
) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
