//! Blocking calls beside timers: files are read on threads that may block.
//!
//! ```sh
//! cargo run --example blocking_files                 # reads Cargo.toml and README.md
//! cargo run --example blocking_files -- FILE ...     # reads these
//! ```
//!
//! Files are always "ready" to the operating system's pollers, so reading one blocks the thread that does
//! it. On a worker that would hold up other tasks; `liten::fs` reads it on a thread that may block, and
//! `spawn_blocking` does the same for any other call. While four jobs block for half a second each, a timer
//! goes on ticking, and a job that panics harms nobody:
//!
//! ```text
//! Cargo.toml: 3617 bytes
//! README.md: 6925 bytes
//! a panicking job: task 12 panicked: a bug in the job
//! 10 ticks of 50 ms, the latest 1 ms late
//! 4 jobs of 500 ms together: 502 ms
//! ```

use liten::fs;
use liten::task::spawn_blocking;
use liten::time::{Duration, Instant, interval_at};
use std::{env, io, thread};

const JOBS: usize = 4;
const JOB: Duration = Duration::from_millis(500);
const TICKS: usize = 10;
const TICK: Duration = Duration::from_millis(50);

#[liten::main]
async fn main() -> io::Result<()> {
    let start = Instant::now();
    let jobs: Vec<_> = (0..JOBS).map(|_| spawn_blocking(|| thread::sleep(JOB))).collect();
    let ticker = liten::spawn(latest_tick());

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

    let late = ticker.await?.as_millis();
    println!("{TICKS} ticks of {} ms, the latest {late} ms late", TICK.as_millis());
    for job in jobs {
        job.await?;
    }
    println!("{JOBS} jobs of {} ms together: {} ms", JOB.as_millis(), start.elapsed().as_millis());
    Ok(())
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
