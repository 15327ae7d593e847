//! The counter of permits that `Semaphore`, `Mutex`, `RwLock` and the bounded channel stand on.
//!
//! It is fair: permits go to the waiting futures in the order in which they came. A future that wants many
//! permits collects them as they are released, and futures that came later wait for it.
//!
//! The state word is `permits · 4 + CROWDED + CLOSED`:
//!
//! | word | acquire `n` | release `n` |
//! |---|---|---|
//! | enough permits | takes them: one exchange | adds them: one exchange |
//! | too few | under the lock: takes what there is, sets `CROWDED`, joins the list | adds them |
//! | `CROWDED` | under the lock: joins the list | under the lock: gives them to the first places |
//! | `CLOSED` | fails | as above |
//!
//! * While `CROWDED` is set there are no permits in the word: what is released goes to the futures that wait.
//!   So a future that comes later finds no permit, and cannot get one before those that wait.
//! * `CROWDED` is set and cleared under the lock only, and only a holder of the lock adds permits while it is
//!   set.
//!
//! No wake is lost: a future sets `CROWDED` by an exchange that fails if permits have come in between, and
//! joins before it releases the lock. A release that comes after the exchange sees `CROWDED` and waits for
//! the lock. A release that came before made the exchange fail.
//!
//! A place's word says how many permits its future still waits for; 0 means that it has all. When the permits
//! are closed, `CLOSED_PLACE` is added to the word. The rest of the word still says how many were missing, so
//! that the future can give back those that it has collected. A future that has all and finds the permits
//! closed gives them back, too, as tokio's does.
//!
//! Rejected: a counter under a lock, as in tokio, which locks for each release. A release without a waiting
//! future is one atomic exchange here, and three with a lock.

use super::holders::{self, Counted};
use crate::engine::sync_shim::atomic::{AtomicUsize, Ordering};
use crate::engine::sync_shim::const_fn;
use crate::engine::task::waker::{clear_note, set_note};
use crate::engine::task::{budget, current};
use crate::engine::tokio_note::NOTE;
use crate::engine::wakers::{self, Locked, Place, WaitList, guard};
use crate::impls::impl_debug;
use crate::primitive_kind::PrimitiveKind;
use crate::runtime::context;
use pin_project_lite::pin_project;
use std::future::{Future, poll_fn};
use std::mem;
use std::pin::Pin;
use std::sync::atomic::AtomicU64;
use std::task::{Context, Poll, ready};

/// Added to the word of a place whose list was closed.
const CLOSED_PLACE: usize = !(usize::MAX >> 1);

const CLOSED: usize = 1;
const CROWDED: usize = 2;
const SHIFT: u32 = 2;

/// Permits that can be acquired, awaited and released.
pub(crate) struct Permits {
    state: AtomicUsize,
    waiting: WaitList<()>,
    /// What they are the permits of, and the task by which they come back: for a lock the one that holds all
    /// of them, or one that reads, for a channel the one that has waited last for a message. For
    /// a semaphore, how many permits there are: see [`Counted`]. It decides nothing, so the models do not see
    /// it: a model of a lock would take minutes.
    holder: AtomicU64,
}

/// The bit of `holder` that says that the task only reads.
const READER: u64 = 4;
const HOLDER_SHIFT: u32 = 3;

/// The bits of `holder` that say what the permits are those of.
const OWNER: u64 = 3;

/// What permits are those of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Owner {
    Mutex,
    RwLock,
    Semaphore,
    Channel,
}

/// Why no permits were acquired at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    Closed,
    TooFew,
}

/// The permits were closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Closed;

impl Permits {
    /// The most permits there can be. tokio's number, which programs pass on.
    pub(crate) const MAX: usize = usize::MAX >> 3;

    const_fn! {
        /// Returns a counter with `permits` permits. The caller has checked that this is at most
        /// [`Self::MAX`].
        pub(crate) fn new(permits: usize, owner: Owner) -> Self {
            let counted = match owner {
                Owner::Semaphore if (permits as u64) < Counted::MOST => permits as u64,
                Owner::Semaphore => Counted::MOST,
                _ => 0,
            };
            Self {
                state: AtomicUsize::new(permits << SHIFT),
                waiting: WaitList::new(()),
                holder: AtomicU64::new(counted << HOLDER_SHIFT | owner as u64),
            }
        }
    }

