//! Files and directories, each call beside the same call of std.

mod cancel;
mod content;
mod directory;
mod ends;
mod entry;
#[cfg(target_os = "linux")]
mod failed_writes;
mod file;
mod model;

use crate::support::guard::guarded;
use crate::support::pool::{occupy, pool};
use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A directory of a test's own, which goes with everything in it.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("liten-fs-{}-{number}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.join(name)
    }

    /// A file with this content.
    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.join(name);
        std::fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs a test in a runtime of its own, with a bound.
fn run<F: Future>(test: impl FnOnce() -> F) -> F::Output {
    guarded(|| pool(4).block_on(test()))
}

/// The error that both have in common: std's, unchanged.
#[track_caller]
fn same_error<T: Debug, S: Debug>(ours: io::Result<T>, std: io::Result<S>) -> io::Error {
    let (ours, std) = (ours.unwrap_err(), std.unwrap_err());
    assert_eq!(ours.kind(), std.kind());
    assert_eq!(ours.raw_os_error(), std.raw_os_error());
    assert_eq!(ours.to_string(), std.to_string());
    ours
}
