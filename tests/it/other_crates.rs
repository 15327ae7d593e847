//! What liten does for crates that were not made for it, and what it tells them.

mod any_runtime;
mod hyper;
#[cfg(all(feature = "tokio-io", feature = "hyper"))]
mod io_traits;
#[cfg(not(feature = "tokio-context"))]
mod tokio_is_missing;
mod tokio_package;
