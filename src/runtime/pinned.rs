//! Tasks that are made on one thread and stay there: they need not be `Send`.
//!
//! They run on threads of their own, each with a [`LocalExecutor`](super::local::LocalExecutor): no more of
//! them than there are workers, started when they are needed, and there until the runtime ends. A new task
//! goes to the thread with the fewest tasks alive.
//!
//! Rejected: pinning them to the workers. A worker may be stuck in a task's poll, may step aside to block,
//! and may be retired; all of that is harmless because every task can be taken elsewhere, and none of it
//! would be any longer. Each worker would need a second queue that no worker steals from, looked at in each
//! tick, and each wake would have to know whether its task may travel. Rejected: threads of the blocking
//! pool. It is bounded, and a pool with one thread would lose it to the first pinned task for ever. It is
//! another pool of the same kind instead: it names, starts and joins threads in the same way.
//!
//! The end: `close` tells the executors, each of which returns after the poll it is in, drops its tasks on
//! its own thread, and gives the thread back to the pool, which is waited for like the other one. A task that
//! comes later is cancelled by the thread that spawns it, which is sound because it has not been made yet:
//! what is dropped is the function that would have made it, and that is `Send`.

use super::block_on::{self, PresenceGuard};
use super::local::{LocalShared, Unplaced};
use crate::engine::blocking::{self, Job, SpawnError};
use crate::engine::sync_shim::{Arc, Mutex};
use crate::engine::task::{JoinHandle, RunningTask};
use crate::engine::wakers::WaitList;
use std::future::Future;
use std::panic::Location;
use std::pin::pin;
use std::task::Poll;
use std::time::Instant;

pub(super) struct Pinned {
    pool: Arc<blocking::Pool<Post>>,
    /// No user code runs under this lock.
    threads: Mutex<Threads>,
    /// Roots that wait until no task is alive.
    quiet: WaitList<()>,
}

#[derive(Default)]
struct Threads {
    /// One executor per thread.
    all: Vec<Arc<LocalShared>>,
    closed: bool,
}

impl Threads {
    fn is_quiet(&self) -> bool {
        self.all.iter().all(|thread| thread.is_quiet())
    }

    fn spawned(&self) -> u64 {
        self.all.iter().map(|thread| thread.spawned_tasks()).sum()
    }
}

/// The life of one thread.
pub(super) struct Post {
    executor: Unplaced,
    pinned: Arc<Pinned>,
    /// Awake from the moment it is queued, for a clock that stands still.
    present: PresenceGuard,
}

impl Job for Post {
    fn run(self) {
        let executor = self.executor.place();
        executor.lend(|| {
            let life = pin!(executor.run_until_closed(|| self.pinned.tell_quiet()));
            block_on::run(life, self.present.0.clone());
        });
        // Its tasks go here, on their thread.
        drop(executor);
        self.pinned.tell_quiet();
    }

    /// The thread never came: what has been queued for it is cancelled by the executor's drop.
    fn cancel(self) {}

    /// The others keep theirs until the runtime ends.
    fn needs_a_thread(&self) -> bool {
        true
    }
}

impl Pinned {
    pub(super) fn new(config: blocking::Config) -> Arc<Self> {
        let pool = blocking::Pool::new(config);
        Arc::new(Self { pool, threads: Mutex::new(Threads::default()), quiet: WaitList::new(()) })
    }

    /// Starts a task that `make` makes on one of at most `most` threads. If the runtime has ended, or no
    /// thread can be made and none is there, it is cancelled.
    ///
    /// `present`: counts a new thread as awake, where that is done.
    pub(super) fn spawn<F, Fut>(
        self: &Arc<Self>,
        most: usize,
        present: impl Fn() -> PresenceGuard,
        make: F,
        spawned_at: &'static Location<'static>,
    ) -> JoinHandle<Fut::Output>
    where
        F: FnOnce() -> Fut + Send + 'static,
        Fut: Future<Output: Send + 'static> + 'static,
    {
        let mut threads = self.threads.lock();
        let thread = self.choose(&mut threads, most, present);
        // Queued under the lock, so that the next one sees that this thread has one more.
        let (join, refused) = thread.queue_made(make, spawned_at);
        drop(threads);
        if let Some(refused) = refused {
            refused.cancel();
        }
        join
    }

