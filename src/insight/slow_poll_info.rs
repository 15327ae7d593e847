//! What can be said of a slow poll, also when it is over.

use crate::engine::task::RunningTask;
use crate::engine::task::current::NamedTask;
use crate::runtime::{Handle, SlowPoll, ThreadActivity};
use std::fmt;
use std::time::Duration;

/// How long after its end a slow poll is among the first sentences.
const LATELY: Duration = Duration::from_secs(60);

/// One of the last slow polls of a runtime, under way or over; from
/// [`Dump::slow_polls`](super::Dump::slow_polls).
///
/// A poll is slow from [`Builder::slow_poll_threshold`](crate::runtime::Builder::slow_poll_threshold) on.
#[derive(Debug, Clone)]
pub struct SlowPollInfo {
    pub(super) slow: SlowPoll,
    pub(super) ended: Option<Duration>,
}

impl SlowPollInfo {
    /// The last ones, first those that are under way, then those that have ended last.
    pub(super) fn list(handle: &Handle) -> Vec<Self> {
        let slow_polls = handle.last_slow_polls().into_iter();
        let mut list: Vec<_> = slow_polls.map(|(slow, ended)| Self { slow, ended }).collect();
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
            Some(task) => write!(f, "{}", NamedTask(task, self.task_name()))?,
            None => f.write_str("something other than a task")?,
        }
        write!(f, ", {}", self.activity())
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

/// What to do about a slow poll whose thread does this.
pub(super) fn advice(activity: &ThreadActivity) -> &'static str {
    match activity {
        ThreadActivity::WaitsForProcessor => "other threads have the processors",
        ThreadActivity::Calls(call) if call.name() == Some("futex") => {
            "another thread holds the lock or has to signal: wait in spawn_blocking, or by liten::sync"
        }
        _ => "use spawn_blocking, or yield more often",
    }
}

/// The slow polls that have ended within the last minute. Its `Display` is a sentence.
pub(super) struct Lately<'a> {
    longest: &'a SlowPollInfo,
    polls: usize,
    /// The task has panicked in it, which takes time.
    has_panicked: bool,
}

impl<'a> Lately<'a> {
    /// `None`: there are none. `panicked`: tasks that have.
    pub(super) fn of(slow_polls: &'a [SlowPollInfo], panicked: &[RunningTask]) -> Option<Self> {
        let is_late = |info: &&SlowPollInfo| info.ended.is_some_and(|ago| ago < LATELY);
        let lately = slow_polls.iter().filter(is_late);
        let polls = lately.clone().count();
        // Of several that were equally long, the last one.
        let longest = lately.rev().max_by_key(|info| info.duration())?;
        let has_panicked = longest.task().is_some_and(|task| panicked.contains(&task));
        Some(Self { longest, polls, has_panicked })
    }
}

impl fmt::Display for Lately<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.polls {
            1 => f.write_str("in the last minute 1 slow poll has ended: ")?,
            polls => write!(f, "in the last minute {polls} slow polls have ended; the longest: ")?,
        }
        match self.longest.task() {
            Some(_) if self.has_panicked => write!(f, "{}; it has panicked", self.longest),
            Some(_) => write!(f, "{}; {}", self.longest, advice(self.longest.activity())),
            None => self.longest.fmt(f),
        }
    }
}
