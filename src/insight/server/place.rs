//! The place for one trace at a time.

use std::sync::Arc;

/// Free while there is no [`Taken`].
#[derive(Default)]
pub(super) struct Place(Arc<()>);

/// The right to record, make and send a trace.
#[derive(Debug)]
pub(super) struct Taken {
    _place: Arc<()>,
}

impl Place {
    /// `None`: another trace has it.
    ///
    /// That it is given back may be seen late, from another thread; it is not taken twice, because the page
    /// is on one thread.
    pub(super) fn take(&self) -> Option<Taken> {
        (Arc::strong_count(&self.0) == 1).then(|| Taken { _place: self.0.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::Place;

    #[test]
    fn a_place_is_taken_once_at_a_time() {
        let place = Place::default();
        let taken = place.take();
        assert!(taken.is_some() && place.take().is_none());
        drop(taken);
        assert!(place.take().is_some());
    }
}
