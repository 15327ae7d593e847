//! Bytes of resident memory per task that waits: for ever (`idle`), for a timer (`sleeping`), or
//! for the first byte of a connection (`connection`; what the kernel keeps for it is not in the
//! figure).
//!
//! Each figure comes from a process of its own: it starts the runtime, spawns the tasks, waits
//! until each has been polled, and compares its resident set with the one before. The tasks are
//! detached; what a `JoinHandle` costs its owner is not in it. Linux only: elsewhere there is no
//! plain file that says how much is resident.

use crate::clock::Clock;
use crate::contest::{Contest, Figure, Lane, Start, lane};
use crate::network::descriptors;
use crate::runtimes::{Join, Liten, Runtime, Smol, Spawner, Tokio};
use crate::sockets::Sockets;
use std::future::Future;
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const TASKS: usize = 1_000_000;
const TASKS_IN_TESTS: usize = 1_000;
/// Spawned first, so that what a runtime allocates once is not counted.
const FIRST_TASKS: usize = 1_000;
/// Each needs two descriptors of the process: its client lives there, too, because a standard
/// socket has no memory of its own.
const CONNECTIONS: usize = 5_000;
const CONNECTIONS_IN_TESTS: usize = 50;
const FIRST_CONNECTIONS: usize = 50;
/// Descriptors for all else.
const SPARE: usize = 100;
const PATIENCE: Duration = Duration::from_secs(120);

/// Tells the process that it is a child: runtime, kind of task, numbers of tasks and workers.
const CHILD: &str = "LITEN_BENCH_MEMORY";

static POLLED: AtomicUsize = AtomicUsize::new(0);

pub(crate) fn contests(workers: usize) -> Vec<Contest> {
    let contest = |kind: Kind| Contest {
        name: format!("memory_{}", kind.name()),
        figures: vec![Figure { suffix: "", unit: "bytes", goal: Some(kind.goal()) }],
        lanes: vec![
            process::<Liten>(kind, workers),
            process::<Tokio>(kind, workers),
            process::<Smol>(kind, workers),
        ],
        slice: Duration::from_secs(2),
        rounds: 2,
    };
    Kind::ALL.map(contest).into()
}

/// What the tasks wait for.
#[derive(Clone, Copy)]
enum Kind {
    Idle,
    Sleeping,
    Connection,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Idle, Self::Sleeping, Self::Connection];

    fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Sleeping => "sleeping",
            Self::Connection => "connection",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    fn goal(self) -> f64 {
        match self {
            Self::Idle | Self::Sleeping => 0.45,
            Self::Connection => 0.6,
        }
    }

    fn tasks(self, testing: bool) -> usize {
        match (self, testing) {
            (Self::Connection, false) => CONNECTIONS,
            (Self::Connection, true) => CONNECTIONS_IN_TESTS,
            (_, false) => TASKS,
            (_, true) => TASKS_IN_TESTS,
        }
    }
}

fn process<R: Runtime>(kind: Kind, workers: usize) -> (&'static str, Start) {
    lane::<R, _>(move || {
        resident().expect("no /proc/self/status here");
        let needed = 2 * CONNECTIONS + SPARE;
        assert!(
            !matches!(kind, Kind::Connection) || needed <= descriptors::limit(),
            "{needed} open files are not allowed"
        );
        Process { runtime: R::NAME, kind, workers }
    })
}

struct Process {
    runtime: &'static str,
    kind: Kind,
    workers: usize,
}

impl Lane for Process {
    /// Nothing to do: each measurement is a new process.
    fn warm_up(&mut self, _slice: Duration) {}

    fn measure(&mut self, slice: Duration) -> Vec<f64> {
        let tasks = self.kind.tasks(slice.is_zero());
        let Self { runtime, kind, workers } = self;
        let kind = kind.name();
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
    let kind = Kind::named(kind).unwrap_or_else(|| panic!("{order:?}"));
    let tasks = tasks.parse().expect("a number of tasks");
    let workers = workers.parse().expect("a number of workers");
    match runtime {
        Liten::NAME => tell(&Liten::start(workers), kind, tasks),
        Tokio::NAME => tell(&Tokio::start(workers), kind, tasks),
        Smol::NAME => tell(&Smol::start(workers), kind, tasks),
        _ => panic!("{order:?}"),
    }
}

fn tell<R: Clock + Sockets>(runtime: &R, kind: Kind, tasks: usize) {
    println!("{}", bytes_per_task(runtime, kind, tasks));
    // Without destructors: they would take longer than the measurement.
    std::process::exit(0);
}

fn bytes_per_task<R: Clock + Sockets>(runtime: &R, kind: Kind, tasks: usize) -> f64 {
    let fill = |tasks| match kind {
        Kind::Idle => fill(runtime, tasks, std::future::pending),
        Kind::Sleeping => {
            let deadline = Instant::now() + Duration::from_secs(3600);
            fill(runtime, tasks, move || R::sleep_until(deadline));
        }
        Kind::Connection => connect(runtime, tasks),
    };
    fill(if matches!(kind, Kind::Connection) { FIRST_CONNECTIONS } else { FIRST_TASKS });
    let before = resident().expect("it was there a moment ago");
    fill(tasks);
    let after = resident().expect("it was there a moment ago");
    after.saturating_sub(before) as f64 / tasks as f64
}

/// Opens connections, each served by a task, and returns when all of these wait for its first byte.
fn connect<R: Sockets>(runtime: &R, connections: usize) {
    let goal = POLLED.load(Ordering::Relaxed) + connections;
    let spawner = runtime.spawner();
    let (listener, address) = runtime.block_on(R::listen()).expect("a port is free");
    let accepting = runtime.spawn(async move {
        for _ in 0..connections {
            let mut stream = R::accept(&listener).await.expect("a client has connected");
            let task = spawner.spawn(async move {
                POLLED.fetch_add(1, Ordering::Relaxed);
                // No client ever writes.
                let _ = R::read(&mut stream, &mut [0]).await;
            });
            task.detach();
        }
    });
    let clients: Vec<_> = (0..connections)
        .map(|_| TcpStream::connect(address).expect("the server listens"))
        .collect();
    runtime.block_on(accepting);
    until_polled(goal);
    // They stay open until the process ends.
    std::mem::forget(clients);
}

/// Spawns tasks from one task, and returns when each of them waits.
fn fill<R, F>(runtime: &R, tasks: usize, wait: impl Fn() -> F + Copy + Send + 'static)
where
    R: Runtime,
    F: Future<Output = ()> + Send + 'static,
{
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
    until_polled(goal);
}

fn until_polled(goal: usize) {
    let start = Instant::now();
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
