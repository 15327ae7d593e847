//! A file that goes with the test that asked for its name.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::id;

/// Tests have different names for theirs, test programs different numbers.
pub(crate) struct File(PathBuf);

impl File {
    pub(crate) fn new(name: &str) -> Self {
        Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", id())))
    }

    pub(crate) fn path(&self) -> &str {
        self.0.to_str().expect("the path is text")
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // An error means that it was never written.
        let _ = fs::remove_file(&self.0);
    }
}
