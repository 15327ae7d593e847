//! What the two halves of a channel share: a place for the value, one for the waker of each half, and one
//! word that says which half may use which place.
//!
//! # Which half may use which place
//!
//! The sender *ends* the channel by sending or by being dropped, the receiver by closing it or by being
//! dropped. Either does so by one change of the word; the *first* end in the order of these changes is the
//! one that counts, and the half that made it is called the first half here, the other one the second.
//!
//! | the word says | value | the receiver's waker | the sender's waker |
//! |---|---|---|---|
//! | no end yet, the waker's bit clear | sender's | receiver's | sender's |
//! | no end yet, the waker's bit set | sender's | read by the receiver | read by the sender |
//! | `SENT` first | receiver's | sender's if its bit is set | sender's if its bit is set |
//! | `DROPPED` first | not there | as above | as above |
//! | `CLOSED` first | sender's | receiver's if its bit is set | receiver's if its bit is set |
//!
//! A half sets and clears the bit of its own waker, only by a compare-exchange, and only while there is no
//! end: so the first end decides about both wakers at once. The first half takes both out, calls the other
//! one's and drops its own. A second half that was about to leave its waker finds the end, and takes back
//! what it has written: its bit was clear, so the first half has not looked there. `SENT` and `DROPPED` may
//! come after `CLOSED`. Then they mean nothing: the receiver, which alone sets `CLOSED`, looks at that
//! first.
//!
//! # Which half frees the cell
//!
//! There is no count of references. The first half needs the cell until it has cleared the bits of the wakers
//! that it has taken out (and a receiver that is closed, but still there, until it has cleared `STAYS`). If
//! none of these is set by its end, it has left the cell by that very change.
//!
//! | the second half leaves and finds | frees |
//! |---|---|
//! | all of them clear | the second half |
//! | one of them set, and sets `LEFT` after they were cleared | the second half |
//! | one of them set, and sets `LEFT` before they are cleared | the first half, which finds `LEFT` |
//!
//! The two changes are made to one word: exactly one half finds what the other one has done. A second half
//! has taken the value out before it leaves, so nothing but memory is left when the cell is freed.
//!
//! A channel that is sent to before its receiver is polled therefore costs one read-modify-write: the change
//! that ends it. With a waker it is three: left, ended, taken out. Rejected: `Arc`, whose count costs three
//! more, for what the word knows already.
//!
//! # Wakers are user code
//!
//! A waker is cloned before anything is changed, so a clone that panics leaves the cell as it was. A half
//! calls and drops wakers only after its last access to the cell in that call. A panic there does not reach
//! the caller ([`wakers::guard`]).

#![allow(unsafe_code)]

use crate::engine::sync_shim::UnsafeCell;
use crate::engine::sync_shim::atomic::{AtomicU32, Ordering};
use crate::engine::{recycler, wakers};
use std::alloc::Layout;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::Location;
use std::ptr::NonNull;
use std::task::{Poll, Waker};

/// The receiver's waker is in its place.
const RECEIVER_WAKER: u32 = 1;
/// The sender's waker is in its place.
const SENDER_WAKER: u32 = 1 << 1;
/// The sender has sent the value.
const SENT: u32 = 1 << 2;
/// The sender was dropped without sending.
const DROPPED: u32 = 1 << 3;
/// The receiver has closed the channel or was dropped: a value sent after that is not received.
const CLOSED: u32 = 1 << 4;
/// The receiver is closed, but may still come back to the cell.
const STAYS: u32 = 1 << 5;
/// The second half has left before the first one: that frees the cell.
const LEFT: u32 = 1 << 6;

const WAKERS: u32 = RECEIVER_WAKER | SENDER_WAKER;
const ENDS: u32 = SENT | DROPPED | CLOSED;
/// While one of these is set after the end, the first half is in the cell.
const INSIDE: u32 = WAKERS | STAYS;

struct Cell<T> {
    word: AtomicU32,
    value: UnsafeCell<MaybeUninit<T>>,
    receiver: UnsafeCell<MaybeUninit<Waker>>,
    sender: UnsafeCell<MaybeUninit<Waker>>,
    /// Never changes.
    made_at: &'static Location<'static>,
}

