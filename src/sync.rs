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
//! | [`Semaphore`] | so many at a time |
//! | [`OnceCell`], [`SetOnce`] | a value that is made, or set, once |
//! | [`Barrier`] | the moment when all have come |
//!
//! [`guide::sync`](crate::guide::sync) says which one to take for what, with examples.
//!
//! They work in every runtime, between runtimes and outside of one, and need no memory to wait: a future's
//! place in the line lies in the future. In a task of liten each operation that is ready counts against the
//! [budget](crate::task::coop), so a loop over a channel that is never empty lets other tasks run. Lines are
//! first come, first served.
//!
//! They are written here and not re-exported, because foreign ones know neither the budget nor, when the
//! runtime is observed or simulated, which task holds what. tokio's own work on liten too.

mod barrier;
pub mod broadcast;
mod guarded;
pub mod mpsc;
mod mutex;
mod notify;
mod once_cell;
pub mod oneshot;
mod permits;
mod rwlock;
mod semaphore;
mod set_once;
pub mod watch;

pub use self::barrier::{Barrier, BarrierWaitResult};
pub use self::mutex::{
    MappedMutexGuard, Mutex, MutexGuard, OwnedMappedMutexGuard, OwnedMutexGuard, TryLockError,
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

/// The futures of this module that can be named.
pub mod futures {
    pub use super::notify::{Notified, OwnedNotified};
}
