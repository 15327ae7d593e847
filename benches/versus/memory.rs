//! Bytes of resident memory per task that waits: for ever (`idle`), or for a timer (`sleeping`).
//!
//! Each figure comes from a process of its own: it starts the runtime, spawns the tasks, waits
//! until each has been polled, and compares its resident set with the one before. The tasks are
//! detached; what a `JoinHandle` costs its owner is not in it. Linux only: elsewhere there is no
//! plain file that says how much is resident.

use crate::clock::Clock;
use crate::contest::{Contest, Figure, Lane, Start, lane};
use crate::runtimes::{Join, Liten, Runtime, Smol, Spawner, Tokio};
use std::future::Future;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const TASKS: usize = 1_000_000;
const TASKS_IN_TESTS: usize = 1_000;
/// Spawned first, so that what a runtime allocates once is not counted.
const FIRST_TASKS: usize = 1_000;
const PATIENCE: Duration = Duration::from_secs(120);

/// Tells the process that it is a child: runtime, kind of task, numbers of tasks and workers.
const CHILD: &str = "LITEN_BENCH_MEMORY";

static POLLED: AtomicUsize = AtomicUsize::new(0);

pub(crate) fn contests(workers: usize) -> Vec<Contest> {
    let contest = |kind: &'static str| Contest {
        name: format!("memory_{kind}"),
        figures: vec![Figure { suffix: "", unit: "bytes", goal: Some(0.45) }],
        lanes: vec![
            process::<Liten>(kind, workers),
            process::<Tokio>(kind, workers),
            process::<Smol>(kind, workers),
        ],
        slice: Duration::from_secs(2),
        rounds: 2,
    };
    vec![contest("idle"), contest("sleeping")]
}

fn process<R: Runtime>(kind: &'static str, workers: usize) -> (&'static str, Start) {
    lane::<R, _>(move || {
        resident().expect("no /proc/self/status here");
        Process { runtime: R::NAME, kind, workers }
    })
}

struct Process {
    runtime: &'static str,
    kind: &'static str,
    workers: usize,
}

impl Lane for Process {
    /// Nothing to do: each measurement is a new process.
    fn warm_up(&mut self, _slice: Duration) {}

    fn measure(&mut self, slice: Duration) -> Vec<f64> {
        let tasks = if slice.is_zero() { TASKS_IN_TESTS } else { TASKS };
        let Self { runtime, kind, workers } = self;
        let order = format!("{runtime} {kind} {tasks} {workers}");
        let program = std::env::current_exe().expect("the program has a path");
        let child = Command::new(program).env(CHILD, &order).stderr(Stdio::inherit()).output();
        let output = child.expect("the program can be started again");
        let text = String::from_utf8_lossy(&output.stdout);
        let bytes = text.trim().parse();
        vec![bytes.unwrap_or_else(|_| panic!("{order}: {} {text:?}", output.status))]
    }
}

/// Does the work of a child and ends the process, if it is one.
pub(crate) fn child() {
    let Ok(order) = std::env::var(CHILD) else { return };
    let words: Vec<_> = order.split(' ').collect();
    let &[runtime, kind, tasks, workers] = words.as_slice() else { panic!("{order:?}") };
    let tasks = tasks.parse().expect("a number of tasks");
    let workers = workers.parse().expect("a number of workers");
    match runtime {
        Liten::NAME => tell(&Liten::start(workers), kind, tasks),
        Tokio::NAME => tell(&Tokio::start(workers), kind, tasks),
        Smol::NAME => tell(&Smol::start(workers), kind, tasks),
        _ => panic!("{order:?}"),
    }
}

fn tell<R: Clock>(runtime: &R, kind: &str, tasks: usize) {
    println!("{}", bytes_per_task(runtime, kind, tasks));
    // Without destructors: they would take longer than the measurement.
    std::process::exit(0);
}

fn bytes_per_task<R: Clock>(runtime: &R, kind: &str, tasks: usize) -> f64 {
    let fill = |tasks| match kind {
        "idle" => fill(runtime, tasks, std::future::pending),
        "sleeping" => {
            let deadline = Instant::now() + Duration::from_secs(3600);
            fill(runtime, tasks, move || R::sleep_until(deadline));
        }
        _ => panic!("{kind:?}"),
    };
    fill(FIRST_TASKS);
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
