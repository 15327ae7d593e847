//! A channel for one value that changes: receivers see the latest.
//!
//! A receiver never sees a value that was replaced before it looked. So there is no queue, a send never
//! waits, and a slow receiver costs nothing. That suits a configuration, a state, or the progress of some
//! work.
//!
//! # Examples
//!
//! A configuration that is reloaded while the program runs:
//!
//! ```
//! use liten::sync::watch;
//!
//! #[derive(Debug, Clone, PartialEq)]
//! struct Config {
//!     limit: u32,
//! }
//!
//! # liten::block_on(async {
//! let (reload, mut config) = watch::channel(Config { limit: 1 });
//! let worker = liten::spawn(async move {
//!     let mut seen = vec![config.borrow_and_update().limit];
//!     // Until the sender is dropped.
//!     while config.changed().await.is_ok() {
//!         seen.push(config.borrow_and_update().limit);
//!     }
//!     seen
//! });
//! reload.send(Config { limit: 2 }).unwrap();
//! reload.send_modify(|config| config.limit += 1);
//! drop(reload);
//! assert_eq!(worker.await.unwrap().last(), Some(&3));
//! # });
//! ```
//!
//! A shutdown that waits until the last task has ended:
//!
//! ```
//! use liten::sync::watch;
//!
//! # liten::block_on(async {
//! let (shutdown, _) = watch::channel(false);
//! for _ in 0..4 {
//!     let mut told = shutdown.subscribe();
//!     liten::spawn(async move { told.wait_for(|begun| *begun).await.map(drop) });
//! }
//! shutdown.send_replace(true);
//! // Each task drops its receiver when it ends.
//! shutdown.closed().await;
//! # });
//! ```

// The value is under a read-write lock. The state word beside it is `version · STEP + CLOSED`.
//
// * The version is raised under the write lock, before the futures are notified, so a version that was read
//   under the read lock is that of the value there.
// * A receiver keeps the version that it has seen. `changed` makes its `Notified` before it looks at the
//   word: a send that comes later notifies it, although it may not be waiting yet. So no change is missed.
//   The same is true for the closing by the last sender, and for `Sender::closed`, which looks at the count
//   of receivers.
// * User code runs under the value's lock: the closures of `send_modify`, `send_if_modified` and
//   `wait_for`, and what a program does while it holds a `Ref`. If it panics, the lock is released and not
//   poisoned, and the version stays as it was. Old values are dropped after the lock was released.
//
// # A second borrow
//
// A sender that waits for the lock keeps out readers that come after it, or readers could keep it waiting
// for ever. But a thread that holds a `Ref` and borrows again would then wait for the sender, which waits for
// that `Ref`; and so would a thread on which another one with a `Ref` waits. So a reader waits behind such a
// sender only for a while, and then overtakes it.
//
// With each time that a sender is overtaken the while becomes twice as long, until a sender has had the lock.
// So readers that hold each value for a time come to wait for longer than that: then the last `Ref` goes
// before the next reader overtakes, and the sender has the lock. A sender that has had the lock ends the
// count whatever it has done there. It may have sent, which the version shows. It may also have left the
// value, or its closure may have panicked. Then the count would go on with the next sender, and a second
// borrow would wait for long although no sender was overtaken often.
//
// Rejected: to overtake always (with two readers on two cores a sender may wait for ever). A count of the
// `Ref`s of each thread, by which a second borrow would not wait at all: four instructions more for each
// borrow, of 26, and no help against two threads. Values behind an `Arc`, exchanged by a send: `send_modify`
// changes the value in its place.
//
// Receivers are spread over several `Notify`s. A send wakes many tasks, and those that are woken first wait
// again while the send still wakes the others. With one `Notify` all of them would compete for one lock.

pub mod error;
mod receiver;

pub use self::receiver::{Receiver, Ref};

use self::error::SendError;
use super::Notify;
use super::await_place::awaited_here;
use crate::engine::sync_shim::atomic::{AtomicUsize, Ordering};
use crate::engine::sync_shim::{Arc, RwLock, RwLockReadGuard, read_or_overtake};
use crate::engine::task::budget;
use crate::impls::impl_unwind_safe;
use crate::runtime::context;
use std::fmt;
use std::mem;
use std::time::Duration;

