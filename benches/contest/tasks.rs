//! Bodies that measure the scheduler: spawning, joining, yielding, waking.
//!
//! The first seven are tokio's own scheduler benches (`benches/rt_multi_threaded.rs` there) with
//! the same numbers. Channels are the runtimes' own. In those
//! that end with a `recv` inside of `block_on`, the thread in `block_on` really blocks: it takes no
//! part in the work.

use crate::families::{Channels, Native};
use crate::row::{Row, time};
use crate::runtimes::{Join, Runtime, Spawner};
use crate::yields::Yield;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

const SPAWNS: usize = 10_000;
/// What tokio's `busy2` uses: there a spawn may cost some hundred microseconds.
const BUSY2_SPAWNS: usize = 1_000;
const STALL: Duration = Duration::from_micros(10);
const YIELD_TASKS: usize = 200;
const YIELDS: usize = 1_000;
const PINGS: usize = 1_000;
const CHAIN: usize = 1_000;
/// Enough for the pair to settle: it may take a thousand round trips until both tasks stay where they are.
pub(crate) const BOUNCES: usize = 10_000;
const FIB: u64 = 20;
/// Tasks that `fork(FIB)` makes: one per call of the recursive function.
const FORKS: usize = 21_891;

/// All rows. The two `busy` ones need to know how many workers there are to keep busy.
pub(crate) fn rows<R: Native + Yield>(workers: usize) -> Vec<Row<R>> {
    vec![
        Row::new("spawn_many_local", SPAWNS, spawn_many_local),
        Row::new("spawn_many_remote_idle", SPAWNS, |runtime, n| join_many(runtime, SPAWNS, n)),
        Row::new("spawn_many_remote_busy1", SPAWNS, move |runtime, n| {
            let _busy = Busy::yielding(runtime, 2 * workers);
            join_many(runtime, SPAWNS, n)
        }),
        Row::new("spawn_many_remote_busy2", BUSY2_SPAWNS, move |runtime, n| {
            let _busy = Busy::respawning(runtime, workers);
            join_many(runtime, BUSY2_SPAWNS, n)
        }),
        Row::new("yield_many", YIELD_TASKS * YIELDS, yield_many),
        Row::new("ping_pong", PINGS, ping_pong),
        Row::new("chained_spawn", CHAIN, chained_spawn),
        Row::new("spawn_many_in_task", SPAWNS, spawn_many_in_task),
        Row::new("fork_join", FORKS, fork_join),
        Row::new("channel_bounce", BOUNCES, bounce::<R, R::Channels>),
    ]
}

/// Counts tasks down, and says when the last one is through.
#[derive(Clone)]
struct Countdown {
    left: Arc<AtomicUsize>,
    done: mpsc::SyncSender<()>,
}

impl Countdown {
    fn new() -> (Self, mpsc::Receiver<()>) {
        let (done, all) = mpsc::sync_channel(1000);
        (Self { left: Arc::new(AtomicUsize::new(0)), done }, all)
    }

    fn set(&self, count: usize) {
        self.left.store(count, Ordering::Relaxed);
    }

    fn count(&self) {
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.done.send(()).expect("the bench waits");
        }
    }
}

/// Spawned by the root future of `block_on`.
fn spawn_many_local<R: Runtime>(runtime: &R, iterations: u64) -> Duration {
    let spawner = runtime.spawner();
    let (countdown, all) = Countdown::new();
    time(iterations, || {
        countdown.set(SPAWNS);
        runtime.block_on(async {
            for _ in 0..SPAWNS {
                let countdown = countdown.clone();
                spawner.spawn(async move { countdown.count() }).detach();
            }
            all.recv().expect("the tasks end");
        });
    })
}

/// The same, spawned by a task.
fn spawn_many_in_task<R: Runtime>(runtime: &R, iterations: u64) -> Duration {
    let spawner = runtime.spawner();
    let (countdown, all) = Countdown::new();
    time(iterations, || {
        countdown.set(SPAWNS);
        let countdown = countdown.clone();
        let parent = runtime.spawn(async move {
            for _ in 0..SPAWNS {
                let countdown = countdown.clone();
                spawner.spawn(async move { countdown.count() }).detach();
            }
        });
        parent.detach();
        all.recv().expect("the tasks end");
    })
}

/// Spawned by a thread that the runtime does not know, then joined in `block_on`.
fn join_many<R: Runtime>(runtime: &R, spawns: usize, iterations: u64) -> Duration {
    let mut joins = Vec::with_capacity(spawns);
    time(iterations, || {
        joins.extend((0..spawns).map(|_| runtime.spawn(async {})));
        runtime.block_on(async {
            for join in joins.drain(..) {
                join.await;
            }
        });
    })
}

/// Tasks that keep the workers busy until this is dropped.
struct Busy(Arc<AtomicBool>);

