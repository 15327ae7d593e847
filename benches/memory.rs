//! Bytes of resident memory per task that waits: for ever (`idle`), or for a timer (`sleeping`).
//!
//! Each figure comes from a process of its own: it starts the runtime, spawns the tasks, waits
//! until each has been polled, and compares its resident set with the one before. The tasks are
//! detached; what a `JoinHandle` costs its owner is not in it. Linux only: elsewhere there is no
//! plain file that says how much is resident.
//!
//! Usage: `cargo bench --bench memory -- [TASKS]`

#[path = "contest/clock.rs"]
mod clock;
#[path = "contest/runtimes.rs"]
mod runtimes;

use clock::Clock;
use runtimes::{Join, Liten, Runtime, Smol, Spawner, Tokio};
use std::future::Future;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const TASKS: usize = 1_000_000;
/// Under `cargo test --benches` it is enough that everything runs.
const TASKS_IN_TESTS: usize = 1_000;
/// Spawned first, so that what a runtime allocates once is not counted.
const WARM_UP: usize = 1_000;
const PATIENCE: Duration = Duration::from_secs(120);

/// Tells the process that it is a child: runtime, kind of task, number of tasks.
const CHILD: &str = "LITEN_BENCH_MEMORY";

static POLLED: AtomicUsize = AtomicUsize::new(0);

fn main() {
    if resident().is_none() {
        return println!("no /proc/self/status here: nothing measured");
    }
    if let Ok(order) = std::env::var(CHILD) {
        return child(&order);
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let default = if arguments.iter().any(|a| a == "--bench") { TASKS } else { TASKS_IN_TESTS };
    let tasks = arguments.iter().find_map(|a| a.parse().ok()).unwrap_or(default);
    println!("bytes per task, {tasks} tasks");
    println!("| | liten | tokio | smol | liten / tokio | liten / smol |");
    println!("|---|---|---|---|---|---|");
    for kind in ["idle", "sleeping"] {
        let [liten, tokio, smol] = [Liten::NAME, Tokio::NAME, Smol::NAME]
            .map(|runtime| ask_child(&format!("{runtime} {kind} {tasks}")));
        let (to_tokio, to_smol) = (liten / tokio, liten / smol);
        println!("| {kind} | {liten:.0} | {tokio:.0} | {smol:.0} | {to_tokio:.2} | {to_smol:.2} |");
    }
}

fn ask_child(order: &str) -> f64 {
    let program = std::env::current_exe().expect("the program has a path");
    let child = Command::new(program).env(CHILD, order).stderr(Stdio::inherit()).output();
    let output = child.expect("the program can be started again");
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().unwrap_or_else(|_| panic!("{order}: {} {text:?}", output.status))
}

fn child(order: &str) {
    let words: Vec<_> = order.split(' ').collect();
    let &[runtime, kind, tasks] = words.as_slice() else { panic!("{order:?}") };
    let tasks = tasks.parse().expect("a number of tasks");
    let bytes = match runtime {
        Liten::NAME => bytes_per_task::<Liten>(kind, tasks),
        Tokio::NAME => bytes_per_task::<Tokio>(kind, tasks),
        Smol::NAME => bytes_per_task::<Smol>(kind, tasks),
        _ => panic!("{order:?}"),
    };
    println!("{bytes}");
    // Without destructors: they would take longer than the measurement.
    std::process::exit(0);
}

fn bytes_per_task<R: Clock>(kind: &str, tasks: usize) -> f64 {
    let runtime = R::start(num_cpus::get());
    let fill = |tasks| match kind {
        "idle" => fill(&runtime, tasks, std::future::pending),
        "sleeping" => {
            let deadline = Instant::now() + Duration::from_secs(3600);
            fill(&runtime, tasks, move || R::sleep_until(deadline));
        }
        _ => panic!("{kind:?}"),
    };
    fill(WARM_UP);
    let before = resident().expect("it was there a moment ago");
    fill(tasks);
    let after = resident().expect("it was there a moment ago");
    after.saturating_sub(before) as f64 / tasks as f64
}

/// Spawns tasks from one task, and returns when each of them waits.
fn fill<R, F>(runtime: &R, tasks: usize, wait: impl Fn() -> F + Copy + Send + 'static)
where
    R: Runtime,
    F: Future<Output = ()> + Send + 'static,
{
    let start = Instant::now();
    let goal = POLLED.load(Ordering::Relaxed) + tasks;
    let spawner = runtime.spawner();
    let parent = runtime.spawn(async move {
        for _ in 0..tasks {
            let task = spawner.spawn(async move {
                POLLED.fetch_add(1, Ordering::Relaxed);
                wait().await;
            });
            task.detach();
        }
    });
    runtime.block_on(parent);
    while POLLED.load(Ordering::Relaxed) < goal {
        assert!(start.elapsed() < PATIENCE, "the tasks are not polled");
        std::thread::sleep(Duration::from_millis(1));
    }
    // The last ones are being polled at this moment; they allocate nothing that would show.
}

/// Bytes of memory that are resident.
fn resident() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse().ok()?;
    Some(kibibytes * 1024)
}
