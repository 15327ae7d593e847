//! [`Notify`]: a permit, or a wake for all, without a value.
//!
//! The state word is `turn · 4 + kind`; the turn counts the calls of `notify_waiters`.
//!
//! | kind | `notify_one` | a `Notified` that is polled first | `notify_waiters` |
//! |---|---|---|---|
//! | `EMPTY` | → `PERMIT`: one exchange | under the lock: → `WAITING`, joins | next turn: one addition |
//! | `PERMIT` | the same word again: one exchange | → `EMPTY`: one exchange, is ready | as above |
//! | `WAITING` | under the lock: takes a place out | under the lock: joins | next turn; then takes all out |
//!
//! | word of a place | means |
//! |---|---|
//! | a turn (`FRESH`) | made in that turn, not notified |
//! | `FIRST`, `LAST` | has the notification of a `notify_one`, `notify_last`; a drop passes it on |
//! | `THROUGH` | was notified by `notify_waiters`, or has returned `Ready` |
//!
//! * `WAITING` is set and cleared under the lock only. If a place of the present turn is linked, the kind is
//!   `WAITING`. The kind may be `WAITING` for a while although no place is linked; a `notify_one` that
//!   finds it so stores its permit under the lock.
//! * A place joins only in the turn in which its future was made. So the turns of the linked places never
//!   decrease from first to last.
//! * The `notify_waiters` that ended an older turn has to wake the places of that turn. If it has not come to
//!   one yet, the poll of its future takes it out, or a `notify_one` that finds it in front. So no
//!   `notify_one` is used up by a future that `notify_waiters` has notified already.
//! * `notify_waiters` takes out, in rounds, places older than the turn that it began, and no others. A future
//!   that joins during the rounds belongs to that turn or a later one. Its place is behind the older ones and
//!   ends the rounds. So it neither keeps the caller in the rounds nor takes the wake of an older future.
//!
//! No notification is lost. All changes of the word are exchanges or additions, so they have one order.
//! * A `notify_one` either comes before the joining future has set `WAITING`: then the exchange that should
//!   set it finds the permit. Or it comes after: then it waits for the lock, under which the future joins.
//! * A `notify_waiters` either comes before the future was made, and the future sees what was done before; or
//!   between that and the joining, and the future finds another turn; or after that, and it finds `WAITING`
//!   and waits for the lock. A future that finds `WAITING` set by another one changes nothing and may read
//!   an old turn, but then it holds the lock that the call will take.
//!
//! Compared with tokio: a `notify_waiters` without a waiting future is one addition and takes no lock, and a
//! `Notified` has 56 bytes and not 64.

mod notified;

pub use self::notified::{Notified, OwnedNotified};

use crate::engine::sync_shim::atomic::{AtomicUsize, Ordering};
use crate::engine::sync_shim::const_fn;
use crate::engine::task::waker::set_note;
use crate::engine::wakers::{self, Locked, Place, WaitList, guard};
use crate::impls::{impl_default, impl_unwind_safe};
use crate::primitive_kind::PrimitiveKind;
use crate::runtime::context;
use std::fmt;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Kinds of the state word.
const EMPTY: usize = 0;
const WAITING: usize = 1;
const PERMIT: usize = 2;

/// Kinds of the word of a place.
const FRESH: usize = 0;
const FIRST: usize = 1;
const LAST: usize = 2;
const THROUGH: usize = 3;

const KIND: usize = 3;
const TURN: usize = !KIND;
const NEXT_TURN: usize = KIND + 1;