/// Returns the two halves of a new cell.
#[track_caller]
pub(super) fn halves<T>() -> (SendHalf<T>, ReceiveHalf<T>) {
    let cell = recycler::allocate(Layout::new::<Cell<T>>()).cast::<Cell<T>>();
    let new = Cell {
        word: AtomicU32::new(0),
        value: UnsafeCell::new(MaybeUninit::uninit()),
        receiver: UnsafeCell::new(MaybeUninit::uninit()),
        sender: UnsafeCell::new(MaybeUninit::uninit()),
        made_at: Location::caller(),
    };
    // SAFETY: memory of this layout, which nothing else uses.
    unsafe { cell.write(new) };
    (SendHalf(Door(cell)), ReceiveHalf(Door(cell)))
}

/// One half's pointer to the cell. It is valid until that half leaves.
struct Door<T>(NonNull<Cell<T>>);

impl<T> Clone for Door<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Door<T> {}

impl<T> Door<T> {
    fn cell(&self) -> &Cell<T> {
        // SAFETY: a half that has not left keeps the cell from being freed, by the second table above.
        unsafe { self.0.as_ref() }
    }

    /// The place of the waker with this bit.
    fn place(&self, bit: u32) -> &UnsafeCell<MaybeUninit<Waker>> {
        if bit == RECEIVER_WAKER { &self.cell().receiver } else { &self.cell().sender }
    }

    fn load(&self) -> u32 {
        // Ordering: Acquire pairs with the other half's end, and with its last change before it left.
        self.cell().word.load(Ordering::Acquire)
    }

    /// Leaves `waker` in the place for the calling half's waker, which `bit` stands for. Returns `false`, and
    /// leaves nothing, if the channel has ended.
    ///
    /// # Safety
    ///
    /// `bit` is the one of the calling half, which does nothing else with the cell meanwhile.
    unsafe fn store_waker(&self, bit: u32, waker: &Waker) -> bool {
        let mut seen = self.load();
        if seen & ENDS != 0 {
            return false;
        }
        let mut old = None;
        if seen & bit != 0 {
            // SAFETY: this half wrote it, and neither half writes while it is there. The other half may take
            // it out meanwhile, which is a read; here it is only compared and not used.
            let same = |place: *const MaybeUninit<Waker>| unsafe {
                (*place).assume_init_ref().will_wake(waker)
            };
            if self.place(bit).with(same) {
                return true;
            }
        }
        let new = waker.clone();
        if seen & bit != 0 {
            // Ordering: Relaxed: what is taken back was this half's own all the time.
            if !self.change(&mut seen, |word| word & !bit, Ordering::Relaxed) {
                return false;
            }
            // SAFETY: no end had come when the bit was cleared, so the place is this half's alone, and full.
            old = Some(unsafe { self.place(bit).with_mut(|place| (*place).assume_init_read()) });
        }
        // SAFETY: the bit is clear, so the place is this half's alone.
        self.place(bit).with_mut(|place| unsafe { (*place).write(new) });
        // Ordering: Release, for the half that ends the channel and takes the waker out.
        let left = self.change(&mut seen, |word| word | bit, Ordering::Release);
        if !left {
            // SAFETY: the channel has ended without the bit, so the place is still this half's, and full.
            let new = unsafe { self.place(bit).with_mut(|place| (*place).assume_init_read()) };
            wakers::drop_all([new]);
        }
        wakers::drop_all(old);
        left
    }

    /// Changes the word unless the channel has ended, which it tells by `false`. `seen` is what the word was.
    fn change(&self, seen: &mut u32, to: impl Fn(u32) -> u32, success: Ordering) -> bool {
        while *seen & ENDS == 0 {
            // Ordering: as the caller says; Acquire if it fails, because that may be the other half's end.
            match self.cell().word.compare_exchange_weak(
                *seen,
                to(*seen),
                success,
                Ordering::Acquire,
            ) {
                Ok(_) => return true,
                Err(now) => *seen = now,
            }
        }
        false
    }

