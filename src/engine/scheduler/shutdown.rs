//! How far the end of the runtime has come.

use crate::engine::sync_shim::Mutex;
use crate::engine::sync_shim::atomic::{AtomicBool, Ordering};
use crate::engine::task::running::Running;

pub(super) struct Shutdown {
    closed: AtomicBool,
    /// Held by a thread that moves tasks to the injector for the end; whether one has begun to.
    pub(super) moved_to_injector: Mutex<bool>,
    /// Whose destructor runs on the thread that drains the runtime in the place of the workers.
    pub(super) drainer: Running,
    /// The last worker has drained everything. Set under `Threads::working`.
    drained: AtomicBool,
}

impl Shutdown {
    pub(super) fn new() -> Self {
        Self {
            closed: AtomicBool::new(false),
            moved_to_injector: Mutex::new(false),
            drainer: Running::new(),
            drained: AtomicBool::new(false),
        }
    }

    /// By the thread that closes the runtime, under the lock of the threads. A SeqCst fence follows.
    pub(super) fn close(&self) {
        // Ordering: SeqCst with that fence: close, fence, drain (by the workers); push, fence, look at
        // `closed` (by the others).
        self.closed.store(true, Ordering::SeqCst);
    }

    pub(super) fn is_closed(&self) -> bool {
        // Ordering: Relaxed. Callers that must not miss it have executed a SeqCst fence
        // (`Shared::spawned_outside`), hold the lock of the threads, or have seen that they are surplus.
        self.closed.load(Ordering::Relaxed)
    }

    /// By the thread that has drained everything.
    pub(super) fn set_drained(&self) {
        // Ordering: Release pairs with `is_drained`.
        self.drained.store(true, Ordering::Release);
    }

    /// Whether the runtime is closed and no task is alive any more.
    pub(super) fn is_drained(&self) -> bool {
        // Ordering: Acquire pairs with the Release in `set_drained`.
        self.drained.load(Ordering::Acquire)
    }
}