impl Busy {
    /// Tasks that burn some time and yield, over and over.
    fn yielding<R: Yield>(runtime: &R, tasks: usize) -> Self {
        let on = Arc::new(AtomicBool::new(true));
        for _ in 0..tasks {
            let on = on.clone();
            let task = runtime.spawn(async move {
                while on.load(Ordering::Relaxed) {
                    R::yield_now().await;
                    stall();
                }
            });
            task.detach();
        }
        Self(on)
    }

    /// Tasks that burn some time and spawn their successor.
    fn respawning<R: Runtime>(runtime: &R, tasks: usize) -> Self {
        fn respawn<S: Spawner>(spawner: S, on: Arc<AtomicBool>) {
            let successor = spawner.spawn(async move {
                if on.load(Ordering::Relaxed) {
                    stall();
                    respawn(spawner, on);
                }
            });
            successor.detach();
        }
        let on = Arc::new(AtomicBool::new(true));
        let spawner = runtime.spawner();
        for _ in 0..tasks {
            let on = on.clone();
            runtime.spawn(async move { respawn(spawner, on) }).detach();
        }
        Self(on)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

fn stall() {
    let start = Instant::now();
    while start.elapsed() < STALL {
        thread::yield_now();
    }
}

fn yield_many<R: Yield>(runtime: &R, iterations: u64) -> Duration {
    let (done, all) = mpsc::sync_channel(YIELD_TASKS);
    time(iterations, || {
        for _ in 0..YIELD_TASKS {
            let done = done.clone();
            let task = runtime.spawn(async move {
                for _ in 0..YIELDS {
                    R::yield_now().await;
                }
                done.send(()).expect("the bench waits");
            });
            task.detach();
        }
        for _ in 0..YIELD_TASKS {
            all.recv().expect("the tasks end");
        }
    })
}

/// Pairs of tasks that send each other one message over one-shot channels.
fn ping_pong<R: Native>(runtime: &R, iterations: u64) -> Duration {
    let spawner = runtime.spawner();
    let (countdown, all) = Countdown::new();
    time(iterations, || {
        countdown.set(PINGS);
        let countdown = countdown.clone();
        runtime.block_on(async {
            let parent = spawner.spawn(async move {
                for _ in 0..PINGS {
                    let countdown = countdown.clone();
                    spawner.spawn(ping::<_, R::Channels>(spawner, countdown)).detach();
                }
            });
            parent.detach();
            all.recv().expect("the tasks end");
        });
    })
}

async fn ping<S: Spawner, C: Channels>(spawner: S, countdown: Countdown) {
    let ((ping, pinged), (pong, ponged)) = (C::one(), C::one());
    let partner = spawner.spawn(async move { C::send_one(pong, C::recv_one(pinged).await) });
    partner.detach();
    C::send_one(ping, 0);
    C::recv_one(ponged).await;
    countdown.count();
}

/// Each task spawns the next one and ends.
fn chained_spawn<R: Runtime>(runtime: &R, iterations: u64) -> Duration {
    fn chain<S: Spawner>(spawner: S, done: mpsc::SyncSender<()>, left: usize) {
        if left == 0 {
            done.send(()).expect("the bench waits");
        } else {
            spawner.spawn(async move { chain(spawner, done, left - 1) }).detach();
        }
    }
    let spawner = runtime.spawner();
    let (done, end) = mpsc::sync_channel(1000);
    time(iterations, || {
        let done = done.clone();
        runtime.block_on(async {
            spawner.spawn(async move { chain(spawner, done, CHAIN) }).detach();
            end.recv().expect("the chain ends");
        });
    })
}

/// A tree of tasks, each of which spawns two and joins them.
fn fork_join<R: Runtime>(runtime: &R, iterations: u64) -> Duration {
    fn fork<S: Spawner>(spawner: S, n: u64) -> S::Join<u64> {
        spawner.spawn(async move {
            if n < 2 {
                return n;
            }
            let (left, right) = (fork(spawner, n - 1), fork(spawner, n - 2));
            left.await + right.await
        })
    }
    let spawner = runtime.spawner();
    time(iterations, || {
        let sum = runtime.block_on(async { fork(spawner, FIB).await });
        assert_eq!(sum, 6765);
    })
}

/// Two tasks that send one message to and fro over two channels of capacity 1. One operation is a
/// round trip.
pub(crate) fn bounce<R: Runtime, C: Channels>(runtime: &R, iterations: u64) -> Duration {
    time(iterations, || {
        let ((to, mut asked), (fro, mut answered)) = (C::bounded(1), C::bounded(1));
        let server = runtime.spawn(async move {
            while let Some(message) = C::recv(&mut asked).await {
                C::send(&fro, message).await;
            }
        });
        server.detach();
        let client = runtime.spawn(async move {
            for message in 0..BOUNCES {
                C::send(&to, message).await;
                assert_eq!(C::recv(&mut answered).await, Some(message));
            }
        });
        runtime.block_on(client);
    })
}
