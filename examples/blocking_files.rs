//! Blocking calls beside timers: files are read on threads that may block.
//!
//! ```sh
//! cargo run --example blocking_files                 # reads Cargo.toml and README.md
//! cargo run --example blocking_files -- FILE ...     # reads these
//! ```
//!
//! Files are always "ready" to the operating system's pollers, so reading one blocks the thread that does
//! it. On a worker that would hold up other tasks; `liten::fs` reads it on a thread that may block, and
//! `spawn_blocking` does the same for any other call. Here four such calls block from the beginning to the
//! end. Meanwhile files are read, a job that panics harms no other, and a timer goes on ticking:
//!
//! ```text
//! 4 calls block
//! Cargo.toml: 3617 bytes
//! README.md: 6925 bytes
//! a panicking job: task 12 panicked: a bug in the job
//! 10 ticks of 50 ms, the latest 1 ms late
//! 4 calls have returned
//! ```

use liten::fs;
use liten::sync::oneshot;
use liten::task::spawn_blocking;
use liten::time::{Duration, Instant, interval_at};
use std::sync::mpsc;
use std::{env, io};

const CALLS: usize = 4;
const TICKS: usize = 10;
const TICK: Duration = Duration::from_millis(50);

#[liten::main]
async fn main() -> io::Result<()> {
    let mut calls = Vec::new();
    for _ in 0..CALLS {
        let (begun, begins) = oneshot::channel();
        let (end, ends) = mpsc::channel();
        let call = spawn_blocking(move || block(begun, &ends));
        begins.await.map_err(io::Error::other)?;
        calls.push((call, end));
    }
    println!("{CALLS} calls block");

    let mut files: Vec<String> = env::args().skip(1).collect();
    if files.is_empty() {
        files = vec!["Cargo.toml".to_owned(), "README.md".to_owned()];
    }
    for file in files {
        match fs::read(&file).await {
            Ok(bytes) => println!("{file}: {} bytes", bytes.len()),
            Err(error) => println!("{file}: {error}"),
        }
    }
    match spawn_blocking(buggy).await {
        Ok(answer) => println!("a panicking job: {answer}"),
        Err(error) => println!("a panicking job: {error}"),
    }
    let late = liten::spawn(latest_tick()).await?.as_millis();
    println!("{TICKS} ticks of {} ms, the latest {late} ms late", TICK.as_millis());

    for (call, end) in calls {
        drop(end);
        call.await?;
    }
    println!("{CALLS} calls have returned");
    Ok(())
}

/// Stands for any call that blocks its thread: it returns when the other end of the channel is dropped.
fn block(begun: oneshot::Sender<()>, end: &mpsc::Receiver<()>) {
    // An error means that `main` has ended.
    let _ = begun.send(());
    // Nothing is ever sent.
    let _ = end.recv();
}

fn buggy() -> u32 {
    panic!("a bug in the job")
}

/// How late the latest of ten ticks is.
async fn latest_tick() -> Duration {
    let mut clock = interval_at(Instant::now() + TICK, TICK);
    let mut latest = Duration::ZERO;
    for _ in 0..TICKS {
        let due = clock.tick().await;
        latest = latest.max(due.elapsed());
    }
    latest
}
