//! A place in the source that threads read while another one writes it.
#![allow(unsafe_code)]

use crate::engine::sync_shim::atomic::{AtomicPtr, Ordering};
use std::panic::Location;
use std::ptr;

/// A place in the source, or none.
#[derive(Debug)]
pub(crate) struct AtomicLocation(AtomicPtr<Location<'static>>);

impl AtomicLocation {
    /// Returns one without a place.
    pub(crate) fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    #[inline]
    pub(crate) fn store(&self, place: Option<&'static Location<'static>>, ordering: Ordering) {
        self.0.store(place.map_or(ptr::null(), ptr::from_ref).cast_mut(), ordering);
    }

    #[inline]
    pub(crate) fn load(&self, ordering: Ordering) -> Option<&'static Location<'static>> {
        // SAFETY: null, or what `store` has taken from a `&'static Location`.
        unsafe { self.0.load(ordering).as_ref() }
    }
}
