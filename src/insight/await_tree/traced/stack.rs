//! The return addresses on a stack. Their names are looked up later, by another thread.

/// The innermost first.
#[derive(Debug)]
pub(in crate::insight) struct Stack(Vec<usize>);

impl Stack {
    /// Notes the stack of the calling thread.
    pub(in crate::insight) fn capture() -> Self {
        let mut addresses = Vec::with_capacity(64);
        backtrace::trace(|frame| {
            addresses.push(frame.ip() as usize);
            true
        });
        Self(addresses)
    }

    pub(in crate::insight) fn addresses(&self) -> &[usize] {
        &self.0
    }
}
