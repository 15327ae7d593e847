//! A million tasks that wait: how long it takes to list them, to dump them, and to answer the page's
//! requests; and for how long a lock is held meanwhile, which a worker may want.
//!
//! Usage: `cargo bench --bench insight`. Without `--bench`, as in `cargo test`, there are a thousand tasks.
//!
//! One call in 32 of the list's `next` takes a lock once, looks at 32 tasks, and gives it back. So no such
//! lock is held for longer than the longest of these calls: on the clock, and, without what other programs
//! take of the processor, in the thread's own time. Beside that, a task on a worker does over and over what
//! takes the locks of that worker: it spawns a task that waits, begins and cancels a sleep, and aborts the
//! task. How long one turn takes is shown while nothing looks, and while dumps are made without a pause.

#[path = "contest/page.rs"]
mod page;

use liten::insight::Builder;
use liten::runtime::{self, Handle, Runtime};
use page::get;
use std::future::{Future, pending, poll_fn};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

const TASKS: usize = 1_000_000;
const TASKS_IN_TESTS: usize = 1_000;
const ROUNDS: usize = 5;
/// So many tasks are looked at under one taking of a lock.
const AT_ONCE: usize = 32;
const HOUR: Duration = Duration::from_secs(3_600);
/// How long the task on the worker is watched.
const WATCHED: Duration = Duration::from_secs(2);

/// What the tasks wait for.
#[derive(Clone, Copy)]
enum Wait {
    Nothing,
    Timer,
    Semaphore,
}

fn main() {
    let benching = std::env::args().any(|argument| argument == "--bench");
    let tasks = if benching { TASKS } else { TASKS_IN_TESTS };
    for (name, wait) in
        [("nothing", Wait::Nothing), ("a timer", Wait::Timer), ("a semaphore", Wait::Semaphore)]
    {
        let runtime = filled(wait, tasks);
        println!("{tasks} tasks that wait for {name}");
        list(runtime.handle());
        looks(&runtime);
        beside(&runtime, if benching { WATCHED } else { WATCHED / 100 });
        // Without destructors of so many tasks.
        runtime.shutdown_background();
    }
}

fn filled(wait: Wait, tasks: usize) -> Runtime {
    let runtime =
        runtime::Builder::new_multi_thread().worker_threads(2).build().expect("a runtime");
    let nothing = Arc::new(liten::sync::Semaphore::new(0));
    runtime
        .block_on(runtime.spawn(async move {
            for _ in 0..tasks {
                let nothing = nothing.clone();
                drop(match wait {
                    Wait::Nothing => liten::spawn(pending()),
                    Wait::Timer => liten::spawn(liten::time::sleep(HOUR)),
                    Wait::Semaphore => liten::spawn(async move { drop(nothing.acquire().await) }),
                });
            }
        }))
        .expect("it does not panic");
    while runtime.metrics().num_cold_tasks() < tasks {
        thread::sleep(Duration::from_millis(1));
    }
    runtime
}

/// The list, and each of its calls by itself.
fn list(handle: &Handle) {
    let begun = Instant::now();
    let count = handle.tasks().map(black_box).count();
    let whole = begun.elapsed();
    let (mut clock, mut own) = (Vec::with_capacity(count), Vec::with_capacity(count));
    let mut tasks = handle.tasks();
    loop {
        let (before, own_before) = (Instant::now(), own_time());
        let is_over = black_box(tasks.next()).is_none();
        own.extend(own_time().zip(own_before).map(|(now, before)| now.saturating_sub(before)));
        clock.push(before.elapsed());
        if is_over {
            break;
        }
    }
    println!("  list: {count} in {whole:.2?}");
    for (name, times) in [("on the clock", &mut clock), ("the thread's own time", &mut own)] {
        // The others take what is there already.
        times.sort_unstable();
        let locking = times.len() - times.len() / AT_ONCE;
        println!("  one call that takes a lock, {name}: {}", spread(&mut times[locking..]));
    }
}

/// What the calling thread has used of a processor. With what the clock itself takes.
#[cfg(target_os = "linux")]
fn own_time() -> Option<Duration> {
    use nix::time::{ClockId, clock_gettime};
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).ok().map(Duration::from)
}

#[cfg(not(target_os = "linux"))]
fn own_time() -> Option<Duration> {
    None
}

fn spread(times: &mut [Duration]) -> String {
    times.sort_unstable();
    let part = |share: f64| match times.len() {
        0 => Duration::ZERO,
        count => times[((count - 1) as f64 * share) as usize],
    };
    let [half, most, nearly_all, longest] = [0.5, 0.99, 0.999, 1.0].map(part);
    format!("p50 {half:.1?}, p99 {most:.1?}, p99.9 {nearly_all:.1?}, longest {longest:.1?}")
}

fn looks(runtime: &Runtime) {
    let handle = runtime.handle();
    let page = Builder::new().observe(handle).serve("127.0.0.1:0").expect("a page");
    row("dump", || drop(handle.dump()));
    for path in ["/json", "/json?sort=-size&filter=insight", "/text", "/metrics"] {
        let mut bytes = 0;
        row(path, || {
            bytes = get(&page, path);
            // Until the picture is too old to be shown again.
            thread::sleep(Duration::from_millis(150));
        });
        println!("    {bytes} bytes");
    }
}

fn row(name: &str, mut look: impl FnMut()) {
    let pause = if name.starts_with('/') { Duration::from_millis(150) } else { Duration::ZERO };
    let times: Vec<_> = (0..ROUNDS)
        .map(|_| {
            let begun = Instant::now();
            look();
            begun.elapsed().saturating_sub(pause)
        })
        .collect();
    println!("  {name}: {times:.2?}");
}

/// What a worker's own work takes that needs the locks, without and with dumps beside it.
fn beside(runtime: &Runtime, time: Duration) {
    for is_watched in [false, true, false, true] {
        let over = Arc::new(AtomicBool::new(false));
        let theirs = over.clone();
        let turns = runtime.spawn(async move {
            let mut times = Vec::new();
            while !theirs.load(Ordering::Relaxed) {
                let begun = Instant::now();
                let task = liten::spawn(pending::<()>());
                // The task has its first poll, and is registered.
                liten::task::yield_now().await;
                let mut sleep = Box::pin(liten::time::sleep(HOUR));
                assert!(poll_fn(|cx| Poll::Ready(sleep.as_mut().poll(cx))).await.is_pending());
                drop(sleep);
                task.abort();
                _ = task.await;
                times.push(begun.elapsed());
            }
            times
        });
        let (begun, mut dumps) = (Instant::now(), 0);
        while begun.elapsed() < time {
            match is_watched {
                true => drop(runtime.handle().dump()),
                false => thread::sleep(Duration::from_millis(1)),
            }
            dumps += usize::from(is_watched);
        }
        over.store(true, Ordering::Relaxed);
        let mut times = runtime.block_on(turns).expect("it does not panic");
        let mean = times.iter().sum::<Duration>() / times.len().max(1) as u32;
        println!(
            "  a turn of a worker's task beside {dumps} dumps: mean {mean:.2?}, {}",
            spread(&mut times)
        );
    }
}
