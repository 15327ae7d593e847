//! The environment variable that turns the page on in a program that says nothing of it.
//!
//! It is read when the first runtime is built, and the page then shows that runtime and all that come after
//! it. Its value says where to listen, on this machine only: what may be seen from elsewhere is for the
//! program to say, and not for its environment. A value that is of no use is told on standard error, and the
//! program goes on without a page. A program that a file's owner or group gives more rights than its user has
//! does not read the variable, because that user would see what it does.

mod privileges;

use super::server::{Builder, Server, say};
use crate::runtime::Handle;
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
    if privileges::are_raised() {
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
