//! The events that the futures of models wait for.

use crate::engine::sync_shim::atomic::{AtomicBool, Ordering};
use crate::engine::sync_shim::{Arc, Mutex, thread};
use std::future::{Future, poll_fn};
use std::task::{Poll, Waker};

/// A flag, and the waker of the future that waits for it.
///
/// Ordering of the flag: Relaxed on purpose. What is modelled has to carry it from the wake to the next poll.
#[derive(Clone)]
pub(crate) struct Awaited {
    flag: Arc<AtomicBool>,
    waker: Arc<Mutex<Option<Waker>>>,
}

impl Awaited {
    pub(crate) fn new() -> Self {
        Self { flag: Arc::new(AtomicBool::new(false)), waker: Arc::new(Mutex::new(None)) }
    }

    /// Ready when the flag is set. Leaves its waker before it looks.
    pub(crate) fn wait(&self) -> impl Future<Output = ()> + Send + 'static {
        let Self { flag, waker } = self.clone();
        poll_fn(move |cx| {
            *waker.lock() = Some(cx.waker().clone());
            if flag.load(Ordering::Relaxed) { Poll::Ready(()) } else { Poll::Pending }
        })
    }

    /// Sets the flag; returns the waker, if one has been left, for the caller to wake.
    pub(crate) fn set(&self) -> Option<Waker> {
        self.flag.store(true, Ordering::Relaxed);
        self.waker.lock().take()
    }

    /// Sets the flag, and wakes the future if it has been polled.
    pub(crate) fn wake(&self) {
        self.set().into_iter().for_each(Waker::wake);
    }

    /// As [`wake`](Self::wake), on another thread.
    pub(crate) fn wake_beside(&self) -> thread::JoinHandle<()> {
        let awaited = self.clone();
        thread::spawn(move || awaited.wake())
    }
}
