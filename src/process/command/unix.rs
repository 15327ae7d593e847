//! What only Unix knows of a new process.

#![allow(unsafe_code)]

use super::Command;
use crate::impls::setters;
use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt;

impl Command {
    setters! {
        |this|
        /// Sets the child's user id. Unix only.
        uid(id: u32) => this.as_std_mut().uid(id);

        /// Sets the child's group id. Unix only.
        gid(id: u32) => this.as_std_mut().gid(id);

        /// Sets the name by which the child is told that it was called. Unix only.
        arg0[S: AsRef<OsStr>](name: S) => this.as_std_mut().arg0(name);

        /// Sets the child's process group; 0 is one of its own, which ctrl-c at the terminal does not reach.
        /// Unix only.
        process_group(group: i32) => this.as_std_mut().process_group(group);
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
