//! A list of waiting futures whose places lie inside the futures: nothing is allocated to wait.
//!
//! All locks and channels of `sync` stand on it. A future that waits owns a [`Place`], pinned with it. The
//! place carries the future's waker, and one word that says what the future waits for and what it was given;
//! what the numbers mean is the list's owner's business.
//!
//! | place | `list` | `links` are reached by | `word` is written by |
//! |---|---|---|---|
//! | apart | null | its future | its future |
//! | linked | the list's address | the list's lock | under the list's lock |
//!
//! apart → linked: [`Locked::join`]. linked → apart: [`Locked::leave`], `pop_front`, `pop_back`.
//!
//! Why nothing here reaches memory that is gone: a linked place is never freed, because its drop ends the
//! process in that case, and pinned memory is not reused before drop.
//!
//! A list may be moved or dropped while places are linked, because a future that was forgotten borrows it
//! no more. Its places are lost then: they stay linked for ever, and nothing reaches them. The next lock of
//! a list that was moved notices that, because the first place knows another address, and begins with an
//! empty chain.
//!
//! A lost place's future, if it was not forgotten after all, may still come to another list at the old
//! address. That list must not take out the first or the last lost place, to which the list that was moved
//! may still point: to take out an end that is not the end of this list ends the process. A lost place
//! between two others can be taken out: they are lost, too, and each knows the other then.
//!
//! Why a future may go on without the lock when it finds its place apart: taking a place out stores null in
//! `list` with Release, and touches the place no more. The future's Acquire sees all that was done to the
//! place before, its word among it.
//!
//! Wakers are user code: they are cloned before the lock is taken, and called and dropped after it was
//! released.
//!
//! Rejected: a slab of wakers per list. A lock then costs an allocation when it is first waited for, a future
//! that was woken takes the lock to learn what it was given, and a lock without a waiter is larger than
//! tokio's.
#![allow(unsafe_code)]

use super::{Batch, drop_all, guard};
use crate::sync_shim::atomic::{AtomicPtr, AtomicUsize, Ordering};
use crate::sync_shim::{Mutex, MutexGuard, UnsafeCell, const_fn, lock_briefly};
use std::marker::PhantomPinned;
use std::ops::{Deref, DerefMut};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::ptr::{self, NonNull};
use std::task::{Context, Poll, Waker};

/// Futures that wait, in the order in which they came, beside `T` under one lock.
#[derive(Debug)]
pub(crate) struct WaitList<T> {
    chain: Mutex<Chain<T>>,
}

#[derive(Debug)]
struct Chain<T> {
    first: Option<NonNull<Place>>,
    last: Option<NonNull<Place>>,
    beside: T,
}

// SAFETY: the pointers are followed under the lock only, to places, which are `Sync`.
unsafe impl<T: Send> Send for Chain<T> {}

// No user code runs under the lock, so a panic of a waker finds the chain whole.
impl<T: UnwindSafe> UnwindSafe for WaitList<T> {}
impl<T: RefUnwindSafe> RefUnwindSafe for WaitList<T> {}
impl UnwindSafe for Place {}
impl RefUnwindSafe for Place {}

/// Where a future waits. Made apart from any list.
#[derive(Debug)]
pub(crate) struct Place {
    word: AtomicUsize,
    /// The list that it is linked in; compared, never followed.
    list: AtomicPtr<()>,
    links: UnsafeCell<Links>,
    /// Its neighbours point to it.
    _pinned: PhantomPinned,
}

#[derive(Debug)]
struct Links {
    before: Option<NonNull<Place>>,
    after: Option<NonNull<Place>>,
    /// `Some` while it is linked.
    waker: Option<Waker>,
}

// SAFETY: `links` are reached as the table above says, by one thread at a time; all in there is `Send`.
unsafe impl Send for Place {}
// SAFETY: as above.
unsafe impl Sync for Place {}

impl Place {
    pub(crate) fn new(word: usize) -> Self {
        Self {
            word: AtomicUsize::new(word),
            list: AtomicPtr::new(ptr::null_mut()),
            links: UnsafeCell::new(Links { before: None, after: None, waker: None }),
            _pinned: PhantomPinned,
        }
    }

    /// Says what the future waits for, before it joins a list.
    #[inline]
    pub(crate) fn prepare(&self, word: usize) {
        debug_assert!(!self.is_linked());
        // Ordering: Relaxed, the lock that is taken to join publishes it.
        self.word.store(word, Ordering::Relaxed);
    }

    /// What the future was given when it was taken out of its list, or said itself; `None` while it is in
    /// one.
    #[inline]
    pub(crate) fn given(&self) -> Option<usize> {
        // Ordering: Relaxed, after the Acquire in `is_linked`.
        (!self.is_linked()).then(|| self.word.load(Ordering::Relaxed))
    }

