//! Everything at once, for a bounded time, from a seed; at the end the books have to balance.
//!
//! ```sh
//! cargo run --release --example stress -- 10 42    # seconds, seed
//! ```
//!
//! One runtime after the other lives for up to a second, among threads that spawn into it, wake its tasks
//! and change the number of its workers, and ends in one of several ways while they go on. Its tasks yield,
//! sleep, time out, block their workers, panic (in polls and in destructors), abort each other, run blocking
//! work and talk over TCP connections that are cut at any point.
//!
//! Checked: every task that was spawned has finished, been cancelled or panicked, exactly once, and its
//! JoinHandle says the same; every byte of an uncut connection came back, and no connection gave back more
//! than it got; threads and descriptors are as many as before. The choices come from the seed; how the
//! threads interleave does not, so a seed narrows a failure down and does not replay it.

mod ledger;
mod life;
mod sockets;
mod tasks;

use fastrand::Rng;
use ledger::Ledger;
use liten::runtime::Runtime;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The longest life of one runtime.
const LIFE: Duration = Duration::from_secs(1);

/// How long threads that were left behind may take to end.
const PATIENCE: Duration = Duration::from_secs(20);

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default| match arguments.next().map(|text| text.parse()) {
        None => Some(default),
        Some(number) => number.ok(),
    };
    let (Some(seconds), Some(seed)) = (number(10), number(1)) else {
        eprintln!("usage: stress [SECONDS [SEED]]");
        return ExitCode::FAILURE;
    };
    tasks::silence_expected_panics();
    let ledger = Arc::new(Ledger::default());
    // A first one, for what a process makes once (a sanitizer makes a thread).
    drop(Runtime::new());
    // The system shows a thread for a moment after it has been joined.
    wait_until(|| workers() == 0);
    let before = census();
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut rng = Rng::with_seed(seed);
    while Instant::now() < end {
        let length = LIFE.min(end.saturating_duration_since(Instant::now()));
        life::live(&ledger, rng.fork(), length);
    }
    wait_until(|| census() == before);
    println!("seed {seed}: {ledger}");
    let mut breaches = ledger.breaches();
    if census() != before {
        breaches.push(format!("threads, descriptors: {:?}, then {:?}", before, census()));
    }
    for breach in &breaches {
        println!("seed {seed}: BREACH: {breach}");
    }
    match breaches.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// Waits for threads that are ending, but not for ever.
fn wait_until(ended: impl Fn() -> bool) {
    let patience = Instant::now() + PATIENCE;
    while !ended() && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// How many threads of runtimes the process has, as far as the system tells.
fn workers() -> usize {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return 0 };
    let names = threads.filter_map(|thread| std::fs::read(thread.ok()?.path().join("comm")).ok());
    names.filter(|name| name.starts_with(b"liten-worker")).count()
}

/// How many threads and descriptors the process has; systems other than Linux do not tell.
///
/// Of descriptors only the kinds that the runtimes here have: sockets, and what polls and wakes them. A
/// sanitizer starts its symbolizer at the first report, also at one that is suppressed, and keeps two pipes.
fn census() -> Option<(usize, usize)> {
    let threads = std::fs::read_dir("/proc/self/task").ok()?.count();
    let descriptors = std::fs::read_dir("/proc/self/fd").ok()?;
    let targets = descriptors.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    let is_ours = |target: &std::path::PathBuf| {
        ["socket:", "anon_inode:"].iter().any(|kind| target.to_string_lossy().starts_with(kind))
    };
    Some((threads, targets.filter(is_ours).count()))
}
