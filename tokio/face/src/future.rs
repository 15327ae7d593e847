//! tokio's small futures, under the names that its files know.

#[cfg(any(feature = "macros", feature = "process"))]
pub(crate) mod maybe_done;
pub(crate) use std::future::Future;

cfg_process! {
    mod try_join;
    pub(crate) use try_join::try_join3;
}