    /// Whether it is in a list. For its future, which alone can link it.
    #[inline]
    pub(crate) fn is_linked(&self) -> bool {
        // Ordering: Acquire pairs with the Release in `take_out`.
        !self.list.load(Ordering::Acquire).is_null()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.is_linked() {
            // Its neighbours would point to freed memory.
            eprintln!("liten: a waiting place was dropped inside its list");
            std::process::abort();
        }
    }
}

/// The list under its lock.
pub(crate) struct Locked<'a, T> {
    chain: MutexGuard<'a, Chain<T>>,
    address: *mut (),
}

impl<T> WaitList<T> {
    const_fn! {
        /// Returns an empty list.
        pub(crate) fn new(beside: T) -> Self {
            Self { chain: Mutex::new(Chain { first: None, last: None, beside }) }
        }
    }

    pub(crate) fn lock(&self) -> Locked<'_, T> {
        let mut locked = Locked { chain: lock_briefly(&self.chain), address: self.address() };
        if let Some(first) = locked.chain.first {
            // SAFETY: linked, so it is alive.
            let first = unsafe { first.as_ref() };
            // Ordering: Relaxed, written under this lock.
            if first.list.load(Ordering::Relaxed) != locked.address {
                // Moved, and its places are lost.
                (locked.chain.first, locked.chain.last) = (None, None);
            }
        }
        locked
    }

    fn address(&self) -> *mut () {
        ptr::from_ref(self).cast_mut().cast()
    }

    /// Calls `attempt` under the lock. If that is pending, leaves the waker of `cx` at `place`, which joins
    /// the list at its end unless it is in it.
    ///
    /// `attempt` may be called a second time, after the lock was released in between. Between its last call
    /// and the joining the lock is held.
    pub(crate) fn poll<R>(
        &self,
        place: Pin<&Place>,
        cx: &Context<'_>,
        mut attempt: impl FnMut(&mut Locked<'_, T>) -> Poll<R>,
    ) -> Poll<R> {
        let mut clone = (!place.is_linked()).then(|| cx.waker().clone());
        let poll = loop {
            let mut locked = self.lock();
            let poll = attempt(&mut locked);
            if poll.is_ready() || locked.holds_waker(place, cx.waker()) {
                break poll;
            }
            if let Some(new) = clone.take() {
                clone = locked.leave_waker(place, new);
                break poll;
            }
            // To clone is user code.
            drop(locked);
            clone = Some(cx.waker().clone());
        };
        if let Some(waker) = clone {
            guard(|| drop(waker));
        }
        poll
    }

    /// Takes `place`, whose future gives up, out of the list, if it is in it.
    pub(crate) fn leave(&self, place: Pin<&Place>) {
        if place.is_linked() {
            let waker = self.lock().leave(place);
            drop_all(waker);
        }
    }

    /// Takes the first places out as long as `is_owed` of their word, gives them `word`, and wakes their
    /// futures: in rounds, with the lock released in between.
    pub(crate) fn wake<'a>(
        &'a self,
        mut locked: Locked<'a, T>,
        word: usize,
        is_owed: impl Fn(usize) -> bool,
    ) {
        let mut batch = Batch::new();
        loop {
            let done = locked.pop_into(&mut batch, word, &is_owed);
            drop(locked);
            batch.wake();
            if done {
                return;
            }
            locked = self.lock();
        }
    }
}

