//! A list of waiting futures whose places lie inside the futures: nothing is allocated to wait.
//!
//! The locks of `sync` are built on it, its channels where several futures may wait, `CancellationToken` and
//! `TaskTracker`. In the engine and in the runtimes it has the futures that wait for a source, for a
//! quiescent point, or for a task of a local executor. A future that waits owns a [`Place`], pinned with it.
//! The place contains the future's waker, and one word. The word says what the future waits for, or what it
//! was given. The owner of the list defines what its values mean.
//!
//! | place | `list` | `links` are reached by | `word` is written by |
//! |---|---|---|---|
//! | apart | null | its future | its future |
//! | linked | the list's address | the list's lock | under the list's lock |
//!
//! apart → linked: [`Locked::join`]. linked → apart: [`Locked::leave`], `pop_front`, `pop_back`,
//! `take_matching`.
//!
//! Why nothing here uses memory that was freed: a linked place is never freed, because dropping it ends the
//! process, and pinned memory is not reused before it was dropped.
//!
//! A list may be moved or dropped while places are linked in it: a future that was forgotten
//! ([`mem::forget`]) does not borrow its list any more. The places are *lost* then: they stay linked for
//! ever, and no list uses them. A list that was moved notices that at the next lock, because its first place
//! has stored another address than the list's. It then begins with an empty chain.
//!
//! The future of a lost place may exist all the same, and find another list at the old address. That list
//! must not take out the first or the last of the lost places, because the list that was moved may still
//! point to them. So taking out a place that has no neighbour on one side, and is not the end of this list on
//! that side, ends the process. A lost place between two others can be taken out: its neighbours are lost
//! places, too, which are not freed.
//!
//! Why a future that finds its place apart may go on without the lock: the last access of taking a place out
//! stores null in `list`, with Release. The future that reads it with Acquire sees everything that was done
//! to the place before, also the new word.
//!
//! Wakers are user code: they are cloned before the lock is taken, and called and dropped after it was
//! released.
//!
//! The links of a place that is apart are uninitialised. A future that waits is moved to where it is polled,
//! and a processor stalls if it has to move together what was just written in parts: null links and no waker
//! took an eighth of the time of a turn in which 64 tasks read and write under a `RwLock`.
//!
//! Rejected: a slab of wakers per list. It costs an allocation when a lock is first waited for, a future that
//! was woken has to take the list's lock to learn what it was given, and a `Mutex` would be larger than
//! tokio's. Rejected for tokens: event-listener, which wakes under its lock, and where the panic of one waker
//! keeps others from being called.
#![allow(unsafe_code)]

use super::{WakeList, drop_all};
use crate::engine::sync_shim::atomic::{AtomicPtr, AtomicUsize, Ordering};
use crate::engine::sync_shim::{SpinMutex, SpinMutexGuard, UnsafeCell, const_fn};
use std::future::poll_fn;
use std::marker::PhantomPinned;
use std::mem::{self, MaybeUninit};
use std::ops::{ControlFlow, Deref, DerefMut};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::{Pin, pin};
use std::ptr::{self, NonNull};
use std::task::{Context, Poll, Waker};

/// How many places [`WaitList::take_matching`] takes out under the lock at a time. Few in the models, so that
/// they have several rounds.
const AT_ONCE: usize = if cfg!(liten_loom) { 1 } else { 64 };

