//! What the scenarios are made of: a runtime with a ledger of its tasks, and things that tasks wait for.

use super::ledger::{Ledger, Receipt};
use crate::engine::scheduler::Shared;
use crate::engine::sync_shim::{Arc, Condvar, Mutex, clock, thread};
use crate::runtime::handle::Flavor;
use crate::runtime::{Builder, Handle, Runtime};
use crate::task::{JoinError, JoinHandle};
use shuttle::rand::{Rng, thread_rng};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

pub(super) const MOST_WORKERS: usize = 3;

/// A choice of the schedule's.
pub(super) fn below(bound: usize) -> usize {
    thread_rng().gen_range(0..bound)
}

/// A runtime with a ledger of its tasks.
pub(super) struct TestedRuntime {
    /// Taken by the end.
    runtime: Option<Runtime>,
    pub(super) ledger: Ledger,
}

/// What another thread, or a task, needs to spawn tasks that the ledger knows.
#[derive(Clone)]
pub(super) struct Spawner {
    pub(super) handle: Handle,
    pub(super) ledger: Ledger,
}

impl TestedRuntime {
    /// Time passes in half of the schedules only: the watchdog's ticks must not be what saves a task. From
    /// the end on it passes in all of them, because the watchdog may begin its last tick when all is over.
    pub(super) fn new(workers: usize) -> Self {
        clock::stand_still(below(2) == 0);
        Self::build(workers)
    }

    /// For what does need the watchdog, or timers.
    pub(super) fn with_time(workers: usize) -> Self {
        clock::stand_still(false);
        Self::build(workers)
    }

    fn build(workers: usize) -> Self {
        let runtime = Builder::new_multi_thread()
            .worker_threads(workers)
            .max_worker_threads(MOST_WORKERS)
            .max_blocking_threads(2)
            .build()
            .expect("nothing here can fail");
        Self { runtime: Some(runtime), ledger: Ledger::default() }
    }

    pub(super) fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("not ended yet")
    }

    pub(super) fn spawner(&self) -> Spawner {
        Spawner { handle: self.runtime().handle().clone(), ledger: self.ledger.clone() }
    }

    pub(super) fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.runtime().block_on(future)
    }

    fn scheduler(&self) -> Arc<Shared> {
        let Flavor::MultiThread { scheduler, .. } = &self.runtime().handle().inner.flavor else {
            unreachable!("built above")
        };
        scheduler.clone()
    }

    /// Drops the runtime, then calls `others`, which waits for threads that may still spawn, and checks
    /// the ledger.
    pub(super) fn end_then<R>(mut self, others: impl FnOnce() -> R) -> R {
        let (scheduler, ledger) = (self.scheduler(), self.ledger.clone());
        clock::stand_still(false);
        drop(self.runtime.take());
        let result = others();
        scheduler.audit(ledger.len());
        let weak = Arc::downgrade(&scheduler);
        drop(scheduler);
        assert_eq!(weak.strong_count(), 0, "something keeps the scheduler");
        ledger.check();
        result
    }

    pub(super) fn end(self) {
        self.end_then(|| ());
    }

    /// As [`TestedRuntime::end`], in the background.
    pub(super) fn end_in_background(mut self, how: impl FnOnce(Runtime)) {
        let (scheduler, ledger) = (Arc::downgrade(&self.scheduler()), self.ledger.clone());
        clock::stand_still(false);
        how(self.runtime.take().expect("not ended yet"));
        while scheduler.strong_count() > 0 {
            thread::yield_now();
        }
        ledger.check();
    }
}

impl Drop for TestedRuntime {
    /// After a failed check the schedule is over: an orderly end would only hide the failure.
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::mem::forget(self.runtime.take());
        }
    }
}

impl Spawner {
    pub(super) fn spawn(
        &self,
        future: impl Future<Output = ()> + Send + 'static,
    ) -> JoinHandle<Receipt> {
        self.handle.spawn(self.ledger.task(future))
    }

    /// As a task, or the root of `block_on`, spawns.
    pub(super) fn spawn_here(
        &self,
        future: impl Future<Output = ()> + Send + 'static,
    ) -> JoinHandle<Receipt> {
        crate::spawn(self.ledger.task(future))
    }
}

/// `true`: it completed; `false`: it was cancelled.
pub(super) async fn join(handle: JoinHandle<Receipt>) -> bool {
    outcome(handle.await)
}

fn outcome(result: Result<Receipt, JoinError>) -> bool {
    match result {
        Ok(_) => true,
        Err(error) => {
            assert!(error.is_cancelled(), "{error}");
            false
        }
    }
}

/// As [`join`], when the runtime has ended.
pub(super) fn settled(handle: JoinHandle<Receipt>) {
    outcome(result(handle));
}

/// The result of a task when the runtime has ended: nothing is left to wait for.
pub(super) fn result<T>(mut handle: JoinHandle<T>) -> Result<T, JoinError> {
    match Pin::new(&mut handle).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("the runtime has ended, but {handle:?} has no result"),
    }
}

/// Waits without a sleep: the task is put at the back of the queue.
pub(super) async fn rounds(count: usize) {
    for _ in 0..count {
        crate::task::yield_now().await;
    }
}

/// Signals that tasks wait for; each wait uses one up.
#[derive(Clone)]
pub(super) struct Signals(Arc<Mutex<Pending>>);

struct Pending {
    left: usize,
    waiting: Vec<Waker>,
}

impl Signals {
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(Pending { left: 0, waiting: Vec::new() })))
    }

    /// The wakers are called without the lock.
    pub(super) fn send(&self) {
        let waiting = {
            let mut pending = self.0.lock();
            pending.left += 1;
            std::mem::take(&mut pending.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    pub(super) async fn wait(&self) {
        poll_fn(|cx| {
            let mut pending = self.0.lock();
            if pending.left > 0 {
                pending.left -= 1;
                return Poll::Ready(());
            }
            let waker = cx.waker().clone();
            pending.waiting.push(waker);
            Poll::Pending
        })
        .await;
    }
}

/// A place at which threads (not tasks) wait for each other: it blocks them.
#[derive(Clone)]
pub(super) struct Meeting(Arc<(Mutex<usize>, Condvar)>);

impl Meeting {
    pub(super) fn of(threads: usize) -> Self {
        Self(Arc::new((Mutex::new(threads), Condvar::new())))
    }

    /// Says that the caller has been here, and does not wait.
    pub(super) fn arrive(&self) {
        let (missing, changed) = &*self.0;
        *missing.lock() -= 1;
        changed.notify_all();
    }

    pub(super) fn attend(&self) {
        self.arrive();
        let (missing, changed) = &*self.0;
        let mut missing = missing.lock();
        while *missing > 0 {
            changed.wait(&mut missing);
        }
    }
}

/// A thread of the program's own.
pub(super) fn beside<R: Send + 'static>(
    f: impl FnOnce() -> R + Send + 'static,
) -> thread::JoinHandle<R> {
    thread::spawn(f)
}

/// Calls its function when it is dropped: a task's destructor.
pub(super) struct OnDrop<F: FnMut()>(pub(super) F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
