//! Whether a part of the crate is used at all in this component.
//!
//! A component is sent over networks and started for one request, so what it does not use should not be in
//! it. But the loop of a runtime names all the parts, and the linker cannot know which of them stay idle. So
//! there is a flag per part, set where its use begins and asked before what lies behind. A build that
//! optimises the whole program (`lto`) sees which flags are never set, and leaves that out. For a component
//! that sleeps and prints that is a third of what liten adds to std.

use std::sync::atomic::{AtomicBool, Ordering};

/// The flag of one part, in a static.
pub(crate) struct Used(AtomicBool);

impl Used {
    pub(crate) const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// The use begins.
    #[inline]
    pub(crate) fn note(&self) {
        // Ordering: Relaxed; there is one thread.
        self.0.store(true, Ordering::Relaxed);
    }

    /// If not, there is nothing to be found behind the flag.
    #[inline]
    pub(crate) fn is_noted(&self) -> bool {
        // Ordering: Relaxed; there is one thread.
        self.0.load(Ordering::Relaxed)
    }
}
