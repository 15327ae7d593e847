//! A system of files for tests.

use super::Reader;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// A system of files; the folder is removed in the end.
pub(crate) struct FakeSystem(PathBuf);

impl FakeSystem {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        // Ordering: Relaxed, a number that no other thread gets.
        let name = format!(
            "liten-limits-{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        let system = Self(std::env::temp_dir().join(name));
        system.write("proc/thread-self/status", "Name:\tx\nCpus_allowed_list:\t0-7\n");
        system.write("sys/devices/system/cpu/online", "0-7\n");
        system
    }

    /// A system with version 2, whose process is in `/a/b`.
    pub(crate) fn unified() -> Self {
        let system = Self::new();
        system.write("proc/self/mountinfo", UNIFIED).write("proc/self/cgroup", "0::/a/b\n");
        system.write("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
        system
    }

    pub(crate) fn write(&self, path: &str, content: &str) -> &Self {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    pub(crate) fn remove(&self, path: &str) -> &Self {
        let path = self.0.join(path);
        if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.unwrap();
        self
    }

    pub(crate) fn reader(&self) -> Reader {
        Reader::within(&self.0)
    }
}

impl Drop for FakeSystem {
    fn drop(&mut self) {
        // What a test that has failed leaves behind is no harm.
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(super) const UNIFIED: &str =
    "36 25 0:29 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
