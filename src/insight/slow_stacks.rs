//! The stacks of slow polls, read while they are under way, and kept for when they are over.
//!
//! A poll of a fifth of a second lies mostly between two looks of the page, and when it is over, nothing
//! tells where its thread was. So the page's thread glances often, and reads the stacks of the slow polls
//! that it finds under way: [`LOOKS`] times a second at most, because for each of these looks it reads what
//! is mapped, and the tables of the compiler.
//!
//! A lock of std does not tell which thread holds it. But a blocking job that is in one system call at each
//! glance while a poll waits for a lock, and has left it at the first glance after that poll, has perhaps
//! held it. One that is in the same call still has not, such as one that reads from a terminal.

use super::pool_info::{JobInfo, PoolInfo};
use super::slow_poll_info::{LATELY, SlowPollInfo, is_same, waits_for_lock};
use super::thread_stack::ThreadStacks;
use crate::runtime::{Handle, ThreadActivity};
use std::panic::Location;
use std::time::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);

/// So often in a second, at most, stacks are read.
const LOOKS: u32 = 8;
/// A stack that cannot be read is tried again so often.
const MOST_TRIES: u32 = 4;

/// A job must have been in its call at so many glances, and the poll must have ended just now, or it is
/// chance that the job has left the call.
const FEWEST_GLANCES: u32 = 4;
const JUST_NOW: Duration = Duration::from_millis(100);

#[derive(Default)]
pub(super) struct SlowStacks {
    /// Of polls that are among the last slow ones.
    kept: Vec<SlowStack>,
    /// The last one of each place.
    holders: Vec<Holder>,
    looked: Option<Instant>,
}

struct SlowStack {
    worker: usize,
    /// Which poll of the worker it is.
    position: u64,
    addresses: Vec<usize>,
    tries: u32,
    /// Those that have been in one system call while it waited for a lock, until it has ended.
    suspects: Vec<JobInfo>,
    /// The glances at which they were.
    glances: u32,
}

/// What has perhaps held a lock for which slow polls of the tasks of a place have waited.
struct Holder {
    found: Instant,
    place: &'static Location<'static>,
    job: JobInfo,
}

impl SlowStack {
    fn is_of(&self, poll: &SlowPollInfo) -> bool {
        (self.worker, self.position) == (poll.worker(), poll.position)
    }

    /// The poll goes on, and these are the jobs now.
    fn follow(&mut self, jobs: &[JobInfo]) {
        self.suspects.retain(|suspect| is_in_same_call(suspect, jobs));
        self.glances += 1;
    }

    /// The poll has ended, and these are the jobs just after that. If several have left their calls, it is
    /// not known which of them is the one.
    fn holder(&mut self, jobs: &[JobInfo]) -> Option<JobInfo> {
        let mut suspects = std::mem::take(&mut self.suspects);
        suspects.retain(|suspect| !is_in_same_call(suspect, jobs));
        suspects.pop().filter(|_| suspects.is_empty() && self.glances >= FEWEST_GLANCES)
    }
}

fn is_in_same_call(suspect: &JobInfo, jobs: &[JobInfo]) -> bool {
    let now = jobs.iter().find(|job| job.task() == suspect.task()).and_then(JobInfo::activity);
    now.zip(suspect.activity()).is_some_and(|(now, then)| is_same(now, then))
}

/// Whether the job is in a system call, and does not sleep or wait for a lock itself. This asks for no name
/// of a function, which may take long.
fn is_suspect(job: &JobInfo) -> bool {
    let Some(activity @ ThreadActivity::Calls(call)) = job.activity() else { return false };
    !waits_for_lock(activity) && !call.name().is_some_and(|name| name.contains("sleep"))
}

impl SlowStacks {
    /// Reads the stacks of slow polls that are under way, as far as `stacks` does.
    pub(super) fn look(&mut self, now: Instant, handle: &Handle, mut stacks: ThreadStacks) {
        let polls = SlowPollInfo::list(handle);
        self.kept.retain(|kept| polls.iter().any(|poll| kept.is_of(poll)));
        self.find_holders(now, &polls, handle);
        let is_known = |poll: &&SlowPollInfo| {
            let mut kept = self.kept.iter().filter(|kept| kept.is_of(poll));
            kept.any(|kept| !kept.addresses.is_empty() || kept.tries == MOST_TRIES)
        };
        let is_meant =
            |poll: &&SlowPollInfo| poll.ended.is_none() && stacks.can_read(poll.activity());
        let unknown = polls.iter().filter(|poll| is_meant(poll) && !is_known(poll));
        let unknown: Vec<_> = unknown.collect();
        let is_early = |last: Instant| now.saturating_duration_since(last) * LOOKS < SECOND;
        if unknown.is_empty() || self.looked.is_some_and(is_early) {
            return;
        }
        let read = |poll| (poll, addresses(handle, poll, &mut stacks).unwrap_or_default());
        let read: Vec<_> = unknown.into_iter().map(read).collect();
        let mut blocked = None;
        for (poll, addresses) in read {
            if let Some(kept) = self.kept.iter_mut().find(|kept| kept.is_of(poll)) {
                (kept.addresses, kept.tries) = (addresses, kept.tries + 1);
                continue;
            }
            let (worker, position) = (poll.worker(), poll.position);
            let mut suspects = Vec::new();
            if waits_for_lock(poll.activity()) {
                let blocked = blocked.get_or_insert_with(|| {
                    let jobs = PoolInfo::of(handle, Some(&mut ThreadStacks::of_calls())).jobs;
                    jobs.into_iter().filter(is_suspect).collect()
                });
                suspects.clone_from(blocked);
            }
            self.kept.push(SlowStack {
                worker,
                position,
                addresses,
                tries: 1,
                suspects,
                glances: 1,
            });
        }
        self.looked = Some(now);
    }

    /// Asks what the suspects do now.
    fn find_holders(&mut self, now: Instant, polls: &[SlowPollInfo], handle: &Handle) {
        self.holders.retain(|holder| now.saturating_duration_since(holder.found) < LATELY);
        let mut jobs = None;
        for poll in polls {
            let is_open = |kept: &&mut SlowStack| kept.is_of(poll) && !kept.suspects.is_empty();
            let Some(kept) = self.kept.iter_mut().find(is_open) else { continue };
            let jobs = jobs.get_or_insert_with(|| PoolInfo::of(handle, None).jobs);
            let Some(ended) = poll.ended else {
                kept.follow(jobs);
                continue;
            };
            let job = kept.holder(jobs).filter(|_| ended <= JUST_NOW);
            let (Some(job), Some(task)) = (job, poll.task()) else { continue };
            let place = task.spawned_at();
            self.holders.retain(|holder| holder.place != place);
            self.holders.push(Holder { found: now, place, job });
        }
    }

    /// Gives them to the polls.
    pub(super) fn tell(&self, polls: &mut [SlowPollInfo]) {
        for poll in polls {
            if let Some(kept) = self.kept.iter().find(|kept| kept.is_of(poll)) {
                poll.stack.clone_from(&kept.addresses);
            }
            let place = poll.task().map(|task| task.spawned_at());
            let mut holders = self.holders.iter();
            let holder = holders.find(|holder| Some(holder.place) == place);
            if waits_for_lock(poll.activity()) {
                poll.holder = holder.map(|holder| holder.job.clone());
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
