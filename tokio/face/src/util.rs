//! tokio's helpers, under the names that its files know.

#[cfg(feature = "fs")]
pub(crate) mod as_ref;
pub(crate) mod error;
pub(crate) mod memchr;
#[cfg(feature = "fs")]
pub(crate) mod typeid;

#[cfg(feature = "net")]
mod blocking_check;
#[cfg(feature = "net")]
pub(crate) use blocking_check::check_socket_for_blocking;
