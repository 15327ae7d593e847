//! The threads that wait until no task is alive.

use crate::engine::park::{Parker, Unpark, Unparker};
use crate::engine::sync_shim::Mutex;
use crate::engine::sync_shim::atomic::{AtomicUsize, Ordering, fence};

pub(super) struct QuietWaiters {
    threads: Mutex<Vec<Unparker>>,
    count: AtomicUsize,
}

impl QuietWaiters {
    pub(super) fn new() -> Self {
        Self { threads: Mutex::new(Vec::new()), count: AtomicUsize::new(0) }
    }

    /// Blocks the calling thread until `is_quiet`.
    pub(super) fn wait(&self, parker: &Parker, is_quiet: impl Fn() -> bool) {
        // Ordering: Relaxed; the fence below makes it the waiter's half of a Dekker pair: announce, fence,
        // count tasks and look at what each worker runs. The other half is a worker that parks: complete, say
        // that no task runs here, fence, look for waiters and at what the other workers run. The last worker
        // to do so sees that it is the last.
        self.count.fetch_add(1, Ordering::Relaxed);
        loop {
            self.threads.lock().push(parker.unparker());
            fence(Ordering::SeqCst);
            if is_quiet() {
                break;
            }
            parker.park();
        }
        let mut threads = self.threads.lock();
        // Ordering: Relaxed, under the lock; a worker that still sees the old count only looks in vain.
        if self.count.fetch_sub(1, Ordering::Relaxed) == 1 {
            threads.clear();
        }
    }

    /// Wakes the threads that wait, if there are some and `is_quiet`.
    #[inline]
    pub(super) fn check(&self, is_quiet: impl FnOnce() -> bool) {
        // Ordering: Relaxed after the caller's SeqCst fence, see `wait`.
        if self.count.load(Ordering::Relaxed) == 0 || !is_quiet() {
            return;
        }
        for unparker in self.threads.lock().drain(..) {
            let Unpark::Done = unparker.unpark() else {
                unreachable!("a thread in block_until_completion never sits in the poller");
            };
        }
    }
}
