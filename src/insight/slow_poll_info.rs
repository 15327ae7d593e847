//! What can be said of a slow poll, also when it is over.

use crate::engine::task::RunningTask;
use crate::insight::blocked_call::{BlockedCall, Doing};
use crate::insight::description::DescribedTask;
use crate::insight::pool_info::JobInfo;
use crate::observe::NamedTask;
use crate::observe::slow_polls::KEPT;
use crate::runtime::{Handle, SlowPoll, ThreadActivity};
use crate::short::Place;
use std::fmt;
use std::time::Duration;

/// How long after its end a slow poll is among the first sentences.
pub(super) const LATELY: Duration = Duration::from_secs(60);

/// One of the last slow polls of a runtime, under way or over; from
/// [`Dump::slow_polls`](super::Dump::slow_polls).
///
/// A poll is slow from [`Builder::slow_poll_threshold`](crate::runtime::Builder::slow_poll_threshold) on.
#[derive(Debug, Clone)]
pub struct SlowPollInfo {
    pub(super) slow: SlowPoll,
    /// Which poll of the worker it is.
    pub(super) position: u64,
    pub(super) ended: Option<Duration>,
    /// The addresses on the stack of its thread, if that was looked at.
    pub(super) stack: Vec<usize>,
    /// The blocking job that has perhaps held the lock for which the thread has waited, or one like it.
    pub(super) holder: Option<JobInfo>,
}

impl SlowPollInfo {
    /// The last ones, first those that are under way, then those that have ended last.
    pub(super) fn list(handle: &Handle) -> Vec<Self> {
        let of = |(slow, position, ended)| {
            let (stack, holder) = (Vec::new(), None);
            Self { slow, position, ended, stack, holder }
        };
        let mut list: Vec<_> = handle.last_slow_polls().into_iter().map(of).collect();
        list.sort_by_key(|info| info.ended);
        list
    }

    /// Returns the index of the worker that the poll has held up.
    pub fn worker(&self) -> usize {
        self.slow.worker()
    }

    /// Returns the task whose poll it is. `None` if the worker was in something else, such as a waker that an
    /// event calls.
    pub fn task(&self) -> Option<RunningTask> {
        self.slow.task()
    }

    /// Returns the task's name, as [`SlowPoll::task_name`] does.
    pub fn task_name(&self) -> Option<&str> {
        self.slow.task_name()
    }

    /// Returns for how long the poll has lasted at least: until now, or until its end. The runtime looks
    /// every few milliseconds, so the poll may have lasted for some milliseconds more.
    pub fn duration(&self) -> Duration {
        self.slow.duration()
    }

    /// Returns what the worker's thread did when the poll became slow.
    ///
    /// Of the polls that become slow within one second, the runtime looks at the threads and for the names of
    /// 16 at the time of writing. Of the others, this is [`ThreadActivity::Unknown`].
    pub fn activity(&self) -> &ThreadActivity {
        self.slow.activity()
    }

    /// Returns the function of the program in which the thread was, if that is known.
    ///
    /// Known of polls that a page has met while they were slow: it looks up to eight times a second while
    /// requests come, and for half a minute after the last one; and now and then after slow polls, at those
    /// in system calls. One that ends soon after it has become slow is often missed. A dump that a program
    /// takes itself has the call of a worker's poll in [`WorkerInfo::call`](super::WorkerInfo::call). The
    /// first call for a stack may wait for half a second, and a later one may know what the first one did
    /// not.
    pub fn call(&self) -> Option<BlockedCall> {
        BlockedCall::named(&self.stack)
    }

    /// Returns how long ago the poll has ended. `None` if it is under way.
    ///
    /// A task that awaits the [`JoinHandle`](crate::task::JoinHandle) may go on before the last poll has
    /// returned to its worker. Until then that poll is under way.
    pub fn ended_ago(&self) -> Option<Duration> {
        self.ended
    }
}

impl fmt::Display for SlowPollInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (worker, duration) = (self.worker(), self.duration().as_millis());
        match self.ended {
            Some(ago) => {
                write!(
                    f,
                    "worker {worker} was held up for {duration} ms until {} ago: ",
                    Time(ago)
                )?;
            }
            None => write!(f, "worker {worker} has been held up for {duration} ms: ")?,
        }
        match self.task() {
            // What the program says now is not of a poll that is over.
            Some(task) if self.ended.is_some() => NamedTask(task, self.task_name()).fmt(f)?,
            Some(task) => DescribedTask::running(task, self.task_name()).fmt(f)?,
            None => f.write_str("something other than a task")?,
        }
        write!(f, ", {}", Doing(self.activity(), self.call().as_ref()))
    }
}

/// About.
struct Time(Duration);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_secs() {
            0 => write!(f, "{} ms", self.0.as_millis()),
            seconds @ 1..120 => write!(f, "{seconds} s"),
            seconds => write!(f, "{} min", seconds / 60),
        }
    }
}

/// Whether two threads do the same, in a system call perhaps with other files.
pub(super) fn is_same(one: &ThreadActivity, other: &ThreadActivity) -> bool {
    match (one, other) {
        (ThreadActivity::Calls(one), ThreadActivity::Calls(other)) => {
            one.number() == other.number()
        }
        (one, other) => one == other,
    }
}

/// Whether the thread waits for a lock, or for a signal of another thread.
pub(super) fn waits_for_lock(activity: &ThreadActivity) -> bool {
    matches!(activity, ThreadActivity::Calls(call) if call.name() == Some("futex"))
}

