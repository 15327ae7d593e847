//! What was found for a place of a spawn, kept for the next task of the same place.

use std::panic::Location;

/// Tasks of one place mostly come together, so that to compare two addresses mostly takes the place of a
/// search.
#[derive(Debug)]
pub(super) struct LastPlace<T>(Option<(&'static Location<'static>, T)>);

impl<T: Copy> LastPlace<T> {
    pub(super) fn new() -> Self {
        Self(None)
    }

    /// What `find` has returned for `place` if that was the last one, or returns now.
    pub(super) fn find(
        &mut self,
        place: &'static Location<'static>,
        find: impl FnOnce() -> T,
    ) -> T {
        match self.0 {
            Some((last, found)) if std::ptr::eq(last, place) => found,
            _ => {
                let found = find();
                self.0 = Some((place, found));
                found
            }
        }
    }
}
