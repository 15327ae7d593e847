//! How long ready tasks wait for a worker: what the runtime shows, beside what the program measures itself in
//! the same run, under eleven loads.
//!
//! Each measured task has a waker around its own, which notes when the task becomes ready, whatever wakes it.
//! Both measurements are of the same run, so they are compared with each other and with no clock. Where they
//! differ, it is by the time between the two readings: the system may take the processor away there. On a
//! machine that is busy with something else this happens so often that a run is repeated. A runtime that
//! shows something else than what happens differs in each run.

use crate::support::guard::{guarded, workers};
use liten::net::UdpSocket;
use liten::runtime::{LocalRuntime, Runtime};
use liten::sync::{Notify, mpsc};
use liten::task::{JoinHandle, spawn, spawn_blocking, spawn_local, yield_now};
use liten::time::{Instant as LitenInstant, sleep, sleep_until};
use std::future::Future;
use std::ops::Range;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);
const US: Duration = Duration::from_micros(1);

/// What the measured tasks have waited.
#[derive(Default)]
struct Log(Mutex<Vec<Duration>>);

/// A waker around that of a task, which it wakes.
#[derive(Default)]
struct Stamp {
    ready: Mutex<Option<Instant>>,
    task: Mutex<Option<Waker>>,
}

impl Wake for Stamp {
    fn wake(self: Arc<Self>) {
        self.ready.lock().unwrap().get_or_insert_with(Instant::now);
        let task = self.task.lock().unwrap().clone();
        task.expect("it has been polled").wake();
    }
}

struct Measured<F> {
    future: Pin<Box<F>>,
    stamp: Arc<Stamp>,
    log: Arc<Log>,
}

impl<F: Future> Future for Measured<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        if let Some(ready) = self.stamp.ready.lock().unwrap().take() {
            self.log.0.lock().unwrap().push(ready.elapsed());
        }
        self.stamp.task.lock().unwrap().get_or_insert_with(|| cx.waker().clone());
        let waker = Waker::from(self.stamp.clone());
        self.future.as_mut().poll(&mut Context::from_waker(&waker))
    }
}