    /// After the calling half, whose waker has the bit `own`, has made the first end, and found `seen`
    /// before: takes the wakers out, leaves the cell unless the half stays, and wakes the other one.
    ///
    /// # Safety
    ///
    /// As said. Unless `STAYS` is set, the calling half does not come back to the cell.
    unsafe fn end(self, own: u32, seen: u32) {
        let bits = seen & WAKERS;
        if bits == 0 {
            return;
        }
        let take = |bit: u32| {
            // SAFETY: the first half owns the wakers whose bits it found when it ended the channel. It reads
            // through a shared pointer, because the second half may be comparing its waker (`store_waker`).
            let read = |place: *const MaybeUninit<Waker>| unsafe { (*place).assume_init_read() };
            (bits & bit != 0).then(|| self.place(bit).with(read))
        };
        let (mine, others) = (take(own), take(WAKERS & !own));
        // Ordering: AcqRel: Release for a second half that frees the cell after this; Acquire for the case
        // that it has left before, and this half does.
        let before = self.cell().word.fetch_sub(bits, Ordering::AcqRel);
        if before & (LEFT | STAYS) == LEFT {
            // SAFETY: both halves have left.
            unsafe { self.free() };
        }
        if let Some(waker) = others {
            wakers::guard(|| waker.wake());
        }
        wakers::drop_all(mine);
    }

    /// The second half leaves the cell. It has last seen `seen`, with the first end in it.
    ///
    /// # Safety
    ///
    /// As said. The calling half has taken the value out if it is its own, and does not come back.
    unsafe fn leave(self, seen: u32) {
        if seen & INSIDE != 0 {
            // Ordering: AcqRel: Release for a first half that frees the cell after this; Acquire for the case
            // that it has left before, and this half does.
            if self.cell().word.fetch_add(LEFT, Ordering::AcqRel) & INSIDE != 0 {
                return;
            }
        }
        // SAFETY: both halves have left.
        unsafe { self.free() };
    }

    /// # Safety
    ///
    /// Both halves have left. The value and the wakers have been taken out.
    unsafe fn free(self) {
        let cell = self.cell();
        // For the models alone: each access so far happened before this.
        cell.value.with_mut(|_| ());
        cell.receiver.with_mut(|_| ());
        cell.sender.with_mut(|_| ());
        // SAFETY: it was written by `halves` in memory of this layout, and only this half frees it, by the
        // second table above.
        unsafe {
            self.0.drop_in_place();
            recycler::release(self.0.cast(), Layout::new::<Cell<T>>());
        }
    }

    /// # Safety
    ///
    /// The value is there, and the calling half's.
    unsafe fn take_value(&self) -> T {
        // SAFETY: the caller's promise.
        self.cell().value.with_mut(|place| unsafe { (*place).assume_init_read() })
    }
}

// SAFETY: the value goes from one thread to another, and no reference to it is ever given out. The wakers are
// `Send` and `Sync`.
unsafe impl<T: Send> Send for Door<T> {}
// SAFETY: as above; a shared half only reads the word.
unsafe impl<T: Send> Sync for Door<T> {}

/// The sender's half. To drop it ends the channel without a value.
pub(super) struct SendHalf<T>(Door<T>);

impl<T> SendHalf<T> {
    /// Ends the channel with `value`, which comes back if the receiver has ended it before.
    #[inline]
    pub(super) fn send(self, value: T) -> Result<(), T> {
        let door = ManuallyDrop::new(self).0;
        // SAFETY: before its own end the value's place is the sender's, whatever the receiver does.
        door.cell().value.with_mut(|place| unsafe { (*place).write(value) });
        // Ordering: AcqRel: Release for the receiver, which reads the value; Acquire for the wakers, and
        // for a receiver that has left. An addition, because it is one instruction: the bit is set once.
        let seen = door.cell().word.fetch_add(SENT, Ordering::AcqRel);
        if seen & CLOSED == 0 {
            // SAFETY: this was the first end.
            unsafe { door.end(SENDER_WAKER, seen) };
            return Ok(());
        }
        // SAFETY: the receiver has ended the channel first, so the value is still the sender's.
        let value = unsafe { door.take_value() };
        // SAFETY: this is the second half, and the value is out.
        unsafe { door.leave(seen) };
        Err(value)
    }

