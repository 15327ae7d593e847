//! The core of a task: its memory, its state, its waker, its handle, and what a thread knows of the task that
//! it polls.
//!
//! A task is one allocation (`cell`) whose word (`state`) says what it is doing:
//!
//! ```text
//!            spawn                     picked by a worker
//! ───────────────► hot: queued ───────────────────────► hot: running ──Ready──► complete
//!                        ▲  ▲                                │   │
//!                        │  └──── woken during the poll ─────┘   │ Pending
//!                        └──────────────── wake ────────── cold ◄┘
//! ```
//!
//! *Hot* means: in exactly one queue, or running. *Cold* means: in none; only its wakers and the cold
//! registry know it.
//!
//! Read `state` first, whose table says what may become of a task. `cell` is the allocation that has the
//! state, the future and later its output. `waker` and `join` are the two other kinds of references to it.
//! `registry` lists the tasks of one owner, `running` says which of them a worker polls, `slot` is the next
//! slot. `current` and `budget` belong to the thread.
//!
//! The single door upwards is [`cell::Schedule`]: a task calls it, and the scheduler implements it.

pub(crate) mod budget;
pub(crate) mod cell;
pub(crate) mod current;
mod id;
mod join;
pub(crate) mod registry;
pub(crate) mod running;
pub(crate) mod slot;
mod state;
pub(crate) mod waker;

pub use id::TaskId;
pub use join::{AbortHandle, JoinError, JoinHandle};
pub use running::RunningTask;

#[cfg(all(test, liten_loom))]
pub(crate) mod loom;
