//! Futures that are polled by hand, beside a model of what they wait for.

use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

pub(super) type Waiting<T> = Pin<Box<dyn Future<Output = T>>>;

/// What a primitive promises to the futures that wait for it, told without futures.
pub(super) trait Model {
    /// The future at `at` is polled. Returns whether it is ready.
    fn poll(&mut self, at: usize, first: bool) -> bool;

    /// Whether the future at `at`, which was pending when it was last polled, has been woken since.
    fn is_woken(&self, at: usize) -> bool;

    /// The future at `at` is dropped. It was pending when it was last polled.
    fn give_up(&mut self, at: usize);
}

/// A waker that knows whether it was called.
#[derive(Default)]
pub(super) struct Flag(AtomicBool);

impl Flag {
    pub(super) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

enum Slot<T> {
    /// Never polled.
    New(Waiting<T>),
    Waits(Waiting<T>, Arc<Flag>),
    Has(T),
    Gone,
}

/// Futures, and what they have brought. A number that proptest has made up picks one of them.
pub(super) struct Crowd<T> {
    slots: Vec<Slot<T>>,
}

impl<T> Crowd<T> {
    pub(super) fn new() -> Self {
        Self { slots: Vec::new() }
    }

    pub(super) fn add(&mut self, future: impl Future<Output = T> + 'static) {
        self.slots.push(Slot::New(Box::pin(future)));
    }

    /// Adds what came without waiting.
    pub(super) fn add_ready(&mut self, value: T) {
        self.slots.push(Slot::Has(value));
    }

    pub(super) fn place(&self, pick: usize) -> Option<usize> {
        (pick / 2).checked_rem(self.slots.len())
    }

    /// Whether it has never been polled.
    pub(super) fn is_new(&self, pick: usize) -> bool {
        self.place(pick).is_some_and(|at| matches!(self.slots[at], Slot::New(_)))
    }

    /// Polls one that is not ready yet: with a new waker, or with the one that it had. Returns what it
    /// brings.
    pub(super) fn poll(&mut self, pick: usize, model: &mut impl Model) -> Option<(usize, &T)> {
        let at = self.place(pick)?;
        let (mut future, first, known) = match mem::replace(&mut self.slots[at], Slot::Gone) {
            Slot::New(future) => (future, true, None),
            Slot::Waits(future, flag) => (future, false, Some(flag).filter(|_| pick % 2 == 0)),
            other => {
                self.slots[at] = other;
                return None;
            }
        };
        let flag = known.unwrap_or_default();
        flag.0.store(false, Ordering::Relaxed);
        let poll = future.as_mut().poll(&mut Context::from_waker(&Waker::from(flag.clone())));
        assert_eq!(poll.is_ready(), model.poll(at, first), "whether future {at} is ready");
        self.slots[at] = match poll {
            Poll::Ready(value) => Slot::Has(value),
            Poll::Pending => Slot::Waits(future, flag),
        };
        self.slots[at].value().map(|value| (at, value))
    }

    /// Drops one. Returns what it had brought.
    pub(super) fn remove(&mut self, pick: usize, model: &mut impl Model) -> Option<(usize, T)> {
        let at = self.place(pick)?;
        match mem::replace(&mut self.slots[at], Slot::Gone) {
            Slot::Has(value) => Some((at, value)),
            Slot::Waits(future, _) => {
                drop(future);
                model.give_up(at);
                None
            }
            Slot::New(_) | Slot::Gone => None,
        }
    }

    /// Removes one that has come, and leaves one that waits.
    pub(super) fn remove_ready(&mut self, pick: usize) -> Option<(usize, T)> {
        let at = self.place(pick)?;
        match mem::replace(&mut self.slots[at], Slot::Gone) {
            Slot::Has(value) => Some((at, value)),
            other => {
                self.slots[at] = other;
                None
            }
        }
    }

    /// Puts `value` where one was that has been removed.
    pub(super) fn put_back(&mut self, at: usize, value: T) {
        self.slots[at] = Slot::Has(value);
    }

    /// All that has come.
    pub(super) fn values(&mut self) -> impl Iterator<Item = &mut T> {
        self.slots.iter_mut().filter_map(|slot| match slot {
            Slot::Has(value) => Some(value),
            _ => None,
        })
    }

    /// Compares the wakes.
    pub(super) fn check(&self, model: &impl Model) {
        for (at, slot) in self.slots.iter().enumerate() {
            if let Slot::Waits(_, flag) = slot {
                assert_eq!(flag.is_set(), model.is_woken(at), "whether future {at} was woken");
            }
        }
    }
}

impl<T> Slot<T> {
    fn value(&self) -> Option<&T> {
        match self {
            Slot::Has(value) => Some(value),
            _ => None,
        }
    }
}