    /// Whether the receiver has ended the channel.
    pub(super) fn is_closed(&self) -> bool {
        self.0.load() & CLOSED != 0
    }

    /// Ready when the receiver has ended the channel.
    pub(super) fn poll_closed(&mut self, waker: &Waker) -> Poll<()> {
        // SAFETY: it is the sender's bit, and the half is borrowed mutably.
        match unsafe { self.0.store_waker(SENDER_WAKER, waker) } {
            true => Poll::Pending,
            false => Poll::Ready(()),
        }
    }
}

impl<T> Drop for SendHalf<T> {
    fn drop(&mut self) {
        // Ordering: AcqRel: Release for a receiver that leaves after this and frees the cell; Acquire for its
        // waker, and for a receiver that has left.
        let seen = self.0.cell().word.fetch_add(DROPPED, Ordering::AcqRel);
        // SAFETY: first or second, as it says; there is no value.
        unsafe {
            match seen & CLOSED {
                0 => self.0.end(SENDER_WAKER, seen),
                _ => self.0.leave(seen),
            }
        }
    }
}

/// The receiver's half. To drop it ends the channel and drops the value.
pub(super) struct ReceiveHalf<T>(Door<T>);

impl<T> ReceiveHalf<T> {
    /// Which channel it is.
    pub(super) fn address(&self) -> *const () {
        self.0.0.as_ptr().cast_const().cast()
    }

    /// The place where the channel was made.
    pub(super) fn made_at(&self) -> &'static Location<'static> {
        self.0.cell().made_at
    }

    /// Whether one of the halves has ended the channel.
    #[inline]
    pub(super) fn has_ended(&self) -> bool {
        self.0.load() & ENDS != 0
    }

    /// Whether there is a value to be taken.
    pub(super) fn has_value(&self) -> bool {
        self.0.load() & (SENT | CLOSED) == SENT
    }

    /// Leaves `waker` for the end of the channel. `false`: it has ended.
    pub(super) fn store_waker(&mut self, waker: &Waker) -> bool {
        // SAFETY: it is the receiver's bit, and the half is borrowed mutably.
        unsafe { self.0.store_waker(RECEIVER_WAKER, waker) }
    }

    /// Ends the channel, unless it has ended; keeps what has been sent before.
    pub(super) fn close(&mut self) {
        let mut seen = self.0.load();
        // Ordering: AcqRel: Release for a sender that leaves after this; Acquire for its waker.
        if self.0.change(&mut seen, |word| word | CLOSED | STAYS, Ordering::AcqRel) {
            // SAFETY: this was the first end, and the half stays.
            unsafe { self.0.end(RECEIVER_WAKER, seen) };
        }
    }

    /// Takes the value out, if the sender has ended the channel with one; ends it if it has not ended.
    #[inline]
    pub(super) fn finish(self) -> Option<T> {
        ManuallyDrop::new(self).finish_once()
    }

    fn finish_once(&mut self) -> Option<T> {
        let door = self.0;
        let mut seen = door.load();
        // Ordering: AcqRel: Release for a sender that leaves after this; Acquire for its waker.
        if door.change(&mut seen, |word| word | CLOSED, Ordering::AcqRel) {
            // SAFETY: this was the first end, and the caller does not come back.
            unsafe { door.end(RECEIVER_WAKER, seen) };
            return None;
        }
        if seen & CLOSED != 0 {
            // Ordering: AcqRel: Release for a sender that leaves after this; Acquire for the case that it has
            // left before, and this half frees the cell.
            if door.cell().word.fetch_sub(STAYS, Ordering::AcqRel) & LEFT != 0 {
                // SAFETY: both halves have left. The sender has taken its value back before.
                unsafe { door.free() };
            }
            return None;
        }
        // SAFETY: the sender has made the first end, so a value that it has sent is the receiver's.
        let value = (seen & SENT != 0).then(|| unsafe { door.take_value() });
        // SAFETY: this is the second half, and the value is out.
        unsafe { door.leave(seen) };
        value
    }
}

impl<T> Drop for ReceiveHalf<T> {
    fn drop(&mut self) {
        // The value is dropped here, after the cell: its destructor may panic.
        drop(self.finish_once());
    }
}
