//! What only Windows knows of a new process.

use super::Command;
use std::ffi::OsStr;
use std::os::windows::process::CommandExt;

impl Command {
    /// Sets the flags that are passed to `CreateProcess`. Windows only.
    pub fn creation_flags(&mut self, flags: u32) -> &mut Self {
        self.as_std_mut().creation_flags(flags);
        self
    }

    /// Adds literal text to the command line, without quoting. Windows only.
    pub fn raw_arg<S: AsRef<OsStr>>(&mut self, text: S) -> &mut Self {
        self.as_std_mut().raw_arg(text);
        self
    }
}
