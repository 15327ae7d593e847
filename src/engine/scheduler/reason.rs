//! Which queue a task goes to, and which worker is told of it: by the thread that queues it, and by the reason.
//! Pure: [`place`] decides, and `Shared::enqueue` does it.
//!
//! | thread | reason | queue | notice |
//! |---|---|---|---|
//! | a worker | `Spawned` | ready | a peer |
//! | | `Woken` | next slot | a peer |
//! | | `FirstOfBatch` | next slot | |
//! | | `InBatch` | ready | |
//! | | `Requeued` | ready | again |
//! | | `Yielded` | yielded | again |
//! | | `LeftToOthers` | shared | regular |
//! | | `Moved` | ready | |
//! | the driver thread | a waker | chain | |
//! | another one | `Spawned` | injector | outside |
//! | | `Woken` | channel | home |
//! | | `Abandoned` | injector | |
//! | | `AbandonedYielded` | shared | |
//!
//! The *next slot*, and the deques of tasks that are *ready* or have *yielded*, are the thread's own. A
//! *channel* and a *chain* lead to the task's *home*, the worker that ran it last. *Shared* is the queue of
//! tasks that have yielded and that all workers share. A task without a home goes to the injector, and a
//! worker is told at once.
//!
//! Where there is no [`Notice`], no worker has to know, or the caller tells one when it has queued all that it
//! has.
//!
//! [`Pusher`] and [`Queue`] contain the queues that the thread owns. So the code that pushes needs no case
//! for a queue that the thread does not have.

/// The thread that queues a task, and why. `O` and `C` lead to the queues that it has of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pusher<O, C> {
    Worker(O, Reason),
    /// The driver thread while it calls wakers: one has made the task hot.
    Dispatcher(C),
    Other(OutsideReason),
}

/// Why a worker queues a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// It has just been made.
    Spawned,
    /// A waker has made it hot.
    Woken,
    /// One of a batch of wakers has made it hot: of several that are called together (worker/wakes.rs). It is
    /// the first task, and may be the only one.
    FirstOfBatch,
    /// The same, and it is not the first one, or there will be several: as with the events of one round of
    /// the driver.
    InBatch,
    /// It was woken in its poll, by another one.
    Requeued,
    /// It has yielded.
    Yielded,
    /// It has yielded on a helper, which leaves such tasks to the other workers.
    LeftToOthers,
    /// It was queued already: in the next slot, and others come first; in a channel, which this worker
    /// empties; or at a worker that is stuck.
    Moved,
}

/// Why a thread queues a task that it does not run itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutsideReason {
    /// It has just been made.
    Spawned,
    /// A waker has made it hot.
    Woken,
    /// Its queue is given up.
    Abandoned,
    /// Its queue is given up, and it has yielded.
    AbandonedYielded,
}

/// Where a task goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Queue<O, C> {
    Next(O),
    Ready(O),
    Yielded(O),
    /// What the driver thread sends to this worker at the end of its round.
    Chain(C, usize),
    /// The wake channel of this worker.
    Channel(usize),
    Injector,
    /// The queue of tasks that have yielded and that all workers share.
    SharedYielded,
}

/// Which worker is told that a task is queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a task of which no worker knows may never be run"]
pub(super) enum Notice<O> {
    /// A parked peer, if more than one task is runnable here.
    Peer(O),
    /// The same if the poll has queued other tasks: a task that goes back to its queue changes nothing.
    Again(O),
    /// A parked worker, unless one is searching: this thread will not run the task. If none is parked, those
    /// that are awake find the task at their next look outside.
    Outside,
    /// The same, but among the workers that run what has yielded.
    Regular,
    /// The worker whose channel it is, or a parked one if that worker is awake. Told only of the first task
    /// in an empty channel.
    Home(usize),
    /// No worker: the caller tells one when it has queued all, or this one runs the task next.
    Nothing,
}

/// The table at the head of this file. `home`: the worker that ran the task last.
#[inline(always)]
pub(super) fn place<O: Copy, C>(
    by: Pusher<O, C>,
    home: impl FnOnce() -> Option<usize>,
) -> (Queue<O, C>, Notice<O>) {
    match by {
        Pusher::Worker(own, reason) => match reason {
            Reason::Spawned => (Queue::Ready(own), Notice::Peer(own)),
            Reason::Woken => (Queue::Next(own), Notice::Peer(own)),
            Reason::FirstOfBatch => (Queue::Next(own), Notice::Nothing),
            Reason::InBatch | Reason::Moved => (Queue::Ready(own), Notice::Nothing),
            Reason::Requeued => (Queue::Ready(own), Notice::Again(own)),
            Reason::Yielded => (Queue::Yielded(own), Notice::Again(own)),
            Reason::LeftToOthers => (Queue::SharedYielded, Notice::Regular),
        },
        Pusher::Dispatcher(chains) => match home() {
            Some(home) => (Queue::Chain(chains, home), Notice::Nothing),
            None => (Queue::Injector, Notice::Outside),
        },
        Pusher::Other(reason) => match reason {
            OutsideReason::Spawned => (Queue::Injector, Notice::Outside),
            OutsideReason::Woken => match home() {
                Some(home) => (Queue::Channel(home), Notice::Home(home)),
                None => (Queue::Injector, Notice::Outside),
            },
            OutsideReason::Abandoned => (Queue::Injector, Notice::Nothing),
            OutsideReason::AbandonedYielded => (Queue::SharedYielded, Notice::Nothing),
        },
    }
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;
