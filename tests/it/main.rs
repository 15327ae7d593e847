//! The runtime as its users see it: one file per promise; one binary, because each costs a link.
//! `tests/README.md` says which test shows what.

mod support;

mod blocking;
mod fs;
mod insight;
mod io;
mod local;
mod macros;
mod net;
mod other_crates;
mod process;
mod runtime;
mod scheduler;
mod signals;
mod stress;
mod sync;
mod tasks;
mod time;

mod readme_table;
