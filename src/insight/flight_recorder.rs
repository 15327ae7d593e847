//! A recording that is always there, and whose last seconds are kept when something goes wrong.
//!
//! # What each thread does
//!
//! | thread | does |
//! |---|---|
//! | the one on which a task panics | records it, and leaves a request in the mailbox |
//! | the watchdog, when a poll is slow | leaves a request in the mailbox |
//! | a signal handler | what `liten::signal` does: one write to a socket |
//! | the recorder's own | waits for these, copies the rings, writes files, calls the program's function |
//!
//! So what is wrong with the runtime cannot keep the recorder from its work: it needs no worker, no lock that
//! a worker holds for long, and no memory of the threads that leave requests. They wait for no more than the
//! mailbox's lock, under which nothing but a few words is moved.
//!
//! # What is bounded
//!
//! * Rings: see observe/recorder.rs.
//! * Requests: one of each kind waits, and one of each kind is taken in
//!   [`FlightRecorderBuilder::min_interval`]. The others are counted, so that a storm of panics, slow polls
//!   or signals costs each of them a lock.
//! * Files: so many, each so large (folder.rs).
//!
//! # What can come in between
//!
//! * The function that gets the snapshots panics: it is called under a guard. It spawns a task that panics:
//!   that is a request like any other, so there is one such round in an interval at most. It blocks: the
//!   requests of that time are counted, and wait at most one of a kind. It drops the recorder: a thread does
//!   not wait for itself.
//! * The runtime ends: the recorder keeps no handle, and the rings stay as they are, so a signal has what
//!   was last.
//! * The recorder is dropped while requests wait: they come first, as a program that ends because of a panic
//!   drops the recorder on its way out.
//! * A second recorder, or a recording, of the same runtime: they share the rings (observe/recorder.rs),
//!   and nothing else. Two recorders with one folder have names of their own.
//! * A fork: the child has the mailbox without the thread. A signal to it does not count in the parent (see
//!   `signal/unix/source.rs`), and it has no task of the runtime that could panic.

mod builder;
mod date;
mod folder;
mod mailbox;
mod observer;
#[cfg_attr(all(unix, feature = "signal"), path = "flight_recorder/signals.rs")]
#[cfg_attr(not(all(unix, feature = "signal")), path = "flight_recorder/no_signals.rs")]
mod signals;
mod snapshot;

pub use builder::FlightRecorderBuilder;
pub use snapshot::{Snapshot, SnapshotReason};

use self::mailbox::Mailbox;
use self::observer::Counts;
use super::own_thread::OwnThread;
use super::recording::Recording;
use super::trace::Trace;
use crate::engine::sync_shim::Arc;
use crate::impls::{impl_debug, impl_unwind_safe};
use crate::observe::incidents::{Incidents, Listener};

/// Records a runtime all the time, and keeps the last events when a task panics, a poll is slow, or a signal
/// comes: as a file, or for a function. From [`FlightRecorder::builder`]. How far back they go is up to
/// [`max_events`](FlightRecorderBuilder::max_events): mostly seconds, in a very busy program less than one.
///
/// This is what a program in production has on board: when something has gone wrong, a trace of what led to
/// it is in a folder, for <https://ui.perfetto.dev> or `chrome://tracing`. A mark at its end says why it was
/// kept. The work is done by a thread of the recorder's own, and neither by the task that has panicked nor by
/// the worker that is stuck. So it is done also while every worker is stuck.
///
/// # Cost
///
/// Two readings of the clock for each poll, and memory, as [`Handle::record`] says; other recordings of the
/// runtime share both. A snapshot takes some tens of megabytes more at most, while it is made. The
/// triggers themselves cost a task that does not panic nothing.
///
/// [`Handle::record`]: crate::runtime::Handle::record
///
/// How far back a snapshot goes depends on how much happens: a worker keeps the last 32,768 events, with more
/// than four workers fewer. That is three seconds of a worker with 10,000 events a second.
/// [`FlightRecorderBuilder::max_events`] sets another number.
///
/// # Panics of tasks
///
/// Of all tasks that threads of the runtime run, with blocking work and pinned tasks; not of the future in
/// `block_on`, whose panic goes to the caller. Where a panic does not unwind (`panic = "abort"`) it ends the
/// program, and nothing is kept.
///
/// # The end
///
/// Dropping it ends the recording, after what has been asked for before is kept: it waits for a file to be
/// written, and for the function. A program that ends by [`std::process::exit`] drops nothing.
///
/// # Examples
///
/// ```
/// use liten::insight::FlightRecorder;
/// use std::panic;
///
/// # liten::block_on(async {
/// # let dir = std::env::temp_dir().join(format!("liten-flight-{}", std::process::id()));
/// let recorder = FlightRecorder::builder()
///     .on_panic()
///     .on_slow_poll()
///     .to_dir(&dir)
///     .start(&liten::runtime::Handle::current())?;
/// # panic::set_hook(Box::new(|_| {}));
/// liten::spawn(async { panic!("lost an engine") }).await.unwrap_err();
/// // When the program ends. The folder has a file such as liten-20261125T013015.123Z-4242-0-panic.json.
/// drop(recorder);
/// assert_eq!(std::fs::read_dir(&dir)?.count(), 1);
/// # std::fs::remove_dir_all(&dir)?;
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
#[must_use = "it records only as long as this lives"]
pub struct FlightRecorder {
    recording: Arc<Recording>,
    mailbox: Arc<Mailbox>,
    incidents: Arc<Incidents>,
    counts: Arc<Counts>,
    thread: OwnThread,
}

impl FlightRecorder {
    /// Asks for a snapshot, which is kept as if something had gone wrong. Returns whether it will be:
    /// not if the last one that was asked for is younger than [`FlightRecorderBuilder::min_interval`].
    ///
    /// It does not wait.
    pub fn request(&self) -> bool {
        self.mailbox.offer(SnapshotReason::Request)
    }

    /// Returns what has been recorded until now, whatever was kept before.
    ///
    /// The time to read it is the caller's; the workers go on meanwhile.
    pub fn snapshot(&self) -> Trace {
        self.recording.snapshot()
    }

    /// Returns how many snapshots have been kept.
    pub fn kept(&self) -> u64 {
        self.counts.kept()
    }

    /// Returns how many snapshots were not made, because one of their kind was made shortly before. The next
    /// one that is made says how many those are.
    pub fn skipped(&self) -> u64 {
        self.mailbox.skipped()
    }

    /// Returns how many snapshots could not be kept: no file could be written, or the function has panicked.
    /// The first time a line on standard error says why.
    pub fn failed(&self) -> u64 {
        self.counts.failed()
    }
}

impl Drop for FlightRecorder {
    fn drop(&mut self) {
        let listener: Arc<dyn Listener> = self.mailbox.clone();
        self.incidents.remove(&listener);
        self.mailbox.close();
        // The function may be what drops this.
        self.thread.join();
    }
}

// A panic leaves it as it was: its locks do not poison, and under them no user code runs.
impl_unwind_safe!([] FlightRecorder);

impl_debug!([] FlightRecorder, this => "FlightRecorder" {
    kept: this.kept(),
    skipped: this.skipped(),
    failed: this.failed(),
    ..
});
