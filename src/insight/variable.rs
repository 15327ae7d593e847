//! The environment variable that turns the page on in a program that says nothing of it.
//!
//! It is read when the first runtime is built, and the page then shows that runtime and all that come after
//! it. Its value says where to listen, on this machine only: what may be seen from elsewhere is for the
//! program to say, and not for its environment. An empty one is as none, because that is how a variable of an
//! outer program is switched off. A value that is of no use is told on standard error, and the program goes
//! on without a page. A program that a file's owner or group gives more rights than its user has does not
//! read the variable, because that user would see what it does.

mod listen_address;
mod privileges;

use self::listen_address::{ALLOWED, listen_addresses};
use self::privileges::has_raised_privileges;
use super::await_tree::words_of_root;
use super::server::{Builder, Server, say};
use crate::observe::simulation::{SimulatedRoot, Simulation};
use crate::runtime::watched::roots_of;
use crate::runtime::weak_handle::WeakHandle;
use crate::runtime::{Handle, invalid};
use crate::short::cut;
use std::env;
use std::ffi::OsStr;
use std::io;
use std::sync::OnceLock;
use std::time::Duration;

const VARIABLE: &str = "LITEN_INSIGHT";

/// How long a dump for a simulation waits for its await trees, in the time of the simulation.
const LONGEST_LOOK: Duration = Duration::from_secs(1);

/// How much of a value is told that is of no use.
const MOST_CHARACTERS: usize = 100;

/// `None`: the environment asks for no page, or it cannot be had. It stays until the process ends. std's, as
/// no model has one that lives in a static, and there is nothing to explore here.
static PAGE: OnceLock<Option<Server>> = OnceLock::new();

/// Shows the runtime, which has just been built, if the environment asks for it. A simulation may ask for its
/// dump at any time.
pub(crate) fn show(handle: &Handle) {
    if let Some(page) = PAGE.get_or_init(open) {
        page.observe(handle);
    }
    let simulation = handle.observer().map_or_else(Simulation::of_process, |it| it.simulation());
    simulation.offer(WeakHandle::new(handle), |runtime| {
        if let Some(handle) = runtime.upgrade() {
            eprintln!("{}", handle.dump_with_trees(LONGEST_LOOK));
            let roots = roots_of(handle.id()).into_iter();
            for (root, may_go_on) in roots.filter_map(|it| SimulatedRoot::look(&it.simulated)) {
                eprintln!("{}", words_of_root(&root, may_go_on, LONGEST_LOOK));
            }
        }
    });
}

fn open() -> Option<Server> {
    let value = env::var_os(VARIABLE).filter(|value| !is_empty(value))?;
    if has_raised_privileges() {
        say(format_args!("no insight: {VARIABLE} is not read in a program with raised privileges"));
        return None;
    }
    let page = serve(&value);
    page.map_err(|error| {
        let value = format!("{value:?}");
        say(format_args!("no insight: {VARIABLE} is {}: {error}", cut(&value, MOST_CHARACTERS)));
    })
    .ok()
}

fn is_empty(value: &OsStr) -> bool {
    value.to_str().is_some_and(|value| value.trim().is_empty())
}

fn serve(value: &OsStr) -> io::Result<Server> {
    let addresses = value.to_str().and_then(|value| listen_addresses(value.trim()));
    let addresses = addresses.ok_or_else(|| invalid(ALLOWED))?;
    Builder::new().open(&addresses[..])
}
