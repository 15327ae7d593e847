//! A handle that only looks: it does not keep the memory of a runtime that has ended.

use super::handle::{Handle, RuntimeState};
use super::id::Id;
use crate::engine::sync_shim::Arc;
use std::sync::Weak;

#[derive(Clone)]
pub(crate) struct WeakHandle {
    id: Id,
    inner: Weak<RuntimeState>,
}

impl WeakHandle {
    pub(crate) fn new(handle: &Handle) -> Self {
        Self { id: handle.id(), inner: Arc::downgrade(&handle.inner) }
    }

    pub(crate) fn id(&self) -> Id {
        self.id
    }

    /// The handle, if the runtime has not ended. One that is ending has not: what holds up its end can be
    /// seen until then.
    pub(crate) fn upgrade(&self) -> Option<Handle> {
        let handle = Handle { inner: self.inner.upgrade()? };
        (!handle.has_ended()).then_some(handle)
    }
}

impl Handle {
    /// Whether the runtime has been told to end, and nothing is left of what it ran.
    fn has_ended(&self) -> bool {
        self.inner.blocking.is_closed()
            && self.metrics().num_alive_tasks() == 0
            && self.running_tasks().is_empty()
    }
}
