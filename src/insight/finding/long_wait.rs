//! Tasks that wait for one thing in the end, and the sentence about them.

use crate::engine::task::RunningTask;
use crate::insight::deadlocked_task::DeadlockedTask;
use crate::insight::description::DescribedTask;
use crate::insight::wait::{Wait, WaitPlace};
use crate::short::{Place, counted};
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

/// The most tasks of a chain, and places of tasks that wait, that a sentence names.
const NAMED: usize = 6;
const PLACES: usize = 3;

/// A task, with its name if it has one.
pub(super) type Named = (RunningTask, Option<Arc<str>>);

/// Tasks that have waited for long, each for another one, with one thing at the end; from
/// [`Finding::LongWait`](super::Finding::LongWait). Its `Display` is a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LongWait {
    pub(super) tasks: usize,
    pub(super) duration: Duration,
    pub(super) places: Vec<(&'static Location<'static>, usize)>,
    /// From where they wait for one thing, if that is not the same for all; the most first.
    pub(super) awaited_at: Vec<(WaitPlace, usize)>,
    pub(super) chain: Vec<DeadlockedTask>,
    pub(super) is_one_wait: bool,
    /// It is for a lock that passes from task to task.
    pub(super) passes_on: bool,
    pub(super) root: Option<Named>,
    pub(super) root_does: String,
}

impl LongWait {
    /// Returns how many tasks wait.
    pub fn tasks(&self) -> usize {
        self.tasks
    }

    /// Returns for how long one of them has waited, at least: the one that has waited longest.
    pub fn duration(&self) -> Duration {
        self.duration
    }

    /// Returns the places from which they were spawned, each with its number of tasks; the largest first.
    pub fn places(&self) -> &[(&'static Location<'static>, usize)] {
        &self.places
    }

    /// Returns the longest chain: a task, the one that it waits for if that waits, too, and so on.
    pub fn chain(&self) -> &[DeadlockedTask] {
        &self.chain
    }

    /// Returns the task at the end of the chain, if one is known.
    pub fn root(&self) -> Option<RunningTask> {
        self.root.as_ref().map(|(task, _)| *task)
    }

    /// From where as many wait for permits as there are of them, all of which are out, while others wait,
    /// too.
    fn perhaps_have_permits(&self) -> Option<&(WaitPlace, usize)> {
        match self.chain.first().map(|head| &head.waits_for) {
            Some(Wait::Primitive { permits: Some(permits), forgotten: 0, .. }) => self
                .awaited_at
                .iter()
                .find(|(place, tasks)| *place != WaitPlace::Unknown && *tasks as u64 == *permits),
            _ => None,
        }
    }

    /// What is to be known of the thing for which all of them wait.
    fn fmt_thing(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (place, tasks)) in self.awaited_at.iter().take(PLACES).enumerate() {
            let begin = if index == 0 { "; of them " } else { ", " };
            match place {
                WaitPlace::Unknown => write!(f, "{begin}{tasks} elsewhere")?,
                place => write!(f, "{begin}{tasks}{place}")?,
            }
        }
        if let Some((place, tasks)) = self.perhaps_have_permits() {
            write!(
                f,
                "; those {tasks}{place} are as many as there are permits: suspected deadlock, as if they had \
                 taken one each and waited for one more"
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for LongWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (waits, longest) = match self.tasks {
            1 => ("waits", ""),
            _ => ("wait", "the longest "),
        };
        write!(f, "{} {waits}", counted(self.tasks, "task"))?;
        let head = self.chain.first().filter(|_| self.is_one_wait);
        if let Some(head) = head {
            write!(f, " for {}", head.waits_for)?;
        }
        write!(f, ", {longest}for {:.1} s at least", self.duration.as_secs_f64())?;
        if self.passes_on && head.is_some() {
            f.write_str(
                "; the lock passes from task to task, so it is held for too long or wanted too often: hold \
                 it for less time, not while waiting for something else",
            )?;
        }
        self.fmt_thing(f)?;
        match (&self.root, head) {
            (Some((task, name)), Some(_)) => {
                let begin = if self.passes_on { "at this moment " } else { "" };
                write!(
                    f,
                    "; {begin}{}, {}",
                    DescribedTask::running(*task, name.as_deref()),
                    self.root_does
                )?;
            }
            (Some((task, name)), None) => {
                let task = DescribedTask::waiting(*task, name.as_deref());
                write!(f, ", in the end for {task}, which {}", self.root_does)?;
            }
            (None, _) => write!(f, "{}", self.root_does)?,
        }
        f.write_str("; waiting: ")?;
        for (index, (place, tasks)) in self.places.iter().take(PLACES).enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{tasks} spawned at {}", Place(place))?;
        }
        match self.places.len().saturating_sub(PLACES) {
            0 => {}
            more => write!(f, " and some at {}", counted(more, "other place"))?,
        }
        if head.is_none() {
            self.chain.iter().take(NAMED).try_for_each(|task| write!(f, "; {task}"))?;
        }
        match self.chain.len().saturating_sub(NAMED) {
            0 => Ok(()),
            more => write!(f, "; and so on, with {}", counted(more, "task")),
        }
    }
}