const CLOSED: usize = 1;

/// Over how many `Notify`s the receivers are spread; tokio's number. A send costs an addition for each. The
/// models have one, because they would take hours with eight, and show the same with one.
const SPREAD: usize = if cfg!(all(test, liten_loom)) { 1 } else { 8 };

/// The distance between two versions. The bits below it have room for `CLOSED` in the state word, and for the
/// number of a `Notify` in a receiver's word.
const STEP: usize = 2 * SPREAD;

/// How long a reader waits behind a sender that was not overtaken yet. A sender that waits has to be let
/// in by readers that hold a `Ref`, mostly for less than a microsecond.
const FIRST_WAIT: Duration = Duration::from_micros(100);
/// How often that time doubles: to 1.6 seconds.
const DOUBLINGS: u32 = 14;

/// The number of a value, from the state word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Version(usize);

/// In this order, so that the lists lie between the state, which a send changes, and the lock of the value,
/// which each look at the value changes. On one cache line, each look would take the state from the other
/// cores, whose receivers read it before they wait.
#[repr(C)]
struct Shared<T> {
    state: AtomicUsize,
    senders: AtomicUsize,
    /// The last receiver was dropped.
    unwatched: Notify,
    changed: [Notify; SPREAD],
    receivers: AtomicUsize,
    value: RwLock<T>,
    /// The version of the value that a sender waits to replace, and in the bits below it how often readers
    /// have overtaken senders since one of them has had the lock. A count of another version is over.
    overtakings: AtomicUsize,
}

impl<T> Shared<T> {
    /// The version, and whether all senders have been dropped.
    fn state(&self) -> (Version, bool) {
        // Ordering: Acquire pairs with the Release in `send_if_modified` and in the drop of the last
        // sender: what was done before the change is seen.
        let state = self.state.load(Ordering::Acquire);
        (Version(state & !CLOSED), state & CLOSED != 0)
    }

    fn version(&self) -> Version {
        self.state().0
    }

    /// Locks the value for reading.
    fn read(&self) -> RwLockReadGuard<'_, T> {
        match self.value.try_read() {
            Some(value) => value,
            None => self.read_late(),
        }
    }

    #[cold]
    fn read_late(&self) -> RwLockReadGuard<'_, T> {
        // Also with each time that a sender writes for longer than this thread waits.
        let mut doublings = self.overtaken();
        loop {
            let limit = FIRST_WAIT * (1 << doublings.min(DOUBLINGS));
            if let Some((value, has_overtaken)) = read_or_overtake(&self.value, limit) {
                if has_overtaken {
                    self.note_overtaking();
                }
                return value;
            }
            doublings += 1;
        }
    }

    /// How often readers have overtaken a sender that waits for the present value, since one has had the
    /// lock.
    fn overtaken(&self) -> u32 {
        // Ordering: Relaxed: a number from which only the length of a wait follows.
        let word = self.overtakings.load(Ordering::Relaxed);
        let is_of_this_value = Version(word & !(STEP - 1)) == self.version();
        if is_of_this_value { (word & (STEP - 1)) as u32 } else { 0 }
    }

    /// By a thread that has overtaken a sender, and has the value: no send changes the version meanwhile.
    fn note_overtaking(&self) {
        let most = STEP as u32 - 1;
        let count = (self.overtaken() + 1).min(most);
        // Ordering: Relaxed, as in `overtaken`. Of two threads at once, one is not counted.
        self.overtakings.store(self.version().0 | count as usize, Ordering::Relaxed);
    }

    fn notify_receivers(&self) {
        context::wake_together(|| self.changed.iter().for_each(Notify::notify_waiters));
    }
}

/// Ends the count of overtakings when a sender releases the lock without a new version, by a panic, too. It
/// is dropped under the lock. So no reader that has overtaken counts at the same time.
struct Unsent<'a>(&'a AtomicUsize);

impl Drop for Unsent<'_> {
    fn drop(&mut self) {
        // Ordering: Relaxed, as in `Shared::overtaken`.
        self.0.store(0, Ordering::Relaxed);
    }
}

impl<T: fmt::Debug> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (version, closed) = self.state();
        f.debug_struct("Shared")
            .field("value", &self.value)
            .field("version", &version)
            .field("is_closed", &closed)
            // Ordering: Relaxed, the value is only printed.
            .field("receivers", &self.receivers.load(Ordering::Relaxed))
            .finish_non_exhaustive()
    }
}

