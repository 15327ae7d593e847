//! The tasks that are shown, and the messages about them.

use crate::task::{METADATA, Source, Task};
use crate::wall_clock::WallClock;
use console_api::instrument::Update;
use console_api::register_metadata::NewMetadata;
use console_api::tasks::{TaskDetails, TaskUpdate};
use console_api::{Metadata, RegisterMetadata, metadata};
use liten::insight::TaskInfo;
use liten::task::TaskId;
use std::collections::HashMap;
use std::panic::Location;
use std::time::Instant;

/// How many tasks there are at the most.
const MOST_TASKS: usize = 10_000;
/// How many of them may be there because something happened to them. The rest is for those that live longer: a walk
/// through the tasks finds them.
const MOST_MET: usize = MOST_TASKS / 2;
/// How many tasks a message is about: a client takes no message of more than 4 MB.
const TASKS_PER_UPDATE: usize = 1_000;

pub(crate) struct Tasks {
    tasks: HashMap<TaskId, Task>,
    clock: WallClock,
    begin: Instant,
    /// How many events there were that are not shown, since the last message.
    dropped: u64,
}

impl Tasks {
    pub(crate) fn new() -> Self {
        let (clock, begin) = (WallClock::new(), Instant::now());
        Self { tasks: HashMap::new(), clock, begin, dropped: 0 }
    }

    pub(crate) fn dropped(&mut self, events: u64) {
        self.dropped += events;
    }

    /// The task that something happened to. `None` if it has no room.
    pub(crate) fn met(
        &mut self,
        id: TaskId,
        place: &'static Location<'static>,
        source: &Source,
    ) -> Option<&mut Task> {
        if self.has_room(id, MOST_MET) {
            return Some(self.entry(id, place, source));
        }
        self.dropped += 1;
        None
    }

    /// A walk has found that task. It is left out if it has no room.
    pub(crate) fn found(&mut self, walk: u64, info: &TaskInfo, source: &Source) {
        let is_new = !self.tasks.contains_key(&info.id());
        if !self.has_room(info.id(), MOST_TASKS) {
            return;
        }
        let task = self.entry(info.id(), info.spawned_at(), source);
        if is_new {
            task.was_there(info);
        }
        task.found(walk, info);
    }

    fn has_room(&self, id: TaskId, most: usize) -> bool {
        self.tasks.len() < most || self.tasks.contains_key(&id)
    }

    fn entry(
        &mut self,
        id: TaskId,
        place: &'static Location<'static>,
        source: &Source,
    ) -> &mut Task {
        let begin = self.begin;
        self.tasks.entry(id).or_insert_with(|| Task::new(id, place, source.clone(), begin))
    }

    pub(crate) fn get_mut(&mut self, task: TaskId) -> Option<&mut Task> {
        self.tasks.get_mut(&task)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Task> {
        self.tasks.values_mut()
    }

    /// What has changed since the last call: one message at least, with the time.
    pub(crate) fn changes(&self, now: Instant) -> Vec<Update> {
        self.updates(now, self.tasks.iter().filter(|(_, task)| task.is_changed()), |task| {
            !task.is_announced()
        })
    }

    /// All that there is, for a client that knows nothing.
    pub(crate) fn everything(&self, now: Instant) -> Vec<Update> {
        let mut updates = self.updates(now, self.tasks.iter(), |_| true);
        updates[0].new_metadata = Some(RegisterMetadata { metadata: vec![metadata()] });
        updates
    }

    fn updates<'a>(
        &self,
        now: Instant,
        tasks: impl Iterator<Item = (&'a TaskId, &'a Task)>,
        is_new: impl Fn(&Task) -> bool,
    ) -> Vec<Update> {
        let empty = || Update {
            now: Some(self.clock.stamp(now)),
            task_update: Some(TaskUpdate::default()),
            ..Update::default()
        };
        let mut updates = vec![empty()];
        let shown = tasks.filter(|(_, task)| task.is_shown());
        for (index, (id, task)) in shown.enumerate() {
            if index > 0 && index % TASKS_PER_UPDATE == 0 {
                updates.push(empty());
            }
            let update = updates.last_mut().and_then(|update| update.task_update.as_mut());
            let Some(update) = update else { continue };
            if is_new(task) {
                update.new_tasks.push(task.description());
            }
            update.stats_update.insert((*id).into(), task.stats(self.clock));
        }
        if let Some(first) = &mut updates[0].task_update {
            first.dropped_events = self.dropped;
        }
        updates
    }

    /// The clients know all of it now. Those that have ended are forgotten.
    pub(crate) fn published(&mut self) {
        self.dropped = 0;
        self.tasks.retain(|_, task| {
            task.published();
            !task.has_ended()
        });
    }

    pub(crate) fn details(&self, id: u64, now: Instant) -> Option<TaskDetails> {
        let (_, task) = self.tasks.iter().find(|(known, _)| u64::from(**known) == id)?;
        Some(task.details(self.clock, now))
    }
}

fn metadata() -> NewMetadata {
    let metadata = Metadata {
        name: "spawn".to_owned(),
        target: "liten::task".to_owned(),
        kind: metadata::Kind::Span.into(),
        level: metadata::Level::Trace.into(),
        ..Metadata::default()
    };
    NewMetadata { id: Some(METADATA), metadata: Some(metadata) }
}