/// Tells one task, or all that wait, that something has happened; carries no value.
///
/// [`notify_one`](Self::notify_one) lets one [`notified().await`](Self::notified) return. If no task waits,
/// it leaves a permit, which the next `notified().await` takes; there is never more than one permit. Tasks
/// are notified in the order in which they began to wait.
///
/// [`notify_waiters`](Self::notify_waiters) lets every `notified()` future return that exists at that moment,
/// and leaves no permit.
///
/// Works on any runtime, and between runtimes. A notification only says that something has changed. The data
/// itself is kept beside the `Notify`, in an atomic or under a lock.
///
/// # Examples
///
/// A queue for many senders and one receiver, which needs no bound:
///
/// ```
/// use liten::sync::Notify;
/// use std::collections::VecDeque;
/// use std::sync::{Arc, Mutex};
///
/// #[derive(Default)]
/// struct Queue {
///     items: Mutex<VecDeque<u32>>,
///     filled: Notify,
/// }
///
/// impl Queue {
///     fn push(&self, item: u32) {
///         self.items.lock().unwrap().push_back(item);
///         self.filled.notify_one();
///     }
///
///     async fn pop(&self) -> u32 {
///         loop {
///             if let Some(item) = self.items.lock().unwrap().pop_front() {
///                 return item;
///             }
///             self.filled.notified().await;
///         }
///     }
/// }
///
/// # liten::block_on(async {
/// let queue = Arc::new(Queue::default());
/// let sender = queue.clone();
/// liten::spawn(async move { (1..=3).for_each(|item| sender.push(item)) });
/// assert_eq!(queue.pop().await + queue.pop().await + queue.pop().await, 6);
/// # });
/// ```
///
/// Shutdown: every task is told to end, also one that begins to wait after the shutdown has begun.
///
/// ```
/// use liten::sync::Notify;
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// #[derive(Default)]
/// struct Shutdown {
///     begun: AtomicBool,
///     told: Notify,
/// }
///
/// impl Shutdown {
///     fn begin(&self) {
///         self.begun.store(true, Ordering::Release);
///         self.told.notify_waiters();
///     }
///
///     async fn wait(&self) {
///         // Made before `begun` is read: a `notify_waiters` between the two reaches it.
///         let told = self.told.notified();
///         if !self.begun.load(Ordering::Acquire) {
///             told.await;
///         }
///     }
/// }
///
/// # liten::block_on(async {
/// let shutdown = Arc::new(Shutdown::default());
/// let workers: Vec<_> = (0..4)
///     .map(|_| {
///         let shutdown = shutdown.clone();
///         liten::spawn(async move { shutdown.wait().await })
///     })
///     .collect();
/// shutdown.begin();
/// for worker in workers {
///     worker.await.unwrap();
/// }
/// # });
/// ```
pub struct Notify {
    state: AtomicUsize,
    waiting: WaitList<()>,
}

impl Notify {
    /// Returns a `Notify` without a permit.
    pub fn new() -> Self {
        Self::const_new()
    }

    const_fn! {
        /// Returns a `Notify` without a permit, also in a `static`.
        ///
        /// # Examples
        ///
        /// ```
        /// static RELOAD: liten::sync::Notify = liten::sync::Notify::const_new();
        ///
        /// # liten::block_on(async {
        /// RELOAD.notify_one();
        /// RELOAD.notified().await;
        /// # });
        /// ```
        pub fn const_new() -> Self {
            Self { state: AtomicUsize::new(EMPTY), waiting: WaitList::new(()) }
        }
    }