    const_fn! {
        /// Returns the closed counter of a semaphore without permits.
        pub(crate) fn new_closed() -> Self {
            Self {
                state: AtomicUsize::new(CLOSED),
                waiting: WaitList::new(()),
                holder: AtomicU64::new(Owner::Semaphore as u64),
            }
        }
    }

    /// As the note of a task calls it that waits for `count` permits.
    fn kind_of(&self, count: usize) -> PrimitiveKind {
        match self.kind() {
            PrimitiveKind::RwLock if count > 1 => PrimitiveKind::RwLockWrite,
            kind => kind,
        }
    }

    fn kind(&self) -> PrimitiveKind {
        /// The kind of each [`Owner`], at the number of the owner.
        const KINDS: [PrimitiveKind; OWNER as usize + 1] = {
            let mut kinds = [PrimitiveKind::Mutex; OWNER as usize + 1];
            kinds[Owner::RwLock as usize] = PrimitiveKind::RwLock;
            kinds[Owner::Semaphore as usize] = PrimitiveKind::Semaphore;
            kinds[Owner::Channel as usize] = PrimitiveKind::Sender;
            kinds
        };
        // Ordering: Relaxed, the bits of `OWNER` never change.
        KINDS[(self.holder.load(Ordering::Relaxed) & OWNER) as usize]
    }

    /// The caller waits for a message of the channel whose room this is: notes which task that is, for those
    /// that come to wait for room. Those that wait already are not told: there is no message, so others have
    /// reserved the room, and the receiver is not what they wait for.
    pub(crate) fn note_receiver(&self) {
        let holder = holders::word(current::id(), false);
        // Ordering: Relaxed, a number that says only which task that was.
        self.holder.store(holder << HOLDER_SHIFT | Owner::Channel as u64, Ordering::Relaxed);
    }

    /// The caller has just got all permits of a lock: notes which task that is. `stays`: its guard borrows
    /// the lock.
    #[inline]
    pub(crate) fn note_holder(&self, owner: Owner, stays: bool) {
        self.note(holders::word(current::id(), stays), owner as u64);
    }

    /// The caller has just got one permit of a `RwLock`: notes which task that is, unless another task is
    /// noted that reads. So one that reads for long stays known while others come and go.
    #[inline]
    pub(crate) fn note_reader(&self) {
        // Ordering: Relaxed, as in `note`.
        if self.holder.load(Ordering::Relaxed) >> HOLDER_SHIFT != 0 {
            return;
        }
        self.note(holders::word(current::id(), false), Owner::RwLock as u64 | READER);
    }

    #[inline]
    fn note(&self, holder: u64, owner: u64) {
        // Ordering: Relaxed: it is read under the lock that is taken to wait, after an exchange that has seen
        // this holder's or a later one. See `note_waited`.
        self.holder.store(holder << HOLDER_SHIFT | owner, Ordering::Relaxed);
        // Ordering: Relaxed. `take_or_crowd` sets the bit. It is missed if the first future comes to wait at
        // this moment: then `note_waited` may have read the holder before. The holder is not known then,
        // which is no harm.
        if self.state.load(Ordering::Relaxed) & CROWDED != 0 {
            self.tell_holder(holder);
        }
    }

    #[cold]
    fn tell_holder(&self, holder: u64) {
        let locked = self.waiting.lock();
        if !locked.is_empty() {
            holders::set(self.kind(), self, holder);
        }
    }

    /// The caller is about to release some of all permits of a lock: from now on it does not hold all.
    /// Or it is about to release the one permit of a reader.
    #[inline]
    pub(crate) fn forget_holder(&self) {
        // Ordering: Relaxed, the bits of `OWNER` never change.
        let noted = self.holder.load(Ordering::Relaxed);
        if noted & READER != 0 && !Self::is_noted_here(noted) {
            // Another task reads, too.
            return;
        }
        // Ordering: Relaxed: `release`, which follows, publishes it to `note_waited`.
        self.holder.store(noted & OWNER, Ordering::Relaxed);
    }

