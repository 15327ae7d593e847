//! The runtimes that live on one thread: `LocalRuntime` beside tokio's current-thread `Runtime`.
//!
//! The futures are `Send`, because tokio spawns others in a `LocalSet` only, which costs it more; but for the
//! row that shows just that.

use crate::connect::{Connect, connections, connects};
use crate::contest::{Contest, Start};
use crate::row::{Row, time};
use crate::rows::{contest, of_row, start_of};
use crate::runtimes::{self, Runtime};
use futures_util::FutureExt;
use futures_util::future::join;
use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;

/// Name and the highest ratio liten / tokio that we want to see.
const GOALS: [(&str, f64); 7] = [
    ("local_ping_pong", 0.70),
    ("local_ping_pong_send", 0.80),
    ("local_spawn", 0.70),
    ("local_foreign_wake", 1.0),
    ("local_start", 0.90),
    ("local_connect", 1.0),
    ("start_stop", 1.0),
];
const ROUND_TRIPS: usize = 1_000;
const SPAWNS: usize = 1_000;
const FOREIGN_WAKES: usize = 100;
const CONNECTIONS: usize = 50;
/// Of the multithreaded runtime whose life is measured beside that of the one on one thread.
const START_WORKERS: usize = 2;

pub(crate) fn contests() -> Vec<Contest> {
    let rows = rows::<Liten>().into_iter().zip(rows::<Tokio>());
    let contests =
        rows.map(|(liten, tokio)| contest(liten.name, &GOALS, vec![of(liten), of(tokio)]));
    contests.chain([start_stop()]).collect()
}

/// As `local_start`, of the multithreaded runtimes: threads, in the first place.
fn start_stop() -> Contest {
    fn row<R: Runtime>() -> (&'static str, Start) {
        let live =
            |_: &R, iterations| time(iterations, || R::start(START_WORKERS).block_on(async {}));
        of_row(Row::new("start_stop", 1, live), START_WORKERS)
    }
    contest("start_stop", &GOALS, vec![row::<runtimes::Liten>(), row::<runtimes::Tokio>()])
}

fn of<L: Local>(row: Row<L>) -> (&'static str, Start) {
    (L::NAME, start_of(row, L::start))
}

/// A runtime that runs its tasks in `block_on` and nowhere else.
trait Local: Connect {
    const NAME: &'static str;

    fn start() -> Self;

    fn block_on<F: Future>(&self, future: F) -> F::Output;

    /// As `block_on`, for futures that call `spawn_local`.
    fn block_on_local<F: Future>(&self, future: F) -> F::Output;

    /// Inside of `block_on_local`; the result waits for the task.
    fn spawn_local<F: Future<Output = ()> + 'static>(future: F) -> impl Future<Output = ()>;

    /// Inside of `block_on`; the result waits for the task.
    fn spawn<F>(future: F) -> impl Future<Output = ()>
    where
        F: Future<Output = ()> + Send + 'static;
}

struct Liten(liten::runtime::LocalRuntime);

impl Local for Liten {
    const NAME: &'static str = "liten";

    fn start() -> Self {
        Self(liten::runtime::LocalRuntime::new().expect("a poller can be had"))
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.0.block_on(future)
    }

    fn block_on_local<F: Future>(&self, future: F) -> F::Output {
        self.0.block_on(future)
    }

    fn spawn_local<F: Future<Output = ()> + 'static>(future: F) -> impl Future<Output = ()> {
        liten::task::spawn_local(future).map(|joined| joined.expect("no task panics"))
    }

    fn spawn<F>(future: F) -> impl Future<Output = ()>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        liten::task::spawn_local(future).map(|joined| joined.expect("no task panics"))
    }
}

struct Tokio(tokio::runtime::Runtime);

impl Local for Tokio {
    const NAME: &'static str = "tokio";

    fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        Self(runtime.expect("a poller can be had"))
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.0.block_on(future)
    }

    fn block_on_local<F: Future>(&self, future: F) -> F::Output {
        tokio::task::LocalSet::new().block_on(&self.0, future)
    }

    fn spawn_local<F: Future<Output = ()> + 'static>(future: F) -> impl Future<Output = ()> {
        tokio::task::spawn_local(future).map(|joined| joined.expect("no task panics"))
    }

    fn spawn<F>(future: F) -> impl Future<Output = ()>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        tokio::spawn(future).map(|joined| joined.expect("no task panics"))
    }
}

connects!(Liten, liten);
connects!(Tokio, tokio);

