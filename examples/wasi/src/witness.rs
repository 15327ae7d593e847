//! Wakers and futures that count.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// A waker that counts its calls.
#[derive(Debug, Default)]
pub struct Witness {
    wakes: AtomicUsize,
}

impl Witness {
    /// Returns a witness and its waker.
    pub fn new() -> (Arc<Self>, Waker) {
        let witness = Arc::new(Self::default());
        (witness.clone(), Waker::from(witness))
    }

    /// How often the waker has been called.
    pub fn wakes(&self) -> usize {
        self.wakes.load(Ordering::SeqCst)
    }

    /// How many wakers there are.
    pub fn wakers(self: &Arc<Self>) -> usize {
        Arc::strong_count(self) - 1
    }
}

impl Wake for Witness {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.wakes.fetch_add(1, Ordering::SeqCst);
    }
}

/// A waker that runs a function of its thread at each wake, and another one when it is dropped.
///
/// A waker must be `Send`, what these functions need is not: they stay in a slot of the thread, and the
/// waker has the slot's number.
pub mod reentrant {
    use super::{Arc, Wake, Waker};
    use std::cell::RefCell;

    type Act = Box<dyn FnMut()>;

    thread_local! {
        static ACTS: RefCell<Vec<Option<Act>>> = const { RefCell::new(Vec::new()) };
    }

    struct Actor {
        wake: usize,
        drop: usize,
    }

    /// Returns a waker that runs `wake` each time it is called, and `drop` when the last clone goes.
    pub fn waker(wake: impl FnMut() + 'static, drop: impl FnMut() + 'static) -> Waker {
        let actor = Actor { wake: keep(Box::new(wake)), drop: keep(Box::new(drop)) };
        Waker::from(Arc::new(actor))
    }

    fn keep(act: Act) -> usize {
        ACTS.with_borrow_mut(|acts| {
            acts.push(Some(act));
            acts.len() - 1
        })
    }

    /// Runs an act outside of its slot: it may come back here.
    fn run(slot: usize) {
        let act = ACTS.with_borrow_mut(|acts| acts[slot].take());
        if let Some(mut act) = act {
            act();
            ACTS.with_borrow_mut(|acts| acts[slot] = Some(act));
        }
    }

    impl Wake for Actor {
        fn wake(self: Arc<Self>) {
            run(self.wake);
        }

        fn wake_by_ref(self: &Arc<Self>) {
            run(self.wake);
        }
    }

    impl Drop for Actor {
        fn drop(&mut self) {
            run(self.drop);
            let gone =
                ACTS.with_borrow_mut(|acts| [acts[self.wake].take(), acts[self.drop].take()]);
            std::mem::drop(gone);
        }
    }
}

/// Counts how often the future inside is polled.
#[derive(Debug)]
pub struct Counted<'a, F> {
    future: Pin<Box<F>>,
    polls: &'a AtomicUsize,
}

impl<'a, F> Counted<'a, F> {
    /// Counts the polls of `future` in `polls`.
    pub fn new(future: F, polls: &'a AtomicUsize) -> Self {
        Self { future: Box::pin(future), polls }
    }
}

impl<F: Future> Future for Counted<'_, F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.polls.fetch_add(1, Ordering::SeqCst);
        self.future.as_mut().poll(cx)
    }
}