// A panic of a closure leaves the value as the closure has left it, as the documentation of the methods says.
impl_unwind_safe!([T] Shared<T>);

/// Returns the two halves of a channel with its first value, which the receiver counts as seen.
///
/// # Examples
///
/// ```
/// use liten::sync::watch;
///
/// # liten::block_on(async {
/// let (sender, mut receiver) = watch::channel("starting");
/// assert_eq!(*receiver.borrow(), "starting");
/// liten::spawn(async move { sender.send("ready") });
/// receiver.changed().await.unwrap();
/// assert_eq!(*receiver.borrow_and_update(), "ready");
/// # });
/// ```
pub fn channel<T>(init: T) -> (Sender<T>, Receiver<T>) {
    let shared = Arc::new(Shared {
        value: RwLock::new(init),
        overtakings: AtomicUsize::new(0),
        state: AtomicUsize::new(0),
        receivers: AtomicUsize::new(0),
        senders: AtomicUsize::new(1),
        changed: std::array::from_fn(|_| Notify::new()),
        unwatched: Notify::new(),
    });
    let receiver = Receiver::new(shared.clone(), Version(0));
    (Sender { shared }, receiver)
}

/// Replaces the value; made by [`channel`].
///
/// Clones are senders of the same channel. The channel is closed when the last one is dropped.
#[derive(Debug)]
pub struct Sender<T> {
    shared: Arc<Shared<T>>,
}

impl<T> Sender<T> {
    /// Returns a sender of a new channel that has no receivers yet; [`subscribe`](Self::subscribe) makes
    /// them.
    pub fn new(init: T) -> Self {
        channel(init).0
    }

