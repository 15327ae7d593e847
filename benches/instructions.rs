//! Instructions per operation, liten beside tokio, counted by valgrind's callgrind: a figure that no
//! neighbour on the machine can move.
//!
//! Each operation runs in a process of its own under valgrind, with one worker, twice: the difference
//! of the counts, by the difference of the numbers of operations, has no start and no end in it.
//! What the kernel does is not counted.
//!
//! Usage: `cargo bench --bench instructions -- [NAME]…`. Needs `valgrind` on the PATH; without it,
//! there is nothing to see.

#[path = "instructions/bodies.rs"]
mod bodies;
#[path = "contest/clock.rs"]
mod clock;
#[path = "instructions/echo.rs"]
mod echo;
#[path = "contest/families.rs"]
#[allow(dead_code, reason = "of the channels and locks, those that are counted")]
mod families;
#[path = "contest/idle.rs"]
mod idle;
#[path = "contest/runtimes.rs"]
mod runtimes;
#[path = "contest/sockets.rs"]
#[allow(dead_code, reason = "no datagrams here")]
mod sockets;
#[path = "contest/yields.rs"]
mod yields;

use idle::Idle;
use runtimes::{Liten, Runtime, Tokio};
use sockets::Sockets;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use yields::Yield;

/// Tells the process that it is counted: runtime, operation, how many.
const CHILD: &str = "LITEN_BENCH_INSTRUCTIONS";

/// Name, and how many operations are enough for a difference that start and end do not show in.
const OPERATIONS: [(&str, [usize; 2]); 12] = [
    ("spawn", [1_000, 21_000]),
    ("spawn_join", [1_000, 21_000]),
    ("wake_round_trip", [1_000, 21_000]),
    ("yield", [6_400, 64_000]),
    ("timer", [1_000, 21_000]),
    ("timer_from_now", [1_000, 21_000]),
    ("idle_timeout", [1_000, 21_000]),
    ("echo_message", [200, 2_200]),
    ("mpsc_send_recv", [1_000, 21_000]),
    ("oneshot_send_recv", [1_000, 21_000]),
    ("mutex_lock_unlock", [1_000, 21_000]),
    ("semaphore_acquire_release", [1_000, 21_000]),
];
const OPERATIONS_IN_TESTS: usize = 64;
const LONG: Duration = Duration::from_secs(3600);

fn main() {
    if echo::client() {
        return;
    }
    if let Ok(order) = std::env::var(CHILD) {
        return child(&order);
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if !arguments.iter().any(|argument| argument == "--bench") {
        return run_once();
    }
    let valgrind = Command::new("valgrind").arg("--version").stdout(Stdio::null()).status();
    if valgrind.is_err() {
        return println!("no valgrind on the PATH: nothing counted");
    }
    let names: Vec<_> = arguments.iter().filter(|argument| !argument.starts_with("--")).collect();
    println!("instructions per operation, 1 worker\n");
    println!("| operation | liten | tokio | liten / tokio |\n|---|---|---|---|");
    for (operation, counts) in OPERATIONS {
        if names.is_empty() || names.iter().any(|name| operation.contains(name.as_str())) {
            let [liten, tokio] =
                [Liten::NAME, Tokio::NAME].map(|name| cost(name, operation, counts));
            println!("| {operation} | {liten:.0} | {tokio:.0} | {:.2} |", liten / tokio);
        }
    }
}

/// Under `cargo test --benches` it is enough that everything runs.
fn run_once() {
    for (operation, _) in OPERATIONS {
        run(&liten(), operation, OPERATIONS_IN_TESTS);
        run(&Tokio::start(1), operation, OPERATIONS_IN_TESTS);
        println!("{operation}: ran");
    }
}

fn cost(runtime: &str, operation: &str, counts: [usize; 2]) -> f64 {
    let [few, many] = counts.map(|count| instructions(&format!("{runtime} {operation} {count}")));
    (many - few) / (counts[1] - counts[0]) as f64
}

/// What callgrind counts in a process that carries out this order.
fn instructions(order: &str) -> f64 {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    command.arg(std::env::current_exe().expect("the program has a path"));
    let output = command.env(CHILD, order).output().expect("valgrind starts");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{order}: {} {text}", output.status);
    let count = text.lines().find_map(|line| line.split_once("Collected : "));
    let count = count.and_then(|(_, count)| count.trim().parse().ok());
    count.unwrap_or_else(|| panic!("{order}: no count in {text}"))
}

fn child(order: &str) {
    let words: Vec<_> = order.split(' ').collect();
    let &[runtime, operation, count] = words.as_slice() else { panic!("{order:?}") };
    let count = count.parse().expect("a number of operations");
    match runtime {
        Liten::NAME => run(&liten(), operation, count),
        Tokio::NAME => run(&Tokio::start(1), operation, count),
        _ => panic!("{order:?}"),
    }
}

/// Without spare workers: under valgrind polls are so slow, and threads wait for each other for so long, that
/// a spare comes or does not come, and the count is another one in each run.
fn liten() -> Liten {
    let mut builder = liten::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(1).max_spare_workers(0).build();
    runtime.expect("threads and a poller can be had").into()
}

fn run<R: Idle + Sockets + Yield>(runtime: &R, operation: &str, count: usize) {
    match operation {
        "spawn" => bodies::spawn(runtime, count),
        "spawn_join" => bodies::spawn_join(runtime, count),
        "wake_round_trip" => bodies::wake(runtime, count),
        "yield" => bodies::yields(runtime, count),
        "timer" => {
            let deadline = Instant::now() + LONG;
            bodies::timer(runtime, count, move || R::sleep_until(deadline));
        }
        "timer_from_now" => bodies::timer(runtime, count, || R::sleep(LONG)),
        "idle_timeout" => bodies::idle_timeout(runtime, count),
        "echo_message" => bodies::echo_message(runtime, count),
        "mpsc_send_recv" => bodies::mpsc::<R, R::Channels>(runtime, count),
        "oneshot_send_recv" => bodies::one_shot::<R, R::Channels>(runtime, count),
        "mutex_lock_unlock" => bodies::mutex::<R, R::Channels>(runtime, count),
        "semaphore_acquire_release" => bodies::semaphore::<R, R::Channels>(runtime, count),
        _ => panic!("{operation:?}"),
    }
}