/// What to do about a slow poll whose thread does this, in this call.
pub(super) fn advice(activity: &ThreadActivity, call: Option<&BlockedCall>) -> &'static str {
    let joins = |call: &BlockedCall| call.callee().is_some_and(|name| name.ends_with("::join"));
    match activity {
        ThreadActivity::Calls(_) if call.is_some_and(joins) => {
            "it waits until another thread has ended: do so in spawn_blocking"
        }
        ThreadActivity::WaitsForProcessor => "other threads have the processors",
        ThreadActivity::Runs => {
            "perhaps other threads have the processors; if not, use spawn_blocking, or yield more often"
        }
        activity if waits_for_lock(activity) => {
            "another thread holds the lock or has to signal: wait in spawn_blocking, or by liten::sync"
        }
        _ => "use spawn_blocking, or yield more often",
    }
}

/// Slow polls that are alike: both over, or both not, of tasks of one place that did the same in the same
/// function.
pub(super) struct AlikePolls<'a> {
    polls: Vec<&'a SlowPollInfo>,
    call: Option<BlockedCall>,
}

impl<'a> AlikePolls<'a> {
    /// In the order of their first polls. The function of each poll is looked up once.
    pub(super) fn groups(polls: &'a [SlowPollInfo]) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for poll in polls {
            let call = poll.call();
            match groups.iter_mut().find(|group| group.has(poll, call.as_ref())) {
                Some(group) => group.polls.push(poll),
                None => groups.push(Self { polls: vec![poll], call }),
            }
        }
        groups
    }

    fn has(&self, poll: &SlowPollInfo, call: Option<&BlockedCall>) -> bool {
        let place = |info: &SlowPollInfo| info.task().map(|task| task.spawned_at());
        let first = self.polls[0];
        place(first) == place(poll)
            && first.ended.is_some() == poll.ended.is_some()
            && is_same(first.activity(), poll.activity())
            && self.call.as_ref().map(BlockedCall::function) == call.map(BlockedCall::function)
    }
}

/// The first of them, and how many others there are.
impl fmt::Display for AlikePolls<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((first, others)) = self.polls.split_first() else { return Ok(()) };
        first.fmt(f)?;
        let times = others.iter().map(|poll| poll.duration().as_millis());
        match (times.clone().min(), times.max()) {
            (Some(least), Some(most)) if least < most => {
                write!(f, "; {} more like it, {least} to {most} ms", others.len())
            }
            (Some(time), _) => write!(f, "; {} more like it, {time} ms", others.len()),
            _ => Ok(()),
        }
    }
}

/// The slow polls that have ended within the last minute. Its `Display` is a sentence.
pub(super) struct Lately<'a> {
    /// The longest one of those of the place that has most, if possible one whose function is known.
    shown: &'a SlowPollInfo,
    longest: Duration,
    polls: usize,
    /// Others may have been forgotten.
    is_full: bool,
    /// How many are of tasks from that place.
    alike: usize,
    /// The task has panicked in it, which takes time.
    has_panicked: bool,
}

impl<'a> Lately<'a> {
    /// `None`: there are none. `panicked`: tasks that have.
    pub(super) fn of(slow_polls: &'a [SlowPollInfo], panicked: &[RunningTask]) -> Option<Self> {
        // The runtime's own work takes no such time. It was kept from the processor.
        let is_own =
            |info: &SlowPollInfo| info.task().is_none() && info.activity().may_lack_processor();
        let is_late = |info: &SlowPollInfo| info.ended.is_some_and(|ago| ago < LATELY);
        let lately = slow_polls.iter().filter(|info| is_late(info) && !is_own(info));
        let polls = lately.clone().count();
        let has_old = slow_polls.iter().any(|info| info.ended.is_some() && !is_late(info));
        let place = |info: &SlowPollInfo| info.task().map(|task| task.spawned_at());
        let alike =
            |info: &SlowPollInfo| lately.clone().filter(|it| place(it) == place(info)).count();
        let key = |info: &&SlowPollInfo| {
            let (has_stack, has_holder) = (!info.stack.is_empty(), info.holder.is_some());
            (info.task().is_some(), alike(info), has_holder, has_stack, info.duration())
        };
        // Of several that are equal, the last one.
        let shown = lately.clone().rev().max_by_key(key)?;
        Some(Self {
            shown,
            longest: lately.clone().map(SlowPollInfo::duration).max()?,
            polls,
            is_full: slow_polls.len() == KEPT && !has_old,
            alike: alike(shown),
            has_panicked: shown.task().is_some_and(|task| panicked.contains(&task)),
        })
    }
}

impl fmt::Display for Lately<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shown, longest, polls, is_full, alike, has_panicked } = self;
        match polls {
            1 => f.write_str("in the last minute 1 slow poll has ended: ")?,
            _ => {
                let at_least = if *is_full { "at least " } else { "" };
                write!(f, "in the last minute {at_least}{polls} slow polls have ended")?;
                if (2..*polls).contains(alike) {
                    write!(f, ", {alike} of them of tasks from one place")?;
                }
                match shown.duration() == *longest {
                    true => f.write_str("; the longest: ")?,
                    false => {
                        write!(f, "; the longest took {} ms; one of them: ", longest.as_millis())?
                    }
                }
            }
        }
        match shown.task() {
            Some(_) if *has_panicked => write!(f, "{shown}; it has panicked")?,
            Some(_) => write!(f, "{shown}; {}", advice(shown.activity(), shown.call().as_ref()))?,
            None => shown.fmt(f)?,
        }
        let Some(holder) = &shown.holder else { return Ok(()) };
        let place = Place(holder.task().spawned_at());
        write!(
            f,
            "; while such a poll waited, blocking work of {place} was in one call, and went on when the poll \
             did: perhaps it held the lock{}",
            holder.does()
        )
    }
}
