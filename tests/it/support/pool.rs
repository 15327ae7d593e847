//! Runtimes with a small pool for work that blocks, and jobs that keep its threads busy.

use liten::runtime::{Builder, Runtime};
use std::sync::mpsc;

/// A runtime whose pool has so many threads at the most. They are named "pools-blocking-" and a number.
pub(crate) fn pool(threads: usize) -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(1).max_blocking_threads(threads).thread_name("pools").build().unwrap()
}

/// Keeps a thread of the pool busy until the sender is dropped; returns when it is busy.
pub(crate) fn occupy(runtime: &Runtime) -> mpsc::Sender<()> {
    let (release, released) = mpsc::channel();
    let (begun, has_begun) = mpsc::channel();
    drop(runtime.spawn_blocking(move || {
        begun.send(()).unwrap();
        let _ = released.recv();
    }));
    has_begun.recv().unwrap();
    release
}
