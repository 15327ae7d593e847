//! What liten promises, by promise; one binary, because each costs a link.

mod async_source;
#[cfg(feature = "macros")]
mod attributes;
mod ends;
mod guard;
mod lookup;
mod loopback;
mod tcp;
mod udp;
#[cfg(unix)]
mod unix;