    #[cold]
    fn is_noted_here(noted: u64) -> bool {
        noted >> HOLDER_SHIFT == holders::word(current::id(), false)
    }

    /// Counts what `change` does to the permits of a semaphore, if they are added or forgotten by the
    /// program.
    pub(crate) fn count(&self, change: impl Fn(&mut Counted)) {
        let counted = |noted: u64| {
            let mut counted = Counted::of_word(noted >> HOLDER_SHIFT);
            change(&mut counted);
            Some(counted.word() << HOLDER_SHIFT | noted & OWNER)
        };
        // Ordering: Relaxed, a number for people.
        let noted = self.holder.fetch_update(Ordering::Relaxed, Ordering::Relaxed, counted);
        // Ordering: Relaxed, as in `note`.
        if noted.is_ok() && self.state.load(Ordering::Relaxed) & CROWDED != 0 {
            // Ordering: Relaxed, a number for people.
            self.tell_holder(self.holder.load(Ordering::Relaxed) >> HOLDER_SHIFT);
        }
    }

    /// Under the lock, when the first future comes to wait: notes what it waits for, with the holder.
    ///
    /// The exchange that has set `CROWDED` is Acquire, and comes after the one by which the holder of a lock
    /// has got the permits, so an earlier holder, which has cleared the word before its release, is not seen
    /// here. Of a channel it may be any task that has waited for a message.
    fn note_waited(&self, locked: &Locked<'_, ()>) {
        if locked.is_empty() {
            // Ordering: Relaxed: the exchange of `take_or_crowd`, which comes before, is the Acquire.
            holders::enter(self.kind(), self, self.holder.load(Ordering::Relaxed) >> HOLDER_SHIFT);
        }
    }

    /// Under the lock, after permits were handed out: the task that holds a lock now will say so.
    fn note_handed_out(&self, locked: &Locked<'_, ()>, count: usize) {
        match self.kind() {
            kind if locked.is_empty() => holders::leave(kind, self),
            // Another task sends now, but the receiver is the same; and a semaphore has as many permits.
            PrimitiveKind::Sender | PrimitiveKind::Semaphore => {}
            kind if count > 0 => holders::set(kind, self, 0),
            _ => {}
        }
    }

