//! A host for systems with threads: a clock, events that any thread sets, and one condition variable.
//!
//! It makes what is written for WASI run, and be tested, as an ordinary program. Only what can be said
//! through [`Host`] is here: sockets of the system belong to the other half of the crate.
//!
//! All that can end a sleep is changed under one lock, and looked at under the same lock before the sleep
//! begins, which gives it up atomically. So nothing is lost between the look and the sleep.

use super::contract::Host;
use crate::engine::sync_shim::atomic::{AtomicBool, Ordering};
use crate::engine::sync_shim::{Condvar, Mutex, clock};
use crate::impls::{impl_debug, impl_default};
use std::cell::Cell;
use std::marker::PhantomData;
use std::mem;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

/// A host made of the clock and a condition variable.
///
/// # Examples
///
/// ```
/// use liten::wasi::{NativeHost, Reactor};
/// use std::thread;
///
/// let reactor = Reactor::with_host(NativeHost::new());
/// let (pollable, event) = reactor.host().event();
/// let other = thread::spawn(move || event.set());
/// reactor.block_on(reactor.wait_for(pollable));
/// other.join().unwrap();
/// ```
pub struct NativeHost {
    interrupter: Arc<Interrupter>,
    /// One thread at a time: an interrupt ends one `poll`, and could be another thread's.
    _one_thread: PhantomData<Cell<()>>,
}

/// What ends a sleep.
struct Interrupter {
    rung: Mutex<bool>,
    changed: Condvar,
}

impl NativeHost {
    /// Returns a host of its own.
    pub fn new() -> Self {
        let interrupter = Interrupter { rung: Mutex::new(false), changed: Condvar::new() };
        Self { interrupter: Arc::new(interrupter), _one_thread: PhantomData }
    }

    /// Returns a pollable that is ready from when the event is set, by any thread.
    ///
    /// If the event is dropped without having been set, the pollable never becomes ready.
    pub fn event(&self) -> (NativePollable, Event) {
        let event =
            Event { set: Arc::new(AtomicBool::new(false)), interrupter: self.interrupter.clone() };
        (NativePollable(Kind::Event(event.clone())), event)
    }
}

impl_default!([] NativeHost);

impl Host for NativeHost {
    type Pollable = NativePollable;

    fn ready(&self, pollable: &NativePollable) -> bool {
        pollable.is_ready(clock::now())
    }

    fn poll(&self, pollables: &[&NativePollable]) -> Vec<u32> {
        let mut rung = self.interrupter.rung.lock();
        loop {
            let now = clock::now();
            let ready: Vec<u32> =
                (0..).zip(pollables).filter(|(_, p)| p.is_ready(now)).map(|(i, _)| i).collect();
            // The caller looks around now: an interrupt has nothing left to say.
            if mem::take(&mut *rung) || !ready.is_empty() {
                return ready;
            }
            match pollables.iter().filter_map(|p| p.deadline()).min() {
                Some(deadline) => drop(self.interrupter.changed.wait_until(&mut rung, deadline)),
                None => self.interrupter.changed.wait(&mut rung),
            }
        }
    }

    fn clock(&self, duration: Duration) -> NativePollable {
        NativePollable(Kind::Clock(clock::now().checked_add(duration)))
    }

    fn interrupter(&self) -> Option<Waker> {
        Some(Waker::from(self.interrupter.clone()))
    }
}

impl_debug!([] NativeHost, "NativeHost");

/// What interrupts a host rings its interrupter.
impl Wake for Interrupter {
    fn wake(self: Arc<Self>) {
        *self.rung.lock() = true;
        self.changed.notify_all();
    }
}

/// What a [`NativeHost`] can wait for: a moment or an [`Event`].
#[derive(Debug)]
pub struct NativePollable(Kind);

#[derive(Debug)]
enum Kind {
    /// `None` lies too far ahead to be counted.
    Clock(Option<Instant>),
    Event(Event),
}

impl NativePollable {
    fn is_ready(&self, now: Instant) -> bool {
        match &self.0 {
            Kind::Clock(deadline) => deadline.is_some_and(|deadline| deadline <= now),
            Kind::Event(event) => event.is_set(),
        }
    }

    fn deadline(&self) -> Option<Instant> {
        match &self.0 {
            Kind::Clock(deadline) => *deadline,
            Kind::Event(_) => None,
        }
    }
}

/// Makes the pollable it came with ready; see [`NativeHost::event`].
#[derive(Clone)]
pub struct Event {
    set: Arc<AtomicBool>,
    interrupter: Arc<Interrupter>,
}

impl Event {
    /// Makes the pollable ready, for good.
    pub fn set(&self) {
        let rung = self.interrupter.rung.lock();
        // Ordering: Release pairs with the Acquire in `is_set`, for `ready`, which takes no lock.
        self.set.store(true, Ordering::Release);
        drop(rung);
        self.interrupter.changed.notify_all();
    }

    /// Whether it has been set.
    pub fn is_set(&self) -> bool {
        // Ordering: Acquire pairs with the Release in `set`.
        self.set.load(Ordering::Acquire)
    }
}

impl_debug!([] Event, this => "Event" { set: this.is_set() });
