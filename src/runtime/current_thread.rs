//! A runtime without workers: the threads in `block_on` run its tasks, one of them at a time.
//!
//! That thread *drives*: it polls its root, the tasks and the driver in turn. It has the executor meanwhile,
//! which is that of a [`LocalRuntime`](super::LocalRuntime), and the same loop. The differences are two. The
//! tasks are `Send`, so the executor may go to another thread (`SendExecutor` in local.rs). And threads that
//! call `block_on` while another one drives wait in line: each polls its own root on its own thread, and
//! drives when it finds that no thread does before its root is ready. So all that is new is this line.
//!
//! A thread that calls `Handle::block_on` polls its future and nothing else. Tasks that are spawned or woken
//! while no thread drives lie in the queue. There is no driver thread: the thread that drives sleeps in the
//! poller itself, where a foreign wake or spawn finds it (drive.rs).
//!
//! # The driving is not lost
//!
//! Claim: when no thread drives and threads wait in line, each of them has been woken since, and will drive,
//! wait on because another one does, or leave the line.
//!
//! The executor and the line are under one lock. A thread looks for the executor and enters the line under
//! it. One that stops driving puts the executor back and takes all threads out of the line under it, and
//! wakes them. So one that leaves the line without having driven need not tell the others. A thread that
//! arrives later may take the executor first; those that were woken enter the line again, and that thread
//! wakes them when it stops. Models: `the_driving_is_handed_over`,
//! `a_root_that_is_ready_when_it_is_told_to_drive_leaves_it_to_the_next`.
//!
//! Rejected: to wake the first alone. It may be stuck in its root's poll, perhaps until a task has run, and
//! no thread would drive although others wait in line. Lines are short.
//!
//! # A clock that stands still
//!
//! It jumps when everything waits. The thread that drives asks that in `idle_turn` (drive.rs), of
//! itself, of blocking work and of the roots that other threads poll (in line, in `Handle::block_on`, those
//! of pinned tasks). Those are counted while they are awake, by their thread or by what wakes them
//! (`Presence`), and so is each coming. The last one that goes to sleep wakes the thread that drives.
//!
//! `look` reads that no root is awake, then that there is no work, then that no root has come
//! meanwhile: so both hold at the second step. Asked one after the other without the third, a root could
//! begin work after the one look and sleep before the other. After that only wakes by the thread that drives,
//! or by threads that the runtime does not know, could wake a root, and after a turn with wakes it asks
//! again. Models: `the_clock_stands_when_a_root_begins_work`, `the_clock_stands_from_one_work_to_the_next`.
//!
//! `time::advance` waits for a quiescent point, which waits for roots (a pinned task that the advance has
//! woken), for a tenth of a second, but not for blocking work.
//!
//! # Rejected
//!
//! *The scheduler without threads*, where the thread in `block_on` plays its one worker. It would bring the
//! counters per worker and a way to notice quiescence. But the worker's loop would get a second way to end,
//! the root's wake one more place in the proof against lost wakes, and the end of a long wait for a
//! quiescent point (the watchdog's) another owner. Each push and pop would pay for thieves that never come:
//! deques with fences, an idle word, a next slot.
//!
//! *To let `Handle::block_on` drive*, which would make fewer programs wait for ever. Tasks would run on
//! threads of the blocking pool, where a program that counts on its one thread does not expect them; tokio
//! does not do it either.

use super::block_on::{self, AnyRoot, PresenceGuard};
use super::drive::{AroundSleeps, OthersIdle, drive};
use super::local::{LocalShared, Placed, SendExecutor};
use super::local_thread::in_local;
use crate::engine::driver::Driver;
use crate::engine::scheduler::{AwakeThreads, Presence};
use crate::engine::sync_shim::Arc;
use crate::engine::wakers::WaitList;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

pub(super) struct CurrentThread {
    local: Arc<LocalShared>,
    /// Roots whose threads do not drive. Beside them the executor, which is away while a thread drives, and
    /// after the end.
    line: WaitList<Option<SendExecutor>>,
    /// Roots that wait until no task is alive.
    quiet: WaitList<()>,
    /// The roots that are awake on threads which do not drive.
    others: Arc<AwakeThreads>,
}

/// Whether no root is awake that another thread polls, and `no_work` says that there is no blocking work, at
/// one moment. Asked by the thread that drives while the clock stands still.
fn look(others: &AwakeThreads, no_work: &dyn Fn() -> bool) -> OthersIdle {
    let seen = others.read();
    if seen.is_none() {
        return OthersIdle { roots: false, all: false };
    }
    let no_work = no_work();
    // Work that has ended has counted the root that it woke before; the lock of the pool passes that on.
    let still = others.read() == seen;
    OthersIdle { roots: still, all: still && no_work }
}

