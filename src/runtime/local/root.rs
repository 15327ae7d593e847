//! The future of `run`, beside the tasks.

use crate::engine::sync_shim::Mutex;
use crate::engine::sync_shim::atomic::{AtomicBool, Ordering};
use crate::engine::wakers;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};

/// A root future's own waker, which tells the root's wakes from its tasks'.
pub(super) struct Root {
    wakes: Arc<RootWakes>,
    waker: Waker,
}

impl Root {
    /// A root that is to be polled, whichever task was woken.
    pub(super) fn new() -> Self {
        let wakes = Arc::new(RootWakes { woken: AtomicBool::new(true), parent: Mutex::new(None) });
        Self { waker: Waker::from(wakes.clone()), wakes }
    }

    /// What the root is to be polled with, by the task that `cx` is of, if it has been woken.
    pub(super) fn begin_poll(&self, cx: &Context<'_>) -> Option<Context<'_>> {
        self.wakes.follow(cx.waker());
        self.wakes.take_woken().then(|| Context::from_waker(&self.waker))
    }

    /// Whether the root has been woken since the last poll of it.
    pub(super) fn is_woken(&self) -> bool {
        // Ordering: Relaxed. It only says whether to poll: the poll acquires the flag (`take_woken`), and a
        // wake that is not seen here wakes the parent.
        self.wakes.woken.load(Ordering::Relaxed)
    }
}

/// Remembers that the root was woken, and wakes the task that polls the executor.
struct RootWakes {
    woken: AtomicBool,
    parent: Mutex<Option<Waker>>,
}

impl RootWakes {
    /// From now on a wake goes to `waker`.
    fn follow(&self, waker: &Waker) {
        let same = |parent: &Option<Waker>| parent.as_ref().is_some_and(|p| p.will_wake(waker));
        if same(&self.parent.lock()) {
            return;
        }
        // Cloned and dropped outside the lock: both are user code.
        let clone = waker.clone();
        let old = self.parent.lock().replace(clone);
        wakers::drop_all(old);
    }

    fn take_woken(&self) -> bool {
        // Ordering: Acquire pairs with the Release in `wake`. A wake after this swap sets the flag again
        // and wakes the parent, which `follow` has set before.
        self.woken.swap(false, Ordering::Acquire)
    }
}

impl Drop for RootWakes {
    /// Runs on the thread that drops the last waker of the root. The waker that is stored in here is another
    /// one.
    fn drop(&mut self) {
        wakers::drop_all(self.parent.lock().take());
    }
}

impl Wake for RootWakes {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Ordering: Release, see `take_woken`.
        self.woken.store(true, Ordering::Release);
        // Taken, not cloned: cloning is user code, and the poll that answers this wake leaves its waker
        // again.
        let parent = self.parent.lock().take();
        if let Some(parent) = parent {
            parent.wake();
        }
    }
}
