//! What the driver sleeps in: the system's selector by way of mio. Under shuttle, where a thread that blocked
//! in the system would stop all others, a bell that only shuttle knows.

#[cfg(all(unix, not(all(test, liten_shuttle))))]
mod descriptor;
#[cfg(all(test, liten_shuttle))]
mod shuttle;
#[cfg(all(windows, not(all(test, liten_shuttle))))]
mod socket;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod still_closed;

#[cfg(all(unix, not(all(test, liten_shuttle))))]
pub(super) use descriptor::{KNOWS_DESCRIPTORS, reregister};
#[cfg(not(all(test, liten_shuttle)))]
pub(super) use mio::{Poll, Registry, Waker as Bell};
#[cfg(all(test, liten_shuttle))]
pub(super) use shuttle::{Bell, KNOWS_DESCRIPTORS, Poll, Registry, reregister};
#[cfg(all(windows, not(all(test, liten_shuttle))))]
pub(super) use socket::{KNOWS_DESCRIPTORS, reregister};
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) use still_closed::still_closed;

/// The system is not asked: what it says of a source that is not connected yet is not known well enough.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn still_closed(_descriptor: i32) -> Option<super::readiness::Ready> {
    None
}
