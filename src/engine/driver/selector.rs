//! The selector that the driver sleeps in: the system's by way of mio. Under shuttle, where a thread that
//! blocked in the system would stop all others, a bell that only shuttle knows.

#[cfg(all(test, liten_shuttle))]
mod shuttle;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod still_closed;

#[cfg(all(unix, not(all(test, liten_shuttle))))]
pub(super) use descriptor::{KNOWS_DESCRIPTORS, reregister};
#[cfg(not(all(test, liten_shuttle)))]
pub(super) use mio::{Poll, Registry, Waker as Bell};
#[cfg(all(test, liten_shuttle))]
pub(super) use shuttle::{Bell, Poll, Registry};
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) use still_closed::still_closed;
#[cfg(any(windows, all(test, liten_shuttle)))]
pub(super) use without_descriptors::{KNOWS_DESCRIPTORS, reregister};

/// The system is not asked: what it says of a source that is not connected yet is not known well enough.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn still_closed(_descriptor: i32) -> Option<super::readiness::Ready> {
    None
}

/// Where the selector knows sources by their descriptors.
#[cfg(all(unix, not(all(test, liten_shuttle))))]
mod descriptor {
    use mio::unix::SourceFd;
    use mio::{Interest, Registry, Token};
    use std::io;

    /// Whether the selector is epoll or kqueue, which know a source by its descriptor alone. On other systems
    /// mio notes with the socket for what it is registered, and would undo a change by the descriptor.
    pub(in crate::engine::driver) const KNOWS_DESCRIPTORS: bool = cfg!(any(
        target_vendor = "apple",
        target_os = "android",
        target_os = "dragonfly",
        target_os = "freebsd",
        target_os = "illumos",
        target_os = "linux",
        target_os = "netbsd",
        target_os = "openbsd",
    ));

    /// Changes for what a source is registered. The system reports what is ready then.
    ///
    /// # Errors
    ///
    /// The system does not know the descriptor, or has no memory.
    pub(in crate::engine::driver) fn reregister(
        registry: &Registry,
        descriptor: i32,
        token: Token,
        interest: Interest,
    ) -> io::Result<()> {
        registry.reregister(&mut SourceFd(&descriptor), token, interest)
    }
}

/// Where the selector knows sources by their sockets, which have no descriptors, or has no sources.
#[cfg(any(windows, all(test, liten_shuttle)))]
mod without_descriptors {
    use super::Registry;
    use mio::{Interest, Token};
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
}

#[cfg(all(test, unix, not(any(liten_loom, liten_shuttle))))]
mod tests;