fn rows<L: Local>() -> Vec<Row<L>> {
    vec![
        Row::new("local_ping_pong", 2 * ROUND_TRIPS, ping_pong),
        Row::new("local_ping_pong_send", 2 * ROUND_TRIPS, ping_pong_send),
        Row::new("local_spawn", SPAWNS, spawn),
        Row::new("local_foreign_wake", FOREIGN_WAKES, foreign_wake),
        Row::new("local_start", 1, start),
        Row::new("local_connect", CONNECTIONS, connect),
    ]
}

/// A flag and the waker of the task that waits for it, as any channel has inside.
#[derive(Default)]
struct Bell(Mutex<(bool, Option<Waker>)>);

impl Bell {
    fn ring(&self) {
        let mut bell = self.0.lock().expect("no panic while it is held");
        bell.0 = true;
        let waiter = bell.1.take();
        drop(bell);
        waiter.into_iter().for_each(Waker::wake);
    }

    async fn heard(&self) {
        poll_fn(|cx| {
            let mut bell = self.0.lock().expect("no panic while it is held");
            if std::mem::take(&mut bell.0) {
                return Poll::Ready(());
            }
            bell.1 = Some(cx.waker().clone());
            Poll::Pending
        })
        .await
    }
}

/// The same for one thread, without a lock.
#[derive(Default)]
struct LocalBell(Cell<bool>, Cell<Option<Waker>>);

impl LocalBell {
    fn ring(&self) {
        self.0.set(true);
        self.1.take().into_iter().for_each(Waker::wake);
    }

    async fn heard(&self) {
        poll_fn(|cx| {
            if self.0.take() {
                return Poll::Ready(());
            }
            self.1.set(Some(cx.waker().clone()));
            Poll::Pending
        })
        .await
    }
}

/// Two tasks that wake each other in turn, and need not be `Send`.
fn ping_pong<L: Local>(runtime: &L, iterations: u64) -> Duration {
    time(iterations, || {
        let (ping, pong) = (Rc::new(LocalBell::default()), Rc::new(LocalBell::default()));
        runtime.block_on_local(async {
            let (heard, answer) = (ping.clone(), pong.clone());
            let one = L::spawn_local(async move {
                for _ in 0..ROUND_TRIPS {
                    answer.ring();
                    heard.heard().await;
                }
            });
            let two = L::spawn_local(async move {
                for _ in 0..ROUND_TRIPS {
                    pong.heard().await;
                    ping.ring();
                }
            });
            join(one, two).await;
        });
    })
}

/// The same with tasks that are `Send`. The lock in the bells costs more than either runtime.
fn ping_pong_send<L: Local>(runtime: &L, iterations: u64) -> Duration {
    time(iterations, || {
        let (ping, pong) = (Arc::new(Bell::default()), Arc::new(Bell::default()));
        runtime.block_on(async {
            let (heard, answer) = (ping.clone(), pong.clone());
            let one = L::spawn(async move {
                for _ in 0..ROUND_TRIPS {
                    answer.ring();
                    heard.heard().await;
                }
            });
            let two = L::spawn(async move {
                for _ in 0..ROUND_TRIPS {
                    pong.heard().await;
                    ping.ring();
                }
            });
            join(one, two).await;
        });
    })
}

/// Tasks that end at their first poll.
fn spawn<L: Local>(runtime: &L, iterations: u64) -> Duration {
    time(iterations, || {
        runtime.block_on(async {
            for _ in 0..SPAWNS {
                L::spawn(async {}).await;
            }
        });
    })
}

/// Another thread and the runtime's wait for each other in turn.
fn foreign_wake<L: Local>(runtime: &L, iterations: u64) -> Duration {
    let (there, back) = (Arc::new(Bell::default()), Arc::new(Bell::default()));
    let total = iterations as usize * FOREIGN_WAKES;
    let other = {
        let (there, back) = (there.clone(), back.clone());
        thread::spawn(move || {
            smol::block_on(async {
                for _ in 0..total {
                    there.heard().await;
                    back.ring();
                }
            });
        })
    };
    let taken = time(1, || {
        let (there, back) = (there.clone(), back.clone());
        runtime.block_on(async {
            let task = L::spawn(async move {
                for _ in 0..total {
                    there.ring();
                    back.heard().await;
                }
            });
            task.await;
        });
    });
    other.join().expect("the other thread ends");
    taken
}

/// The whole life of a runtime.
fn start<L: Local>(_: &L, iterations: u64) -> Duration {
    time(iterations, || L::start().block_on(async {}))
}

/// See `connections`.
fn connect<L: Local>(runtime: &L, iterations: u64) -> Duration {
    runtime.block_on(connections::<L>(iterations as usize * CONNECTIONS))
}
