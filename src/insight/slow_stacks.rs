//! The stacks of slow polls, read while they are under way, and kept for when they are over.
//!
//! A poll of a fifth of a second lies mostly between two looks of the page, and when it is over, nothing
//! tells where its thread was. So the page's thread glances often, and reads the stacks of the slow polls
//! that it finds under way: [`LOOKS`] times a second at most, because for each of these looks it reads what
//! is mapped, and the tables of the compiler.

use super::slow_poll_info::SlowPollInfo;
use super::thread_stack::ThreadStacks;
use crate::runtime::Handle;
use std::time::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);

/// So often in a second, at most, stacks are read.
const LOOKS: u32 = 8;
/// A stack that cannot be read is tried again so often.
const MOST_TRIES: u32 = 4;

#[derive(Default)]
pub(super) struct SlowStacks {
    /// Of polls that are among the last slow ones.
    kept: Vec<SlowStack>,
    looked: Option<Instant>,
}

struct SlowStack {
    worker: usize,
    /// Which poll of the worker it is.
    position: u64,
    addresses: Vec<usize>,
    tries: u32,
}

impl SlowStack {
    fn is_of(&self, poll: &SlowPollInfo) -> bool {
        (self.worker, self.position) == (poll.worker(), poll.position)
    }
}

impl SlowStacks {
    /// Reads the stacks of slow polls that are under way.
    pub(super) fn look(&mut self, now: Instant, handle: &Handle) {
        let polls = SlowPollInfo::list(handle);
        self.kept.retain(|kept| polls.iter().any(|poll| kept.is_of(poll)));
        let is_known = |poll: &&SlowPollInfo| {
            let mut kept = self.kept.iter().filter(|kept| kept.is_of(poll));
            kept.any(|kept| !kept.addresses.is_empty() || kept.tries == MOST_TRIES)
        };
        let mut unknown =
            polls.iter().filter(|poll| poll.ended.is_none() && !is_known(poll)).peekable();
        let is_early = |last: Instant| now.saturating_duration_since(last) * LOOKS < SECOND;
        if unknown.peek().is_none() || self.looked.is_some_and(is_early) {
            return;
        }
        let mut stacks = ThreadStacks::default();
        let read = |poll| (poll, addresses(handle, poll, &mut stacks).unwrap_or_default());
        let read: Vec<_> = unknown.map(read).collect();
        for (poll, addresses) in read {
            match self.kept.iter_mut().find(|kept| kept.is_of(poll)) {
                Some(kept) => (kept.addresses, kept.tries) = (addresses, kept.tries + 1),
                None => {
                    let (worker, position) = (poll.worker(), poll.position);
                    self.kept.push(SlowStack { worker, position, addresses, tries: 1 });
                }
            }
        }
        self.looked = Some(now);
    }

    /// Gives them to the polls.
    pub(super) fn tell(&self, polls: &mut [SlowPollInfo]) {
        for poll in polls {
            if let Some(kept) = self.kept.iter().find(|kept| kept.is_of(poll)) {
                poll.stack.clone_from(&kept.addresses);
            }
        }
    }
}

/// The stack of a poll's thread, if that still does what it did when the poll became slow.
fn addresses(
    handle: &Handle,
    poll: &SlowPollInfo,
    stacks: &mut ThreadStacks,
) -> Option<Vec<usize>> {
    let scheduler = handle.scheduler()?;
    let (worker, entry) =
        scheduler.worker_entries().find(|(worker, _)| *worker == poll.worker())?;
    let thread = entry.thread.filter(|_| entry.position == poll.position)?;
    let addresses = stacks.of(thread, poll.activity());
    (!scheduler.has_moved(worker, &entry)).then_some(addresses)
}
