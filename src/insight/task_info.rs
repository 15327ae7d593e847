//! What can be said of one live task.

use super::description::{description, write_description};
use super::task_state::TaskState;
use super::wait::Wait;
use crate::engine::task::registry::ListEntry;
use crate::engine::task::waiting::Note;
use crate::engine::task::{Mark, RunningTask, TaskId};
use crate::short::{Place, short};
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A task that was alive at the time of the look. It may have ended since.
#[derive(Debug, Clone)]
pub struct TaskInfo {
    task: RunningTask,
    name: Option<Arc<str>>,
    future: Option<(&'static str, usize)>,
    state: TaskState,
    is_deadlocked: bool,
    /// The proof of the deadlock is one about locks.
    is_unless_given: bool,
    is_of_workers: bool,
    wakers: Option<usize>,
    waits: Vec<Wait>,
    /// What it waits for, if it is a suspect of `deadlocks`.
    only_wait: Option<Note>,
    mark: Mark,
    cold_for: Option<Duration>,
}

impl TaskInfo {
    /// One that has waited before.
    pub(super) fn listed(entry: ListEntry, is_polled: bool, is_of_workers: bool) -> Self {
        Self {
            name: entry.name,
            future: Some((entry.type_name, entry.future_size)),
            state: match entry.wakers {
                Some(_) => TaskState::Waiting,
                None if is_polled => TaskState::Running,
                None => TaskState::Ready,
            },
            wakers: entry.wakers,
            waits: entry.note.and_then(Wait::noted).into_iter().collect(),
            only_wait: entry.note.filter(|_| entry.is_note_reliable),
            mark: entry.mark,
            ..Self::noted(entry.task, is_of_workers)
        }
    }

    /// One that is being polled and has not waited before: its worker's note is all that is known of it.
    pub(super) fn noted(task: RunningTask, is_of_workers: bool) -> Self {
        Self {
            task,
            name: None,
            future: None,
            state: TaskState::Running,
            is_deadlocked: false,
            is_unless_given: false,
            is_of_workers,
            wakers: None,
            waits: Vec::new(),
            only_wait: None,
            mark: Mark::Hot,
            cold_for: None,
        }
    }

    /// Whether workers run it, and not the thread in `block_on` or that of a pinned task.
    pub(super) fn is_of_workers(&self) -> bool {
        self.is_of_workers
    }

    pub(super) fn task(&self) -> RunningTask {
        self.task
    }

    pub(super) fn shared_name(&self) -> Option<&Arc<str>> {
        self.name.as_ref()
    }

    /// Returns the task's id, which is also its [`JoinHandle`](crate::task::JoinHandle)'s.
    pub fn id(&self) -> TaskId {
        self.task.id()
    }

    /// Returns the name that [`task::Builder::name`](crate::task::Builder::name) has given to the task.
    /// `None` also for a task in the poll before its first wait.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns what the program says that the task works on: the answer of the function of
    /// [`describe_tasks`](super::describe_tasks), which is called now. `None` if there is no such function,
    /// or if it says nothing of the task.
    pub fn description(&self) -> Option<String> {
        description(self.id(), self.state)
    }

    /// Returns the place in the source from which the task was spawned.
    pub fn spawned_at(&self) -> &'static Location<'static> {
        self.task.spawned_at()
    }

    /// Returns the name of the future's type, as [`std::any::type_name`] gives it. `None` for a task in the
    /// poll before its first wait.
    pub fn type_name(&self) -> Option<&'static str> {
        self.future.map(|(type_name, _)| type_name)
    }

    /// Returns how many bytes the future takes. `None` for a task in the poll before its first wait.
    pub fn future_size(&self) -> Option<usize> {
        self.future.map(|(_, size)| size)
    }

    /// Returns whether the task is proven to be stuck: it waits, and no waker of it exists any more, so that
    /// it is never polled again. It can be aborted, and ends with the runtime.
    ///
    /// Either what it waited for is gone and has not woken it, or its future has left its waker nowhere, as
    /// that of [`std::future::pending`]. The answer `true` is never wrong. A task can be stuck without it: if
    /// an [`AbortHandle`](crate::task::AbortHandle) of it exists, which counts as a waker; if it owns a waker
    /// of its own; if tasks wait for each other.
    pub fn is_stuck(&self) -> bool {
        self.wakers == Some(0)
    }

