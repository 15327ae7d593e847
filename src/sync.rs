//! Channels and locks for tasks, under tokio's names and with tokio's semantics.
//!
//! | channel | from → to | what arrives |
//! |---|---|---|
//! | [`oneshot`] | one → one | one value |
//! | [`mpsc`] | many → one | every value |
//! | [`broadcast`] | many → many | every value, to each receiver |
//! | [`watch`] | many → many | the newest value |
//! | [`Notify`] | many → many | a signal without a value |
//!
//! | lock | what it guards |
//! |---|---|
//! | [`Mutex`], [`RwLock`] | a value that is used over an `await` |
//! | [`Semaphore`] | what a limited number of tasks may do at a time |
//! | [`OnceCell`], [`SetOnce`] | a value that is made, or set, once |
//! | [`Barrier`] | a point that no task passes before all have reached it |
//!
//! [`guide::sync`](crate::guide::sync) says which one to take for what, with examples.
//!
//! They work in every runtime, between runtimes and outside of one. Waiting allocates nothing: a future's
//! place in the list of waiting futures lies in the future itself. Waiting futures are served in the order in
//! which they came. In a task of liten, receiving and acquiring count against the
//! [budget](crate::task::coop), so a loop over a channel that is never empty lets other tasks run.
//!
//! They are written here and not re-exported from another crate, because the operations of another crate do
//! not count against the budget. tokio's own channels and locks work on liten, too.

#[macro_use]
mod parts;

pub(crate) mod await_place;
mod barrier;
pub mod broadcast;
mod guarded;
pub(crate) mod holders;
pub mod mpsc;
mod mutex;
mod notify;
mod once_cell;
pub mod oneshot;
mod permits;
mod rwlock;
mod semaphore;
mod set_once;
mod try_lock_error;
pub mod watch;

pub use self::barrier::{Barrier, BarrierWaitResult};
pub use self::mutex::{
    MappedMutexGuard, Mutex, MutexGuard, OwnedMappedMutexGuard, OwnedMutexGuard,
};
pub use self::notify::Notify;
pub use self::once_cell::{OnceCell, SetError};
pub use self::rwlock::{
    OwnedRwLockMappedWriteGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock,
    RwLockMappedWriteGuard, RwLockReadGuard, RwLockWriteGuard,
};
pub use self::semaphore::{
    AcquireError, OwnedSemaphorePermit, Semaphore, SemaphorePermit, TryAcquireError,
};
pub use self::set_once::{SetOnce, SetOnceError};
pub use self::try_lock_error::TryLockError;

/// The futures that methods of this module return, as types with a name.
pub mod futures {
    pub use super::notify::{Notified, OwnedNotified};
}
