//! Sockets and pipes, names, and peers that behave in every way.

mod chat_server;
#[cfg(target_os = "linux")]
mod closed_sides;
mod from_std;
mod lookup;
mod peer_resets;
#[cfg(target_os = "linux")]
mod peer_vanishes;
#[cfg(unix)]
mod pipe;
mod reused_descriptors;
mod socket_options;
pub(crate) mod tcp;
mod udp;
#[cfg(unix)]
mod unix;
#[cfg(target_os = "linux")]
mod urgent_data;
mod vectored_io;
