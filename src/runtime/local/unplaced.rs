//! An executor without a thread.

use super::{LocalExecutor, LocalShared};
use crate::engine::sync_shim::Arc;

/// An executor that has no thread yet. Tasks can be queued for it; dropped, it cancels them.
pub(in crate::runtime) struct Unplaced(Option<Arc<LocalShared>>);

impl Unplaced {
    pub(in crate::runtime) fn new() -> Self {
        Self(Some(Arc::new(LocalShared::new())))
    }

    pub(in crate::runtime) fn shared(&self) -> &Arc<LocalShared> {
        self.0.as_ref().expect("taken by `place` and drop only")
    }

    /// The calling thread becomes the executor's, for good.
    pub(in crate::runtime) fn place(mut self) -> LocalExecutor<'static> {
        let shared = self.0.take().expect("taken here and by drop only");
        LocalExecutor::of(shared)
    }
}

impl Drop for Unplaced {
    fn drop(&mut self) {
        // Nothing has been polled: whatever is queued may be dropped on any thread.
        drop(self.0.take().map(LocalExecutor::<'static>::of));
    }
}
