//! The one door to the queues: each task that becomes runnable, and each one that leaves a queue without
//! being run, comes through [`Shared::enqueue`].
//!
//! Three things pass by it. One call moves a batch from deque to deque (`steal_into`, `move_into`): the
//! worker that moves it runs one of its tasks, and tells others of the rest when it has them. A chain goes
//! from the driver thread to a channel (`send`): each task on it came through here before. And a task that
//! another one displaces from the next slot goes to the deque ([`OwnQueues::put_next`]): the call for that
//! other one tells a peer.

use super::idle::Search;
use super::own_queues::OwnQueues;
use super::reason::{Notice, OutsideReason, Pusher, Queue, place};
use super::shared::Shared;
use crate::engine::queue::wake_channel::{Chain, Pushed};
use crate::engine::recorder::Event;
use crate::engine::sync_shim::atomic::{Ordering, fence};
use crate::engine::task::header::Hot;
use std::cell::RefCell;
use std::iter;

/// What the driver thread has collected in one round, per home; few workers, so a list.
pub(super) type Chains = RefCell<Vec<(usize, Chain<Hot>)>>;

impl Shared {
    /// Queues `task`, and tells a worker of it if one has to know. Inlined: the compiler knows the reason at
    /// most calls, and reduces [`place`] to one push.
    #[inline(always)]
    pub(super) fn enqueue(&self, by: Pusher<&OwnQueues, &Chains>, task: Hot) {
        let (queue, notice) = place(by, || self.home_of(&task));
        match queue {
            Queue::Next(own) => own.put_next(task),
            Queue::Ready(own) => own.ready.push(task),
            Queue::Yielded(own) => own.yielded.push(task),
            Queue::Chain(chains, home) => add(&mut chains.borrow_mut(), home, task),
            Queue::Channel(home) => {
                if self.slots.get(home).channel.push(task) == Pushed::Further {
                    // The first one in there has told the worker, or is about to: scheduler.rs.
                    return;
                }
            }
            Queue::Injector => self.outside.injector.push(task),
            Queue::SharedYielded => self.outside.yielded.push(task),
        }
        self.tell(notice);
    }

    /// Tells a worker of what was queued, if one has to know.
    #[inline(always)]
    pub(super) fn tell(&self, notice: Notice<&OwnQueues>) {
        match notice {
            Notice::Peer(own) => {
                own.pushed.set(true);
                own.notify_surplus(self);
            }
            Notice::Again(own) => {
                if own.pushed.get() {
                    // A peer that parked in spite of those is woken at the next fair turn.
                    own.notify_surplus(self);
                }
            }
            Notice::Outside => {
                self.raise_outside_flag();
                self.wake_one(0);
            }
            Notice::Regular => {
                self.raise_outside_flag();
                self.wake_regular(0);
            }
            Notice::Home(home) => self.sent(home),
            Notice::Nothing => {}
        }
    }

    /// Whether a worker may leave its peers asleep although it has ready tasks. It may not while there are
    /// spares: then a worker is stuck or blocks in place, this one may have to wait for its core, and its
    /// tasks with it.
    ///
    /// It may not without a watchdog either: if the first of the tasks blocks, only the watchdog wakes a peer
    /// for the others.
    pub(super) fn may_keep(&self) -> bool {
        self.size.spares() == 0 && self.watchdog.is_there()
    }

    fn home_of(&self, task: &Hot) -> Option<usize> {
        // None if it has not run yet, or ran last on a thread that has no slot.
        task.home().map(usize::from).filter(|&home| home < self.slots.workers())
    }

    /// Queues what was spawned on a thread that is no worker. A worker is awake to see it when this returns:
    /// a root future may block its thread next.
    pub(super) fn spawned_outside(&self, task: Hot) {
        // Ordering: Relaxed, the fence below publishes it.
        self.foreign.spawned.fetch_add(1, Ordering::Relaxed);
        // Ordering: SeqCst fence, Dekker with `worker_ends`: here, count, fence, read `closed`; there, read
        // `closed`, fence, look for tasks and at the counts. A caller that finds the runtime open is seen by
        // the last worker, which does not end before it has found the task.
        fence(Ordering::SeqCst);
        if self.shutdown.is_closed() {
            self.cancel(task);
        } else {
            self.recorder.note(|| Event::Spawn(task.identity()));
            self.enqueue(Pusher::Other(OutsideReason::Spawned), task);
        }
    }

    /// Sends the batches that one round of the driver made ready to the channels of their workers: one RMW
    /// and at most one unpark per worker.
    pub(super) fn send(&self, chains: &Chains) {
        // Taken out, so that nothing is borrowed while other threads are woken.
        let mut sent = chains.take();
        for (home, chain) in sent.drain(..) {
            if self.slots.get(home).channel.push_chain(chain) == Pushed::First {
                self.sent(home);
            }
        }
        // Its memory goes back for the next round, in front of what came meanwhile.
        let late = chains.replace(sent);
        if !late.is_empty() {
            chains.borrow_mut().extend(late);
            self.send(chains);
        }
    }

    /// After the push that made `home`'s channel non-empty: makes sure that a worker is awake to take it.
    fn sent(&self, home: usize) {
        // Ordering: as in `raise_outside_flag`; also against the slot's retirement, which clears
        // `active`, fences, then empties the channel.
        fence(Ordering::SeqCst);
        if !self.slots.get(home).is_active() {
            // No worker empties it any more.
            self.tell(self.abandon(self.slots.get(home).channel.take_all(), iter::empty()));
        } else if self.idle.claim(home) == Search::Begins {
            self.unpark(home);
        } else {
            // The home worker is awake, perhaps for long: an idle one, if any, may take the channel.
            self.wake_one(home);
        }
    }

    /// Moves what is in queues that are given up to those that all workers look at; the caller tells one of
    /// them.
    pub(super) fn abandon(
        &self,
        ready: impl Iterator<Item = Hot>,
        yielded: impl Iterator<Item = Hot>,
    ) -> Notice<&OwnQueues> {
        let ready = ready.map(|task| (task, OutsideReason::Abandoned));
        let yielded = yielded.map(|task| (task, OutsideReason::AbandonedYielded));
        let mut notice = Notice::Nothing;
        for (task, reason) in ready.chain(yielded) {
            self.enqueue(Pusher::Other(reason), task);
            notice = Notice::Outside;
        }
        notice
    }
}

fn add(chains: &mut Vec<(usize, Chain<Hot>)>, home: usize, task: Hot) {
    match chains.iter_mut().find(|(worker, _)| *worker == home) {
        Some((_, chain)) => chain.push(task),
        None => {
            let mut chain = Chain::new();
            chain.push(task);
            chains.push((home, chain));
        }
    }
}
