//! The end of a runtime, or of a `LocalSet`, whose task has panicked, if it was built to end then.
//!
//! liten's go on. So each task of such a one is listed here with what aborts it, until its future is dropped,
//! and each `block_on` with its waker. A panic aborts the tasks. What runs them goes on until all of them are
//! dropped, polls no future of a `block_on` meanwhile, and panics then. What is spawned later is aborted
//! before it runs.
//!
//! A waker is cloned, dropped and called without the lock, and so is what aborts a task: they may be code of
//! the program, which spawns.

use super::extras::Extras;
use crate::LITEN;
use liten::task::{AbortHandle, LocalSet};
use pin_project_lite::pin_project;
use std::collections::HashMap;
use std::future::{pending, Future};
use std::mem;
use std::pin::{self, Pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// One for a runtime or a set.
pub(crate) struct Fate {
    whose: &'static str,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    is_over: bool,
    next: u64,
    /// `None`: it is being spawned, or was aborted.
    tasks: HashMap<u64, Option<AbortHandle>>,
    roots: HashMap<u64, Waker>,
}

impl Fate {
    pub(super) fn of_runtime() -> Arc<Self> {
        Self::of("runtime is configured to shut down")
    }

    pub(super) fn of_local_set() -> Arc<Self> {
        Self::of("LocalSet is configured to shutdown")
    }

    fn of(whose: &'static str) -> Arc<Self> {
        Arc::new(Self { whose, state: Mutex::default() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lists a task that is about to be spawned.
    pub(super) fn begin(self: Arc<Self>) -> Member {
        let mut state = self.state();
        state.next += 1;
        let number = state.next;
        state.tasks.insert(number, None);
        drop(state);
        Member { fate: self, number }
    }

    /// A task has panicked, `number`: aborts all others.
    fn end(&self, number: u64) {
        let mut state = self.state();
        state.is_over = true;
        let own = state.tasks.remove(&number);
        let others: Vec<AbortHandle> = state.tasks.values_mut().filter_map(Option::take).collect();
        let roots = state.roots_if_all_are_dropped();
        // What is aborted may be dropped here and now, and takes itself out of the list.
        drop(state);
        drop(own);
        others.iter().for_each(AbortHandle::abort);
        roots.into_values().for_each(Waker::wake);
    }

    fn is_over(&self) -> bool {
        self.state().is_over
    }

    fn panic(&self) -> ! {
        panic!("a spawned task panicked and the {} on unhandled panic ({LITEN})", self.whose)
    }

    /// Panics if a task of `set`, which has this, has panicked; after all others are dropped.
    pub(crate) fn check_in(&self, set: &LocalSet, cx: &mut Context<'_>) {
        let mut left = usize::MAX;
        loop {
            let state = self.state();
            let (is_over, tasks) = (state.is_over, state.tasks.len());
            drop(state);
            if !is_over {
                return;
            }
            // Those stay that are being polled further up on this stack.
            if tasks == 0 || tasks >= left {
                self.panic();
            }
            left = tasks;
            _ = pin::pin!(set.run_until(pending::<()>())).poll(cx);
        }
    }
}

impl State {
    /// Once it is over and all tasks are dropped: those that wait for this.
    fn roots_if_all_are_dropped(&mut self) -> HashMap<u64, Waker> {
        match self.is_over && self.tasks.is_empty() {
            true => mem::take(&mut self.roots),
            false => HashMap::new(),
        }
    }
}

/// The place of a task in the list.
pub(super) struct Member {
    fate: Arc<Fate>,
    number: u64,
}

impl Member {
    /// Another one for the same task, for the thread that spawns it.
    pub(super) fn spawning(&self) -> Spawning {
        Spawning { fate: self.fate.clone(), number: self.number }
    }

    pub(super) fn panicked(&self) {
        self.fate.end(self.number);
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let mut state = self.fate.state();
        let own = state.tasks.remove(&self.number);
        let roots = state.roots_if_all_are_dropped();
        drop(state);
        drop(own);
        roots.into_values().for_each(Waker::wake);
    }
}

/// A task that is being spawned.
pub(super) struct Spawning {
    fate: Arc<Fate>,
    number: u64,
}

impl Spawning {
    pub(super) fn is_too_late(&self) -> bool {
        self.fate.is_over()
    }

    /// The task is spawned; what aborts it is kept, or used at once.
    pub(super) fn spawned(self, task: AbortHandle) {
        let mut state = self.fate.state();
        if state.is_over {
            drop(state);
            task.abort();
        } else if let Some(place) = state.tasks.get_mut(&self.number) {
            *place = Some(task);
        }
    }
}

pin_project! {
    /// The future of a `block_on` that panics when the runtime has ended by a panic.
    pub(crate) struct Ending<F> {
        #[pin]
        future: F,
        waiting: Option<Waiting>,
        is_polled: bool,
    }
}

struct Waiting {
    fate: Arc<Fate>,
    number: u64,
}

impl<F> Ending<F> {
    pub(super) fn new(future: F, fate: Option<Arc<Fate>>) -> Self {
        Self { future, waiting: fate.map(Waiting::new), is_polled: false }
    }
}

impl<F: Future> Future for Ending<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let _deferring = crate::trace::deferring();
        let poll = self.poll_waiting(cx);
        if poll.is_pending() {
            Extras::polled();
        }
        poll
    }
}

impl<F: Future> Ending<F> {
    fn poll_waiting(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let Some(waiting) = this.waiting else { return this.future.poll(cx) };
        // The first poll comes before any task of this call, as on tokio.
        if mem::replace(this.is_polled, true) && waiting.is_over(cx) {
            return Poll::Pending;
        }
        let poll = this.future.poll(cx);
        if poll.is_pending() {
            waiting.is_over(cx);
        }
        poll
    }
}

impl Waiting {
    fn new(fate: Arc<Fate>) -> Self {
        let mut state = fate.state();
        state.next += 1;
        let number = state.next;
        drop(state);
        Self { fate, number }
    }

    /// Whether it is over, but for tasks that are being dropped; this is woken after the last of them. Panics
    /// if there is none.
    fn is_over(&self, cx: &mut Context<'_>) -> bool {
        let mut new = None;
        loop {
            let mut state = self.fate.state();
            let is_over = state.is_over;
            if is_over && state.tasks.is_empty() {
                drop(state);
                self.fate.panic();
            }
            if let Some(waker) = new.take() {
                let before = state.roots.insert(self.number, waker);
                drop(state);
                drop(before);
                return is_over;
            }
            let known = state.roots.get(&self.number);
            if known.is_some_and(|known| known.will_wake(cx.waker())) {
                return is_over;
            }
            drop(state);
            new = Some(cx.waker().clone());
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let waker = self.fate.state().roots.remove(&self.number);
        drop(waker);
    }
}

pin_project! {
    /// A future in a `LocalSet` whose tasks run with it. The set may end when one of them panics.
    pub(crate) struct InSet<'a, F> {
        #[pin]
        future: F,
        set: &'a LocalSet,
        fate: Option<Arc<Fate>>,
    }
}

impl<'a, F> InSet<'a, F> {
    pub(crate) fn new(future: F, set: &'a LocalSet, fate: Option<Arc<Fate>>) -> Self {
        Self { future, set, fate }
    }
}

impl<F: Future> Future for InSet<'_, F> {
    type Output = F::Output;

    /// On tokio, too, the future is polled before the set looks whether it has ended.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let poll = this.future.poll(cx);
        if let (Some(fate), Poll::Pending) = (this.fate, &poll) {
            fate.check_in(this.set, cx);
        }
        poll
    }
}
