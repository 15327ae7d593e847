//! Tasks that stay on one thread.

mod entered_runtime;
mod executor;
mod local_set;
mod pinned;
