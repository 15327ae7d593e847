//! Whether a part of the crate is used. Always true here: only the version for wasm (`wasm/used.rs`), which
//! says why, keeps a flag.

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