    /// Returns whether the task is proven to wait for a deadlock: it is one of several tasks that wait for
    /// each other, or for tasks that are [stuck](Self::is_stuck), and nothing else can wake any of them.
    /// They can be aborted, and end with the runtime. Known only of tasks from a
    /// [`Dump`](super::Dump::tasks).
    ///
    /// If one of them waits for a lock, it is proven unless a guard was given to another task, which cannot
    /// be seen: such a task may go on. See [`Finding::Deadlock`](super::Finding::Deadlock).
    pub fn is_deadlocked(&self) -> bool {
        self.is_deadlocked
    }

    /// Returns what the task waits for, as far as that is known, if it is waiting.
    ///
    /// One thing is known of those that the future itself has asked for: the last of them, if it is one of
    /// `liten::sync` or the end of a task. Timers and sources are known only of tasks from a
    /// [`Dump`](super::Dump::tasks), and then all of them, but for the tasks of a source for which more
    /// than 64 wait. What other crates make tasks wait for is not known. A task may have gone on since the
    /// look, and wait for something else.
    ///
    /// # Examples
    ///
    /// ```
    /// use liten::runtime::Handle;
    ///
    /// # liten::block_on(async {
    /// let timer = liten::spawn(liten::time::sleep(std::time::Duration::from_secs(3600)));
    /// let task = liten::spawn(timer);
    /// # while Handle::current().dump().tasks().iter().all(|seen| seen.waits().is_empty()) {
    /// #     liten::time::sleep(std::time::Duration::from_millis(1)).await;
    /// # }
    /// let dump = Handle::current().dump();
    /// for task in dump.tasks() {
    ///     // Such as: task 2 waits for task 1
    ///     task.waits().iter().for_each(|wait| println!("task {} waits for {wait}", task.id()));
    /// }
    /// # drop(task);
    /// # });
    /// ```
    pub fn waits(&self) -> &[Wait] {
        &self.waits
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.state == TaskState::Waiting
    }

    /// The one thing that it waits for, if nothing else has a waker of it.
    pub(super) fn waits_only_for(&self) -> Option<&Wait> {
        match &self.waits[..] {
            [wait] if self.wakers == Some(1) => Some(wait),
            _ => None,
        }
    }

    pub(super) fn only_wait(&self) -> Option<Note> {
        self.only_wait
    }

    pub(super) fn waits_mut(&mut self) -> &mut Vec<Wait> {
        &mut self.waits
    }

    /// Whether the task is said to be deadlocked for as long as no guard was given to another task.
    pub(super) fn is_unless_given(&self) -> bool {
        self.is_unless_given
    }

    pub(super) fn set_deadlocked(&mut self, is_unless_given: bool) {
        self.is_deadlocked = true;
        self.is_unless_given = is_unless_given;
    }

    /// Returns for how long the task has waited, at least, if that is known: since a look has found it
    /// waiting, and later looks that it had not been polled in between. The time begins with the first look
    /// and not with the wait, so the task may have waited for much longer.
    ///
    /// Known only while there is a [page](super::serve) that shows the runtime, from its second look on, and
    /// of no more than 100,000 tasks of a runtime. Without a page, no dump has it, however many are made.
    pub fn cold_for(&self) -> Option<Duration> {
        self.cold_for
    }

    pub(super) fn mark(&self) -> Mark {
        self.mark
    }

    pub(super) fn set_cold_since(&mut self, since: Option<Instant>, now: Instant) {
        self.cold_for = since.map(|since| now.saturating_duration_since(since));
    }

    /// Returns what the task does.
    pub fn state(&self) -> TaskState {
        self.state
    }
}

impl fmt::Display for TaskInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task {}", self.id())?;
        if let Some(name) = self.name() {
            write!(f, " {:?}", short(name))?;
        }
        write_description(self.id(), self.state, f)?;
        let is_certain = self.is_deadlocked && !self.is_unless_given;
        let stuck = if self.is_stuck() || is_certain { " for ever" } else { "" };
        write!(f, ", {}{stuck}", self.state)?;
        for (index, wait) in self.waits.iter().enumerate() {
            write!(f, "{} {wait}", if index == 0 { " for" } else { " and" })?;
        }
        if self.is_unless_given {
            f.write_str(", for ever unless a guard was given to another task")?;
        }
        if let Some(cold_for) = self.cold_for {
            write!(f, ", for {:.1} s at least", cold_for.as_secs_f64())?;
        }
        write!(f, ", spawned at {}", Place(self.spawned_at()))?;
        if let Some((type_name, size)) = self.future {
            write!(f, ", {}, {size} bytes", short(type_name))?;
        }
        Ok(())
    }
}
