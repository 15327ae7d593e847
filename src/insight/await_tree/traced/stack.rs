//! The return addresses on a stack. Their names are looked up later, by another thread.

/// The innermost first.
#[derive(Debug)]
pub(crate) struct Stack(Vec<usize>);

impl Stack {
    /// Notes the stack of the calling thread.
    #[cfg(all(feature = "insight", not(target_family = "wasm")))]
    pub(crate) fn capture() -> Self {
        let mut addresses = Vec::with_capacity(64);
        backtrace::trace(|frame| {
            addresses.push(frame.ip() as usize);
            true
        });
        Self(addresses)
    }

    /// Nothing asks for it here.
    #[cfg(not(all(feature = "insight", not(target_family = "wasm"))))]
    pub(crate) fn capture() -> Self {
        Self(Vec::new())
    }

    pub(crate) fn addresses(&self) -> &[usize] {
        &self.0
    }
}
