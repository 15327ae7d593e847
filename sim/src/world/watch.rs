//! The one thread of a run's process that is no thread of the run. It sees that nothing goes on any
//! more.
//!
//! A thread that computes for ever, or that waits in the kernel for something that we do not stand
//! in for, keeps the turn. No other thread can say so.

use std::fs;
use std::path::PathBuf;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError, TryLockError};
use std::time::Duration;

use super::{Inside, PROGRESS, WORLD};
use crate::baton::carrier_number;
use crate::real;
use crate::runner::report::{ChildReport, Outcome};

/// Between two looks, in real time.
const LOOK: Duration = Duration::from_millis(500);
/// After so many looks at the same step the run is over: ten seconds.
const PATIENCE: u32 = 20;

/// The time that a run has for its report when its real time is nearly over.
const FAREWELL: Duration = Duration::from_secs(2);

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
    let (mut seen, mut looks_at_it, mut looks) = (0, 0, 0);
    let most = real_seconds().map_or(u32::MAX, looks_of);
    loop {
        std::thread::sleep(LOOK);
        // Relaxed: see `count_progress`.
        let now = PROGRESS.load(Ordering::Relaxed);
        looks_at_it = if now == seen { looks_at_it + 1 } else { 0 };
        seen = now;
        looks += 1;
        if looks_at_it == PATIENCE {
            standstill();
        }
        if looks >= most {
            too_long(looks);
        }
    }
}

/// The real time after which the runner ends this process, in seconds.
fn real_seconds() -> Option<u64> {
    std::env::var("LITEN_SIM_REAL").ok()?.parse().ok()
}

/// How many looks a run may take, so that it can still say what it did before the runner ends it.
fn looks_of(seconds: u64) -> u32 {
    let time = Duration::from_secs(seconds).saturating_sub(FAREWELL).max(LOOK);
    u32::try_from(time.as_millis() / LOOK.as_millis()).unwrap_or(u32::MAX)
}

/// The run goes on and on.
fn too_long(looks: u32) -> ! {
    let seconds = f64::from(looks) * LOOK.as_secs_f64();
    let message = format!("not at its end after {seconds:.0} s of real time");
    let Some(world) = WORLD.get() else {
        leave(&ChildReport { message, ..ChildReport::new(Outcome::Limit) });
    };
    // A thread that runs holds the lock for a moment only.
    let world = world.lock().unwrap_or_else(PoisonError::into_inner);
    let ended = ChildReport { waits: world.waits(), ..world.report(Outcome::Limit, message) };
    // How far a run comes in its real time differs, which does not make it another run.
    leave(&ChildReport { time: 0, decisions: 0, choices: 0, switches: 0, hash: 0, ..ended })
}

fn standstill() -> ! {
    let message = "a thread has kept its turn for 10 s of real time".to_owned();
    let world = match WORLD.get().map(Mutex::try_lock) {
        Some(Ok(world)) => world,
        Some(Err(TryLockError::Poisoned(world))) => world.into_inner(),
        // The thread keeps the lock, too.
        Some(Err(TryLockError::WouldBlock)) | None => {
            leave(&ChildReport { message, ..ChildReport::new(Outcome::Failed) });
        }
    };
    let actor = &world.actors[world.running.0];
    let message = format!("{message}: {}, {}", actor.name, activity(carrier_number()));
    leave(&ChildReport {
        host: world.hosts[actor.host].name.clone(),
        thread: actor.name.clone(),
        ..world.report(Outcome::Failed, message)
    })
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
