//! What is counted: each body does one thing so many times, on a runtime with one worker.
//!
//! The thread that waits for the end waits without the runtime, so that it costs nothing that
//! depends on the number of operations.

use crate::echo::CLIENT;
use crate::families::Family;
use crate::idle::{self, Idle};
use crate::runtimes::{Join, Runtime, Spawner};
use crate::sockets::{Sockets, echo};
use crate::yields::Yield;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Tasks spawned, or yielding, at once.
const BATCH: usize = 64;
/// Long, because all this runs fifty times slower than usual.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs the future as a task, and waits until it has ended.
fn finish<R: Runtime>(runtime: &R, future: impl Future<Output = ()> + Send + 'static) {
    let (done, end) = mpsc::sync_channel(1);
    let task = runtime.spawn(async move {
        future.await;
        done.send(()).expect("the bench waits");
    });
    task.detach();
    end.recv_timeout(PATIENCE).expect("the task ends");
}

/// Spawned by a task and detached. Includes running it, which is an addition.
pub(crate) fn spawn<R: Yield>(runtime: &R, operations: usize) {
    let spawner = runtime.spawner();
    finish(runtime, async move {
        let ran = Arc::new(AtomicUsize::new(0));
        for spawned in 1..=operations {
            let counter = ran.clone();
            let task = spawner.spawn(async move {
                counter.fetch_add(1, Ordering::Relaxed);
            });
            task.detach();
            if spawned % BATCH == 0 || spawned == operations {
                while ran.load(Ordering::Relaxed) < spawned {
                    R::yield_now().await;
                }
            }
        }
    });
}

pub(crate) fn spawn_join<R: Runtime>(runtime: &R, operations: usize) {
    let spawner = runtime.spawner();
    finish(runtime, async move {
        for _ in 0..operations {
            spawner.spawn(async {}).await;
        }
    });
}

/// Several tasks, so that none of them has the worker for itself.
pub(crate) fn yields<R: Yield>(runtime: &R, operations: usize) {
    let spawner = runtime.spawner();
    finish(runtime, async move {
        let yielder = |_| {
            spawner.spawn(async move {
                for _ in 0..operations / BATCH {
                    R::yield_now().await;
                }
            })
        };
        let yielders: Vec<_> = (0..BATCH).map(yielder).collect();
        for yielder in yielders {
            yielder.await;
        }
    });
}

/// What one task waits for and another one sets.
#[derive(Default)]
struct Flag {
    set: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl Flag {
    fn raise(&self) {
        self.set.store(true, Ordering::Release);
        let waker = self.waker.lock().expect("no holder of this lock panics").take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    async fn wait(&self) {
        poll_fn(|cx| {
            *self.waker.lock().expect("no holder of this lock panics") = Some(cx.waker().clone());
            if self.set.swap(false, Ordering::Acquire) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

/// To and fro between two tasks: two wakes of a cold task.
pub(crate) fn wake<R: Runtime>(runtime: &R, operations: usize) {
    let (to, fro) = (Arc::new(Flag::default()), Arc::new(Flag::default()));
    let (heard, answer) = (to.clone(), fro.clone());
    let partner = runtime.spawn(async move {
        for _ in 0..operations {
            heard.wait().await;
            answer.raise();
        }
    });
    partner.detach();
    finish(runtime, async move {
        for _ in 0..operations {
            to.raise();
            fro.wait().await;
        }
    });
}

/// Makes a sleep, polls it once and drops it.
pub(crate) fn timer<R: Runtime, S: Future<Output = ()> + 'static>(
    runtime: &R,
    operations: usize,
    make: impl Fn() -> S + Send + 'static,
) {
    finish(runtime, async move {
        for _ in 0..operations {
            let sleep = pin!(make());
            assert_eq!(sleep.poll(&mut Context::from_waker(Waker::noop())), Poll::Pending);
        }
    });
}

/// A message to a task that puts its idle timeout off with each of them.
pub(crate) fn idle_timeout<R: Idle>(runtime: &R, operations: usize) {
    finish(runtime, idle::exchange::<R>(runtime.spawner(), operations));
}

/// A message into a channel with room and out of it again, by one task.
pub(crate) fn mpsc<R: Runtime, F: Family>(runtime: &R, operations: usize) {
    finish(runtime, async move {
        let (sender, mut receiver) = F::bounded(BATCH);
        for message in 0..operations {
            F::send(&sender, message).await;
            assert_eq!(F::recv(&mut receiver).await, Some(message));
        }
    });
}

/// A channel for one message: made, used and dropped, by one task.
pub(crate) fn one_shot<R: Runtime, F: Family>(runtime: &R, operations: usize) {
    finish(runtime, async move {
        for message in 0..operations {
            let (sender, receiver) = F::one();
            F::send_one(sender, message);
            assert_eq!(F::recv_one(receiver).await, message);
        }
    });
}

/// A free lock, taken and given back.
pub(crate) fn mutex<R: Runtime, F: Family>(runtime: &R, operations: usize) {
    finish(runtime, async move {
        let mutex = F::mutex();
        for _ in 0..operations {
            F::lock(&mutex, async {}).await;
        }
    });
}

/// A permit that is there, taken and given back.
pub(crate) fn semaphore<R: Runtime, F: Family>(runtime: &R, operations: usize) {
    finish(runtime, async move {
        let semaphore = F::semaphore(1);
        for _ in 0..operations {
            F::acquire(&semaphore, async {}).await;
        }
    });
}

/// One message to and fro on one connection. The client is a process of its own.
pub(crate) fn echo_message<R: Sockets>(runtime: &R, operations: usize) {
    let (listener, address) = runtime.block_on(R::listen()).expect("a port is free");
    let program = std::env::current_exe().expect("the program has a path");
    let mut command = Command::new(program);
    let client = command.env(CLIENT, format!("{address} {operations}")).spawn();
    let mut client = client.expect("the program can be started again");
    finish(runtime, async move {
        let stream = R::accept(&listener).await.expect("the client connects");
        echo::<R>(stream).await.expect("the client closes in order");
    });
    assert!(client.wait().expect("it was started").success(), "the client had all its answers");
}
