//! What the driver sleeps in: the system's selector by way of mio. Under shuttle, where a thread that blocked
//! in the system would stop all others, a bell that only shuttle knows.

#[cfg(all(test, liten_shuttle))]
mod shuttle;

#[cfg(not(all(test, liten_shuttle)))]
pub(super) use mio::{Poll, Registry, Waker as Bell};
#[cfg(all(test, liten_shuttle))]
pub(super) use shuttle::{Bell, Poll, Registry};
