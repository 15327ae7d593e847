//! A bound on a test that may hang.

use std::io::Write;
use std::process;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// Far more than any of these tests takes, also on a machine that is busy with something else.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs a test; if it hangs, the process ends and says which test it was. In a component, which has no
/// thread to watch with, it just runs.
pub fn guarded<R>(test: impl FnOnce() -> R) -> R {
    if cfg!(target_family = "wasm") {
        return test();
    }
    let name = thread::current().name().unwrap_or("a test").to_owned();
    // Dropped when the test ends, by a panic as well.
    let (_done, watch) = mpsc::channel::<()>();
    thread::spawn(move || {
        if watch.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout) {
            // Not `eprintln`, which the test harness keeps until the test ends; this one does not.
            let _ = writeln!(std::io::stderr(), "\n{name} hangs: not done after {LIMIT:?}");
            process::abort();
        }
    });
    test()
}