/// Futures that wait, in the order in which they came, beside `T` under one lock.
#[derive(Debug)]
pub(crate) struct WaitList<T> {
    chain: SpinMutex<Chain<T>>,
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

/// Where a future waits. A new place is in no list.
#[derive(Debug)]
pub(crate) struct Place {
    word: AtomicUsize,
    /// The list that it is linked in; compared, never followed.
    list: AtomicPtr<()>,
    /// Initialised while it is linked.
    links: UnsafeCell<MaybeUninit<Links>>,
    /// Its neighbours point to it.
    _pinned: PhantomPinned,
}

#[derive(Debug)]
struct Links {
    before: Option<NonNull<Place>>,
    after: Option<NonNull<Place>>,
    waker: Waker,
}

// SAFETY: `links` are reached as the table above says, by one thread at a time; all in there is `Send`.
unsafe impl Send for Place {}
// SAFETY: as above.
unsafe impl Sync for Place {}

impl Place {
    #[inline]
    pub(crate) fn new(word: usize) -> Self {
        Self {
            word: AtomicUsize::new(word),
            list: AtomicPtr::new(ptr::null_mut()),
            links: UnsafeCell::new(MaybeUninit::uninit()),
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

    /// The word, if the place is in no list: what the future was given when it was taken out of its list, or
    /// what `new` or `prepare` has set. `None` while the place is in a list.
    #[inline]
    pub(crate) fn given(&self) -> Option<usize> {
        // Ordering: Relaxed, after the Acquire in `is_linked`.
        (!self.is_linked()).then(|| self.word.load(Ordering::Relaxed))
    }

    /// Whether it is in a list. To be called by its future, the only one that links it.
    #[inline]
    pub(crate) fn is_linked(&self) -> bool {
        // Ordering: Acquire pairs with the Release in `take_out`.
        !self.list.load(Ordering::Acquire).is_null()
    }
}

impl Drop for Place {
    #[inline]
    fn drop(&mut self) {
        if self.is_linked() {
            dropped_inside();
        }
    }
}

/// Its neighbours would point to freed memory.
#[cold]
fn dropped_inside() -> ! {
    eprintln!("liten: a waiting place was dropped inside its list");
    std::process::abort();
}

/// The list under its lock.
pub(crate) struct Locked<'a, T> {
    chain: SpinMutexGuard<'a, Chain<T>>,
    address: *mut (),
}

impl<T> WaitList<T> {
    const_fn! {
        /// Returns an empty list.
        pub(crate) fn new(beside: T) -> Self {
            Self { chain: SpinMutex::new(Chain { first: None, last: None, beside }) }
        }
    }

