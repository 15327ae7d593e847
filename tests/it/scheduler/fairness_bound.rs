//! The bound that the documentation gives: how many polls may lie between two polls of a ready task.

use crate::scheduler::fairness::{Stop, StopOnDrop, ping_pong, wakes_itself, yields};
use crate::support::guard::{guarded, workers};
use crate::support::loopback::tcp_pair;
use crate::support::probe::Count;
use liten::io::AsyncReadExt;
use liten::runtime::{Runtime, RuntimeMetrics};
use liten::task::yield_now;
use std::io::Write;
use std::thread;

/// What `liten::task` promises: 8 × (tasks that want to run + 1024).
const fn bound(ready: u64) -> u64 {
    8 * (ready + 1024)
}

/// A socket from which there is always something to read; a foreign thread sees to that.
fn reads_without_end(runtime: &Runtime, stop: Stop) -> thread::JoinHandle<()> {
    let (mut reader, writer) = runtime.block_on(tcp_pair());
    drop(runtime.spawn(async move {
        while !stop.is_set() {
            reader.read_exact(&mut [0]).await.unwrap();
        }
    }));
    let mut writer = writer.into_std().unwrap();
    writer.set_nonblocking(false).unwrap();
    // Until the reader is gone.
    thread::spawn(move || while writer.write_all(&[0; 1 << 16]).is_ok() {})
}

/// The most polls of the one worker between two polls of a task that always yields, until `enough` holds.
async fn longest_wait(metrics: RuntimeMetrics, enough: impl Fn() -> bool) -> u64 {
    let (mut longest, mut before) = (0, metrics.worker_poll_count(0));
    while !enough() {
        yield_now().await;
        let now = metrics.worker_poll_count(0);
        longest = longest.max(now - before);
        before = now;
    }
    longest
}

/// Everything that always has work, at once: a task that yields, one that wakes itself, a socket, a pair in
/// the next slot, and a backlog from outside whose tasks each wake one more.
#[test]
fn an_ordinary_task_gets_its_turn_among_those_that_never_rest() {
    const BACKLOG: usize = 40_000;
    guarded(|| {
        let runtime = workers(1);
        let stop = Stop::default();
        let stopper = StopOnDrop(stop.clone());
        let writer = reads_without_end(&runtime, stop.clone());
        drop(runtime.spawn(yields(stop.clone())));
        drop(runtime.spawn(wakes_itself(stop.clone())));
        drop(runtime.spawn(ping_pong(stop)));
        let (pump, mut pumped) = liten::sync::mpsc::unbounded_channel();
        let received = Count::default();
        let counted = received.clone();
        drop(runtime.spawn(async move {
            while let Some(()) = pumped.recv().await {
                counted.add();
            }
        }));
        // The only worker is held up until the backlog is there.
        let (gate, closed) = std::sync::mpsc::channel::<()>();
        drop(runtime.spawn(async move { closed.recv().unwrap_err() }));
        let metrics = runtime.metrics();
        let ordinary = runtime.spawn(longest_wait(metrics, move || received.get() == BACKLOG));
        for _ in 0..BACKLOG {
            let pump = pump.clone();
            drop(runtime.spawn(async move { pump.send(()).unwrap() }));
        }
        drop((pump, gate));
        let longest = runtime.block_on(ordinary).unwrap();
        drop(stopper);
        runtime.block_until_completion();
        writer.join().unwrap();
        // The yielding, the waking, the reading, the pair, the pump and the task itself.
        assert!(longest <= bound(7), "{longest} polls between two of one task");
    });
}

/// The other side of the bound: a backlog from outside goes by in portions that are as large as it allows, so
/// that few rounds of the worker's own tasks, which may be long, lie between them.
#[test]
fn a_backlog_from_outside_is_taken_in_by_large_portions() {
    const BACKLOG: u64 = 20_000;
    /// The most that one pass of the worker brings in (`scheduler/worker/next_task.rs`).
    const PORTION: u64 = 512;
    guarded(|| {
        let runtime = workers(1);
        let (gate, closed) = std::sync::mpsc::channel::<()>();
        drop(runtime.spawn(async move { closed.recv().unwrap_err() }));
        let ran = Count::default();
        let counted = ran.clone();
        let rounds = runtime.spawn(async move {
            let mut rounds = 0;
            while counted.get() as u64 != BACKLOG {
                yield_now().await;
                rounds += 1;
            }
            rounds
        });
        for _ in 0..BACKLOG {
            let ran = ran.clone();
            drop(runtime.spawn(async move { ran.add() }));
        }
        drop(gate);
        let rounds: u64 = runtime.block_on(rounds).unwrap();
        // The batches of the injector are not all of the same size.
        let most = BACKLOG / PORTION * 3 / 2;
        assert!(rounds <= most, "{rounds} rounds for {BACKLOG} tasks, more than {most}");
    });
}
