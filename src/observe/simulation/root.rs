//! The future of a `block_on`, as a simulation sees it.
//!
//! A root has no header that an observer could find it by, and its waker only unparks a thread. So under a
//! simulation its waker is one that counts its clones. A root that waits while there is no clone can never be
//! woken again. When the run is looked at, it is polled once more as a traced task is
//! (`insight/await_tree/traced.rs`).

use crate::engine::sync_shim::Mutex;
use crate::engine::task::traced::{self, note};
use crate::engine::task::{Polled, TaskId};
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker};

/// What stands for the name of the type of a root's future, which is not known here.
const NAME: &str = "the future of block_on";

/// Notes where a clone is made. The clone has std's table for an `Arc<SimulatedRoot>`, as in every other
/// poll.
static TRACING: RawWakerVTable = RawWakerVTable::new(clone, wake, wake, keep);

pub(crate) struct SimulatedRoot {
    /// That of the `block_on`.
    waker: Waker,
    /// It was woken after its last poll began.
    is_woken: AtomicBool,
    /// An observer asks by this id for a traced poll.
    traced_as: Mutex<Option<TaskId>>,
}

impl Wake for SimulatedRoot {
    fn wake(self: Arc<Self>) {
        self.wake_now();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.wake_now();
    }
}

impl SimulatedRoot {
    /// A root that `waker` wakes is about to be polled for the first time.
    pub(crate) fn new(waker: &Waker) -> Arc<Self> {
        let (is_woken, traced_as) = (AtomicBool::new(false), Mutex::new(None));
        Arc::new(Self { waker: waker.clone(), is_woken, traced_as })
    }

    pub(crate) fn poll<T>(
        self: &Arc<Self>,
        poll: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        // Ordering: Relaxed, as all of this flag. A simulation runs one thread at a time, and it orders what
        // they do.
        self.is_woken.store(false, Relaxed);
        let asked = self.traced_as.lock().take();
        let Some(id) = asked else {
            let plain = Waker::from(self.clone());
            return poll(&mut Context::from_waker(&plain));
        };
        let data = Arc::as_ptr(self).cast::<()>();
        // SAFETY: the table's functions take the pointer of an `Arc<SimulatedRoot>` that they do not give
        // back, and `self` outlives the waker.
        let waker = ManuallyDrop::new(unsafe { Waker::new(data, &TRACING) });
        let (mut poll, mut output) = (Some(poll), Poll::Pending);
        traced::poll(id, data, NAME, &mut || {
            let Some(poll) = poll.take() else { return Polled::Pending };
            output = poll(&mut Context::from_waker(&waker));
            if output.is_ready() { Polled::Ready } else { Polled::Pending }
        });
        output
    }

    fn wake_now(&self) {
        // Ordering: Relaxed, see `poll`. It is read by `look`.
        self.is_woken.store(true, Relaxed);
        self.waker.wake_by_ref();
    }

    /// The root, and whether it is woken, or a waker of it is anywhere. `None`: its `block_on` has ended.
    pub(crate) fn look(root: &Weak<Self>) -> Option<(Arc<Self>, bool)> {
        // One is the `block_on`'s own. A poll that goes on has another one.
        let has_waker = root.strong_count() > 1;
        let root = root.upgrade()?;
        // Ordering: Relaxed, see `poll`. It is written by `wake_now`.
        let may_go_on = has_waker || root.is_woken.load(Relaxed);
        Some((root, may_go_on))
    }

    /// Lets the root be polled once more, traced as a task of this id would be.
    pub(crate) fn trace(&self, id: TaskId) {
        *self.traced_as.lock() = Some(id);
        self.waker.wake_by_ref();
    }
}

/// # Safety
///
/// `data` is the pointer of an `Arc<SimulatedRoot>` that is alive.
unsafe fn clone(data: *const ()) -> RawWaker {
    note(data);
    let root = data.cast::<SimulatedRoot>();
    // SAFETY: the caller's promise. The count that is added is that of the new waker.
    let root = unsafe {
        Arc::increment_strong_count(root);
        Arc::from_raw(root)
    };
    let waker = ManuallyDrop::new(Waker::from(root));
    RawWaker::new(waker.data(), waker.vtable())
}

/// # Safety
///
/// As for [`clone`].
unsafe fn wake(data: *const ()) {
    note(data);
    // SAFETY: the caller's promise.
    unsafe { &*data.cast::<SimulatedRoot>() }.wake_now();
}

/// The waker has no count to give back.
///
/// # Safety
///
/// There is no condition.
unsafe fn keep(_data: *const ()) {}
