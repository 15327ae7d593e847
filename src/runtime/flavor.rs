//! The kinds of runtimes.

/// Where a runtime runs its tasks; from [`Handle::runtime_flavor`](super::Handle::runtime_flavor).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RuntimeFlavor {
    /// On the thread that calls `block_on`: a `Runtime` of `Builder::new_current_thread`, or a
    /// [`LocalRuntime`](super::LocalRuntime).
    CurrentThread,
    /// On workers.
    MultiThread,
}