    /// How many permits could be acquired without waiting.
    pub(crate) fn available(&self) -> usize {
        // Ordering: Acquire pairs with the Release of `release`: a caller that sees permits back sees what
        // was done with them.
        self.state.load(Ordering::Acquire) >> SHIFT
    }

    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        // Ordering: Acquire pairs with the Release in `close`.
        self.state.load(Ordering::Acquire) & CLOSED != 0
    }

    /// Takes `count` permits if there are as many and the permits are not closed.
    #[inline]
    pub(crate) fn try_acquire(&self, count: usize) -> Result<(), Refusal> {
        let less = |state| {
            let is_there = state & CLOSED == 0 && state >> SHIFT >= count;
            is_there.then(|| state - (count << SHIFT))
        };
        match self.take(less) {
            Ok(_) => Ok(()),
            // Asked again, for its Acquire: the caller sees what was done before the closing.
            Err(state) if state & CLOSED != 0 && self.is_closed() => Err(Refusal::Closed),
            Err(_) => Err(Refusal::TooFew),
        }
    }

    /// Changes the word by `less`, which takes permits; returns the word before. Fails with the word if
    /// `less` changes nothing.
    #[inline]
    fn take(&self, less: impl Fn(usize) -> Option<usize>) -> Result<usize, usize> {
        // Ordering: Acquire pairs with the Release of `release` and `keep`: what was done with the permits
        // before is seen. Relaxed for the look before it: the exchange decides.
        self.state.fetch_update(Ordering::Acquire, Ordering::Relaxed, less)
    }

    /// Returns a future that takes `count` permits as soon as there are as many.
    ///
    /// # Panics
    ///
    /// If `count` is more than [`Self::MAX`]: a place's word has room for no more.
    #[inline]
    #[track_caller]
    pub(crate) fn acquire(&self, count: usize) -> Acquiring<'_> {
        if count > Self::MAX {
            never_so_many(count);
        }
        Acquiring { permits: self, place: Place::new(0), count, waits: false }
    }

    /// As [`acquire`](Self::acquire), for permits that are probably there.
    ///
    /// It makes no [`Acquiring`] if they are. An `Acquiring` is written field by field and then moved as a
    /// whole, and the processor waits for such stores: 12 of 120 nanoseconds per round trip over two
    /// channels. The locks do without this, because their futures would be larger than tokio's.
    #[inline]
    pub(crate) async fn acquire_ready(&self, count: usize) -> Result<(), Closed> {
        match self.try_acquire(count) {
            Ok(()) => {
                // First the permits, then the budget, as in `Acquiring`.
                let taken = Taken { permits: self, count };
                poll_fn(budget::poll_proceed).await;
                // Closed while the task waited for its budget: they go back, because from the closing on
                // there are none.
                if self.is_closed() {
                    return Err(Closed);
                }
                mem::forget(taken);
                Ok(())
            }
            Err(Refusal::Closed) => Err(Closed),
            Err(Refusal::TooFew) => self.acquire(count).await,
        }
    }

    /// Gives `count` permits to the futures that wait, and keeps the rest.
    ///
    /// # Panics
    ///
    /// If there would be more than [`Self::MAX`].
    #[inline]
    pub(crate) fn release(&self, count: usize) {
        let more = |state: usize| {
            let more = || add(state, count).unwrap_or_else(|before| too_many(before, count));
            (state & CROWDED == 0).then(more)
        };
        // Ordering: Release pairs with the Acquire of the call that takes these permits. Relaxed for the look
        // before it: the exchange decides.
        if self.state.fetch_update(Ordering::Release, Ordering::Relaxed, more).is_err() {
            self.hand_out(self.waiting.lock(), count);
        }
    }

    /// Gives `count` permits to the places, wakes their futures after the lock was released, and keeps the
    /// rest.
    #[cold]
    fn hand_out<'a>(&'a self, locked: Locked<'a, ()>, count: usize) {
        if count <= 1 {
            self.hand_out_at_most_one(locked, count);
        } else {
            context::wake_together(|| self.hand_out_in_rounds(locked, count));
        }
    }

    /// As [`Self::hand_out_in_rounds`], without a [`WakeList`](wakers::WakeList), which takes more
    /// instructions to make and to drop than everything else: 150 of the 1,210 of a turn in which 64 tasks
    /// read and write under a `RwLock`. With a list whose room is uninitialised it is still 56 more of the
    /// 900 of a `Mutex`.
    fn hand_out_at_most_one<'a>(&'a self, mut locked: Locked<'a, ()>, count: usize) {
        let (waker, left) = match locked.front() {
            Some(missing) if missing > count => {
                locked.set_front(missing - count);
                (None, 0)
            }
            Some(_) => (locked.pop_front(0), 0),
            None => (None, count),
        };
        self.note_handed_out(&locked, count);
        let kept = if locked.is_empty() { self.keep(left) } else { Ok(()) };
        drop(locked);
        if let Some(waker) = waker {
            guard(|| waker.wake());
        }
        if let Err(before) = kept {
            too_many(before, left);
        }
    }

    fn hand_out_in_rounds<'a>(&'a self, locked: Locked<'a, ()>, all: usize) {
        let (mut count, mut kept) = (all, Ok(()));
        self.waiting.wake_in_rounds(locked, |locked, wakes| {
            while let Some(missing) = locked.front() {
                if count < missing {
                    locked.set_front(missing - count);
                    count = 0;
                }
                if count == 0 || wakes.is_full() {
                    break;
                }
                count -= missing;
                wakes.push(locked.pop_front(0));
            }
            self.note_handed_out(locked, all);
            if locked.is_empty() {
                kept = self.keep(count);
            }
            count == 0 || locked.is_empty()
        });
        // After the wakes, because those futures have been given their permits.
        if let Err(before) = kept {
            too_many(before, count);
        }
    }

    /// Adds `count` permits to the word, and clears `CROWDED`. The caller holds the lock; no future waits.
    ///
    /// If that would be too many permits, adds none and fails with the number of those that are there.
    fn keep(&self, count: usize) -> Result<(), usize> {
        let mut kept = Ok(());
        let more = |state| {
            let sum = add(state, count);
            kept = sum.map(drop);
            Some(sum.unwrap_or(state) & !CROWDED)
        };
        // Ordering: Release pairs with the Acquire of the call that takes these permits (`try_acquire`).
        // Relaxed for the look before it: the exchange decides.
        let _ = self.state.fetch_update(Ordering::Release, Ordering::Relaxed, more);
        kept
    }

    /// Removes up to `count` permits for good; returns how many.
    pub(crate) fn forget(&self, count: usize) -> usize {
        let taken = |state| count.min(state >> SHIFT);
        let before = self.take(|state| Some(state - (taken(state) << SHIFT)));
        before.map_or(0, taken)
    }

    /// Refuses all permits from now on, also to the futures that wait.
    pub(crate) fn close(&self) {
        context::wake_together(|| self.close_in_rounds());
    }

    fn close_in_rounds(&self) {
        self.waiting.wake_in_rounds(self.waiting.lock(), |locked, wakes| {
            // Ordering: Release pairs with the Acquire in `is_closed`. Under the lock, so that no future
            // joins later.
            let before = self.state.fetch_or(CLOSED, Ordering::Release);
            while !wakes.is_full() {
                let Some(missing) = locked.front() else { break };
                wakes.push(locked.pop_front(missing | CLOSED_PLACE));
            }
            let done = locked.is_empty();
            if done {
                if before & CROWDED != 0 {
                    self.note_handed_out(locked, 0);
                }
                // Adds none, so it cannot fail.
                let _ = self.keep(0);
            }
            done
        });
    }

    /// Takes `count` permits, or as many as there are; returns how many are missing, if any are.
    ///
    /// The caller holds the lock. If permits are missing, `CROWDED` is set, and the caller joins the list.
    // Cold, so that it stays out of line: a lock that is free pays for no more than its exchange.
    #[cold]
    fn take_or_crowd(&self, count: usize) -> Result<Option<usize>, Closed> {
        let less = |state| match state {
            // The caller's lock keeps the word as it is. Permits for none are there, too: nothing is to be
            // acquired with them that the lock does not pass on.
            CROWDED => None,
            _ if state & CLOSED != 0 => None,
            _ if state >> SHIFT >= count => Some(state - (count << SHIFT)),
            _ => Some(CROWDED),
        };
        match self.take(less) {
            Err(state) if state & CLOSED != 0 => Err(Closed),
            Ok(state) | Err(state) => {
                Ok(count.checked_sub(state >> SHIFT).filter(|&missing| missing > 0))
            }
        }
    }
}

