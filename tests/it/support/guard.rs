//! A bound on every test, and waiting for conditions instead of for time.

use liten::runtime::{Builder, Runtime};
use std::io::Write;
use std::process;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// Far more than any of these tests takes, also on a machine that is busy with something else.
const LIMIT: Duration = Duration::from_secs(120);

/// Runs a test; if it hangs, the process ends and says which test it was.
pub(crate) fn guarded<R>(test: impl FnOnce() -> R) -> R {
    within(LIMIT, test)
}

/// As [`guarded`], with a limit of its own.
pub(crate) fn within<R>(limit: Duration, test: impl FnOnce() -> R) -> R {
    let name = thread::current().name().unwrap_or("a test").to_owned();
    let (done, watch) = mpsc::channel::<()>();
    let dog = thread::spawn(move || {
        if watch.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            // Not `eprintln`, which the test harness keeps until the test ends; this one does not.
            let _ = writeln!(std::io::stderr(), "\n{name} hangs: not done after {limit:?}");
            process::abort();
        }
    });
    let result = test();
    drop(done);
    dog.join().unwrap();
    result
}

/// Waits until `condition` holds. The guard around the test is the bound.
pub(crate) fn until(mut condition: impl FnMut() -> bool) {
    while !condition() {
        thread::sleep(Duration::from_millis(1));
    }
}

/// A runtime with `count` workers, and never one more: a test that blocks all of them means it, and one that
/// does not may still run on a machine where they stand still for want of a core.
pub(crate) fn workers(count: usize) -> Runtime {
    exactly(count).build().unwrap()
}

pub(crate) fn exactly(count: usize) -> Builder {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(count).max_spare_workers(0);
    builder
}

/// A runtime whose threads can be told from those of other tests. Linux shows 15 characters of a name, so
/// the prefix is short.
pub(crate) fn named(count: usize, name: &str) -> Runtime {
    assert!(name.len() <= 6, "{name}-driver would be cut off");
    exactly(count).thread_name(name).build().unwrap()
}
