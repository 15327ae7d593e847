//! Which queue a task goes to, and which worker is told of it: by the reason of the push, and by the
//! thread that queues it. Pure: [`place`] decides, and `Shared::enqueue` does it.
//!
//! | reason | a worker | the driver thread | another thread |
//! |---|---|---|---|
//! | `Spawned` | ready, a peer | injector, outside | injector, outside |
//! | `Woken` | next slot, a peer | chain | channel, home |
//! | `FirstOfBatch` | next slot | chain | channel, home |
//! | `InBatch` | ready | chain | channel, home |
//! | `Requeued` | ready, again | – | – |
//! | `Yielded` | yielded, again | – | – |
//! | `YieldedToOthers` | shared, regular | – | – |
//! | `Deferred`, `Received`, `Rescued` | ready | – | – |
//! | `Abandoned` | injector | injector | injector |
//! | `AbandonedYielded` | shared | shared | shared |
//!
//! Before the comma stands the queue. The *next slot*, and the deques of tasks that are *ready* or have
//! *yielded*, are the thread's own. A *channel* and a *chain* lead to the task's *home*, the worker that ran
//! it last. *Shared* is the queue of tasks that have yielded and that all workers share. A task without a
//! home goes to the injector, and a worker is told at once. A dash: such a thread runs no task and empties no
//! queue. If it did, the task would go to the queue that all workers share, and one of them would be told.
//!
//! Behind the comma stands the [`Notice`]. Where there is none, no worker has to know, or the caller tells
//! one when it has queued all that it has.
//!
//! [`Pusher`] and [`Queue`] contain the queues that the thread owns. So the code that pushes needs no case
//! for a queue that the thread does not have.

/// Why a task is queued.
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
    YieldedToOthers,
    /// It was in the next slot, and others come first.
    Deferred,
    /// It comes from a channel, to the worker that empties that.
    Received,
    /// It was queued at a worker that is stuck, and comes to one that moves.
    Rescued,
    /// Its queue is given up.
    Abandoned,
    /// Its queue is given up, and it has yielded.
    AbandonedYielded,
}

/// The thread that queues a task. `O` and `C` lead to the queues that it has of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pusher<O, C> {
    Worker(O),
    /// The driver thread while it calls wakers.
    Dispatcher(C),
    Other,
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
    reason: Reason,
    by: Pusher<O, C>,
    home: impl FnOnce() -> Option<usize>,
) -> (Queue<O, C>, Notice<O>) {
    use Pusher::{Dispatcher, Worker};
    match (reason, by) {
        (Reason::Spawned, Worker(own)) => (Queue::Ready(own), Notice::Peer(own)),
        (Reason::Woken, Worker(own)) => (Queue::Next(own), Notice::Peer(own)),
        (Reason::FirstOfBatch, Worker(own)) => (Queue::Next(own), Notice::Nothing),
        (Reason::Woken | Reason::FirstOfBatch | Reason::InBatch, Dispatcher(chains)) => {
            match home() {
                Some(home) => (Queue::Chain(chains, home), Notice::Nothing),
                None => (Queue::Injector, Notice::Outside),
            }
        }
        (Reason::Woken | Reason::FirstOfBatch | Reason::InBatch, Pusher::Other) => match home() {
            Some(home) => (Queue::Channel(home), Notice::Home(home)),
            None => (Queue::Injector, Notice::Outside),
        },
        (Reason::Requeued, Worker(own)) => (Queue::Ready(own), Notice::Again(own)),
        (Reason::Yielded, Worker(own)) => (Queue::Yielded(own), Notice::Again(own)),
        (Reason::Yielded | Reason::YieldedToOthers, _) => (Queue::SharedYielded, Notice::Regular),
        (Reason::Abandoned, _) => (Queue::Injector, Notice::Nothing),
        (Reason::AbandonedYielded, _) => (Queue::SharedYielded, Notice::Nothing),
        (_, Worker(own)) => (Queue::Ready(own), Notice::Nothing),
        (_, Dispatcher(_) | Pusher::Other) => (Queue::Injector, Notice::Outside),
    }
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;