/// The word with `count` more permits; fails with the number of those that are there if that is too many.
#[inline]
fn add(state: usize, count: usize) -> Result<usize, usize> {
    let before = state >> SHIFT;
    match before.checked_add(count) {
        Some(permits) if permits <= Permits::MAX => Ok(state + (count << SHIFT)),
        _ => Err(before),
    }
}

#[cold]
#[track_caller]
fn never_so_many(count: usize) -> ! {
    panic!(
        "{count} permits cannot be acquired: a semaphore has at most Semaphore::MAX_PERMITS ({}){NOTE}",
        Permits::MAX
    )
}

#[cold]
#[track_caller]
fn too_many(before: usize, count: usize) -> ! {
    panic!(
        "number of added permits ({count}) would overflow MAX_PERMITS ({}): there are {before}{NOTE}",
        Permits::MAX
    )
}

impl_debug!([] Permits, this => "Permits" {
    available: this.available(),
    closed: this.is_closed(),
});

/// Permits that go back unless the future that has taken them is ready.
struct Taken<'a> {
    permits: &'a Permits,
    count: usize,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.permits.release(self.count);
    }
}

pin_project! {
    /// Takes permits as soon as there are enough; made by [`Permits::acquire`].
    ///
    /// If it is dropped while it waits, it leaves the list and gives back what it has collected. When it is
    /// ready, the caller owns the permits.
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub(crate) struct Acquiring<'a> {
        permits: &'a Permits,
        #[pin]
        place: Place,
        count: usize,
        // It has joined the list, and has not returned `Ready` since.
        waits: bool,
    }

    impl PinnedDrop for Acquiring<'_> {
        fn drop(this: Pin<&mut Self>) {
            if this.waits {
                this.leave();
            }
        }
    }
}

