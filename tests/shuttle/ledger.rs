//! A ledger of tasks: each one's future is dropped once, and what it returns too.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

/// std's lock, which shuttle does not see: the ledger is written between the steps of a schedule.
#[derive(Clone, Default)]
pub(super) struct Ledger(Arc<Mutex<Vec<Entry>>>);

#[derive(Clone, Default, Debug)]
struct Entry {
    being_polled: bool,
    completed: u32,
    future_drops: u32,
    receipt_drops: u32,
}

impl Ledger {
    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn entry<R>(&self, index: usize, f: impl FnOnce(&mut Entry) -> R) -> R {
        f(&mut self.entries()[index])
    }

    /// Wraps a task's future.
    pub(super) fn task(&self, future: impl Future<Output = ()> + Send + 'static) -> Watched {
        let mut entries = self.entries();
        entries.push(Entry::default());
        Watched { future: Box::pin(future), index: entries.len() - 1, ledger: self.clone() }
    }

    /// How many tasks there have been.
    pub(super) fn len(&self) -> usize {
        self.entries().len()
    }

    pub(super) fn completed(&self) -> usize {
        self.entries().iter().filter(|entry| entry.completed == 1).count()
    }

    /// When everything is over.
    pub(super) fn check(&self) {
        for (index, entry) in self.entries().iter().enumerate() {
            let fine = entry.completed <= 1
                && entry.future_drops == 1
                && entry.receipt_drops == entry.completed;
            assert!(fine, "task {index}: {entry:?}");
        }
    }
}

/// A future that is written down in a [`Ledger`].
pub(super) struct Watched {
    future: Pin<Box<dyn Future<Output = ()> + Send>>,
    index: usize,
    ledger: Ledger,
}

impl Watched {
    /// Another future with the same entry in the ledger: together they are dropped twice.
    pub(super) fn duplicate(&self) -> Self {
        let future = Box::pin(std::future::ready(()));
        Self { future, index: self.index, ledger: self.ledger.clone() }
    }
}

impl Future for Watched {
    type Output = Receipt;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Receipt> {
        let this = &mut *self;
        let twice = this.ledger.entry(this.index, |e| std::mem::replace(&mut e.being_polled, true));
        assert!(!twice, "task {} is polled by two threads at once", this.index);
        let polled = this.future.as_mut().poll(cx);
        this.ledger.entry(this.index, |entry| {
            entry.being_polled = false;
            entry.completed += u32::from(polled.is_ready());
        });
        polled.map(|()| Receipt { index: this.index, ledger: this.ledger.clone() })
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.ledger.entry(self.index, |entry| entry.future_drops += 1);
    }
}

/// What a task returns.
pub(super) struct Receipt {
    index: usize,
    ledger: Ledger,
}

impl Drop for Receipt {
    fn drop(&mut self) {
        self.ledger.entry(self.index, |entry| entry.receipt_drops += 1);
    }
}
