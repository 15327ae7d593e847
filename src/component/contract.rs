//! What a reactor asks of the system beneath it, and nothing more.
//!
//! Four functions over one type. They follow WASI 0.2's `wasi:io/poll`, because that is the narrowest of
//! the systems this has to run on: what can be said there can be said by a condition variable as well, and
//! by a script in a test. A file descriptor is not among them. An operation hands out an object that says
//! when it is worth going on, and the interest is in that object: nothing is registered with the system,
//! nothing has to be taken back, and no event can arrive for a source that is gone.

use std::task::Waker;
use std::time::Duration;

/// A system that can say which of several operations can go on.
///
/// [`SystemHost`](crate::wasi::SystemHost) is the one to use; a test may bring its own. Everything a reactor
/// does goes through these four functions, and it never holds a borrow of its own while it calls one of them.
pub trait Host {
    /// One operation's readiness: ready or not, and nothing else. Once ready it stays so until the operation
    /// is made.
    ///
    /// What is ready is the operation it came from: the future that waited asks *that* for its result.
    type Pollable;

    /// Whether `pollable` is ready. Never blocks.
    fn ready(&self, pollable: &Self::Pollable) -> bool;

    /// Blocks until at least one of `pollables` is ready, and returns the positions of all that are.
    ///
    /// Is never called with an empty list, for which WASI traps; one pollable may be in the list several
    /// times. A host that has an [interrupter](Host::interrupter) may return an empty list when that is
    /// called, another one must not. Positions that do not exist, or come twice, are ignored.
    fn poll(&self, pollables: &[&Self::Pollable]) -> Vec<u32>;

    /// Returns a pollable that is ready once `duration` has passed, never earlier.
    ///
    /// `Duration::MAX` is a valid argument: never.
    fn clock(&self, duration: Duration) -> Self::Pollable;

    /// Returns what another thread calls to end a [`poll`](Host::poll) that is under way, or `None` where
    /// there are no other threads.
    ///
    /// A call that finds no `poll` under way makes the next one return at once. A host that has threads and
    /// returns `None` makes wakes from those threads come late, or never.
    fn interrupter(&self) -> Option<Waker>;
}
