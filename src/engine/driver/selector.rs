//! What the driver sleeps in: the system's selector by way of mio. Under shuttle, where a thread that blocked
//! in the system would stop all others, a bell that only shuttle knows.

#[cfg(all(unix, not(all(test, liten_shuttle))))]
mod descriptor;
#[cfg(all(test, liten_shuttle))]
mod shuttle;
#[cfg(all(windows, not(all(test, liten_shuttle))))]
mod socket;

#[cfg(all(unix, not(all(test, liten_shuttle))))]
pub(super) use descriptor::{KNOWS_DESCRIPTORS, reregister};
#[cfg(not(all(test, liten_shuttle)))]
pub(super) use mio::{Poll, Registry, Waker as Bell};
#[cfg(all(test, liten_shuttle))]
pub(super) use shuttle::{Bell, KNOWS_DESCRIPTORS, Poll, Registry, reregister};
#[cfg(all(windows, not(all(test, liten_shuttle))))]
pub(super) use socket::{KNOWS_DESCRIPTORS, reregister};
