//! Who is told of the executors that a program makes.

use super::LocalShared;
use crate::engine::sync_shim::Arc;
use std::sync::OnceLock;

/// What is called with the executors that the program makes, while something looks at the process.
pub(in crate::runtime) struct ListedBy {
    /// Returns whether the executor is in a list now.
    pub(in crate::runtime) list: fn(&Arc<LocalShared>) -> bool,
    pub(in crate::runtime) forget: fn(&Arc<LocalShared>),
}

/// Set once. It is std's `OnceLock`, as no model has one that lives in a static.
pub(super) static LISTED_BY: OnceLock<ListedBy> = OnceLock::new();

/// From now on `listed_by` is told of each executor that the program makes.
#[allow(dead_code, reason = "only insight lists them")]
pub(in crate::runtime) fn list_by(listed_by: ListedBy) {
    LISTED_BY.get_or_init(|| listed_by);
}
