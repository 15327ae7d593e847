//! Which waker waits for which pollable.
//!
//! # The life of a wait
//!
//! A [`Registration`] owns a pollable, together with its clones and its waiters; the reactor does not know
//! it. Only a [`WaitFor`] that has been polled and is still pending has an entry here: its pollable in the
//! poller, its waker in the slot beside it. So a pollable without a waiter is never put before the host, and
//! several waiters of one pollable are several entries of which each stands for itself.
//!
//! | waiter | its key | in the tables under it | next |
//! |---|---|---|---|
//! | new | none | – | poll → waiting |
//! | waiting | some | pollable, waker | poll: the waker is replaced · the host says ready → ready |
//! | ready | some | nothing | poll → done |
//! | done | none, and no pollable | – | poll: ready again |
//! | any, dropped | – | nothing | – |
//!
//! The turn that learns that a pollable is ready removes the entry at once and calls the waker. Keys are
//! not used again (poller.rs), so "my key finds nothing" is all that a waiter has to ask: there is no second
//! table of results, and the tables are empty although no future was polled again. A waiter that is leaked
//! is, for all that can be known, one that waits: its entry goes when its pollable is ready.
//!
//! A first poll registers without asking the host. Rejected: to ask, and to be ready at once. A future that
//! finds its pollables ready each time would never come back to its caller, and starve everything
//! joined with it; and ten that are ready together would cost ten calls of the host instead of one.
//!
//! # Every ready waker is called, outside of every borrow
//!
//! Under a join each child has a waker of its own, by which the join tells which child to poll. So it is
//! not enough to poll the root again: a child whose waker was not called would never be polled. And a waker
//! is foreign code, as are the clone and the drop of one and the drop of a pollable: it may poll the task
//! it belongs to at once, which then registers, waits, or drops here. All that happens after the borrows
//! have ended; the ready wakers are taken out of the tables as a whole before the first one is called. One
//! that panics costs none of the others anything.

use super::SystemHost;
use super::contract::Host;
use super::poller::{EventKey, Poller};
use crate::engine::wakers;
use crate::impls::{impl_debug, impl_default};
use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Waits for pollables, on the thread that made it. Clones are cheap and are the same reactor.
///
/// Something has to turn it: [`block_on`](fn@crate::wasi::block_on) and [`Reactor::block_on`] do, and under
/// an executor of another make, [`Reactor::turn`] is called when that has nothing to do.
///
/// # Examples
///
/// ```
/// use liten::wasi::{Host, Reactor};
/// use std::time::Duration;
///
/// let reactor = Reactor::new();
/// reactor.block_on(reactor.wait_for(reactor.host().clock(Duration::from_millis(1))));
/// assert!(reactor.is_empty());
/// ```
///
/// It stays on its thread:
///
/// ```compile_fail
/// fn move_it<T: Send>(_: T) {}
/// move_it(liten::wasi::Reactor::new());
/// ```
pub struct Reactor<H: Host = SystemHost> {
    /// Seen by sources, which ask whether two reactors are one.
    pub(super) inner: Rc<ReactorState<H>>,
}

pub(super) struct ReactorState<H: Host> {
    poller: Poller<H>,
    /// The waker for each slot of the poller: there is one exactly where there is a pollable.
    wakers: RefCell<Vec<Option<Waker>>>,
}

impl Reactor {
    /// Returns a reactor on the system's host.
    pub fn new() -> Self {
        Self::with_host(SystemHost::new())
    }
}

impl_default!([] Reactor);

impl<H: Host> Clone for Reactor<H> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone() }
    }
}

impl<H: Host> Reactor<H> {
    /// Returns a reactor on `host`, which should have no other reactor: an interrupt meant for one of two
    /// would be taken by the other.
    pub fn with_host(host: H) -> Self {
        Self {
            inner: Rc::new(ReactorState { poller: Poller::new(host), wakers: RefCell::default() }),
        }
    }

    /// The host that is asked: makes clocks, and whatever else it can.
    pub fn host(&self) -> &H {
        self.inner.poller.host()
    }

    /// Waits until `pollable` is ready.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the pollable and the waker. What the pollable was made from has lost
    /// nothing.
    pub fn wait_for(&self, pollable: impl Into<Rc<H::Pollable>>) -> WaitFor<H> {
        self.register(pollable).wait()
    }

    /// Keeps `pollable`, for several waits or several waiters.
    ///
    /// Costs nothing while no future waits. The pollable is dropped with the last clone of the registration
    /// and the last of its waiters.
    pub fn register(&self, pollable: impl Into<Rc<H::Pollable>>) -> Registration<H> {
        Registration { reactor: self.clone(), pollable: pollable.into() }
    }

    /// How many waits are under way: those that have been polled, and have neither been woken nor dropped
    /// since.
    pub fn len(&self) -> usize {
        self.inner.poller.len()
    }

    /// Whether no future waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Blocks until something that is waited for is ready, but for `limit` at most, and wakes the
    /// futures that wait for it; returns how many waits have ended. For executors of another make.
    ///
    /// With a limit of zero it does not block. Without a limit it returns 0 at once if no future waits,
    /// because nothing would end it. It also returns 0 when the host has been
    /// [interrupted](Host::interrupter), which is how another thread has to get the executor out of here.
    ///
    /// # Examples
    ///
    /// ```
    /// use liten::wasi::{Host, Reactor};
    /// use std::pin::pin;
    /// use std::task::{Context, Waker};
    /// use std::time::Duration;
    ///
    /// let reactor = Reactor::new();
    /// let mut wait = pin!(reactor.wait_for(reactor.host().clock(Duration::from_millis(1))));
    /// let mut cx = Context::from_waker(Waker::noop());
    /// while wait.as_mut().poll(&mut cx).is_pending() {
    ///     assert_eq!(reactor.turn(None), 1);
    /// }
    /// ```
    pub fn turn(&self, limit: Option<Duration>) -> usize {
        let ready = match limit {
            Some(Duration::ZERO) => self.look(),
            _ => self.ask(limit),
        };
        self.wake(ready)
    }

