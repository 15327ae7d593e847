//! The runtimes that are compared, behind one trait, so that every body is written once and
//! compiled for all of them.
//!
//! liten and tokio find the current runtime through a thread-local. smol has none, so its tasks
//! carry a reference to the executor; it is `'static`, as in most programs that use smol, so that
//! no reference count is paid for.

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::thread;

/// A running runtime. Dropping it ends its threads.
pub(crate) trait Runtime: Sized + 'static {
    const NAME: &'static str;
    type Spawner: Spawner;

    /// Starts it with this number of workers, the thread in `block_on` not counted.
    fn start(workers: usize) -> Self;

    /// Runs `future` on the calling thread.
    fn block_on<F: Future>(&self, future: F) -> F::Output;

    /// Spawns from a thread that the runtime does not know.
    fn spawn<F>(&self, future: F) -> <Self::Spawner as Spawner>::Join<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static;

    fn spawner(&self) -> Self::Spawner;
}

/// What spawns from inside a task, or inside `block_on`.
pub(crate) trait Spawner: Copy + Send + Sync + 'static {
    type Join<T: Send + 'static>: Join<T>;

    fn spawn<F>(self, future: F) -> Self::Join<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static;
}

/// The owner's end of a task. Awaiting it panics if the task has panicked.
pub(crate) trait Join<T>: Future<Output = T> + Send + Unpin {
    #[allow(dead_code, reason = "some benches join all their tasks")]
    fn detach(self);
}

/// `Result<T, JoinError>` made a `T`, inline.
pub(crate) struct Unwrapped<J>(J);

impl<J, T, E> Future for Unwrapped<J>
where
    J: Future<Output = Result<T, E>> + Unpin,
    E: Debug,
{
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        Poll::Ready(ready!(Pin::new(&mut self.0).poll(cx)).expect("no task panics"))
    }
}

impl<J, T, E> Join<T> for Unwrapped<J>
where
    J: Future<Output = Result<T, E>> + Send + Unpin,
    E: Debug,
{
    fn detach(self) {}
}

pub(crate) struct Liten(pub(crate) liten::runtime::Runtime);

impl From<liten::runtime::Runtime> for Liten {
    fn from(runtime: liten::runtime::Runtime) -> Self {
        Self(runtime)
    }
}

#[derive(Clone, Copy)]
pub(crate) struct LitenSpawner;

impl Runtime for Liten {
    const NAME: &'static str = "liten";
    type Spawner = LitenSpawner;

    fn start(workers: usize) -> Self {
        let runtime = liten::runtime::Builder::new_multi_thread().worker_threads(workers).build();
        Self(runtime.expect("threads and a poller can be had"))
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.0.block_on(future)
    }

    fn spawn<F>(&self, future: F) -> Unwrapped<liten::task::JoinHandle<F::Output>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        Unwrapped(self.0.spawn(future))
    }

    fn spawner(&self) -> LitenSpawner {
        LitenSpawner
    }
}

impl Spawner for LitenSpawner {
    type Join<T: Send + 'static> = Unwrapped<liten::task::JoinHandle<T>>;

    fn spawn<F>(self, future: F) -> Self::Join<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        Unwrapped(liten::spawn(future))
    }
}

pub(crate) struct Tokio(tokio::runtime::Runtime);

#[derive(Clone, Copy)]
pub(crate) struct TokioSpawner;

impl Runtime for Tokio {
    const NAME: &'static str = "tokio";
    type Spawner = TokioSpawner;

    fn start(workers: usize) -> Self {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(workers).enable_all().build();
        Self(runtime.expect("threads and a poller can be had"))
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.0.block_on(future)
    }

    fn spawn<F>(&self, future: F) -> Unwrapped<tokio::task::JoinHandle<F::Output>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        Unwrapped(self.0.spawn(future))
    }

    fn spawner(&self) -> TokioSpawner {
        TokioSpawner
    }
}

impl Spawner for TokioSpawner {
    type Join<T: Send + 'static> = Unwrapped<tokio::task::JoinHandle<T>>;

    fn spawn<F>(self, future: F) -> Self::Join<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        Unwrapped(tokio::spawn(future))
    }
}

/// `smol::Executor` on its own threads, as its documentation shows it.
pub(crate) struct Smol {
    spawner: SmolSpawner,
    stop: smol::channel::Sender<()>,
    threads: Vec<thread::JoinHandle<()>>,
}

#[derive(Clone, Copy)]
pub(crate) struct SmolSpawner(&'static smol::Executor<'static>);

impl Runtime for Smol {
    const NAME: &'static str = "smol";
    type Spawner = SmolSpawner;

    fn start(workers: usize) -> Self {
        let executor: &'static smol::Executor<'static> = Box::leak(Box::default());
        let (stop, stopped) = smol::channel::bounded(1);
        let work = || {
            let stopped = stopped.clone();
            thread::spawn(move || {
                // `Err` says that the channel is closed: the sign to end.
                let _ = smol::block_on(executor.run(stopped.recv()));
            })
        };
        Self {
            spawner: SmolSpawner(executor),
            stop,
            threads: (0..workers).map(|_| work()).collect(),
        }
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        smol::block_on(future)
    }

    fn spawn<F>(&self, future: F) -> smol::Task<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.spawner.spawn(future)
    }

    fn spawner(&self) -> SmolSpawner {
        self.spawner
    }
}

impl Drop for Smol {
    fn drop(&mut self) {
        self.stop.close();
        for thread in self.threads.drain(..) {
            thread.join().expect("no worker panics");
        }
    }
}

impl Spawner for SmolSpawner {
    type Join<T: Send + 'static> = smol::Task<T>;

    fn spawn<F>(self, future: F) -> Self::Join<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.0.spawn(future)
    }
}

impl<T: Send + 'static> Join<T> for smol::Task<T> {
    fn detach(self) {
        smol::Task::detach(self);
    }
}
