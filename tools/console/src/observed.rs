//! One runtime that is shown: its recording, and walks through its tasks.

use crate::task::{Source, Task};
use crate::tasks::Tasks;
use liten::insight::{Event, EventKind, PollOutcome, Recording};
use liten::runtime::Handle;
use liten::task::{RunningTask, TaskId, yield_now};
use std::sync::Arc;
use std::time::Instant;

/// How many tasks are walked through before the connections have a turn.
const TASKS_PER_TURN: usize = 1_000;

pub(crate) struct Observed {
    handle: Handle,
    source: Source,
    /// `None` if no client is connected, or none is to be had: the runtime has no workers, or has ended.
    recording: Option<Recording>,
    /// Events of threads that were read later than others: the next look may bring earlier ones.
    ahead: Vec<Event>,
    /// The tasks whose polls are under way.
    under_way: Vec<TaskId>,
    walks: u64,
}

impl Observed {
    pub(crate) fn new(index: usize, handle: Handle) -> Self {
        let source = Source { index, name: handle.name().map(Arc::from) };
        Self { handle, source, recording: None, ahead: Vec::new(), under_way: Vec::new(), walks: 0 }
    }

    /// Begins to record, unless that has been done.
    pub(crate) fn start(&mut self) {
        if self.recording.is_none() {
            self.recording = self.handle.record();
        }
    }

    pub(crate) fn stop(&mut self) {
        self.recording = None;
        self.ahead.clear();
        self.under_way.clear();
        self.walks = 0;
    }

    /// Notes what has happened since the last look. Returns how many events the thread with the most of them has
    /// had, and how many were lost.
    pub(crate) fn look(&mut self, tasks: &mut Tasks) -> (usize, u64) {
        let Some(recording) = &mut self.recording else { return (0, 0) };
        // Up to here all threads' events are known after the look.
        let horizon = Instant::now();
        let trace = recording.read();
        tasks.dropped(trace.lost());
        let mut counts = vec![0; trace.workers() + 1];
        let mut polled = Vec::new();
        for event in trace.events() {
            counts[event.worker().unwrap_or(trace.workers())] += 1;
            match event.kind() {
                EventKind::Poll { task, outcome: PollOutcome::UnderWay, .. } => {
                    polled.push((task.id(), event.begin()));
                }
                _ => self.ahead.push(event),
            }
        }
        self.ahead.sort_by_key(Event::end);
        let known = self.ahead.partition_point(|event| event.end() <= horizon);
        for event in self.ahead.drain(..known) {
            note(&event, tasks, &self.source);
        }
        let ended = |task: &TaskId| !polled.iter().any(|(polled, _)| polled == task);
        for task in self.under_way.drain(..).filter(ended) {
            if let Some(task) = tasks.get_mut(task) {
                task.set_under_way(None);
            }
        }
        for (id, begin) in polled {
            if let Some(task) = tasks.get_mut(id).filter(|task| !task.has_ended()) {
                task.set_under_way(Some(begin));
                self.under_way.push(id);
            }
        }
        (counts.into_iter().max().unwrap_or(0), trace.lost())
    }

    /// Walks through all tasks: learns names and types, and which tasks are gone.
    pub(crate) async fn walk(&mut self, tasks: &mut Tasks) {
        self.walks += 1;
        for (index, info) in self.handle.tasks().enumerate() {
            if index % TASKS_PER_TURN == TASKS_PER_TURN - 1 {
                yield_now().await;
            }
            tasks.found(self.walks, &info, &self.source);
        }
        let (now, are_all_gone) = (Instant::now(), self.handle.metrics().num_alive_tasks() == 0);
        for task in tasks.iter_mut().filter(|task| task.source.index == self.source.index) {
            task.walked(self.walks, now, are_all_gone);
        }
    }
}

fn note(event: &Event, tasks: &mut Tasks, source: &Source) {
    let (begin, end) = (event.begin(), event.end());
    let mut met = |task: RunningTask, apply: &dyn Fn(&mut Task)| {
        if let Some(task) = tasks.met(task.id(), task.spawned_at(), source) {
            apply(task);
        }
    };
    match event.kind() {
        EventKind::Spawn(task) => met(task, &|task| task.spawned(begin)),
        EventKind::Wake(task) => met(task, &|task| task.woken(begin)),
        EventKind::Poll { task, outcome, .. } => {
            met(task, &|task| task.polled(begin, end, outcome))
        }
        _ => {}
    }
}
