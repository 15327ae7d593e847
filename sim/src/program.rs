//! A program of which not a line is changed, not even its dependencies: this package is loaded
//! before the C library.
//!
//! The command `liten-sim` starts the program once for each seed with `LD_PRELOAD` set to this
//! package as a shared library. Before the program's main function is called, the process becomes a
//! run with one host, of which the program's threads are the threads.

use std::env;
use std::ffi::{c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::run;
use crate::runner::{self, Sweep};
use crate::world::actor::{current, set_current};
use crate::world::lock;

/// Whether this process is the program itself. Its end is then the end of the run.
static IS_PROGRAM: AtomicBool = AtomicBool::new(false);

/// The variable by which a process knows that it is one.
const VARIABLE: &str = "LITEN_SIM_PROGRAM";

/// Called by the loader, in every process that has this package.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

extern "C" fn start() {
    let Some(report) = run::report_path() else { return };
    if env::var_os(VARIABLE).is_none() {
        return;
    }
    // Children of the program are no programs of the run; the program is refused any.
    // Relaxed: there is one thread.
    IS_PROGRAM.store(true, Ordering::Relaxed);
    let number = |name| env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let limit = number("LITEN_SIM_LIMIT").unwrap_or(3_600).saturating_mul(1_000_000_000);
    let cpus = number("LITEN_SIM_CPUS").and_then(|cpus| usize::try_from(cpus).ok());
    // SAFETY: the function takes what it is called with.
    unsafe { on_exit(ended, null_mut()) };
    run::begin(report, limit, cpus, "program", &[]);
}

unsafe extern "C" {
    /// As `atexit`, with the status for the handler.
    fn on_exit(handler: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// Whether `exit` ends the whole run.
pub(crate) fn is_program() -> bool {
    // Relaxed: it was set before there was a second thread.
    IS_PROGRAM.load(Ordering::Relaxed)
}

/// The last of the program's own handlers for its end.
extern "C" fn ended(status: c_int, _: *mut c_void) {
    if current().is_none() {
        return;
    }
    set_current(None);
    // What the program wrote by the C library may still be in its buffers.
    // SAFETY: null means all of them.
    unsafe { libc::fflush(null_mut()) };
    match status {
        0 => lock().end_passed(),
        _ => lock().end_failed(format!("the program ended with status {status}")),
    }
}

/// Runs a program with one seed after the other. Returns what the command prints if a run fails.
#[doc(hidden)]
pub fn run_program(
    library: &Path,
    program: PathBuf,
    arguments: Vec<String>,
    seeds: u64,
) -> Result<(), String> {
    let name =
        program.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let sweep = Sweep {
        name,
        seeds,
        first: 0,
        jobs: 0,
        seconds: 600,
        minimise_seconds: 60,
        arguments,
        program: Some(program),
        environment: vec![
            ("LD_PRELOAD", library.to_string_lossy().into_owned()),
            (VARIABLE, "1".to_owned()),
        ],
    };
    runner::sweep(sweep).map(drop)
}