impl Acquiring<'_> {
    /// Leaves the list, and gives back what was collected.
    #[cold]
    fn leave(self: Pin<&mut Self>) {
        let this = self.project();
        *this.waits = false;
        let mut locked = this.permits.waiting.lock();
        let waker = locked.leave(this.place.as_ref());
        if let Some(waker) = &waker {
            clear_note(waker, this.permits.kind_of(*this.count), *this.permits);
        }
        let missing = this.place.given().expect("it has left") & !CLOSED_PLACE;
        // Also if that is none: `CROWDED` has to be cleared if the list is empty now.
        this.permits.hand_out(locked, *this.count - missing);
        wakers::drop_all(waker);
    }
}

impl Future for Acquiring<'_> {
    type Output = Result<(), Closed>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Closed>> {
        // First the permits, or a place in the list: a task that has used up its budget must not lose its
        // place to others for that.
        let closed = ready!(self.as_mut().poll_waiting(cx)).is_err();
        if closed {
            return Poll::Ready(Err(Closed));
        }
        // If the budget is used up, the permits stay with this future as if they had been given to its place:
        // the next poll finds them, and drop gives them back. Set before the call, which may run a waker that
        // panics.
        debug_assert_eq!(self.place.given(), Some(0));
        *self.as_mut().project().waits = true;
        ready!(budget::poll_proceed(cx));
        *self.project().waits = false;
        Poll::Ready(Ok(()))
    }
}

impl Acquiring<'_> {
    /// As [`Future::poll`], without the budget.
    fn poll_waiting(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Closed>> {
        let this = self.project();
        let (permits, count, place) = (*this.permits, *this.count, this.place.as_ref());
        if !*this.waits {
            match permits.try_acquire(count) {
                Ok(()) => return Poll::Ready(Ok(())),
                Err(Refusal::Closed) => return Poll::Ready(Err(Closed)),
                Err(Refusal::TooFew) => {}
            }
        }
        let given = |waits: &mut bool| {
            let word = place.given()?;
            *waits = false;
            Some(word)
        };
        let told = |word: usize| {
            // Closed after all had come, and before this: they go back, because from the closing on there are
            // none.
            if word == 0 && !permits.is_closed() {
                return Ok(());
            }
            match count - (word & !CLOSED_PLACE) {
                0 => {}
                collected => permits.release(collected),
            }
            Err(Closed)
        };
        if *this.waits {
            if let Some(word) = given(this.waits) {
                return Poll::Ready(told(word));
            }
        }
        let (poll, unused) = permits.waiting.poll_replacing(place, cx, |locked| {
            if *this.waits {
                return given(this.waits).map_or(Poll::Pending, |word| Poll::Ready(Some(word)));
            }
            match permits.take_or_crowd(count) {
                Ok(None) => Poll::Ready(Some(0)),
                Ok(Some(missing)) => {
                    place.prepare(missing);
                    *this.waits = true;
                    permits.note_waited(locked);
                    Poll::Pending
                }
                Err(Closed) => Poll::Ready(None),
            }
        });
        if poll.is_pending() {
            if let Some(replaced) = &unused {
                clear_note(replaced, permits.kind_of(count), permits);
            }
            set_note(cx.waker(), permits.kind_of(count), permits);
        }
        wakers::drop_all(unused);
        poll.map(|word| word.map_or(Err(Closed), told))
    }
}

#[cfg(all(test, liten_loom))]
mod loom;
#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;
