//! What only Unix knows of a new process.

#![allow(unsafe_code)]

use super::Command;
use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt;

impl Command {
    /// Sets the child's user id. Unix only.
    pub fn uid(&mut self, id: u32) -> &mut Self {
        self.as_std_mut().uid(id);
        self
    }

    /// Sets the child's group id. Unix only.
    pub fn gid(&mut self, id: u32) -> &mut Self {
        self.as_std_mut().gid(id);
        self
    }

    /// Sets the name by which the child is told that it was called. Unix only.
    pub fn arg0<S: AsRef<OsStr>>(&mut self, name: S) -> &mut Self {
        self.as_std_mut().arg0(name);
        self
    }

    /// Sets the child's process group; 0 is one of its own, which ctrl-c at the terminal does not reach. Unix
    /// only.
    pub fn process_group(&mut self, group: i32) -> &mut Self {
        self.as_std_mut().process_group(group);
        self
    }

    /// Has `f` called in the child, between its `fork` and its `exec`. Unix only.
    ///
    /// If `f` returns an error, [`spawn`](Self::spawn) does, and the program is not started.
    ///
    /// # Safety
    ///
    /// As for [`std::os::unix::process::CommandExt::pre_exec`]: the child is a copy of one thread of a
    /// process that has many, so `f` may make system calls but must not allocate, lock, or use the runtime.
    pub unsafe fn pre_exec<F>(&mut self, f: F) -> &mut Self
    where
        F: FnMut() -> io::Result<()> + Send + Sync + 'static,
    {
        // SAFETY: the caller promises what the standard library asks for.
        unsafe { self.as_std_mut().pre_exec(f) };
        self
    }
}