    /// Waits for a notification.
    ///
    /// The future takes a permit if there is one when it is first polled. Otherwise it begins to wait, and a
    /// [`notify_one`](Self::notify_one) may notify it. A [`notify_waiters`](Self::notify_waiters) notifies it
    /// from the moment when it was made, also if it was never polled.
    ///
    /// # Cancel safety
    ///
    /// A future that is dropped loses its place among those that wait. If a `notify_one` or
    /// [`notify_last`](Self::notify_last) has notified it and it was not polled since, the notification goes
    /// to another future, or becomes the permit.
    // Inlined, as what it calls, so that the future is made where it stays. Where it is made and then
    // moved, the move waits for what was just written: 4 ns of each turn of a `select!` loop.
    #[inline]
    #[track_caller]
    pub fn notified(&self) -> Notified<'_> {
        Notified::new(self, Some(Location::caller()))
    }

    /// As [`notified`](Self::notified), for a future inside of one that has the place of the caller.
    #[inline]
    pub(super) fn notified_inside(&self) -> Notified<'_> {
        Notified::new(self, None)
    }

    /// As [`notified`](Self::notified), with a future that borrows nothing and so may go to another task.
    ///
    /// # Cancel safety
    ///
    /// As [`notified`](Self::notified).
    ///
    /// # Examples
    ///
    /// ```
    /// # use liten::sync::Notify;
    /// # use std::sync::Arc;
    /// # liten::block_on(async {
    /// let notify = Arc::new(Notify::new());
    /// let notified = notify.clone().notified_owned();
    /// let task = liten::spawn(notified);
    /// notify.notify_waiters();
    /// task.await.unwrap();
    /// # });
    /// ```
    #[track_caller]
    pub fn notified_owned(self: Arc<Self>) -> OwnedNotified {
        OwnedNotified::new(self, Some(Location::caller()))
    }

    /// Notifies the future that has waited longest, or leaves a permit if none waits.
    ///
    /// There is at most one permit: many calls while no future waits let one future return at once, and the
    /// next one waits.
    #[inline]
    pub fn notify_one(&self) {
        self.notify(FIRST);
    }

    /// Notifies the future that has begun to wait last, or leaves a permit if none waits.
    ///
    /// It suits a pool of tasks: the task that has worked last finds its data still in the processor's cache.
    #[inline]
    pub fn notify_last(&self) {
        self.notify(LAST);
    }

    /// Notifies all futures that exist, also those that have not been polled.
    ///
    /// A future that is made afterwards is not notified. A permit that is there stays.
    pub fn notify_waiters(&self) {
        // Ordering: Release pairs with the Acquire in `turn` and `admit`: a future of the next turn, and one
        // that finds its turn over, see what was done before this call.
        let before = self.state.fetch_add(NEXT_TURN, Ordering::Release);
        if before & KIND == WAITING {
            context::wake_together(|| self.wake_before(before.wrapping_add(NEXT_TURN)));
        }
    }

    /// `given` is the word of the place that is reached.
    #[inline]
    fn notify(&self, given: usize) {
        if !self.store_permit() {
            self.give(given);
        }
    }

    /// Leaves a permit, and returns true, unless futures may wait.
    #[inline]
    fn store_permit(&self) -> bool {
        let permit = |state| (state & KIND != WAITING).then_some(state & TURN | PERMIT);
        // Ordering: Release pairs with the Acquire in `admit`: the future that takes the permit sees what was
        // done before. Also if there is a permit already: it is taken after both calls. Relaxed for the look
        // before it: the exchange decides.
        self.state.fetch_update(Ordering::Release, Ordering::Relaxed, permit).is_ok()
    }

    /// Gives a notification to a place of the present turn, or leaves a permit if there is none.
    #[cold]
    fn give(&self, given: usize) {
        loop {
            let mut locked = self.waiting.lock();
            // Ordering: Relaxed: under the lock `WAITING` stays, and a turn that ends later is as if it had
            // ended after this call.
            let state = self.state.load(Ordering::Relaxed);
            if state & KIND != WAITING {
                drop(locked);
                if self.store_permit() {
                    return;
                }
                continue;
            }
            if locked.front().is_some_and(|front| is_before(front, state)) {
                drop(locked);
                context::wake_together(|| self.wake_before(state));
                continue;
            }
            let waker =
                if given == LAST { locked.pop_back(given) } else { locked.pop_front(given) };
            if waker.is_some() {
                self.settle(&locked);
            } else {
                // Ordering: Release pairs with the Acquire in `admit` of the future that takes the permit.
                self.state.fetch_add(PERMIT - WAITING, Ordering::Release);
            }
            drop(locked);
            if let Some(waker) = waker {
                guard(|| waker.wake());
            }
            return;
        }
    }

    /// Wakes the futures of all turns before that of `now`.
    #[cold]
    fn wake_before(&self, now: usize) {
        self.waiting.wake_in_rounds(self.waiting.lock(), |locked, wakes| {
            let done = locked.pop_into(wakes, THROUGH, |word| is_before(word, now));
            self.settle(locked);
            done
        });
    }

    /// Under the lock: clears `WAITING` if no future waits any more.
    fn settle(&self, locked: &Locked<'_, ()>) {
        // Ordering: Relaxed, `WAITING` is written under this lock.
        if locked.is_empty() && self.state.load(Ordering::Relaxed) & KIND == WAITING {
            // Ordering: Relaxed: tells nothing, and what notifications have released before is still there
            // for a thread that acquires this value.
            self.state.fetch_sub(WAITING, Ordering::Relaxed);
        }
    }

    /// The word for the place of a future that is made now.
    #[inline]
    fn turn(&self) -> usize {
        // Ordering: Acquire pairs with the Release in `notify_waiters`: a future that is too late for a call
        // sees what was done before it.
        self.state.load(Ordering::Acquire) & TURN | FRESH
    }

    /// Whether a future made in the turn of `word` may go on. If it `joins`, the caller holds the lock, and
    /// `Pending` means that `WAITING` is set.
    fn admit(&self, word: usize, joins: bool) -> Poll<()> {
        let is_over = |state| state & TURN != word & TURN;
        let next = |state| match state & KIND {
            _ if is_over(state) => None,
            PERMIT => Some(state - PERMIT),
            EMPTY if joins => Some(state + WAITING),
            _ => None,
        };
        // Ordering: Acquire pairs with the Release in `store_permit`. Also for the look before it, which
        // pairs with that in `notify_waiters`: a future whose turn is over sees what was done before.
        match self.state.fetch_update(Ordering::Acquire, Ordering::Acquire, next) {
            Ok(before) if before & KIND == PERMIT => Poll::Ready(()),
            Err(state) if is_over(state) => Poll::Ready(()),
            _ => Poll::Pending,
        }
    }

    /// Under the lock: whether the future at `place` may go on. If it was linked until now, its waker comes
    /// to `left`.
    fn look(
        &self,
        locked: &mut Locked<'_, ()>,
        place: Pin<&Place>,
        left: &mut Option<Waker>,
    ) -> Poll<()> {
        if let Some(word) = locked.word(&place) {
            // Ordering: Acquire pairs with the Release in `notify_waiters`: what was done before is seen.
            if self.state.load(Ordering::Acquire) & TURN == word & TURN {
                return Poll::Pending;
            }
            *left = locked.leave(place);
            self.settle(locked);
            return Poll::Ready(());
        }
        match place.given() {
            Some(word) if word & KIND == FRESH => self.admit(word, true),
            _ => Poll::Ready(()),
        }
    }

    /// Polls for the future at `place`; without a context the waker there stays, or there is none.
    fn poll(&self, place: Pin<&Place>, cx: Option<&Context<'_>>) -> Poll<()> {
        let mut left = None;
        let poll = match (place.given(), cx) {
            (Some(word), _) if word & KIND != FRESH => Poll::Ready(()),
            (Some(word), _) if self.admit(word, false).is_ready() => Poll::Ready(()),
            (None, None) => self.look(&mut self.waiting.lock(), place, &mut left),
            (_, cx) => {
                let none = Context::from_waker(Waker::noop());
                let look = |locked: &mut Locked<'_, ()>| self.look(locked, place, &mut left);
                let cx = cx.unwrap_or(&none);
                let poll = self.waiting.poll(place, cx, look);
                if poll.is_pending() {
                    set_note(cx.waker(), PrimitiveKind::Notify, self);
                }
                poll
            }
        };
        if poll.is_ready() {
            place.prepare(THROUGH);
        }
        wakers::drop_all(left);
        poll
    }

    /// For the drop of the future at `place`: leaves the line, and passes on what it was given for one.
    #[inline]
    fn leave(&self, place: Pin<&Place>) {
        if place.is_linked() {
            self.leave_line(place);
        }
        if let Some(given @ (FIRST | LAST)) = place.given() {
            self.notify(given);
        }
    }

    fn leave_line(&self, place: Pin<&Place>) {
        let mut locked = self.waiting.lock();
        let waker = locked.leave(place);
        self.settle(&locked);
        drop(locked);
        wakers::drop_all(waker);
    }
}

/// Whether the turn of `word` was over before that of `state`.
fn is_before(word: usize, state: usize) -> bool {
    wakers::is_before(word & TURN, state & TURN)
}

impl_default!([] Notify);

impl fmt::Debug for Notify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Ordering: Relaxed, the value is only printed.
        let kind = self.state.load(Ordering::Relaxed) & KIND;
        let mut debug = f.debug_struct("Notify");
        debug.field("permit", &(kind == PERMIT)).field("waiting", &(kind == WAITING));
        debug.finish_non_exhaustive()
    }
}

// No user code runs under the lock, so a panic leaves nothing half done.
impl_unwind_safe!([] Notify);

#[cfg(all(test, liten_loom))]
mod loom;
#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;
