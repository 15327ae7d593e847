//! The runtimes that live on one thread: `LocalRuntime` beside tokio's current-thread `Runtime`.
//!
//! The futures are `Send`, because tokio spawns others in a `LocalSet` only, which costs it more.

use crate::contest::{Contest, Figure, ROUNDS, SLICE, Start};
use crate::row::{Row, time};
use crate::rows::start_of;
use futures_util::FutureExt;
use futures_util::future::join;
use futures_util::task::AtomicWaker;
use std::future::{Future, poll_fn};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

/// Name and the highest ratio liten / tokio that we want to see.
const GOALS: [(&str, f64); 5] = [
    ("local_ping_pong", 0.70),
    ("local_spawn", 0.70),
    ("local_foreign_wake", 1.0),
    ("local_start", 0.90),
    ("local_connect", 1.0),
];
const ROUND_TRIPS: usize = 1_000;
const SPAWNS: usize = 1_000;
const FOREIGN_WAKES: usize = 100;
const CONNECTIONS: usize = 50;

pub(crate) fn contests() -> Vec<Contest> {
    let contest = |(liten, tokio): (Row<Liten>, Row<Tokio>)| {
        let goal = GOALS.iter().find(|(name, _)| *name == liten.name).map(|&(_, goal)| goal);
        Contest {
            name: liten.name.to_owned(),
            figures: vec![Figure { suffix: "", unit: "ns", goal }],
            lanes: vec![of(liten), of(tokio)],
            slice: SLICE,
            rounds: ROUNDS,
        }
    };
    rows::<Liten>().into_iter().zip(rows::<Tokio>()).map(contest).collect()
}

fn of<L: Local>(row: Row<L>) -> (&'static str, Start) {
    (L::NAME, start_of(row, L::start))
}

/// A runtime that runs its tasks in `block_on` and nowhere else.
trait Local: 'static {
    const NAME: &'static str;
    type Stream;

    fn start() -> Self;

    fn block_on<F: Future>(&self, future: F) -> F::Output;

    /// Inside of `block_on`; the result waits for the task.
    fn spawn<F>(future: F) -> impl Future<Output = ()>
    where
        F: Future<Output = ()> + Send + 'static;

    fn connect(address: SocketAddr) -> impl Future<Output = Self::Stream>;

    /// Closes the connection so that its port can be used again at once.
    fn reset(stream: Self::Stream);
}

struct Liten(liten::runtime::LocalRuntime);

impl Local for Liten {
    const NAME: &'static str = "liten";
    type Stream = liten::net::TcpStream;

    fn start() -> Self {
        Self(liten::runtime::LocalRuntime::new().expect("a poller can be had"))
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.0.block_on(future)
    }

    fn spawn<F>(future: F) -> impl Future<Output = ()>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        liten::task::spawn_local(future).map(|joined| joined.expect("no task panics"))
    }

    async fn connect(address: SocketAddr) -> Self::Stream {
        liten::net::TcpStream::connect(address).await.expect("somebody listens")
    }

    fn reset(stream: Self::Stream) {
        stream.set_zero_linger().expect("every socket has the option");
    }
}

struct Tokio(tokio::runtime::Runtime);

impl Local for Tokio {
    const NAME: &'static str = "tokio";
    type Stream = tokio::net::TcpStream;

    fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        Self(runtime.expect("a poller can be had"))
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.0.block_on(future)
    }

    fn spawn<F>(future: F) -> impl Future<Output = ()>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        tokio::spawn(future).map(|joined| joined.expect("no task panics"))
    }

    async fn connect(address: SocketAddr) -> Self::Stream {
        tokio::net::TcpStream::connect(address).await.expect("somebody listens")
    }

    fn reset(stream: Self::Stream) {
        stream.set_zero_linger().expect("every socket has the option");
    }
}

fn rows<L: Local>() -> Vec<Row<L>> {
    vec![
        Row::new("local_ping_pong", 2 * ROUND_TRIPS, ping_pong),
        Row::new("local_spawn", SPAWNS, spawn),
        Row::new("local_foreign_wake", FOREIGN_WAKES, foreign_wake),
        Row::new("local_start", 1, start),
        Row::new("local_connect", CONNECTIONS, connect),
    ]
}

/// A flag and who waits for it: no more than any channel has inside.
#[derive(Default)]
struct Bell {
    rung: AtomicBool,
    waiter: AtomicWaker,
}

impl Bell {
    fn ring(&self) {
        self.rung.store(true, Ordering::Release);
        self.waiter.wake();
    }

    async fn heard(&self) {
        poll_fn(|cx| {
            self.waiter.register(cx.waker());
            let rung = self.rung.swap(false, Ordering::AcqRel);
            if rung { Poll::Ready(()) } else { Poll::Pending }
        })
        .await
    }
}

/// Two tasks that wake each other in turn.
fn ping_pong<L: Local>(runtime: &L, iterations: u64) -> Duration {
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

/// Connections alone: the other end is accepted, and both are closed, while the clock stands.
fn connect<L: Local>(runtime: &L, iterations: u64) -> Duration {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    runtime.block_on(async {
        let mut taken = Duration::ZERO;
        for _ in 0..iterations as usize * CONNECTIONS {
            let start = Instant::now();
            let connected = L::connect(address).await;
            taken += start.elapsed();
            let accepted = listener.accept().expect("somebody has connected");
            L::reset(connected);
            drop(accepted);
        }
        taken
    })
}
