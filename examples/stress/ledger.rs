//! The books: what was begun, how it ended, and what must be equal.

use liten::task::JoinError;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// Counts of the whole run.
#[derive(Default)]
pub(crate) struct Ledger {
    pub(crate) lives: Count,
    pub(crate) spawned: Count,
    pub(crate) finished: Count,
    pub(crate) cancelled: Count,
    pub(crate) panicked: Count,
    /// JoinHandles whose answer was looked at, and those whose answer was not what became of the task.
    pub(crate) joined: Count,
    pub(crate) contradicted: Count,
    pub(crate) jobs: Count,
    pub(crate) jobs_done: Count,
    pub(crate) resizes: Count,
    pub(crate) spares: Count,
    pub(crate) left_behind: Count,
    pub(crate) connections: Count,
    pub(crate) cut: Count,
    /// Bytes of connections that were not cut: written by the client, and read back by it.
    pub(crate) sent: Count,
    pub(crate) echoed: Count,
    /// Bytes that came back wrong, or without having been sent.
    pub(crate) garbled: Count,
}

#[derive(Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::SeqCst);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

impl Ledger {
    /// What does not balance.
    pub(crate) fn breaches(&self) -> Vec<String> {
        let ended = self.finished.get() + self.cancelled.get() + self.panicked.get();
        let pairs = [
            ("tasks spawned and ended", self.spawned.get(), ended),
            ("blocking jobs begun and ended", self.jobs.get(), self.jobs_done.get()),
            ("bytes sent and echoed", self.sent.get(), self.echoed.get()),
            ("answers of handles that are wrong", 0, self.contradicted.get()),
            ("bytes that are wrong", 0, self.garbled.get()),
        ];
        let unequal = pairs.into_iter().filter(|(_, left, right)| left != right);
        unequal.map(|(what, left, right)| format!("{what}: {left} and {right}")).collect()
    }
}

impl fmt::Display for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} runtimes, {} resizes, ", self.lives.get(), self.resizes.get())?;
        write!(
            f,
            "{} spares seen, {} tasks left behind; ",
            self.spares.get(),
            self.left_behind.get()
        )?;
        write!(f, "{} tasks = {} finished ", self.spawned.get(), self.finished.get())?;
        write!(f, "+ {} cancelled + {} panicked, ", self.cancelled.get(), self.panicked.get())?;
        write!(f, "{} joined; {} blocking jobs; ", self.joined.get(), self.jobs.get())?;
        write!(f, "{} connections, {} cut, ", self.connections.get(), self.cut.get())?;
        write!(f, "{} bytes sent = {} echoed", self.sent.get(), self.echoed.get())
    }
}

/// What has become of a task.
const RUNNING: u8 = 0;
const FINISHED: u8 = 1;
const CANCELLED: u8 = 2;
const PANICKED: u8 = 3;

/// The outcome of one task, shared by the task and the holder of its handle.
#[derive(Clone, Default)]
pub(crate) struct Outcome(Arc<AtomicU8>);

impl Outcome {
    /// Compares what the handle says with what happened.
    pub(crate) fn compare(&self, ledger: &Ledger, answer: Result<(), JoinError>) {
        let said = match answer {
            Ok(()) => FINISHED,
            Err(error) if error.is_cancelled() => CANCELLED,
            Err(_) => PANICKED,
        };
        ledger.joined.add(1);
        if self.0.load(Ordering::SeqCst) != said {
            ledger.contradicted.add(1);
        }
    }
}

/// Lives in the task's future, and notes at its end what became of it: once, because it is dropped once.
pub(crate) struct Witness {
    ledger: Arc<Ledger>,
    outcome: Outcome,
    state: u8,
    /// The destructor panics, too.
    bomb: bool,
}

impl Witness {
    pub(crate) fn new(ledger: &Arc<Ledger>, outcome: &Outcome, bomb: bool) -> Self {
        ledger.spawned.add(1);
        Self { ledger: ledger.clone(), outcome: outcome.clone(), state: RUNNING, bomb }
    }

    pub(crate) fn finish(mut self) {
        self.state = FINISHED;
        self.bomb = false;
    }

    /// Panics, as part of the plan.
    pub(crate) fn panic(mut self) -> ! {
        self.state = PANICKED;
        self.bomb = false;
        std::panic::panic_any(super::tasks::Expected)
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        let (state, count) = match self.state {
            FINISHED => (FINISHED, &self.ledger.finished),
            PANICKED => (PANICKED, &self.ledger.panicked),
            // A timer that is polled after its runtime's end panics; no plan contains that.
            _ if self.bomb || std::thread::panicking() => (PANICKED, &self.ledger.panicked),
            _ => (CANCELLED, &self.ledger.cancelled),
        };
        let before = self.outcome.0.swap(state, Ordering::SeqCst);
        assert_eq!(before, RUNNING, "a task ends once");
        count.add(1);
        if self.bomb && !std::thread::panicking() {
            std::panic::panic_any(super::tasks::Expected);
        }
    }
}
