//! Tasks: spawning, joining, aborting, and what belongs to one task alone.
//!
//! A task is a future that the runtime polls on its own. [`spawn()`] starts one and returns its
//! [`JoinHandle`].
//!
//! # Fairness
//!
//! Tasks that have been spawned or woken run before tasks that asked for another poll themselves: by
//! [`yield_now()`], at the end of their budget ([`consume_budget`]), or by waking themselves in their poll.
//! Neither kind starves the other: the polls between two polls of a task that wants to run are bounded,
//! whatever is spawned or woken from outside meanwhile. At the time of writing they are at most
//! `8 × (k + 1024)`, if `k` tasks want to run on its worker. Only a change in the number of workers, or a
//! worker that is stuck, may send it to the end of a shared queue. That counts polls and not time: a task
//! that computes for long should [yield](yield_now()) now and then, and one that blocks belongs to
//! [`spawn_blocking`]. The runtime finds out which tasks compute for long, and lets the others go first. A
//! program that knows it beforehand says so by a [`Class`]. Sockets, timers, join handles, and the channels
//! and locks of [`sync`](crate::sync) end the poll of a task that finds them always ready, by the same
//! budget. Readers and writers that hold their bytes themselves do not (see [`io`](crate::io#yielding)): a
//! loop over these that never waits calls [`consume_budget`].

mod abort_on_drop;
#[cfg(not(target_family = "wasm"))]
mod block_in_place;
#[cfg(not(target_family = "wasm"))]
mod blocking;
#[cfg(not(target_family = "wasm"))]
mod builder;
mod cancellation;
pub mod coop;
mod join_error;
mod join_set;
mod local_key;
mod running_task;
mod spawn;
mod tracker;
mod yield_now;

#[cfg(not(target_family = "wasm"))]
#[allow(unused_imports, reason = "only processes use it")]
pub(crate) use crate::engine::scheduler::before_process;
pub use crate::engine::task::class::Class;
pub use crate::engine::task::{AbortHandle, JoinError, JoinHandle, RunningTask, TaskId};
pub use abort_on_drop::AbortOnDropHandle;
#[cfg(not(target_family = "wasm"))]
pub use block_in_place::block_in_place;
#[cfg(not(target_family = "wasm"))]
pub use blocking::spawn_blocking;
#[cfg(not(target_family = "wasm"))]
#[doc(hidden)]
pub use blocking::spawn_unfailing;
#[cfg(not(target_family = "wasm"))]
pub use builder::{Builder, spawn_bulk};
pub use cancellation::{
    CancellationToken, DropGuard, WaitForCancellationFuture, WaitForCancellationFutureOwned,
};
pub use coop::{Unconstrained, consume_budget, unconstrained};
pub use join_set::JoinSet;
pub use local_key::{AccessError, LocalKey, TaskLocalFuture, task_local};
pub use spawn::{id, spawn, spawn_local, spawn_pinned, try_id};
#[doc(hidden)]
pub use spawn::{local_executor, spawn_from, spawn_local_from};
pub use tracker::{TaskTracker, TaskTrackerToken, TaskTrackerWaitFuture, TrackedFuture};
pub use yield_now::yield_now;

#[cfg(not(target_family = "wasm"))]
pub use crate::runtime::block_on::may_block;
pub use crate::runtime::{LocalEnterGuard, LocalExecutor, LocalSet};
#[cfg(not(target_family = "wasm"))]
pub use crate::runtime::{Scope, ScopedJoinHandle, scope};
