//! Each feature of liten used with no other one on. `cargo hack test -p alone --each-feature` runs this once
//! without features, once with each, and once with all of them.

#[cfg(test)]
mod none;

#[cfg(all(test, feature = "fs"))]
mod fs;
#[cfg(all(test, feature = "futures-io"))]
mod futures_io;
#[cfg(all(test, feature = "hyper"))]
mod hyper;
#[cfg(all(test, feature = "insight"))]
mod insight;
#[cfg(all(test, feature = "macros"))]
mod macros;
#[cfg(all(test, feature = "net"))]
mod net;
#[cfg(all(test, unix, feature = "process"))]
mod process;
#[cfg(all(test, unix, feature = "signal"))]
mod signal;
#[cfg(all(test, feature = "tokio-io"))]
mod tokio_io;
#[cfg(all(test, feature = "tokio-name"))]
mod tokio_name;
#[cfg(all(test, feature = "wasi"))]
mod wasi;