    pub(crate) fn lock(&self) -> Locked<'_, T> {
        let mut locked = Locked { chain: self.chain.lock(), address: self.address() };
        if let Some(first) = locked.chain.first {
            // SAFETY: linked, so it is alive.
            let first = unsafe { first.as_ref() };
            // Ordering: Relaxed, written under this lock.
            if first.list.load(Ordering::Relaxed) != locked.address {
                // The list was moved, and its places are lost.
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
        attempt: impl FnMut(&mut Locked<'_, T>) -> Poll<R>,
    ) -> Poll<R> {
        let (poll, unused) = self.poll_replacing(place, cx, attempt);
        drop_all(unused);
        poll
    }

    /// As [`poll`](Self::poll), and returns the waker that has to be dropped. If it is pending, that is the
    /// waker that was at `place` before, which is another one than that of `cx`.
    #[inline]
    pub(crate) fn poll_replacing<R>(
        &self,
        place: Pin<&Place>,
        cx: &Context<'_>,
        mut attempt: impl FnMut(&mut Locked<'_, T>) -> Poll<R>,
    ) -> (Poll<R>, Option<Waker>) {
        let mut clone = (!place.is_linked()).then(|| cx.waker().clone());
        let poll = loop {
            let mut locked = self.lock();
            let poll = attempt(&mut locked);
            if poll.is_ready() || locked.holds_waker(place, cx.waker()) {
                break poll;
            }
            if let Some(new) = clone.take() {
                clone = locked.store_waker(place, new);
                break poll;
            }
            // Cloning a waker may run user code.
            drop(locked);
            clone = Some(cx.waker().clone());
        };
        (poll, clone)
    }

    /// Waits until `attempt`, which is called under the lock, is ready. `word` says what for.
    ///
    /// For futures that need no more than that; the others have a [`Place`], and leave the list themselves.
    pub(crate) async fn wait<R>(
        &self,
        word: usize,
        mut attempt: impl FnMut(&mut Locked<'_, T>) -> Poll<R>,
    ) -> R {
        let place = pin!(Place::new(word));
        let place = place.as_ref();
        // Dropped before the place.
        let _guard = PlaceGuard { list: self, place };
        poll_fn(|cx| self.poll(place, cx, &mut attempt)).await
    }

    /// Takes `place`, whose future does not wait any more, out of the list, if it is in it.
    pub(crate) fn leave(&self, place: Pin<&Place>) {
        if place.is_linked() {
            let waker = self.lock().leave(place);
            drop_all(waker);
        }
    }

    /// Takes the first place out as long as `matches` returns true for its word, gives it `word`, and wakes
    /// its future.
    pub(crate) fn wake<'a>(
        &'a self,
        locked: Locked<'a, T>,
        word: usize,
        matches: impl Fn(usize) -> bool,
    ) {
        self.wake_in_rounds(locked, |locked, wakes| locked.pop_into(wakes, word, &matches));
    }

    /// Calls `take` until it returns true. It moves wakers into the [`WakeList`], as many as there is room
    /// for. They are called after each round, with the lock released.
    pub(crate) fn wake_in_rounds<'a>(
        &'a self,
        mut locked: Locked<'a, T>,
        mut take: impl FnMut(&mut Locked<'a, T>, &mut WakeList) -> bool,
    ) {
        let mut wakes = WakeList::new();
        loop {
            let done = take(&mut locked, &mut wakes);
            drop(locked);
            wakes.wake();
            if done {
                return;
            }
            locked = self.lock();
        }
    }

    /// Changes what is beside the places, takes all of them out, and wakes their futures. Those that join
    /// after the change are not woken, however many there are.
    #[allow(dead_code, reason = "not on wasm, where no thread waits for another one")]
    pub(crate) fn wake_all(&self, change: impl FnOnce(&mut T)) {
        let mut wakes = Vec::new();
        self.take_matching(&mut wakes, |beside, _| change(beside), |_| true);
        super::wake_all(&mut wakes);
    }

    /// Calls `begin` under the lock. Then takes all places out that are in the list and for whose word
    /// `matches` returns true, and adds their wakers to `wakes`, in the order in which the places have
    /// joined. They keep their words.
    ///
    /// The lock is held for [`AT_ONCE`] places at a time, and under it `wakes` does not grow. If that is not
    /// enough, a place without a future marks the end of the list: what joins later stands behind it, so the
    /// rounds end, however many join meanwhile. Another thread that takes all places out takes the mark, too.
    /// Then it has taken what stood before the mark. So `matches` is false for the mark's word, 0, unless it
    /// is always true (model `what_is_in_the_list_is_taken_out_in_rounds`).
    pub(crate) fn take_matching(
        &self,
        wakes: &mut Vec<Waker>,
        begin: impl FnOnce(&mut T, &mut Vec<Waker>),
        matches: impl Fn(usize) -> bool,
    ) {
        let mut locked = self.lock();
        begin(&mut locked, wakes);
        if locked.take_before(None, wakes, &matches) {
            return;
        }
        let end = pin!(Place::new(0));
        locked.join(end.as_ref(), Waker::noop().clone());
        drop(locked);
        while end.is_linked() {
            wakes.reserve(AT_ONCE);
            let mut locked = self.lock();
            if locked.take_before(Some(&end), wakes, &matches) {
                locked.leave(end.as_ref());
            }
        }
    }
}

/// Takes `place` out of `list` when it is dropped.
struct PlaceGuard<'a, T> {
    list: &'a WaitList<T>,
    place: Pin<&'a Place>,
}

impl<T> Drop for PlaceGuard<'_, T> {
    fn drop(&mut self) {
        self.list.leave(self.place);
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
        let known = || unsafe { with_links(&place, |links| links.waker.will_wake(waker)) };
        self.holds(&place) && known()
    }

    /// Replaces the waker of `place`, and returns the old one; or joins, if `place` is not in this list.
    fn store_waker(&mut self, place: Pin<&Place>, waker: Waker) -> Option<Waker> {
        if self.holds(&place) {
            // SAFETY: linked here, and the lock is held.
            return Some(unsafe {
                with_links(&place, |links| mem::replace(&mut links.waker, waker))
            });
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
            unsafe { (*links).write(Links { before, after: None, waker }) };
        });
        match before {
            // SAFETY: linked here, so it is alive, and the lock is held.
            Some(before) => unsafe {
                with_links(before.as_ref(), |links| links.after = Some(this));
            },
            None => self.chain.first = Some(this),
        }
    }

