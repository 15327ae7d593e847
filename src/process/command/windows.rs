//! What only Windows knows of a new process.

use super::Command;
use crate::impls::setters;
use std::ffi::OsStr;
use std::os::windows::process::CommandExt;

impl Command {
    setters! {
        |this|
        /// Sets the flags that are passed to `CreateProcess`. Windows only.
        creation_flags(flags: u32) => this.as_std_mut().creation_flags(flags);

        /// Adds literal text to the command line, without quoting. Windows only.
        raw_arg[S: AsRef<OsStr>](text: S) => this.as_std_mut().raw_arg(text);
    }
}
