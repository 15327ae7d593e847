//! How a thread goes to sleep and how another one wakes it.
//!
//! One word per thread. It is a token with a memory of *where* the thread sleeps: on its own (a futex
//! under [`std::thread::park`]) or inside the driver's seat, blocked in the operating system's poller.
//! The second place needs another call to wake it, which belongs to the driver; [`Unparker::unpark`]
//! therefore says what is left to do instead of doing it.
//!
//! State table (rows: state before; entries: state after, action):
//!
//! | before   | `announce(place)`   | `unpark`                                  | `take_token`   |
//! |----------|---------------------|-------------------------------------------|----------------|
//! | EMPTY    | ASLEEP or SEATED, sleep | NOTIFIED, nothing                     | EMPTY          |
//! | ASLEEP   | impossible (one owner)  | NOTIFIED, futex wake done here        | EMPTY          |
//! | SEATED   | impossible (one owner)  | NOTIFIED, `Unpark::Poller` to the caller | EMPTY       |
//! | NOTIFIED | NOTIFIED, do not sleep | NOTIFIED, nothing                      | EMPTY, awake by token |
//!
//! Nothing is lost: both sides move the word by RMW, so they are ordered. If `unpark` comes first, `announce`
//! finds NOTIFIED and does not sleep. If `announce` comes first, `unpark` finds where the thread sleeps and
//! wakes it there. A futex wake that comes before the futex sleep is kept by `std::thread::park`'s own token;
//! a poller wake that comes before the poll is kept by the poller (an eventfd stays readable). The word of
//! our own exists because user code may call `std::thread::park` inside a poll and consume std's token
//! (models in `park/loom.rs`; this one: `a_token_that_is_not_ours_ends_no_park`).

use crate::engine::sync_shim::atomic::{AtomicU32, Ordering};
use crate::engine::sync_shim::thread::{self, Thread};
use crate::engine::sync_shim::{Arc, park_timeout};
use std::time::Duration;

const EMPTY: u32 = 0;
const ASLEEP: u32 = 1;
const SEATED: u32 = 2;
const NOTIFIED: u32 = 3;

/// The sleeping half: used by one thread only.
#[derive(Debug)]
pub(crate) struct Parker {
    inner: Arc<ParkerInner>,
}

/// The waking half: shared by all threads that may wake this one.
#[derive(Debug, Clone)]
pub(crate) struct Unparker {
    inner: Arc<ParkerInner>,
}

#[derive(Debug)]
struct ParkerInner {
    state: AtomicU32,
    thread: Thread,
}

/// The step that is left to the caller of [`Unparker::unpark`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a thread that sleeps in the poller stays there until the poller is woken"]
pub(crate) enum Unpark {
    /// The thread was awake or has been woken.
    Done,
    /// The thread is, or is about to be, blocked in the poller: wake the poller.
    Poller,
}

impl Parker {
    /// A parker for the calling thread.
    pub(crate) fn new() -> Self {
        Self {
            inner: Arc::new(ParkerInner {
                state: AtomicU32::new(EMPTY),
                thread: thread::current(),
            }),
        }
    }

    /// Whether the next park returns at once.
    pub(crate) fn is_notified(&self) -> bool {
        // Ordering: Relaxed. The partner is the swap in `unpark`, which `take_token` acquires.
        self.inner.state.load(Ordering::Relaxed) == NOTIFIED
    }

    pub(crate) fn unparker(&self) -> Unparker {
        Unparker { inner: self.inner.clone() }
    }

    /// Sleeps until another thread unparks this one; returns at once if that happened since the last call.
    pub(crate) fn park(&self) {
        if self.announce(ASLEEP) {
            // std's park may return for no reason, or for a token meant for user code: only our word
            // counts. Ordering: Acquire pairs with the Release half of the swap in `unpark`, so that
            // what was published before the unpark is seen after the park.
            while self.inner.state.load(Ordering::Acquire) == ASLEEP {
                thread::park();
            }
        }
        self.take_token();
    }

