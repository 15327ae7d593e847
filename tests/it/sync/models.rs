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
