//! Whether the root future has been woken, and how a wake ends the call to the host in which its thread
//! blocks.
//!
//! One word says where the root is, and a count says how many wakers of it there are.
//!
//! | before | `take_woken` | `enter_host` | wake | `leave_host` |
//! |---|---|---|---|---|
//! | AWAKE | AWAKE, no | ASLEEP, may block | WOKEN | impossible |
//! | WOKEN | AWAKE, poll it | WOKEN, must not block | WOKEN | WOKEN |
//! | ASLEEP | impossible (one owner) | impossible (one owner) | WOKEN, **interrupt the host** | AWAKE |
//!
//! # No wake is lost
//!
//! All moves are RMWs of one word, so they are ordered. If the wake comes before `enter_host`, the owner
//! finds WOKEN and the host is not allowed to block. If it comes after, the wake finds ASLEEP and calls the
//! interrupter. By then the thread may not have reached the host: the interrupter's promise (contract.rs) is
//! that the next `poll` then returns at once. It may also have left the host for another reason: then
//! `leave_host` keeps WOKEN, and the interrupt ends a later `poll` for nothing, once. A second wake that
//! finds WOKEN leaves the interrupt to the first. Model
//! `a_wake_is_not_lost_while_the_thread_goes_to_the_host`.
//!
//! A wake from the root's own thread, while it is polled or while wakers are called after a turn, finds
//! AWAKE: the word is then all that is touched. Where there are no other threads it is so always.
//!
//! # Nothing can wake it
//!
//! When nothing is waited for, only a waker can end the wait. The owner calls `enter_host` and drops its own
//! waker before it blocks then, so `live_wakers` counts those that other code holds. The drop of the last one
//! interrupts the host, so that the thread looks again. Each side writes its word first and reads the other's
//! after a fence: either the owner reads that no waker is left, or the drop of the last waker reads that the
//! owner is asleep. A waker is called before it is dropped: an owner that reads that no waker is left, and
//! then that it was not woken, will never be woken. Models `a_root_whose_last_waker_goes_hears_of_it` and
//! `a_last_waker_that_wakes_before_it_goes_is_heard`. A waker that was leaked counts as one that is alive.

#[cfg(all(test, liten_loom))]
mod loom;

use crate::engine::sync_shim::Arc;
use crate::engine::sync_shim::atomic::{AtomicU8, AtomicUsize, Ordering, fence};
use crate::engine::wakers;
use std::task::{Wake, Waker};

const AWAKE: u8 = 0;
const WOKEN: u8 = 1;
const ASLEEP: u8 = 2;

/// Shared by the thread that polls the root future and by the wakers of it.
pub(super) struct Root {
    word: AtomicU8,
    /// How many [`HostWaker`]s there are. Clones of a waker share one.
    live_wakers: AtomicUsize,
    interrupter: Option<Waker>,
}

impl Root {
    /// A root that is to be polled for the first time.
    pub(super) fn new(interrupter: Option<Waker>) -> Arc<Self> {
        Arc::new(Self { word: AtomicU8::new(WOKEN), live_wakers: AtomicUsize::new(0), interrupter })
    }

    /// A waker for the next polls.
    pub(super) fn waker(self: &Arc<Self>) -> Waker {
        // Ordering: Relaxed; only the owner adds wakers, and it is the one that reads the count.
        self.live_wakers.fetch_add(1, Ordering::Relaxed);
        Waker::from(std::sync::Arc::new(HostWaker(self.clone())))
    }

    /// Whether the root is to be polled; forgets that it was woken.
    pub(super) fn take_woken(&self) -> bool {
        // Ordering: Acquire pairs with the Release in `wake`: what was published before the wake is seen by
        // the poll.
        self.word.swap(AWAKE, Ordering::Acquire) == WOKEN
    }

    /// Announces that the thread is going to block in the host. `false`: the root has been woken, do not
    /// block.
    pub(super) fn enter_host(&self) -> bool {
        // Ordering: Relaxed; what comes with a wake is acquired by `take_woken`. That this and `wake` are
        // ordered is a matter of the one word.
        self.word.compare_exchange(AWAKE, ASLEEP, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Ends what [`Root::enter_host`] began; a wake that has come meanwhile stays.
    pub(super) fn leave_host(&self) {
        // Ordering: Relaxed; what comes with a `wake` is acquired by `take_woken`. If it fails the word says
        // WOKEN, which is what it should say.
        let _ = self.word.compare_exchange(ASLEEP, AWAKE, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Whether a wake has come that has not been taken.
    pub(super) fn is_woken(&self) -> bool {
        // Ordering: Relaxed; what comes with a wake is acquired by `take_woken`.
        self.word.load(Ordering::Relaxed) == WOKEN
    }

    /// Whether no wake has come and none can come: for an owner that has given up its own waker.
    pub(super) fn is_lost(&self) -> bool {
        if self.interrupter.is_some() {
            // Ordering: the fence pairs with the one in the drop of the last waker. Either this read sees the
            // drop, or the drop finds the word ASLEEP, as `enter_host` has left it, and interrupts.
            fence(Ordering::SeqCst);
            // Ordering: Acquire pairs with the Release in the drop of the last waker, which comes after its
            // wakes: the word below is then at least as new as they are.
            if self.live_wakers.load(Ordering::Acquire) != 0 {
                return false;
            }
        }
        // The read of the count above orders this one; without other threads there is nothing to order.
        !self.is_woken()
    }

    fn wake(&self) {
        // Ordering: Release pairs with the Acquire in `take_woken`.
        if self.word.swap(WOKEN, Ordering::Release) == ASLEEP {
            self.interrupt();
        }
    }

    fn interrupt(&self) {
        if let Some(interrupter) = &self.interrupter {
            // Foreign code, and this may run in any wake or drop.
            wakers::guard(|| interrupter.wake_by_ref());
        }
    }
}

/// What a waker of the root, and all clones of it, share.
struct HostWaker(Arc<Root>);

impl Wake for HostWaker {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.wake();
    }

    fn wake_by_ref(self: &std::sync::Arc<Self>) {
        self.0.wake();
    }
}

impl Drop for HostWaker {
    fn drop(&mut self) {
        // Ordering: Release pairs with the Acquire in `is_lost`; the fence with the one there.
        if self.0.live_wakers.fetch_sub(1, Ordering::Release) == 1 {
            fence(Ordering::SeqCst);
            // Ordering: Relaxed, see the fence.
            if self.0.word.load(Ordering::Relaxed) == ASLEEP {
                self.0.interrupt();
            }
        }
    }
}