    /// As [`Parker::park`], but for `limit` at most.
    pub(crate) fn park_timeout(&self, limit: Duration) {
        if self.announce(ASLEEP) {
            // One sleep and no loop: a caller with a limit looks around when the sleep is over, early or not.
            park_timeout(limit);
        }
        self.take_token();
    }

    /// Calls `sleep`, which blocks in the poller, unless this thread has been unparked. `false`: it has been,
    /// and did not sleep.
    #[inline]
    pub(crate) fn sit(&self, sleep: impl FnOnce()) -> bool {
        let sleeps = self.announce(SEATED);
        if sleeps {
            sleep();
        }
        // Whether the poller returned for us or for an event.
        self.take_token();
        sleeps
    }

    /// Whether the thread is to sleep now: `false`, if it has been unparked already.
    #[must_use = "a thread that sleeps although it has been unparked may sleep for ever"]
    fn announce(&self, place: u32) -> bool {
        // Ordering: Acquire on success and on failure pairs with `unpark`'s Release (a token carries what was
        // published before it). No thread acquires the announcement: what its owner has looked at before is
        // ordered elsewhere, for a worker by the idle word (scheduler.rs), for the watchdog by `asleep`, for
        // a thread that waits for the last task by the count in scheduler/shared.rs. A root needs nothing:
        // its waker always leaves a token.
        let entered =
            self.inner.state.compare_exchange(EMPTY, place, Ordering::Acquire, Ordering::Acquire);
        entered.is_ok()
    }

    /// Ends a sleep, and uses up a token: what it announces is looked at next.
    pub(crate) fn take_token(&self) {
        // Ordering: Acquire pairs with `unpark`'s Release, as in `announce`. A swap and not a store: a token
        // that arrives after the caller's last look at the word ends here. With a store this thread would
        // not see what was published before it.
        self.inner.state.swap(EMPTY, Ordering::Acquire);
    }
}

impl Unparker {
    /// Leaves a token for the thread and wakes it if it sleeps on its own.
    pub(crate) fn unpark(&self) -> Unpark {
        // Ordering: Release pairs with the Acquire in `announce`, `park` and `take_token`. No Acquire:
        // nothing that the parker wrote is read here.
        match self.inner.state.swap(NOTIFIED, Ordering::Release) {
            ASLEEP => {
                self.inner.thread.unpark();
                Unpark::Done
            }
            SEATED => Unpark::Poller,
            _ => Unpark::Done,
        }
    }
}

#[cfg(all(test, liten_loom))]
pub(crate) mod loom;

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_token_left_before_park_is_not_lost() {
        let parker = Parker::new();
        assert_eq!(parker.unparker().unpark(), Unpark::Done);
        parker.park();
    }

    #[test]
    fn a_token_of_user_code_does_not_wake_and_ours_survives_its_theft() {
        let parker = Parker::new();
        std::thread::current().unpark();
        let unparker = parker.unparker();
        let other = std::thread::spawn(move || unparker.unpark());
        parker.park();
        assert_eq!(other.join().expect("no panic"), Unpark::Done);
        // A token that user code eats after we were notified changes nothing for us.
        assert_eq!(parker.unparker().unpark(), Unpark::Done);
        std::thread::current().unpark();
        std::thread::park();
        parker.park();
    }

    #[test]
    fn a_seated_thread_is_woken_through_the_poller() {
        let parker = Parker::new();
        assert!(parker.sit(|| {
            assert_eq!(parker.unparker().unpark(), Unpark::Poller);
            assert_eq!(parker.unparker().unpark(), Unpark::Done);
        }));
        assert_eq!(parker.unparker().unpark(), Unpark::Done);
        assert!(!parker.sit(|| unreachable!("the token is still there")));
        assert!(parker.sit(|| ()));
    }
}
