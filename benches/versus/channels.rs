//! Channels and locks: liten's on liten beside tokio's on tokio, and both on tokio's runtime, where the
//! channel or lock alone makes the difference.
//!
//! What wakes a thousand tasks is published by one more task, which waits until all have noticed before it
//! publishes again.

use crate::contest::{Contest, Figure, Lane, ROUNDS, SLICE, Start, lane};
use crate::families::{Family, Ours, Theirs};
use crate::network::cpu::process_time;
use crate::network::lane::cpu_since;
use crate::row::{Row, time};
use crate::rows::of_row;
use crate::runtimes::{Join, Liten, Runtime, Spawner, Tokio};
use crate::tasks::{self, BOUNCES};
use crate::yields::Yield;
use futures_util::task::AtomicWaker;
use std::future::poll_fn;
use std::hint::black_box;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

/// Name, and the highest ratio liten / tokio that we want to see.
const GOALS: [(&str, f64); 10] = [
    ("sync_bounce", 0.40),
    ("sync_unbounded_1_to_1", 0.50),
    ("sync_unbounded_4_to_1", 0.50),
    ("sync_oneshot", 0.50),
    ("sync_mutex", 0.28),
    ("sync_semaphore", 0.50),
    ("sync_rwlock", 0.50),
    ("sync_watch", 0.60),
    ("sync_broadcast", 0.60),
    ("sync_notify", 0.60),
];
/// The same for many senders and one receiver: time, and time of the processors.
const MPSC_GOALS: [f64; 2] = [0.5, 0.6];
const MESSAGES: usize = 10_000;
const FOUR: usize = 4;
const ONE_SHOTS: usize = 1_000;
/// Tasks that want the same lock.
const RIVALS: usize = 64;
const TURNS: usize = 100;
const PERMITS: usize = 8;
/// One of so many is a write.
const WRITES: usize = 10;
/// Tasks that one message wakes.
const CROWD: usize = 1_000;
const PUBLICATIONS: usize = 10;
const SENDERS: usize = 16;
const CAPACITY: usize = 64;
const MPSC_SLICE: Duration = Duration::from_millis(60);
const MPSC_ROUNDS: usize = 21;
const MPSC_MESSAGES: usize = 20_000;
const MPSC_MESSAGES_IN_TESTS: usize = 10;

/// liten's on liten, tokio's on tokio.
pub(crate) fn contests(workers: usize) -> Vec<Contest> {
    let lanes = vec![sixteen::<Liten, Ours>(workers), sixteen::<Tokio, Theirs>(workers)];
    let rows = rows::<Liten, Ours>().into_iter().zip(rows::<Tokio, Theirs>());
    let rows = rows.map(|(liten, tokio)| {
        let goal = GOALS.iter().find(|row| row.0 == liten.name).map(|row| row.1);
        contest(liten.name, goal, vec![of_row(liten, workers), of_row(tokio, workers)])
    });
    rows.chain([many_to_one("sync_mpsc_16_to_1", MPSC_GOALS, lanes)]).collect()
}

