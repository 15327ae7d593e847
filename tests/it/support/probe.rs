//! Futures and wakers that tell what was done to them.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

/// A number that tasks and tests share.
#[derive(Clone, Default)]
pub(crate) struct Count(Arc<AtomicUsize>);

impl Count {
    pub(crate) fn add(&self) -> usize {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// Counts when it is dropped.
pub(crate) struct OnDrop(pub(crate) Count);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.add();
    }
}

/// Something that happens once. Any number of tasks may wait for it.
#[derive(Clone, Default)]
pub(crate) struct Bell(Arc<Mutex<(bool, Vec<Waker>)>>);

impl Bell {
    pub(crate) fn ring(&self) {
        let wakers = {
            let mut inner = self.0.lock().unwrap();
            inner.0 = true;
            std::mem::take(&mut inner.1)
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    pub(crate) fn is_rung(&self) -> bool {
        self.0.lock().unwrap().0
    }

    /// How many wakers wait.
    pub(crate) fn waiting(&self) -> usize {
        self.0.lock().unwrap().1.len()
    }

    pub(crate) async fn wait(&self) {
        std::future::poll_fn(|cx| {
            let mut inner = self.0.lock().unwrap();
            if inner.0 {
                return Poll::Ready(());
            }
            if !inner.1.iter().any(|waker| waker.will_wake(cx.waker())) {
                inner.1.push(cx.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }
}

/// What is known of a [`Spy`] from outside.
#[derive(Clone, Default)]
pub(crate) struct Report(Arc<Inside>);

#[derive(Default)]
struct Inside {
    polls: AtomicUsize,
    end: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl Report {
    pub(crate) fn spy(&self) -> Spy {
        Spy { report: self.clone(), ended: false }
    }

    pub(crate) fn polls(&self) -> usize {
        self.0.polls.load(Ordering::SeqCst)
    }

    /// The waker of the first poll.
    pub(crate) fn waker(&self) -> Option<Waker> {
        self.0.waker.lock().unwrap().clone()
    }

    /// The next poll is ready.
    pub(crate) fn end(&self) {
        self.0.end.store(true, Ordering::SeqCst);
    }
}

/// Pending, whatever it is polled for, until the report says that it shall end. It does nothing for a wake
/// itself. A poll after it was ready panics.
pub(crate) struct Spy {
    report: Report,
    ended: bool,
}

impl Future for Spy {
    type Output = usize;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<usize> {
        assert!(!self.ended, "polled after it was ready");
        let inside = &self.report.0;
        inside.waker.lock().unwrap().get_or_insert_with(|| cx.waker().clone());
        let end = inside.end.load(Ordering::SeqCst);
        // Counted last: a thread that sees the count sees the waker too.
        let polls = inside.polls.fetch_add(1, Ordering::SeqCst) + 1;
        if !end {
            return Poll::Pending;
        }
        self.ended = true;
        Poll::Ready(polls)
    }
}

/// Counts how often the future inside is polled.
pub(crate) struct Polls<F> {
    future: Pin<Box<F>>,
    count: Count,
}

impl<F: Future> Polls<F> {
    pub(crate) fn of(future: F) -> (Self, Count) {
        let count = Count::default();
        (Self { future: Box::pin(future), count: count.clone() }, count)
    }
}

impl<F: Future> Future for Polls<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.count.add();
        self.future.as_mut().poll(cx)
    }
}

/// A waker that counts its calls.
#[derive(Default)]
pub(crate) struct Calls(AtomicUsize);

impl Calls {
    pub(crate) fn new() -> (Arc<Self>, Waker) {
        let calls = Arc::new(Self::default());
        (Arc::clone(&calls), Waker::from(calls))
    }

    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wake for Calls {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Calls a waker by value, which gives up its reference in the same step.
pub(crate) fn wake_by_value(waker: &Waker) {
    let clone = waker.clone();
    clone.wake();
}

/// Polls once with `waker`.
pub(crate) fn poll_with<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(waker))
}
