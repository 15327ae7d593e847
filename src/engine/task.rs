//! The core of a task: its memory, its state, its waker, its handle, and what a thread knows of the task that
//! it polls.
//!
//! A task is one allocation (`cell`) whose word (`state`) says what it is doing; the page `guide/inside.rs`
//! follows one through its life:
//!
//! ```text
//!            spawn                     picked by a worker
//!   ───────────────► hot: queued ───────────────────────► hot: running ──Ready──► complete
//!                        ▲  ▲                                │   │
//!                        │  └──── woken during the poll ─────┘   │ Pending
//!                        └──────────────── wake ────────── cold ◄┘
//! ```
//!
//! *Hot* means: in exactly one queue, or running. *Cold* means: in none; only its wakers and the cold
//! registry know it.
//!
//! Read `state` first, whose table says what may become of a task. `cell` is the allocation that has the
//! state, the future and later its output, and polls it; `header` is its first part, which is the same for
//! all types of futures. Besides the one in a queue (`header::Hot`), the references to it are `waker`
//! and `join`. `registry` lists the tasks of one owner. `current` says which task a thread polls, and
//! `budget` for how long. `origin` is the identity of a task, `home` says where it ran last, and
//! `class` how urgent it is. `waiting` notes what a cold task waits for, `followed` tells an observer
//! since when a task is ready, and `traced` hands a poll to one that wants to know where the task waits.
//!
//! A task calls upwards through three traits: [`header::Schedule`], and of the thread that polls or ends it
//! [`header::Runner`] and [`header::Completer`]. The scheduler, local executors and blocking tasks implement
//! them. If the program wants to be told of each task, a fourth one calls its functions:
//! [`header::TaskHooks`]. If a task has panicked, `join_error` also calls a function that `runtime` has
//! given.

pub(crate) mod budget;
pub(crate) mod cell;
pub(crate) mod class;
pub(crate) mod current;
pub(crate) mod followed;
pub(crate) mod header;
pub(crate) mod home;
mod join;
pub(crate) mod join_error;
pub(crate) mod origin;
pub(crate) mod registry;
mod state;
pub(crate) mod traced;
pub(crate) mod waiting;
pub(crate) mod waker;

pub use current::RunningTask;
pub use join::{AbortHandle, JoinHandle};
pub use join_error::JoinError;
pub use origin::TaskId;
pub(crate) use state::{Mark, Polled, stands_for};

#[cfg(all(test, liten_loom))]
pub(crate) mod loom;