/// Both on tokio's runtime.
pub(crate) fn contests_on_tokio(workers: usize) -> Vec<Contest> {
    let named = |name, (_, start): (&'static str, Start)| (name, start);
    let lanes = |ours, theirs| vec![named("liten::sync", ours), named("tokio::sync", theirs)];
    let sixteen = lanes(sixteen::<Tokio, Ours>(workers), sixteen::<Tokio, Theirs>(workers));
    let rows = rows::<Tokio, Ours>().into_iter().zip(rows::<Tokio, Theirs>());
    let rows = rows.map(|(ours, theirs)| {
        let name = format!("{}_on_tokio", ours.name);
        contest(&name, Some(1.0), lanes(of_row(ours, workers), of_row(theirs, workers)))
    });
    rows.chain([many_to_one("sync_mpsc_16_to_1_on_tokio", [1.0; 2], sixteen)]).collect()
}

fn contest(name: &str, goal: Option<f64>, lanes: Vec<(&'static str, Start)>) -> Contest {
    let figures = vec![Figure { suffix: "", unit: "ns", goal }];
    Contest { name: name.to_owned(), figures, lanes, slice: SLICE, rounds: ROUNDS }
}

fn many_to_one(name: &str, goals: [f64; 2], lanes: Vec<(&'static str, Start)>) -> Contest {
    let figure = |suffix, goal| Figure { suffix, unit: "ns", goal: Some(goal) };
    Contest {
        name: name.to_owned(),
        figures: vec![figure("", goals[0]), figure("cpu", goals[1])],
        lanes,
        slice: MPSC_SLICE,
        rounds: MPSC_ROUNDS,
    }
}

fn sixteen<R: Runtime, F: Family>(workers: usize) -> (&'static str, Start) {
    lane::<R, _>(move || ManyToOne::<R, F>::start(workers))
}

fn rows<R: Yield, F: Family>() -> Vec<Row<R>> {
    vec![
        Row::new("sync_bounce", BOUNCES, tasks::bounce::<R, F>),
        Row::new("sync_unbounded_1_to_1", MESSAGES, |runtime, n| unbounded::<R, F>(runtime, 1, n)),
        Row::new("sync_unbounded_4_to_1", FOUR * MESSAGES, |runtime, n| {
            unbounded::<R, F>(runtime, FOUR, n)
        }),
        Row::new("sync_oneshot", 2 * ONE_SHOTS, one_shots::<R, F>),
        Row::new("sync_mutex", RIVALS * TURNS, mutex::<R, F>),
        Row::new("sync_semaphore", RIVALS * TURNS, semaphore::<R, F>),
        Row::new("sync_rwlock", RIVALS * TURNS, rw_lock::<R, F>),
        Row::new("sync_watch", CROWD * PUBLICATIONS, watch::<R, F>),
        Row::new("sync_broadcast", CROWD * PUBLICATIONS, broadcast::<R, F>),
        Row::new("sync_notify", CROWD * PUBLICATIONS, notify::<R, F>),
    ]
}

fn unbounded<R: Runtime, F: Family>(runtime: &R, senders: usize, iterations: u64) -> Duration {
    time(iterations, || {
        let (sender, mut receiver) = F::unbounded();
        let received = runtime.spawn(async move {
            let mut received = 0;
            while let Some(message) = F::recv_unbounded(&mut receiver).await {
                black_box(message);
                received += 1;
            }
            received
        });
        for _ in 0..senders {
            let sender = sender.clone();
            let task = runtime.spawn(async move {
                for message in 0..MESSAGES {
                    F::send_unbounded(&sender, message);
                }
            });
            task.detach();
        }
        drop(sender);
        assert_eq!(runtime.block_on(received), senders * MESSAGES);
    })
}

/// Two tasks answer each other; each message has a channel of its own, made before by one of them.
fn one_shots<R: Runtime, F: Family>(runtime: &R, iterations: u64) -> Duration {
    let spawner = runtime.spawner();
    time(iterations, || {
        let client = runtime.spawn(async move {
            let (to, asked): (Vec<_>, Vec<_>) = (0..ONE_SHOTS).map(|_| F::one()).unzip();
            let (fro, answered): (Vec<_>, Vec<_>) = (0..ONE_SHOTS).map(|_| F::one()).unzip();
            let server = spawner.spawn(async move {
                for (asked, fro) in asked.into_iter().zip(fro) {
                    F::send_one(fro, F::recv_one(asked).await);
                }
            });
            server.detach();
            for (message, (to, answered)) in to.into_iter().zip(answered).enumerate() {
                F::send_one(to, message);
                assert_eq!(F::recv_one(answered).await, message);
            }
        });
        runtime.block_on(client);
    })
}

/// Each rival takes its turns, which `turn` is told the number of.
fn rivals<R: Runtime, L: Send + Sync + 'static, T: Future<Output = ()> + Send>(
    runtime: &R,
    iterations: u64,
    lock: L,
    turn: impl Fn(Arc<L>, usize) -> T + Copy + Send + 'static,
) -> Duration {
    let lock = Arc::new(lock);
    time(iterations, || {
        let rival = |number| {
            let lock = lock.clone();
            runtime.spawn(async move {
                for count in 0..TURNS {
                    turn(lock.clone(), number + count).await;
                }
            })
        };
        let rivals: Vec<_> = (0..RIVALS).map(rival).collect();
        runtime.block_on(async {
            for rival in rivals {
                rival.await;
            }
        });
    })
}

fn mutex<R: Yield, F: Family>(runtime: &R, iterations: u64) -> Duration {
    rivals(runtime, iterations, F::mutex(), |mutex, _| async move {
        F::lock(&mutex, R::yield_now()).await;
    })
}

fn semaphore<R: Yield, F: Family>(runtime: &R, iterations: u64) -> Duration {
    rivals(runtime, iterations, F::semaphore(PERMITS), |semaphore, _| async move {
        F::acquire(&semaphore, R::yield_now()).await;
    })
}

fn rw_lock<R: Yield, F: Family>(runtime: &R, iterations: u64) -> Duration {
    rivals(runtime, iterations, F::rw_lock(), |lock, turn| async move {
        if turn % WRITES == 0 {
            F::write(&lock, R::yield_now()).await;
        } else {
            F::read(&lock, R::yield_now()).await;
        }
    })
}

/// Where a crowd says that all of it has noticed a message.
#[derive(Default)]
struct Gate {
    /// How many have ever arrived.
    arrived: AtomicUsize,
    waiter: AtomicWaker,
}

impl Gate {
    fn arrive(&self) {
        if (self.arrived.fetch_add(1, Ordering::AcqRel) + 1) % CROWD == 0 {
            self.waiter.wake();
        }
    }

    /// Waits until the whole crowd has arrived so many times.
    async fn all(&self, times: usize) {
        poll_fn(|cx| {
            self.waiter.register(cx.waker());
            let arrived = self.arrived.load(Ordering::Acquire);
            if arrived < CROWD * times { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
    }
}

/// A task spawns a crowd of `member`s, each of which arrives at the gate when it is ready for the first
/// message and after each message, and then calls `publish` so many times. The crowd's birth does not count.
fn crowd<R: Runtime, S: Send + Sync + 'static, M: Future<Output = ()> + Send + 'static>(
    runtime: &R,
    iterations: u64,
    source: S,
    member: impl Fn(&Arc<S>, usize, Arc<Gate>) -> M + Send + 'static,
    publish: impl Fn(&S, usize) + Send + 'static,
) -> Duration {
    let spawner = runtime.spawner();
    let publications = iterations as usize * PUBLICATIONS;
    let publisher = runtime.spawn(async move {
        let (source, gate) = (Arc::new(source), Arc::new(Gate::default()));
        for _ in 0..CROWD {
            spawner.spawn(member(&source, publications, gate.clone())).detach();
        }
        gate.all(1).await;
        let start = Instant::now();
        for message in 1..=publications {
            publish(&source, message);
            gate.all(1 + message).await;
        }
        start.elapsed()
    });
    runtime.block_on(publisher)
}

fn watch<R: Runtime, F: Family>(runtime: &R, iterations: u64) -> Duration {
    let (watch, watcher) = F::watch();
    let member = move |_: &Arc<F::Watch>, messages, gate: Arc<Gate>| {
        let mut watcher = watcher.clone();
        async move {
            gate.arrive();
            for _ in 0..messages {
                black_box(F::changed(&mut watcher).await);
                gate.arrive();
            }
        }
    };
    crowd(runtime, iterations, watch, member, F::publish)
}

fn broadcast<R: Runtime, F: Family>(runtime: &R, iterations: u64) -> Duration {
    let member = |broadcast: &Arc<F::Broadcast>, messages, gate: Arc<Gate>| {
        let mut listener = F::listen(broadcast);
        async move {
            gate.arrive();
            for _ in 0..messages {
                black_box(F::hear(&mut listener).await);
                gate.arrive();
            }
        }
    };
    crowd(runtime, iterations, F::broadcast(CAPACITY), member, F::tell)
}

fn notify<R: Runtime, F: Family>(runtime: &R, iterations: u64) -> Duration {
    let member = |notify: &Arc<F::Notify>, times, gate: Arc<Gate>| {
        let notify = notify.clone();
        async move { F::notified(&notify, times, || gate.arrive()).await }
    };
    crowd(runtime, iterations, F::notify(), member, |notify, _| F::notify_waiters(notify))
}

/// Sixteen senders and one receiver over a bounded channel, in such a runtime. Measures the time of the
/// processors, too.
pub(crate) struct ManyToOne<R, F> {
    runtime: R,
    family: PhantomData<F>,
}

impl<R: Runtime, F: Family> ManyToOne<R, F> {
    pub(crate) fn start(workers: usize) -> Self {
        Self { runtime: R::start(workers), family: PhantomData }
    }
}

impl<R: Runtime, F: Family> Lane for ManyToOne<R, F> {
    fn measure(&mut self, slice: Duration) -> Vec<f64> {
        let each = if slice.is_zero() { MPSC_MESSAGES_IN_TESTS } else { MPSC_MESSAGES };
        let (before, start) = (process_time(), Instant::now());
        let (sender, mut receiver) = F::bounded(CAPACITY);
        let received = self.runtime.spawn(async move {
            let mut received = 0;
            while let Some(message) = F::recv(&mut receiver).await {
                black_box(message);
                received += 1;
            }
            received
        });
        for _ in 0..SENDERS {
            let sender = sender.clone();
            let task = self.runtime.spawn(async move {
                for message in 0..each {
                    F::send(&sender, message).await;
                }
            });
            task.detach();
        }
        drop(sender);
        let received = self.runtime.block_on(received);
        let elapsed = start.elapsed();
        assert_eq!(received, SENDERS * each);
        let cpu = cpu_since(before);
        let per_message = |nanos: f64| nanos / received as f64;
        vec![per_message(elapsed.as_nanos() as f64), per_message(cpu)]
    }
}
