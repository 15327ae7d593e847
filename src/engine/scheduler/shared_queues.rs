//! The queues that all workers share.

use crate::engine::queue::injector::Injector;
use crate::engine::sync_shim::atomic::{AtomicBool, Ordering, fence};
use crate::engine::task::header::Hot;
use crossbeam_utils::CachePadded;

pub(super) struct SharedQueues {
    pub(super) injector: Injector<Hot>,
    /// Tasks that have yielded on a worker that did not keep them: a helper, or one that left.
    pub(super) yielded: Injector<Hot>,
    /// Workers that have work of their own should look here: something was pushed to one of the two queues,
    /// or the watchdog has ordered a rescue. A hint; a worker without work looks at the queues.
    pub(super) flag: CachePadded<AtomicBool>,
}

impl SharedQueues {
    pub(super) fn new() -> Self {
        Self {
            injector: Injector::new(),
            yielded: Injector::new(),
            flag: CachePadded::new(AtomicBool::new(false)),
        }
    }

    /// How many tasks wait here.
    pub(super) fn len(&self) -> usize {
        self.injector.len() + self.yielded.len()
    }

    /// Lets workers that are busy look here.
    pub(super) fn raise_flag(&self) {
        // Ordering: Relaxed, after the fence of a pusher; the other half is in `lower_flag`. Read first: many
        // pushes need one write.
        if !self.flag.load(Ordering::Relaxed) {
            self.flag.store(true, Ordering::Relaxed);
        }
    }

    /// Whether a worker that is busy with itself should look here.
    #[inline]
    pub(super) fn is_flag_raised(&self) -> bool {
        // Ordering: Relaxed, a hint that `raise_flag` and `lower_flag` write; the queues order what is taken.
        self.flag.load(Ordering::Relaxed)
    }

    /// A worker has found nothing. `is_left`: whether there is something now.
    pub(super) fn lower_flag(&self, is_left: impl FnOnce() -> bool) {
        if !self.is_flag_raised() {
            return;
        }
        // Ordering: lower, fence, look; the pusher: push, fence, look at the flag. One of the two sees
        // the other.
        self.flag.store(false, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if is_left() {
            self.flag.store(true, Ordering::Relaxed);
        }
    }
}