impl CurrentThread {
    pub(super) fn new(driver: Arc<Driver>) -> Self {
        let executor = SendExecutor::new();
        Self {
            local: executor.shared().clone(),
            line: WaitList::new(Some(executor)),
            quiet: WaitList::new(()),
            others: Arc::new(AwakeThreads::new(driver)),
        }
    }

    pub(super) fn local(&self) -> &Arc<LocalShared> {
        &self.local
    }

    /// Counts a root that another thread than the one that drives polls.
    pub(super) fn present(&self) -> PresenceGuard {
        PresenceGuard(Some(Presence::counted_by(self.others.clone())))
    }

    /// Runs `root` on the calling thread, and drives if no other thread does.
    ///
    /// `no_work`: whether no blocking work is queued or being done.
    pub(super) fn block_on(
        &self,
        around: AroundSleeps<'_>,
        no_work: &dyn Fn() -> bool,
        mut root: AnyRoot<'_>,
    ) {
        let executor = self.line.lock().take();
        let driving = match executor {
            Some(executor) => Driving::begin(self, executor),
            None => match self.wait(root.as_mut()) {
                AfterLine::Drive(driving) => driving,
                AfterLine::Done => return,
            },
        };
        let others_idle = || look(&self.others, no_work);
        let executor = driving.executor.as_ref().expect("taken by drop only");
        let mut run = pin!(executor.run(root));
        drive(self.others.driver(), around, &others_idle, |cx| {
            let polled = run.as_mut().poll(cx);
            driving.tell_quiet();
            polled
        });
    }

    /// Polls `root` while another thread drives.
    fn wait(&self, mut root: AnyRoot<'_>) -> AfterLine<'_> {
        let mut line = pin!(self.wait_in_line());
        let turn = pin!(poll_fn(|cx| match line.as_mut().poll(cx) {
            Poll::Ready(executor) => Poll::Ready(AfterLine::Drive(Driving::begin(self, executor))),
            Poll::Pending => {
                let _polling = in_local();
                root.as_mut().poll(cx).map(|()| AfterLine::Done)
            }
        }));
        let present = self.present();
        block_on::run(turn, present.0.clone())
    }

    /// Returns the executor when no thread drives.
    async fn wait_in_line(&self) -> SendExecutor {
        let free = |executor: Option<_>| executor.map_or(Poll::Pending, Poll::Ready);
        self.line.wait(0, |line| free(line.take())).await
    }

    /// Lets another thread drive: wakes all that are in line.
    fn hand_over(&self, executor: Option<SendExecutor>) {
        self.line.wake_all(|line| *line = executor);
    }

    /// Returns when no task is alive. For roots in `block_on`.
    pub(super) async fn wait_until_quiet(&self) {
        let look = || if self.local.alive_tasks() == 0 { Poll::Ready(()) } else { Poll::Pending };
        self.quiet.wait(0, |_| look()).await;
    }

    /// Drops all tasks, on the calling thread, and takes none any more. Called by the owner of the runtime.
    /// No thread drives then, because each thread in `block_on` borrows the runtime from its owner.
    pub(super) fn close(&self) {
        let executor = self.line.lock().take();
        drop(executor);
    }
}

/// The next step of a thread in line.
enum AfterLine<'a> {
    Drive(Driving<'a>),
    /// Nothing: its root is ready.
    Done,
}

/// A thread that drives, until it is dropped.
struct Driving<'a> {
    runtime: &'a CurrentThread,
    /// Taken by drop only.
    executor: Option<Placed>,
}

impl<'a> Driving<'a> {
    fn begin(runtime: &'a CurrentThread, executor: SendExecutor) -> Self {
        Self { runtime, executor: Some(executor.place()) }
    }

    /// After a turn of the tasks: wakes the roots that wait until none is alive. The lock is what makes sure
    /// that they wait already, or look after the tasks have been counted.
    fn tell_quiet(&self) {
        if self.runtime.local.alive_tasks() == 0 {
            self.runtime.quiet.wake_all(|()| ());
        }
    }
}

impl Drop for Driving<'_> {
    fn drop(&mut self) {
        self.runtime.hand_over(self.executor.take().map(Placed::leave));
    }
}

#[cfg(all(test, liten_loom))]
mod loom;
#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;
