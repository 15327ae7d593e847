//! Whether a part of the crate is used at all. It is: only on wasm is the question worth asking.

pub(crate) struct Used;

impl Used {
    pub(crate) const fn new() -> Self {
        Self
    }

    #[inline]
    pub(crate) fn note(&self) {}

    #[inline]
    pub(crate) fn is_noted(&self) -> bool {
        true
    }
}
