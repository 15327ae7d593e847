//! The end of a runtime, or of a `LocalSet`, whose task has panicked, if it was built to end then.
//!
//! liten's go on. So each task of such a one is listed here with what aborts it, and each `block_on` with its
//! waker. A panic aborts the tasks and wakes the `block_on`s, which panic. What is spawned later is aborted
//! before it runs.

use super::extras::Extras;
use crate::LITEN;
use liten::task::AbortHandle;
use pin_project_lite::pin_project;
use std::cell::RefCell;
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

thread_local! {
    /// What the `LocalSet` has that this thread polls.
    static LOCAL: RefCell<Option<Arc<Extras>>> = const { RefCell::new(None) };
}

/// What the `LocalSet` has that this thread polls, if it has something.
pub(crate) fn local() -> Option<Arc<Extras>> {
    LOCAL.with_borrow(Clone::clone)
}

/// One for a runtime or a set.
pub(crate) struct Fate {
    whose: &'static str,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    is_over: bool,
    next: u64,
    /// `None`: it is being spawned.
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

    /// A task, or another one that was spawned with it, has panicked: ends all but `number`.
    fn end(&self, number: u64) {
        let mut state = self.state();
        state.is_over = true;
        let own = state.tasks.remove(&number);
        let others: Vec<AbortHandle> = state.tasks.drain().filter_map(|(_, task)| task).collect();
        let roots: Vec<Waker> = state.roots.drain().map(|(_, root)| root).collect();
        // What is aborted may be dropped here and now, and takes itself out of the list.
        drop(state);
        drop(own);
        others.iter().for_each(AbortHandle::abort);
        roots.into_iter().for_each(Waker::wake);
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
        self.fate.state().tasks.remove(&self.number);
    }
}

/// A task that is being spawned.
pub(super) struct Spawning {
    fate: Arc<Fate>,
    number: u64,
}

impl Spawning {
    pub(super) fn is_too_late(&self) -> bool {
        self.fate.state().is_over
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
    /// A future that panics when the runtime or the set has ended by a panic.
    pub(crate) struct Ending<F> {
        #[pin]
        future: F,
        waiting: Option<Waiting>,
        // What is spawned meanwhile belongs to the set that has this.
        set: Option<Arc<Extras>>,
    }
}

struct Waiting {
    fate: Arc<Fate>,
    number: u64,
}

impl<F> Ending<F> {
    /// The future of a `block_on`.
    pub(super) fn root(future: F, fate: Option<Arc<Fate>>) -> Self {
        Self { future, waiting: fate.map(Waiting::new), set: None }
    }

    /// A future that polls the tasks of a `LocalSet`, which has `extras`.
    pub(crate) fn set(future: F, extras: Option<Arc<Extras>>) -> Self {
        let fate = extras.as_ref().and_then(|extras| extras.fate());
        Self { future, waiting: fate.map(Waiting::new), set: extras }
    }
}

impl<F: Future> Future for Ending<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let Some(waiting) = this.waiting else { return this.future.poll(cx) };
        waiting.check(cx);
        let within = this.set.clone().map(|set| Within(LOCAL.replace(Some(set))));
        let poll = this.future.poll(cx);
        drop(within);
        if poll.is_pending() {
            waiting.check(cx);
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

    /// Panics if it is over, and otherwise waits for that.
    fn check(&self, cx: &mut Context<'_>) {
        let mut state = self.fate.state();
        if state.is_over {
            drop(state);
            panic!("a spawned task panicked and the {} on unhandled panic ({LITEN})", self.fate.whose);
        }
        state.roots.entry(self.number).or_insert_with(|| cx.waker().clone()).clone_from(cx.waker());
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let waker = self.fate.state().roots.remove(&self.number);
        drop(waker);
    }
}

/// While it is there, `spawn_local` spawns into a set. It has what was there before.
struct Within(Option<Arc<Extras>>);

impl Drop for Within {
    fn drop(&mut self) {
        LOCAL.set(self.0.take());
    }
}
