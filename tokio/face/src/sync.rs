//! Channels and locks: liten's, which count against a task's budget and know its runtime.
//!
//! With `--cfg tokio_unstable` and the feature `tracing`, those are tokio's own that tell the crate `tracing`
//! what is done with them. liten's have no place for a span, and no operation of theirs should be longer by
//! the question whether there is one.

cfg_not_trace! {
    pub use liten::sync::*;

    #[doc(no_inline)]
    pub use liten::sync::{broadcast, futures, mpsc, oneshot, watch};
}

cfg_trace! {
    #[doc(no_inline)]
    pub use liten::sync::{broadcast, futures, mpsc, watch};
    pub use liten::sync::{Notify, OnceCell, SetError, SetOnce, SetOnceError};

    mod barrier;
    pub(crate) mod batch_semaphore;
    mod mutex;
    pub mod oneshot;
    mod rwlock;
    mod semaphore;

    pub use self::barrier::{Barrier, BarrierWaitResult};
    pub use self::batch_semaphore::{AcquireError, TryAcquireError};
    pub use self::mutex::{
        MappedMutexGuard, Mutex, MutexGuard, OwnedMappedMutexGuard, OwnedMutexGuard, TryLockError,
    };
    pub use self::rwlock::{
        owned_read_guard::OwnedRwLockReadGuard, owned_write_guard::OwnedRwLockWriteGuard,
        owned_write_guard_mapped::OwnedRwLockMappedWriteGuard, read_guard::RwLockReadGuard,
        write_guard::RwLockWriteGuard, write_guard_mapped::RwLockMappedWriteGuard, RwLock,
    };
    pub use self::semaphore::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
}
