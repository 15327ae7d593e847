//! Locks and channels beside plain models: random calls, and futures that are polled by hand.
//!
//! proptest makes up the calls and shortens those that fail. After each call the model says which futures are
//! ready, and which of the wakers must have been called: a wake that is lost fails, and one too many does.
//!
//! Other models: `Semaphore` in `locks.rs`, and in `src/sync` those of `Notify`, `watch`, `oneshot` and of
//! the halves of `mpsc`.

mod barrier;
mod broadcast;
mod crowd;
mod locks;
mod mpsc;
mod once_cell;
mod set_once;

use proptest::test_runner::Config;

/// A failure prints its calls, which become a test: no file of seeds is kept. `PROPTEST_CASES` in the
/// environment asks for more cases than `count`.
pub(crate) fn cases(count: u32) -> Config {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    Config { cases: asked.unwrap_or(count), failure_persistence: None, ..Config::default() }
}
