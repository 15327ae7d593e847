//! The scheduler: which worker runs which task, and which workers are awake.
//!
//! The page `guide/inside.rs` tells the same in the order in which one would tell it, with the reasons. This
//! file has the map of the folder, and the proofs that concern more than one file.
//!
//! # The way of a task
//!
//! ```text
//!  spawn on a worker ──► deque ──────────┐           ┌── Ready ────► output, JoinHandle
//!  spawn elsewhere ────► injector ───────┤           │
//!  wake on a worker ───► next slot ──────┼──► run ───┼── Yielded ──► yielded queue ──► run
//!  wake elsewhere ─────► wake channel ───┘    poll   │
//!        ▲                                           └── Pending ──► cold ──┐
//!        │                                                                  │
//!        └──────────────────────────── wake ────────────────────────────────┘
//! ```
//!
//! This is the usual path; `enqueue` has them all. A worker that brings tasks in from the injector or its
//! wake channel takes several at once, into its deque. The tasks that the driver thread wakes in one round
//! reach the wake channel of their worker as one chain. A task that was woken during its poll, or that makes
//! room in the next slot for a newer one, goes to the deque.
//!
//! To follow a wake, read `task/waker.rs`; `TaskRef::wake` in `task/header.rs`, which asks `task/state.rs`,
//! and then calls `header::schedule` through the table of functions; `Schedule for Shared` in `enqueue.rs`;
//! and on a worker `worker.rs`. If a worker is to be told, go on with `Shared::tell`, `idle.rs`,
//! `Shared::unpark`, `park.rs`, and for a worker in the seat `driver/poller.rs`. The sleeping side is
//! `worker/work.rs`.
//!
//! To follow a spawn, read `src/task/spawn.rs` and `src/runtime/context/native.rs`; `here.rs`, which says
//! what the calling thread is to its scheduler; `task/cell.rs`, which makes the task; and `Worker::spawned`
//! in `worker.rs`, or `Shared::spawned_outside` in `enqueue.rs`, which queue it.
//!
//! To follow a poll, read `Worker::work` in `worker/work.rs`; `worker/next_task.rs`, which takes a task; and
//! `task/cell.rs`, which polls it, and asks `task/state.rs` what follows.
//!
//! To follow the end, read `src/runtime/shutdown.rs`, and "The end" in `lifecycle.rs`.
//!
//! | file | what it is |
//! |---|---|
//! | `worker` | one worker: its loop, where it looks for a task, in which order, and how it parks |
//! | `policy` | what a worker decides by numbers: which queue is next, how much comes in, what tasks cost |
//! | `enqueue` | how tasks come into the queues, where each goes, and which worker is told |
//! | `here` | what the runtime asks of the calling thread; a worker whose task is about to block it |
//! | `shared` | what all workers share, such as queues; the threads that wait for the last task |
//! | `idle` | the word that says which workers are parked and which search |
//! | `slots` | what others see of one worker, and its counts: tasks, sleeps, how long it was busy |
//! | `probe` | what the threads report to an observer of the scheduler |
//! | `observed` | what code outside of the engine sees of it |
//! | `watchdog` | the driver thread: fetches events while no worker is idle, helps tasks behind long polls |
//! | `lengths` | which tasks have long polls, so that short ones do not wait for them |
//! | `brake` | tasks that compute wait, before the process has used up its quota of processor time |
//! | `slice` | how soon the system lets a thread run that has been woken |
//! | `awake_threads`, `quiescence` | how many threads are awake: a paused clock jumps when none is |
//! | `threads` | the list of threads, how many workers there should be, and how far the end has come |
//! | `lifecycle` | starting, resizing, spares, threads that rest, the end |
//!
//! # Which worker a push wakes
//!
//! Needless wakes, not atomics, decide how fast this is. So a push on a worker that leaves it with exactly
//! one runnable task wakes no other worker: the worker runs it next. A second runnable task (it may be the
//! one that runs, when it yields) wakes one parked worker, unless a worker is searching already: the searcher
//! will find it, and when it has found something and sees more, it wakes the next. A push from outside always
//! sees to it that a worker is awake. If a worker sits on a runnable task for long, because it is stuck in a
//! poll, the watchdog wakes a peer, lets the peers that move take the task, or starts a spare worker.
//!
//! Tasks whose timers have fired wake no other worker if this one will have run them within 200 µs, and tasks
//! that one call has woken together if they cost less than a change of core (policy.rs). If they take longer
//! than its tasks have so far, the next fair turn or the watchdog wakes a peer for the rest, some
//! milliseconds later. They also wait for the end of the poll that has woken them.
//!
//! A task that has yielded is a reason to wake only workers that may run it: not a helper
//! (worker/next_task.rs). When a worker gives up its queues, any worker is woken, and a helper that finds
//! nothing for itself passes the search on.
//!
//! # No wake is lost
//!
//! Claim: a task that is in a queue is run by some worker, unless every worker is stuck in a poll.
//!
//! *Pushed by a worker.* It runs its own queues empty before it parks, so the task is run by it or taken
//! by a thief. It reads the idle word without a fence, and may miss a parked peer: only parallelism is
//! lost, until the next push, a fair turn of this worker, or the second look of the watchdog at which this
//! worker has not moved.
//!
//! *Pushed from outside* (injector, wake channel, and what a helper leaves to the workers). The pusher P and
//! a worker W that is about to park form a *Dekker pair*: each of them writes, fences, and reads what the
//! other one writes. So at least one sees the other.
//!
//! ```text
//!   P: push;                SeqCst fence;  read the idle word
//!   W: set own parked bit;  SeqCst fence;  look at the queues; sleep
//! ```
//!
//! One fence comes first in the total order of SeqCst fences. If P's does, W's look sees the push. If
//! W's does, P sees W's bit, and either claims W and unparks it (the park word keeps the token, see
//! park.rs) or does not wake W for one of two reasons:
//!
//! 1. *Another worker was claimed instead*, or P only has to wake one and one was awake. A worker that
//!    is awake looks at the injector and its channel when it runs dry, and at a fair turn.
//! 2. *A worker, S, is searching.* S ends its search in one of two ways. With work, or before it calls code
//!    that may take long: it leaves the count by an RMW (`end_search`), and if it was the last searcher, it
//!    fences, looks at all queues, and wakes a successor if there is more (`pass_on`). Without: it parks,
//!    and the same RMW tells it that it was the last searcher, so that it looks at *all* queues once more
//!    after its fence (`last_look`); and if it finds work there, it looks once more and wakes a successor,
//!    as in the first case (`pass_on`). The RMWs on the idle word and P's read of it are ordered by the same
//!    fences as above: either S's look comes after P's push, or P saw a count without S. A searcher that was
//!    not the last leaves the duty to the one that is. The successor may have been refused a search because
//!    of S, and be still on its way to park, so that S finds no worker: then its own RMW tells it that no
//!    worker searches any more, and it looks at all queues itself.
//!
//! A wake channel is an extra queue in this argument, but only the pusher of its empty → non-empty edge
//! wakes. Pushers that come later rely on that one. It is between its push and its fence at the latest, so it
//! wakes a worker after *their* push, too.
//!
//! What a helper leaves to the workers is for the regular ones only. A helper that is awake does not count
//! here: the push wakes a regular worker if one is parked, and those that are awake look there when they run
//! dry.
//!
//! *Moved in a batch* from a queue that all look at to a worker's deque. Between the two no look sees the
//! tasks, so a searcher may look in vain and park. Therefore the worker tells a peer when it has queued more
//! than the task that it runs next: a searcher as above, any other worker itself (models
//! `what_a_last_look_finds_is_shared_with_a_peer` and
//! `what_is_brought_in_is_shared_although_thieves_take_as_much`). After a last look the fence in `end_park`
//! comes between its push and its look at the idle word. Elsewhere there is no fence, and it may miss a peer
//! that parks at the same moment, as with a push of its own.
//!
//! *The thread loses its slot* (resizing): `active` takes the part of the parked bit, see `Slot::deactivate`.
//! *The runtime closes*: `closed` does, see lifecycle.rs.
//!
//! `scheduler/loom.rs` plays the steps of this proof, `worker/loom.rs` the production workers with their
//! seat.

mod awake_threads;
mod brake;
mod enqueue;
mod here;
mod idle;
mod lengths;
mod lifecycle;
mod observed;
mod policy;
mod probe;
mod quiescence;
mod shared;
mod slots;
mod threads;
mod watchdog;
mod worker;

pub(crate) use awake_threads::AwakeThreads;
pub(crate) use brake::CpuBudget;
pub(crate) use here::{
    Here, before_process, block_in_place, enter_root, here, is_blocked_in_place, is_polling,
    report_panic, set_current, wake_together, worker_index,
};
pub(crate) use observed::WorkerEntry;
pub(crate) use probe::{Probe, TaskEvent, WorkerProbe};
pub(crate) use quiescence::Presence;
pub(crate) use shared::Shared;
pub(crate) use slots::{Count, SleepHooks, Sleeps, WorkerCounts};
pub(crate) use slots::{MAX_SLOTS, MAX_WORKERS, thread_number};
pub(crate) use threads::{SPARES_VARIABLE, ThreadConfig, ThreadSetup};
pub(crate) use watchdog::LONGEST_PAUSE;

#[cfg(all(test, liten_loom))]
pub(crate) mod loom;
#[cfg(all(test, liten_shuttle))]
mod shuttle;
