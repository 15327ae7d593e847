//! The one thread of a run's process that is no thread of the run. It sees that nothing goes on any
//! more.
//!
//! A thread that computes for ever, or that waits in the kernel for something that we do not stand
//! in for, keeps the turn. Nobody else can say so.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{OnceLock, TryLockError};
use std::time::Duration;

use super::{Inside, PROGRESS, WORLD};
use crate::real;
use crate::runner::report::{ChildReport, Outcome};

/// Between two looks, in real time.
const LOOK: Duration = Duration::from_millis(500);
/// After so many looks at the same step the run is over: ten seconds.
const PATIENCE: u32 = 20;

static REPORT: OnceLock<PathBuf> = OnceLock::new();

/// The kernel's number of the thread, when it has begun.
static NUMBER: AtomicI32 = AtomicI32::new(0);

/// Starts the thread, in a process whose report goes to `path`. Returns its number when it has
/// begun to watch.
pub(crate) fn start(path: PathBuf) -> std::io::Result<i32> {
    REPORT.get_or_init(|| path);
    let body = || {
        let _inside = Inside::new();
        // The handlers of the program's signals are for its own threads.
        // SAFETY: the set is ours, and is filled before it is used.
        unsafe {
            let mut all = std::mem::zeroed();
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, null_mut());
            // Relaxed: the number alone is handed over.
            NUMBER.store(real::gettid(), Ordering::Relaxed);
        }
        watch();
    };
    std::thread::Builder::new().name("liten-sim-watch".to_owned()).spawn(body)?;
    // Not by a channel, of which the side that waits first would take memory: see `asleep`.
    loop {
        match NUMBER.load(Ordering::Relaxed) {
            // SAFETY: the call takes no arguments.
            0 => unsafe { real::sched_yield() },
            number => return Ok(number),
        };
    }
}

/// Writes the report and ends the process.
pub(crate) fn leave(report: &ChildReport) -> ! {
    let _inside = Inside::new();
    let written = REPORT.get().map_or(Ok(()), |path| report.write_to(path));
    if let Err(error) = written {
        eprintln!("liten-sim: {error}");
    }
    // SAFETY: the system call ends the process.
    unsafe { real::syscall(libc::SYS_exit_group, 0, 0, 0, 0, 0, 0) };
    unreachable!("a process goes on after its end")
}

fn watch() -> ! {
    let (mut seen, mut looks) = (0, 0);
    loop {
        std::thread::sleep(LOOK);
        // Relaxed: see `count_progress`.
        let now = PROGRESS.load(Ordering::Relaxed);
        looks = if now == seen { looks + 1 } else { 0 };
        seen = now;
        if looks == PATIENCE {
            standstill();
        }
    }
}

fn standstill() -> ! {
    let mut report = ChildReport::new(Outcome::Failed);
    report.message = "a thread has kept its turn for 10 s of real time".to_owned();
    let world = WORLD.get().map(|world| match world.try_lock() {
        Ok(world) => Some(world),
        Err(TryLockError::Poisoned(world)) => Some(world.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    });
    if let Some(Some(world)) = world {
        let actor = &world.actors[world.running.0];
        report.host.clone_from(&world.hosts[actor.host].name);
        report.thread.clone_from(&actor.name);
        report.time = world.now;
        let number =
            if actor.number == 0 { std::process::id().cast_signed() } else { actor.number };
        let _ = write!(report.message, ": {}, {}", actor.name, activity(number));
        report.decisions = world.choices.decisions();
        report.hash = world.choices.hash();
        report.drawn = world.plan.to_string();
    }
    leave(&report)
}

/// What the kernel says of a thread.
fn activity(number: i32) -> String {
    let folder = format!("/proc/self/task/{number}");
    match fs::read_to_string(format!("{folder}/syscall")).as_deref().map(str::trim) {
        Ok("running") => "which computes without a call to the system".to_owned(),
        Ok(call) => {
            format!("which waits in the system call {}", call.split(' ').next().unwrap_or("?"))
        }
        Err(_) => match fs::read_to_string(format!("{folder}/wchan")) {
            Ok(place) if place.trim() != "0" => {
                format!("which waits in the kernel's {}", place.trim())
            }
            _ => "which computes without a call to the system".to_owned(),
        },
    }
}
