//! The whole runtime under random schedules: what loom cannot hold.
//!
//! Each scenario builds a runtime with up to three workers, drives it from a few threads, ends it, and checks
//! what is left: each task has completed or was cancelled, once; each future and each output was dropped
//! once; nothing is left in a queue, and the counts agree. shuttle reports a schedule in which no thread can
//! go on (a lost wake, an end that does not come). All of it is production code but for what sync_shim.rs and
//! driver/selector.rs put in the place of the system: threads, locks, atomics, the poller (without sources),
//! and the clock, which moves when a thread has waited.
//!
//! Not seen here: weak memory orders (loom's part), sockets, panics, task locals.
//!
//! ```text
//! RUSTFLAGS="--cfg liten_shuttle" CARGO_TARGET_DIR=target/shuttle \
//!     cargo test -p liten --profile models --lib shuttle
//! ```
//!
//! `LITEN_SHUTTLE_SCHEDULES` sets the number of schedules per scenario; each run explores other ones. A
//! failure prints its schedule, a long hexadecimal number between two lines with a quotation mark. To see it
//! again, put the number, or the name of a file that holds it, into `LITEN_SHUTTLE_REPLAY`, and run that one
//! test by its name. `SHUTTLE_CAPTURE_BACKTRACE=1` shows where each thread of a deadlock stands.

mod canaries;
mod endings;
mod explorer;
mod ledger;
mod primitives;
mod scenarios;
mod tested_runtime;