    /// What ends a call of the host from another thread.
    pub(super) fn interrupter(&self) -> Option<&Waker> {
        self.inner.poller.interrupter()
    }

    /// What is ready, after the host has blocked for it, for `limit` at most. Calls no waker.
    pub(super) fn ask(&self, limit: Option<Duration>) -> Vec<EventKey> {
        let clock = limit.map(|limit| self.host().clock(limit));
        self.inner.poller.ask(clock.as_ref())
    }

    /// What is ready now. Calls no waker.
    pub(super) fn look(&self) -> Vec<EventKey> {
        self.inner.poller.look()
    }

    /// Ends the waits of `ready`, and wakes them; returns how many.
    pub(super) fn wake(&self, ready: Vec<EventKey>) -> usize {
        let mut woken: Vec<Waker> = Vec::with_capacity(ready.len());
        for key in ready {
            woken.extend(self.end(key));
        }
        let count = woken.len();
        wakers::wake_all(&mut woken);
        count
    }

    fn begin(&self, pollable: Rc<H::Pollable>, waker: &Waker) -> EventKey {
        // Foreign code: before the borrow, and before there is an entry that a panic would leave without a
        // waker.
        let waker = waker.clone();
        let mut wakers = self.inner.wakers.borrow_mut();
        let key = self.inner.poller.insert(pollable);
        if wakers.len() <= key.slot() {
            wakers.resize_with(key.slot() + 1, || None);
        }
        wakers[key.slot()] = Some(waker);
        key
    }

    /// `false` if the wait has ended: then nothing is kept.
    fn renew(&self, key: EventKey, waker: &Waker) -> bool {
        if !self.inner.poller.contains(key) {
            return false;
        }
        let slot = key.slot();
        let same = self.inner.wakers.borrow()[slot].as_ref().is_some_and(|w| w.will_wake(waker));
        if !same {
            let waker = waker.clone();
            // The clone was foreign code, which may have turned the reactor.
            if !self.inner.poller.contains(key) {
                wakers::drop_all(Some(waker));
                return false;
            }
            let replaced = self.inner.wakers.borrow_mut()[slot].replace(waker);
            wakers::drop_all(replaced);
        }
        true
    }

    /// Removes the entry and drops its pollable, unless something else has it; returns the waker.
    fn end(&self, key: EventKey) -> Option<Waker> {
        let pollable = self.inner.poller.remove(key)?;
        let waker = {
            let mut wakers = self.inner.wakers.borrow_mut();
            let waker = wakers[key.slot()].take();
            if self.inner.poller.is_empty() {
                // The memory of a burst goes back, like the slab's.
                wakers.truncate(KEPT);
                wakers.shrink_to(KEPT);
            }
            waker
        };
        // A destructor that panics must not cost those their wakes whose waits have ended with this one.
        wakers::guard(|| drop(pollable));
        waker
    }
}

/// How many slots for wakers stay when no future waits.
const KEPT: usize = 64;

impl_debug!([H: Host] Reactor<H>, this => "Reactor" { waits: this.len(), .. });

/// Owns a pollable that can be waited for, by several at a time. Clones share it.
pub struct Registration<H: Host = SystemHost> {
    reactor: Reactor<H>,
    pollable: Rc<H::Pollable>,
}

impl<H: Host> Registration<H> {
    /// Waits until the pollable is ready. The future owns a share of the pollable.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future frees its waker; the registration and other waiters are not touched.
    pub fn wait(&self) -> WaitFor<H> {
        WaitFor { registration: Some(self.clone()), key: None }
    }

    /// Whether the pollable is ready; asks the host and does not block.
    pub fn is_ready(&self) -> bool {
        self.reactor.host().ready(&self.pollable)
    }

    /// The pollable itself.
    pub fn pollable(&self) -> &H::Pollable {
        &self.pollable
    }
}

impl<H: Host> Clone for Registration<H> {
    fn clone(&self) -> Self {
        Self { reactor: self.reactor.clone(), pollable: self.pollable.clone() }
    }
}

impl_debug!([H: Host] Registration<H>, "Registration");

/// Waits for a pollable; made by [`Reactor::wait_for`] and [`Registration::wait`].
///
/// When it is ready, it has let go of the pollable. Polled again, it is ready again.
#[must_use = "futures do nothing unless awaited"]
pub struct WaitFor<H: Host = SystemHost> {
    /// `None` when it is done.
    registration: Option<Registration<H>>,
    /// From the first poll until it is done; see the table in the header.
    key: Option<EventKey>,
}

impl<H: Host> Future for WaitFor<H> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Some(Registration { reactor, pollable }) = &self.registration else {
            return Poll::Ready(());
        };
        match self.key {
            None => self.key = Some(reactor.begin(pollable.clone(), cx.waker())),
            Some(key) if reactor.renew(key, cx.waker()) => {}
            Some(_) => {
                self.key = None;
                self.registration = None;
                return Poll::Ready(());
            }
        }
        Poll::Pending
    }
}

impl<H: Host> Drop for WaitFor<H> {
    fn drop(&mut self) {
        if let (Some(registration), Some(key)) = (&self.registration, self.key) {
            wakers::drop_all(registration.reactor.end(key));
        }
    }
}

impl_debug!([H: Host] WaitFor<H>, "WaitFor");
