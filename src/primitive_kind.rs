//! What tasks wait for each other by: the kinds of locks and channels, with their names.

use std::fmt;

/// From a row for each kind, which has all its names.
macro_rules! primitive_kinds {
    ($($(#[$doc:meta])* $kind:ident, $word:literal, $text:literal;)*) => {
        /// A kind of lock or channel, or something else by which tasks wait for each other.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        // `insight` exports it, and is not always built.
        #[allow(unreachable_pub)]
        pub enum PrimitiveKind {
            $($(#[$doc])* $kind,)*
        }

        impl PrimitiveKind {
            /// In the order of their numbers.
            pub(crate) const ALL: [Self; [$($word),*].len()] = [$(Self::$kind),*];

            /// One word, for programs.
            pub(crate) fn word(self) -> &'static str {
                match self {
                    $(Self::$kind => $word,)*
                }
            }
        }

        impl fmt::Display for PrimitiveKind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(Self::$kind => $text,)*
                })
            }
        }
    };
}

primitive_kinds! {
    /// A [`Mutex`](crate::sync::Mutex).
    Mutex, "mutex", "a Mutex";
    /// A [`RwLock`](crate::sync::RwLock), to be read.
    RwLock, "rwlock", "a RwLock";
    /// A [`RwLock`](crate::sync::RwLock), to be changed.
    RwLockWrite, "rwlock_write", "a RwLock to write";
    /// A [`Semaphore`](crate::sync::Semaphore), or a [`OnceCell`](crate::sync::OnceCell), which has one.
    Semaphore, "semaphore", "a Semaphore";
    /// A [`Notify`](crate::sync::Notify), or something that has one, such as a
    /// [`SetOnce`](crate::sync::SetOnce).
    Notify, "notify", "a Notify";
    /// The channel of a [`watch::Receiver`](crate::sync::watch::Receiver).
    Watch, "watch", "a watch channel";
    /// A [`Barrier`](crate::sync::Barrier).
    Barrier, "barrier", "a Barrier";
    /// A channel of [`mpsc`](crate::sync::mpsc), for a message.
    Receiver, "mpsc_receive", "a message of an mpsc channel";
    /// A bounded channel of [`mpsc`](crate::sync::mpsc), for room.
    Sender, "mpsc_send", "room in an mpsc channel";
    /// A channel of [`broadcast`](crate::sync::broadcast), for a message.
    Broadcast, "broadcast", "a message of a broadcast channel";
    /// A channel of [`oneshot`](crate::sync::oneshot), for its value.
    Oneshot, "oneshot", "the value of a oneshot channel";
    /// A [`TaskTracker`](crate::task::TaskTracker), for the end of its tasks.
    TaskTracker, "task_tracker", "the tasks of a TaskTracker";
    /// A [`CancellationToken`](crate::task::CancellationToken), to be cancelled. What runs until then is
    /// named in its place if that waits for something that can be named here.
    CancellationToken, "cancellation_token", "a CancellationToken";
    /// A signal of the operating system, by a listener of the module `signal::unix`.
    Signal, "signal", "a signal";
}