    /// Takes `place` out if it is in this list, and returns its waker.
    pub(crate) fn leave(&mut self, place: Pin<&Place>) -> Option<Waker> {
        self.word(&place).map(|word| self.take_out(NonNull::from(&*place), word))
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

    /// Changes the word of the first place, which stays in the list.
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

    /// As [`pop_front`](Self::pop_front), for the last place.
    pub(crate) fn pop_back(&mut self, word: usize) -> Option<Waker> {
        self.chain.last.map(|last| self.take_out(last, word))
    }

    /// Takes the first place out as long as `matches` returns true for its word, gives it `word`, and adds
    /// its waker to `wakes`. Returns false if `wakes` is full and there are more such places.
    pub(crate) fn pop_into(
        &mut self,
        wakes: &mut WakeList,
        word: usize,
        matches: impl Fn(usize) -> bool,
    ) -> bool {
        while self.front().is_some_and(&matches) {
            if wakes.is_full() {
                return false;
            }
            wakes.push(self.pop_front(word));
        }
        true
    }

    /// Takes the places before `end`, or before the end of the list, as [`WaitList::take_matching`] does.
    /// Returns false if [`AT_ONCE`] are out, or `wakes` has no room, and there are more.
    fn take_before(
        &mut self,
        end: Option<&Place>,
        wakes: &mut Vec<Waker>,
        matches: impl Fn(usize) -> bool,
    ) -> bool {
        let end = end.map(NonNull::from);
        let most = wakes.capacity().min(wakes.len() + AT_ONCE);
        let mut next = self.chain.first;
        while let Some(this) = next.filter(|_| next != end) {
            // SAFETY: linked here, so it is alive, and the lock is held.
            let place = unsafe { this.as_ref() };
            // SAFETY: as above.
            next = unsafe { with_links(place, |links| links.after) };
            // Ordering: Relaxed, written under this lock.
            let word = place.word.load(Ordering::Relaxed);
            if matches(word) {
                if wakes.len() == most {
                    return false;
                }
                wakes.push(self.take_out(this, word));
            }
        }
        true
    }

    /// Calls `each` with the words and the wakers of the places, from the first one on until it returns
    /// `Break`, under the lock: it must not call, clone or drop a waker.
    pub(crate) fn each(&self, mut each: impl FnMut(usize, &Waker) -> ControlFlow<()>) {
        let mut next = self.chain.first;
        while let Some(place) = next {
            // SAFETY: linked here, so it is alive, and the lock is held.
            let place = unsafe { place.as_ref() };
            // Ordering: Relaxed, written under this lock.
            let word = place.word.load(Ordering::Relaxed);
            // SAFETY: as above.
            next = unsafe {
                with_links(place, |links| match each(word, &links.waker) {
                    ControlFlow::Continue(()) => links.after,
                    ControlFlow::Break(()) => None,
                })
            };
        }
    }

    /// Takes a place of this list out.
    fn take_out(&mut self, place: NonNull<Place>, word: usize) -> Waker {
        let this = place;
        // SAFETY: linked here, so it is alive until `list` is cleared below, and the lock is held.
        let place = unsafe { place.as_ref() };
        // SAFETY: as above. Nothing reads them again before the place joins a list, which writes them anew.
        let take = |links: *mut MaybeUninit<Links>| unsafe { (*links).assume_init_read() };
        let Links { before, after, waker } = place.links.with_mut(take);
        match before {
            // SAFETY: a neighbour is linked here too.
            Some(before) => unsafe {
                with_links(before.as_ref(), |links| links.after = after);
            },
            None => {
                require_end(self.chain.first, this);
                self.chain.first = after;
            }
        }
        match after {
            // SAFETY: as above.
            Some(after) => unsafe {
                with_links(after.as_ref(), |links| links.before = before);
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
        waker
    }
}

/// Calls `f` with the links of `place`.
///
/// # Safety
///
/// The place is linked in a list whose lock the caller holds.
unsafe fn with_links<R>(place: &Place, f: impl FnOnce(&mut Links) -> R) -> R {
    // SAFETY: initialised since the place joined, and reached by the holder of the lock alone.
    place.links.with_mut(|links| f(unsafe { (*links).assume_init_mut() }))
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
