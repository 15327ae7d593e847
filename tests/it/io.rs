//! The I/O traits, and sources of other kinds than sockets.

mod async_source;
mod copying;
mod extension_methods;
#[cfg(target_os = "linux")]
mod nonblocking_files;