    /// The thread with the fewest tasks; a new one if all have some and there may be more.
    fn choose(
        self: &Arc<Self>,
        threads: &mut Threads,
        most: usize,
        present: impl Fn() -> PresenceGuard,
    ) -> Arc<LocalShared> {
        let idlest = threads.all.iter().min_by_key(|thread| thread.alive_tasks()).cloned();
        match idlest {
            Some(thread)
                if threads.closed || thread.alive_tasks() == 0 || threads.all.len() >= most =>
            {
                thread
            }
            other => {
                let executor = Unplaced::new();
                let thread = executor.shared().clone();
                if threads.closed {
                    // There was no executor to be told to end, and this one would never be told. Without its
                    // executor the thread refuses what comes.
                    return thread;
                }
                let present = present();
                match self.pool.spawn(Post { executor, pinned: self.clone(), present }) {
                    Ok(()) => {
                        threads.all.push(thread.clone());
                        thread
                    }
                    Err(SpawnError::Closed(post) | SpawnError::NoThread(post, _)) => {
                        // The executor is dropped, so what is queued for its thread is cancelled at once.
                        drop(post);
                        other.unwrap_or(thread)
                    }
                }
            }
        }
    }

    /// Takes no more tasks, and ends the threads after the poll they are in.
    pub(super) fn close(&self) {
        let mut threads = self.threads.lock();
        threads.closed = true;
        // Under the lock: only threads in `block_on` wait here, and their waker runs no code of the program.
        threads.all.iter().for_each(|thread| thread.close());
        drop(threads);
        self.pool.close();
    }

    /// After `close`: waits until the threads have ended, or until `deadline`; returns whether they have.
    pub(super) fn wait(&self, deadline: Option<Instant>) -> bool {
        self.pool.wait(deadline)
    }

    /// How many tasks are alive.
    pub(super) fn alive_tasks(&self) -> u64 {
        self.threads.lock().all.iter().map(|thread| thread.alive_tasks()).sum()
    }

    /// How many tasks have been cold at least once and are alive.
    pub(super) fn cold_tasks(&self) -> usize {
        self.threads.lock().all.iter().map(|thread| thread.cold_tasks()).sum()
    }

    /// How many tasks there have been.
    pub(super) fn spawned_tasks(&self) -> u64 {
        self.threads.lock().spawned()
    }

    /// The executors of the threads.
    pub(super) fn executors(&self) -> Vec<Arc<LocalShared>> {
        self.threads.lock().all.clone()
    }

    /// What the threads run at the moment.
    pub(super) fn running(&self) -> Vec<RunningTask> {
        self.threads.lock().all.iter().filter_map(|thread| thread.running_task()).collect()
    }

    /// Returns when no task is alive, and each JoinHandle knows: the number of those that there have been
    /// until then.
    pub(super) async fn wait_until_quiet(&self) -> u64 {
        let look = || {
            let threads = self.threads.lock();
            if threads.is_quiet() { Poll::Ready(threads.spawned()) } else { Poll::Pending }
        };
        self.quiet.wait(0, |_| look()).await
    }

    /// A thread has no task left: tells the roots that wait for that. The lock after its last task's end is
    /// what makes sure that they wait already, or look again.
    fn tell_quiet(&self) {
        self.quiet.wake_all(|()| ());
    }
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::super::Runtime;

    /// Between the two halves of `close`: a spawn must not start a thread then, which would never be told to
    /// end.
    #[test]
    fn the_first_task_that_comes_during_the_close_is_cancelled() {
        let runtime = Runtime::new().unwrap();
        runtime.handle().inner.pinned.threads.lock().closed = true;
        let task = runtime.spawn_pinned(|| async {});
        assert!(runtime.block_on(task).unwrap_err().is_cancelled());
    }
}