impl Log {
    fn spawn<F>(self: &Arc<Self>, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send,
    {
        let stamp = Arc::new(Stamp::default());
        *stamp.ready.lock().unwrap() = Some(Instant::now());
        spawn(Measured { future: Box::pin(future), stamp, log: self.clone() })
    }
}

fn spin(time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// How many waits there were of each length, from the shortest on.
#[derive(Debug)]
struct Waits(Vec<(Duration, u64)>);

impl Waits {
    fn of_log(log: &Log) -> Self {
        let mut all = log.0.lock().unwrap();
        all.sort_unstable();
        Self(all.iter().map(|&time| (time, 1)).collect())
    }

    /// What the runtime shows: of a bucket its middle.
    fn of_runtime(runtime: &Runtime) -> Self {
        let metrics = runtime.metrics();
        let buckets = 0..metrics.schedule_latency_histogram_num_buckets();
        let workers = || 0..metrics.num_workers();
        let in_bucket = |bucket| {
            let Range { start, end } = metrics.schedule_latency_histogram_bucket_range(bucket);
            let middle = if end == Duration::MAX { start } else { (start + end) / 2 };
            let count = |it| metrics.schedule_latency_histogram_bucket_count(it, bucket);
            (middle, workers().map(count).sum())
        };
        Self(buckets.map(in_bucket).collect())
    }

    fn count(&self) -> u64 {
        self.0.iter().map(|(_, count)| count).sum()
    }

    /// What this share of them does not exceed.
    fn quantile(&self, share: f64) -> Duration {
        let (wanted, mut sum) = (((self.count() as f64 * share).ceil() as u64).max(1), 0);
        let reached = self.0.iter().find(|(_, count)| {
            sum += count;
            sum >= wanted
        });
        reached.map_or(Duration::ZERO, |(time, _)| *time)
    }
}

/// Runs `load` as a task on so many workers. Returns what it has measured, and what the runtime shows.
fn run<F>(threads: usize, load: &impl Fn(Arc<Log>) -> F) -> [Waits; 2]
where
    F: Future<Output = ()> + Send + 'static,
{
    let runtime = workers(threads);
    let log = Arc::new(Log::default());
    runtime.block_on(async { log.spawn(load(log.clone())).await.unwrap() });
    [Waits::of_log(&log), Waits::of_runtime(&runtime)]
}

/// Compares how many waits there were, and how long half and 99 % of them were at most. A sample may have one
/// wait more or less on either side of a share, so what it shows lies between those of the neighbouring
/// shares.
fn compare_shares([measured, shown]: &[Waits; 2]) -> Result<(), String> {
    let [wanted, count] = [measured, shown].map(Waits::count);
    if count * 2 <= wanted || count >= wanted * 2 {
        return Err(format!("{count} of {wanted}"));
    }
    for (share, least, most) in [(0.5, 0.35, 0.65), (0.99, 0.95, 1.0)] {
        let time = shown.quantile(share);
        let (from, to) = (measured.quantile(least) / 2, measured.quantile(most) * 2 + US);
        if time < from || time > to {
            return Err(format!("{share}: {time:?} is not in {from:?}..{to:?}"));
        }
    }
    Ok(())
}

/// As [`compare_shares`], also the longest wait.
fn compare_longest(waits: &[Waits; 2]) -> Result<(), String> {
    compare_shares(waits)?;
    let [measured, shown] = waits.each_ref().map(|waits| waits.quantile(1.0));
    if shown * 2 > measured && measured * 2 > shown {
        return Ok(());
    }
    Err(format!("{shown:?} of {measured:?}"))
}

/// Runs `load` until what it has measured and what the runtime shows agree once.
fn agree_in_a_run<F>(
    threads: usize,
    compare: fn(&[Waits; 2]) -> Result<(), String>,
    load: impl Fn(Arc<Log>) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
    const RUNS: usize = 6;
    let runs = (0..RUNS).map(|_| compare(&run(threads, &load)));
    let mut different = Vec::new();
    for difference in runs {
        let Err(difference) = difference else { return };
        different.push(difference);
    }
    panic!("{different:#?}");
}

async fn all<T>(tasks: Vec<JoinHandle<T>>) {
    for task in tasks {
        task.await.unwrap();
    }
}

/// Light tasks beside one that computes, on one worker.
async fn burner(log: Arc<Log>) {
    let burner = spawn(async {
        loop {
            spin(2 * MS);
            yield_now().await;
        }
    });
    let light = async || {
        for _ in 0..100 {
            sleep(5 * MS).await;
        }
    };
    all((0..20).map(|_| log.spawn(light())).collect()).await;
    burner.abort();
}

/// Tasks that a thread of the program wakes.
async fn outside(log: Arc<Log>) {
    let bell = Arc::new(Notify::new());
    let listen = |bell: Arc<Notify>| async move {
        for _ in 0..40 {
            bell.notified().await;
        }
    };
    let tasks: Vec<_> = (0..50).map(|_| log.spawn(listen(bell.clone()))).collect();
    let ringer = thread::spawn(move || {
        while Arc::strong_count(&bell) > 1 {
            bell.notify_one();
            thread::sleep(300 * US);
        }
    });
    all(tasks).await;
    ringer.join().unwrap();
}

/// Many tasks that one call wakes.
async fn batches(log: Arc<Log>) {
    let bell = Arc::new(Notify::new());
    let listen = |bell: Arc<Notify>| async move {
        for _ in 0..20 {
            bell.notified().await;
            spin(10 * US);
        }
    };
    let tasks: Vec<_> = (0..1_000).map(|_| log.spawn(listen(bell.clone()))).collect();
    while Arc::strong_count(&bell) > 1 {
        sleep(40 * MS).await;
        bell.notify_waiters();
    }
    all(tasks).await;
}

/// Many tasks that one poll spawns, and thieves take.
async fn storms(log: Arc<Log>) {
    for _ in 0..10 {
        all((0..2_000).map(|_| log.spawn(async { spin(20 * US) })).collect()).await;
        sleep(5 * MS).await;
    }
}

/// Timers that are due at the same time.
async fn timers(log: Arc<Log>) {
    let begin = LitenInstant::now();
    let wait = move || async move {
        for round in 1..20 {
            sleep_until(begin + round * 60 * MS).await;
            spin(10 * US);
        }
    };
    all((0..1_000).map(|_| log.spawn(wait())).collect()).await;
}

/// Sockets that a thread of the program writes to.
async fn sockets(log: Arc<Log>) {
    const MESSAGES: usize = 60;
    let mut peers = Vec::new();
    let mut tasks = Vec::new();
    for _ in 0..20 {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let peer = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        peer.connect(socket.local_addr().unwrap()).unwrap();
        peers.push(peer);
        tasks.push(log.spawn(async move {
            for _ in 0..MESSAGES {
                socket.recv_from(&mut [0; 16]).await.unwrap();
                spin(20 * US);
            }
        }));
    }
    let writer = thread::spawn(move || {
        for _ in 0..MESSAGES {
            for peer in &peers {
                peer.send(b"message").unwrap();
            }
            thread::sleep(10 * MS);
        }
    });
    all(tasks).await;
    writer.join().unwrap();
}

/// Messages to and fro.
async fn channels(log: Arc<Log>) {
    let mut tasks = Vec::new();
    for _ in 0..8 {
        let ((to, mut heard), (fro, mut answers)) = (mpsc::channel(1), mpsc::channel(1));
        tasks.push(log.spawn(async move {
            while let Some(message) = heard.recv().await {
                fro.send(message).await.unwrap();
            }
        }));
        tasks.push(log.spawn(async move {
            for message in 0..10_000 {
                to.send(message).await.unwrap();
                answers.recv().await.unwrap();
            }
        }));
    }
    all(tasks).await;
}

/// Tasks that wait for blocking work.
async fn pool(log: Arc<Log>) {
    let ask = async || {
        for _ in 0..100 {
            spawn_blocking(|| thread::sleep(MS)).await.unwrap();
        }
    };
    all((0..20).map(|_| log.spawn(ask())).collect()).await;
}

/// A task that waits for `period` again and again.
async fn tick(period: u32, rounds: u32) {
    for _ in 0..rounds {
        sleep(period * MS).await;
    }
}

/// The only worker is blocked for half a second. The tasks become ready in the first part of it, and not all
/// at its beginning: the watchdog has to see the poll before it follows the wakes.
async fn blocked(log: Arc<Log>) {
    let ticking = (1..=20).map(|i| log.spawn(tick(10 * i, 100 / i))).collect();
    sleep(300 * MS).await;
    spawn(async { thread::sleep(500 * MS) }).await.unwrap();
    all(ticking).await;
}

/// Tasks of a thread without workers, which are not counted, write to some of the workers.
async fn local(log: Arc<Log>) {
    let (sender, mut receiver) = mpsc::channel(16);
    let writer = thread::spawn(move || {
        LocalRuntime::new().unwrap().block_on(async move {
            let write = |sender: mpsc::Sender<u32>| async move {
                for message in 0..50 {
                    sleep(10 * MS).await;
                    sender.send(message).await.unwrap();
                }
            };
            let tasks: Vec<_> = (0..20).map(|_| spawn_local(write(sender.clone()))).collect();
            drop(sender);
            all(tasks).await;
        });
    });
    log.spawn(async move { while receiver.recv().await.is_some() {} }).await.unwrap();
    writer.join().unwrap();
}

/// As [`blocked`], beside so many short waits that the long ones are few.
async fn stuck(log: Arc<Log>) {
    let ((to, mut heard), (fro, mut answers)) = (mpsc::channel(1), mpsc::channel(1));
    let answers_all = log.spawn(async move {
        while let Some(message) = heard.recv().await {
            fro.send(message).await.unwrap();
        }
    });
    let asks = log.spawn(async move {
        for message in 0..50_000 {
            to.send(message).await.unwrap();
            answers.recv().await.unwrap();
        }
    });
    let ticking = (0..5).map(|i| log.spawn(tick(20 + 30 * i, 10))).collect();
    sleep(30 * MS).await;
    spawn(async { thread::sleep(300 * MS) }).await.unwrap();
    all(ticking).await;
    all(vec![answers_all, asks]).await;
}

#[test]
fn beside_a_task_that_computes() {
    guarded(|| agree_in_a_run(1, compare_shares, burner));
}

#[test]
fn of_tasks_that_other_threads_wake() {
    guarded(|| agree_in_a_run(2, compare_shares, outside));
}

#[test]
fn of_tasks_that_are_woken_together() {
    guarded(|| agree_in_a_run(2, compare_shares, batches));
}

#[test]
fn of_tasks_that_are_spawned_together() {
    guarded(|| agree_in_a_run(2, compare_shares, storms));
}

#[test]
fn of_timers_that_are_due_together() {
    guarded(|| agree_in_a_run(2, compare_shares, timers));
}

#[test]
fn of_sockets() {
    guarded(|| agree_in_a_run(2, compare_shares, sockets));
}

#[test]
fn of_messages() {
    guarded(|| agree_in_a_run(2, compare_shares, channels));
}

#[test]
fn of_blocking_work() {
    guarded(|| agree_in_a_run(2, compare_shares, pool));
}

#[test]
fn behind_a_poll_that_blocks() {
    guarded(|| agree_in_a_run(1, compare_longest, blocked));
}

#[test]
fn of_those_that_local_tasks_wake() {
    guarded(|| agree_in_a_run(2, compare_shares, local));
}

#[test]
fn behind_a_poll_that_blocks_beside_many_short_waits() {
    guarded(|| agree_in_a_run(1, compare_longest, stuck));
}
