//! Locks and channels for tasks, re-exported from crates that work on any runtime.
//!
//! They are not written anew, because nothing about them depends on the runtime:
//!
//! * from [`async-lock`](https://docs.rs/async-lock): [`Mutex`], [`RwLock`], [`Semaphore`], [`Barrier`],
//!   [`OnceCell`]: kept by the smol project, small, eventually fair (a waiter that has been overtaken for
//!   0.5 ms gets the lock next), guards may be held across an await;
//! * from [`async-channel`](https://docs.rs/async-channel): [`channel`]: many senders, many receivers,
//!   bounded or not;
//! * from [`oneshot`](https://docs.rs/oneshot): [`oneshot`]: one value, lock-free, one allocation.
//!
//! `tokio::sync` works on liten too: it needs no tokio runtime.
//!
//! These operations are not part of liten's cooperative budget; a loop around them that never waits can call
//! [`task::consume_budget`](crate::task::consume_budget).

pub use async_lock::{
    Barrier, BarrierWaitResult, Mutex, MutexGuard, MutexGuardArc, OnceCell, RwLock,
    RwLockReadGuard, RwLockReadGuardArc, RwLockUpgradableReadGuard, RwLockWriteGuard,
    RwLockWriteGuardArc, Semaphore, SemaphoreGuard, SemaphoreGuardArc,
};

/// Channels with many senders and many receivers.
///
/// # Examples
///
/// ```
/// # liten::block_on(async {
/// let (sender, receiver) = liten::sync::channel::bounded(1);
/// liten::spawn(async move { sender.send("hello").await });
/// assert_eq!(receiver.recv().await, Ok("hello"));
/// # });
/// ```
pub mod channel {
    pub use async_channel::{
        Receiver, Recv, RecvError, Send, SendError, Sender, TryRecvError, TrySendError,
        WeakReceiver, WeakSender, bounded, unbounded,
    };
}

/// Channels for one value.
///
/// # Examples
///
/// ```
/// # liten::block_on(async {
/// let (sender, receiver) = liten::sync::oneshot::channel();
/// liten::spawn(async move { sender.send(42) });
/// assert_eq!(receiver.await, Ok(42));
/// # });
/// ```
pub mod oneshot {
    pub use ::oneshot::{
        AsyncReceiver, Receiver, RecvError, SendError, Sender, async_channel as channel,
    };
}
