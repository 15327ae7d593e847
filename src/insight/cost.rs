//! What the page takes of the program that it is about.

use std::time::Duration;

/// What it takes to make the page.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cost {
    /// What the page's thread has used of a processor. `None`: the system does not say.
    pub(super) processor: Option<Duration>,
    /// How long the page has been open.
    pub(super) open_for: Duration,
}