    /// Replaces the value, and wakes all receivers.
    ///
    /// # Errors
    ///
    /// [`SendError`], with `value`, if there is no receiver; the old value stays then.
    /// [`send_replace`](Self::send_replace) replaces it also without a receiver.
    ///
    /// # Examples
    ///
    /// ```
    /// use liten::sync::watch;
    ///
    /// let (sender, receiver) = watch::channel(1);
    /// assert!(sender.send(2).is_ok());
    /// drop(receiver);
    /// assert_eq!(sender.send(3).unwrap_err().0, 3);
    /// assert_eq!(*sender.borrow(), 2);
    /// ```
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        if self.is_closed() {
            return Err(SendError(value));
        }
        self.send_replace(value);
        Ok(())
    }

    /// Changes the value in its place, and wakes all receivers. The value is changed also if there are none.
    ///
    /// `modify` runs under the lock of the value: it should be short, and must not use this channel.
    ///
    /// # Panics
    ///
    /// If `modify` panics. The value is then as `modify` has left it, no receiver is woken, and the channel
    /// can still be used.
    ///
    /// # Examples
    ///
    /// ```
    /// let (sender, receiver) = liten::sync::watch::channel(vec![1]);
    /// sender.send_modify(|numbers| numbers.push(2));
    /// assert_eq!(*receiver.borrow(), [1, 2]);
    /// ```
    pub fn send_modify<F>(&self, modify: F)
    where
        F: FnOnce(&mut T),
    {
        self.send_if_modified(|value| {
            modify(value);
            true
        });
    }

    /// Changes the value in its place, and wakes all receivers if `modify` returns true; returns what
    /// `modify` has returned.
    ///
    /// If `modify` changes the value and returns false, a receiver that looks sees the change, but none is
    /// told of it. `modify` runs under the lock of the value: it should be short, and must not
    /// use this channel.
    ///
    /// # Panics
    ///
    /// If `modify` panics, as [`send_modify`](Self::send_modify).
    ///
    /// # Examples
    ///
    /// ```
    /// let (sender, receiver) = liten::sync::watch::channel(5);
    /// let raise = |to: u32| {
    ///     sender.send_if_modified(|most| {
    ///         let more = to > *most;
    ///         *most = to.max(*most);
    ///         more
    ///     })
    /// };
    /// assert!(!raise(4));
    /// assert!(!receiver.has_changed().unwrap());
    /// assert!(raise(6));
    /// assert!(receiver.has_changed().unwrap());
    /// ```
    pub fn send_if_modified<F>(&self, modify: F) -> bool
    where
        F: FnOnce(&mut T) -> bool,
    {
        let mut value = self.shared.value.write();
        let unsent = Unsent(&self.shared.overtakings);
        if !modify(&mut value) {
            // `unsent` goes before the lock.
            return false;
        }
        mem::forget(unsent);
        // Ordering: Release pairs with the Acquire in `Shared::state`.
        self.shared.state.fetch_add(STEP, Ordering::Release);
        drop(value);
        self.shared.notify_receivers();
        true
    }

    /// Replaces the value, wakes all receivers, and returns the old value. Works also without a receiver.
    ///
    /// # Examples
    ///
    /// ```
    /// let sender = liten::sync::watch::Sender::new(1);
    /// assert_eq!(sender.send_replace(2), 1);
    /// assert_eq!(*sender.subscribe().borrow(), 2);
    /// ```
    pub fn send_replace(&self, mut value: T) -> T {
        self.send_modify(|old| std::mem::swap(old, &mut value));
        value
    }

    /// Returns the value, which no sender can replace as long as the [`Ref`] is held. See
    /// [`Receiver::borrow`].
    pub fn borrow(&self) -> Ref<'_, T> {
        Ref::new(self.shared.read(), false)
    }

    /// Returns whether there is no receiver. A later [`subscribe`](Self::subscribe) makes one again.
    pub fn is_closed(&self) -> bool {
        self.receiver_count() == 0
    }

    /// Waits until there is no receiver.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: dropping the future loses nothing.
    ///
    /// # Examples
    ///
    /// A task stops when there is no receiver for its result:
    ///
    /// ```
    /// # liten::block_on(async {
    /// let (progress, receiver) = liten::sync::watch::channel(0);
    /// let work = liten::spawn(async move {
    ///     progress.closed().await;
    ///     "given up"
    /// });
    /// drop(receiver);
    /// assert_eq!(work.await.unwrap(), "given up");
    /// # });
    /// ```
    #[track_caller]
    pub fn closed(&self) -> impl Future<Output = ()> {
        awaited_here(async move {
            budget::within(async {
                loop {
                    // Made before the look at the count: a receiver that is dropped after the look
                    // notifies it.
                    let unwatched = self.shared.unwatched.notified_inside();
                    if self.is_closed() {
                        return;
                    }
                    unwatched.await;
                }
            })
            .await;
        })
    }

    /// Returns a new receiver, which counts the present value as seen.
    ///
    /// # Examples
    ///
    /// ```
    /// # liten::block_on(async {
    /// let sender = liten::sync::watch::Sender::new(1);
    /// let mut receiver = sender.subscribe();
    /// assert!(!receiver.has_changed().unwrap());
    /// sender.send(2).unwrap();
    /// receiver.changed().await.unwrap();
    /// # });
    /// ```
    pub fn subscribe(&self) -> Receiver<T> {
        Receiver::new(self.shared.clone(), self.shared.version())
    }

    /// Returns how many receivers there are.
    pub fn receiver_count(&self) -> usize {
        // Ordering: Acquire pairs with the Release in the drop of a receiver: a sender that finds none sees
        // what they have done.
        self.shared.receivers.load(Ordering::Acquire)
    }

    /// Returns how many senders there are.
    pub fn sender_count(&self) -> usize {
        // Ordering: Relaxed, nothing is read on the strength of this number.
        self.shared.senders.load(Ordering::Relaxed)
    }

    /// Returns whether both send to the same channel.
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        // Ordering: Relaxed: this sender is counted, so none of them is the last.
        self.shared.senders.fetch_add(1, Ordering::Relaxed);
        Self { shared: self.shared.clone() }
    }
}

impl<T: Default> Default for Sender<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        // Ordering: Release pairs with the Acquire here of the last one: all versions come before the
        // closing.
        if self.shared.senders.fetch_sub(1, Ordering::AcqRel) == 1 {
            // Ordering: Release pairs with the Acquire in `Shared::state`.
            self.shared.state.fetch_or(CLOSED, Ordering::Release);
            self.shared.notify_receivers();
        }
    }
}

#[cfg(all(test, liten_loom))]
mod loom;
#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;
