//! The environment variable that turns the page on in a program that says nothing of it.
//!
//! It is read when the first runtime is built, and the page then shows that runtime and all that come after
//! it. Its value says where to listen, on this machine only: what may be seen from elsewhere is for the
//! program to say, and not for its environment. A value that is of no use is told on standard error, and the
//! program goes on without a page. A program that a file's owner or group gives more rights than its user has
//! does not read the variable, because that user would see what it does.

use super::server::{Builder, Server, say};
use crate::runtime::Handle;
#[cfg(unix)]
use nix::unistd::{getegid, geteuid, getgid, getuid};
use std::env;
use std::ffi::OsStr;
use std::io;
use std::sync::OnceLock;

const VARIABLE: &str = "LITEN_INSIGHT";

/// `None`: the environment asks for no page, or it cannot be had. It stays until the process ends. std's, as
/// no model has one that lives in a static, and there is nothing to explore here.
static PAGE: OnceLock<Option<Server>> = OnceLock::new();

/// Shows the runtime, which has just been built, if the environment asks for it.
pub(crate) fn show(handle: &Handle) {
    if let Some(page) = PAGE.get_or_init(open) {
        page.observe(handle);
    }
}

fn open() -> Option<Server> {
    let value = env::var_os(VARIABLE)?;
    if has_raised_privileges() {
        say(format_args!("no insight: {VARIABLE} is not read in a program with raised privileges"));
        return None;
    }
    let page = serve(&value);
    page.map_err(|error| say(format_args!("no insight: {VARIABLE} is {value:?}: {error}"))).ok()
}

fn serve(value: &OsStr) -> io::Result<Server> {
    let address = value.to_str().ok_or(io::ErrorKind::InvalidInput)?;
    Builder::new().open(address.trim())
}

/// Whether the program may do what the user that has started it may not.
#[cfg(unix)]
fn has_raised_privileges() -> bool {
    getuid() != geteuid() || getgid() != getegid()
}

/// Only Unix has files that give their rights to a program.
#[cfg(not(unix))]
fn has_raised_privileges() -> bool {
    false
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_program_that_a_user_starts_has_that_users_rights() {
        assert!(!super::has_raised_privileges());
    }
}