impl<T> Locked<'_, T> {
    pub(crate) fn is_empty(&self) -> bool {
        self.chain.first.is_none()
    }

    /// Whether `place` is in this list.
    pub(crate) fn holds(&self, place: &Place) -> bool {
        // Ordering: Relaxed: it becomes this list's address, and stops being it, under this lock only.
        place.list.load(Ordering::Relaxed) == self.address
    }

    fn holds_waker(&self, place: Pin<&Place>, waker: &Waker) -> bool {
        // SAFETY: linked here, and the lock is held.
        let known = || place.links.with(|links| unsafe { (*links).waker.as_ref() });
        self.holds(&place) && known().is_some_and(|known| known.will_wake(waker))
    }

    /// Puts `waker` in the place of the one that `place` holds, which is returned; or joins.
    fn leave_waker(&mut self, place: Pin<&Place>, waker: Waker) -> Option<Waker> {
        if self.holds(&place) {
            // SAFETY: linked here, and the lock is held.
            return place.links.with_mut(|links| unsafe { (*links).waker.replace(waker) });
        }
        self.join(place, waker);
        None
    }

    /// Adds `place` at the end.
    ///
    /// # Panics
    ///
    /// If it is in a list.
    pub(crate) fn join(&mut self, place: Pin<&Place>, waker: Waker) {
        // Ordering: Acquire pairs with the Release in `take_out`. Exchanged, because a place may be shared:
        // of two lists that it joins at once, one has it.
        let joined = place.list.compare_exchange(
            ptr::null_mut(),
            self.address,
            Ordering::Acquire,
            Ordering::Relaxed,
        );
        assert!(joined.is_ok(), "a future waits in one list at a time");
        let this = NonNull::from(&*place);
        let before = self.chain.last.replace(this);
        place.links.with_mut(|links| {
            // SAFETY: linked here since just now, and the lock is held.
            unsafe { *links = Links { before, after: None, waker: Some(waker) } };
        });
        match before {
            // SAFETY: linked here, so it is alive, and the lock is held.
            Some(before) => unsafe {
                before.as_ref().links.with_mut(|links| (*links).after = Some(this));
            },
            None => self.chain.first = Some(this),
        }
    }

    /// Takes `place` out if it is in this list, and returns its waker.
    pub(crate) fn leave(&mut self, place: Pin<&Place>) -> Option<Waker> {
        self.holds(&place).then(|| {
            // Ordering: Relaxed, written under this lock.
            let word = place.word.load(Ordering::Relaxed);
            self.take_out(NonNull::from(&*place), word)
        })
    }

    /// The word of `place`, if it is in this list.
    pub(crate) fn word(&self, place: &Place) -> Option<usize> {
        // Ordering: Relaxed, written under this lock.
        self.holds(place).then(|| place.word.load(Ordering::Relaxed))
    }

    /// The word of the first place.
    pub(crate) fn front(&self) -> Option<usize> {
        // SAFETY: linked here, so it is alive.
        let first = unsafe { self.chain.first?.as_ref() };
        // Ordering: Relaxed, written under this lock.
        Some(first.word.load(Ordering::Relaxed))
    }

    /// Changes the word of the first place, which goes on waiting.
    pub(crate) fn set_front(&mut self, word: usize) {
        if let Some(first) = self.chain.first {
            // SAFETY: linked here, so it is alive.
            // Ordering: Relaxed, under the lock.
            unsafe { first.as_ref() }.word.store(word, Ordering::Relaxed);
        }
    }

    /// Takes the first place out, gives it `word`, and returns its waker, which is called after the lock was
    /// released.
    pub(crate) fn pop_front(&mut self, word: usize) -> Option<Waker> {
        self.chain.first.map(|first| self.take_out(first, word))
    }

    /// As [`pop_front`](Self::pop_front), the last place.
    pub(crate) fn pop_back(&mut self, word: usize) -> Option<Waker> {
        self.chain.last.map(|last| self.take_out(last, word))
    }

    /// Takes the first places out as long as `is_owed` of their word, and gives them `word`. Their wakers are
    /// added to `batch`. Returns false if `batch` is full and there are more.
    pub(crate) fn pop_into(
        &mut self,
        batch: &mut Batch,
        word: usize,
        is_owed: impl Fn(usize) -> bool,
    ) -> bool {
        while self.front().is_some_and(&is_owed) {
            if batch.is_full() {
                return false;
            }
            batch.push(self.pop_front(word));
        }
        true
    }

    /// Takes a place of this list out.
    fn take_out(&mut self, place: NonNull<Place>, word: usize) -> Waker {
        let this = place;
        // SAFETY: linked here, so it is alive until `list` is cleared below, and the lock is held.
        let place = unsafe { place.as_ref() };
        let take = |links: *mut Links| {
            // SAFETY: as above.
            unsafe {
                std::mem::replace(&mut *links, Links { before: None, after: None, waker: None })
            }
        };
        let Links { before, after, waker } = place.links.with_mut(take);
        match before {
            // SAFETY: a neighbour is linked here too.
            Some(before) => unsafe {
                before.as_ref().links.with_mut(|links| (*links).after = after)
            },
            None => {
                require_end(self.chain.first, this);
                self.chain.first = after;
            }
        }
        match after {
            // SAFETY: as above.
            Some(after) => unsafe {
                after.as_ref().links.with_mut(|links| (*links).before = before)
            },
            None => {
                require_end(self.chain.last, this);
                self.chain.last = before;
            }
        }
        // Ordering: Relaxed, published by `list`.
        place.word.store(word, Ordering::Relaxed);
        // Ordering: Release pairs with the Acquire in `is_linked`. The last access: the future that sees it
        // owns the place again, and may free it.
        place.list.store(ptr::null_mut(), Ordering::Release);
        waker.expect("a linked place has a waker")
    }
}

/// Whether `word` is an earlier number than `now`, where both count the same thing.
pub(crate) fn is_before(word: usize, now: usize) -> bool {
    // A distance, because the numbers begin at 0 again when they have used up the word.
    (1..=usize::MAX >> 1).contains(&now.wrapping_sub(word))
}

/// Ends the process if `place`, an end of the chain that it is in, is not the `end` of this one.
fn require_end(end: Option<NonNull<Place>>, place: NonNull<Place>) {
    if end != Some(place) {
        eprintln!("liten: a future waited in a list that was moved");
        std::process::abort();
    }
}

impl<T> Deref for Locked<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.chain.beside
    }
}

impl<T> DerefMut for Locked<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.chain.beside
    }
}

#[cfg(all(test, liten_loom))]
mod loom;
#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;
