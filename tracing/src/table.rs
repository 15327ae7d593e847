//! The spans of each task.
//!
//! | event | what the entry of the task has |
//! |---|---|
//! | a span is entered | the spans that are entered, from the outermost to this one |
//! | a span is left | the same ones, of which one less is entered |
//! | one is closed, and none of them is open | the entry goes, if this task has entered that span last |
//! | the task has ended, and a span is open | the entry stays until its part of the table is swept |
//!
//! So a task that is being polled is in the last one that is entered. A task that waits has left all of them,
//! and the innermost open one of those that it left last is taken for where it waits: a future with a span
//! enters it for each poll. If something else keeps that span open, the task may wait elsewhere.
//!
//! A span usually closes when its task ends. But if several tasks share it, nothing tells the layer that one
//! of them has ended. So a part of the table that has grown compares its entries with the tasks that are
//! alive.

use crate::parts::Parts;
use crate::span::Span;
use liten::insight::TaskState;
use liten::runtime::{Handle, Id};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::thread;

/// A part is never swept for fewer entries.
const FEWEST_SWEPT: usize = 1024;
/// So many entries of other runtimes than the one that a sweep asks for its tasks may stay in a part. More of
/// them are taken for what runtimes have left that have ended.
const MOST_OF_OTHERS: usize = 65_536;

/// The spans of all tasks of the process.
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// By the number of the task.
    parts: Parts<Part>,
}

#[derive(Debug)]
struct Part {
    /// By the number of the task.
    entries: HashMap<u64, Entry>,
    /// Sweep with so many entries.
    swept_at: usize,
}

impl Default for Part {
    fn default() -> Self {
        Self { entries: HashMap::new(), swept_at: FEWEST_SWEPT }
    }
}

#[derive(Debug)]
struct Entry {
    /// First those that are entered, then those that were left since the last enter.
    spans: Vec<Arc<Span>>,
    entered: usize,
    runtime: Id,
    /// A sweep has not found the task.
    is_missed: bool,
}

impl Entry {
    fn is_open(&self) -> bool {
        self.spans.iter().any(|span| span.is_open())
    }
}

impl Table {
    /// Returns the table that insight reads. `None` if insight reads something else.
    pub(crate) fn of_the_process() -> Option<&'static Self> {
        static TABLE: OnceLock<Option<Table>> = OnceLock::new();
        let describe = |task, state| TABLE.get()?.as_ref()?.describe(u64::from(task), state);
        let table = TABLE
            .get_or_init(|| liten::insight::describe_tasks(describe).is_ok().then(Self::default));
        table.as_ref()
    }

    pub(crate) fn enter(&'static self, task: u64, span: Arc<Span>) {
        // Ordering: Relaxed, the thread that closes the span looks at the entry under the lock of the part.
        span.task.store(task, Ordering::Relaxed);
        let mut part = self.parts.of(task);
        if let Some(entry) = part.entries.get_mut(&task) {
            entry.is_missed = false;
            let left = entry.spans.split_off(entry.entered);
            entry.spans.push(span);
            entry.entered += 1;
            drop(part);
            // Perhaps the last ones of a long chain, so not under the lock.
            drop(left);
            return;
        }
        let Ok(handle) = Handle::try_current() else {
            return;
        };
        let entry = Entry { spans: vec![span], entered: 1, runtime: handle.id(), is_missed: false };
        part.entries.insert(task, entry);
        if part.entries.len() >= part.swept_at {
            part.swept_at = 2 * part.entries.len();
            drop(part);
            self.sweep(task, handle);
        }
    }

    pub(crate) fn exit(&self, task: u64, span: &Arc<Span>) {
        let mut part = self.parts.of(task);
        let Some(entry) = part.entries.get_mut(&task) else {
            return;
        };
        let entered = &mut entry.spans[..entry.entered];
        let Some(at) = entered.iter().rposition(|entered| Arc::ptr_eq(entered, span)) else {
            return;
        };
        // Mostly it is the innermost one. The others stay in their order.
        entered[at..].rotate_left(1);
        entry.entered -= 1;
    }

    pub(crate) fn close(&self, span: &Arc<Span>) {
        span.close();
        // Ordering: as in `enter`.
        let task = span.task.load(Ordering::Relaxed);
        if task == 0 {
            return;
        }
        let mut part = self.parts.of(task);
        let is_over = part.entries.get(&task).is_some_and(|entry| !entry.is_open());
        let entry = if is_over { part.entries.remove(&task) } else { None };
        drop(part);
        drop(entry);
    }

    fn describe(&self, task: u64, state: TaskState) -> Option<String> {
        let part = self.parts.of(task);
        let entry = part.entries.get(&task)?;
        let span = match state {
            TaskState::Running => entry.spans[..entry.entered].last().filter(|span| span.is_open()),
            _ => entry.spans.iter().rev().find(|span| span.is_open()),
        };
        let span = span.map(Arc::clone);
        drop(part);
        span.map(|span| span.to_string())
    }

    /// Takes entries of tasks that have ended out of the part of `task`. It does so on a thread of its own,
    /// because it looks at all tasks of the runtime, and this thread is in a poll.
    fn sweep(&'static self, task: u64, handle: Handle) {
        let sweep = move || {
            // Tasks that come later are not in the list of those that are alive.
            let listed: HashSet<u64> = self.parts.of(task).entries.keys().copied().collect();
            let alive: HashSet<u64> = handle.tasks().map(|seen| seen.id().into()).collect();
            let mut part = self.parts.of(task);
            let others = part.entries.values().filter(|entry| entry.runtime != handle.id()).count();
            let mut gone = Vec::new();
            part.entries.retain(|task, entry| {
                let is_kept = if entry.runtime == handle.id() {
                    // Blocking work is not listed, so a sweep alone decides nothing.
                    let is_missing = listed.contains(task) && !alive.contains(task);
                    let was_missed = std::mem::replace(&mut entry.is_missed, is_missing);
                    !(is_missing && was_missed)
                } else {
                    others <= MOST_OF_OTHERS
                };
                let is_kept = is_kept && entry.is_open();
                if !is_kept {
                    gone.append(&mut entry.spans);
                }
                is_kept
            });
            let missed = part.entries.values().filter(|entry| entry.is_missed).count();
            part.swept_at = missed + FEWEST_SWEPT.max(2 * (part.entries.len() - missed));
            drop(part);
            drop(gone);
        };
        // Without a thread, the next sweep is at twice as many entries.
        _ = thread::Builder::new().name("liten-tracing".to_owned()).spawn(sweep);
    }
}

#[cfg(test)]
mod tests {
    use super::Table;
    use crate::TaskSpans;
    use liten::insight::TaskState;
    use liten::task::yield_now;
    use std::future::pending;
    use std::sync::Once;
    use std::time::Duration;
    use tracing::{Instrument, info_span};
    use tracing_subscriber::layer::SubscriberExt;
    use tracing_subscriber::util::SubscriberInitExt;

    fn table() -> &'static Table {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| tracing_subscriber::registry().with(TaskSpans::new()).init());
        Table::of_the_process().unwrap()
    }

    fn entries(table: &Table) -> usize {
        table.parts.each().map(|part| part.entries.len()).sum()
    }

    /// They share a span, so no close tells that one of them has ended.
    #[liten::test]
    async fn tasks_that_have_ended_leave_the_table_of_a_span_that_goes_on() {
        let table = table();
        let server = info_span!("server");
        let waits = liten::spawn(pending::<()>().instrument(server.clone()));
        let other = liten::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let elsewhere = other.spawn(pending::<()>().instrument(server.clone()));
        let mut spawned = 0;
        while spawned < 200_000 || entries(table) > 60_000 {
            liten::spawn(async {}.instrument(server.clone())).await.unwrap();
            spawned += 1;
            // On a busy machine the thread that sweeps may be late.
            if spawned > 200_000 && spawned % 1_000 == 0 {
                liten::time::sleep(Duration::from_millis(1)).await;
            }
            assert!(spawned < 1_000_000, "{}", entries(table));
        }
        for task in [waits.id(), elsewhere.id()] {
            let said = table.describe(task.into(), TaskState::Waiting);
            assert_eq!(said.as_deref(), Some("server"));
        }
        other.shutdown_background();
    }

    #[liten::test]
    async fn spans_that_end_with_their_tasks_leave_nothing() {
        let table = table();
        let tasks: Vec<_> = (0..100)
            .map(|number| {
                let work = async {
                    yield_now().instrument(info_span!("inner")).await;
                };
                liten::spawn(work.instrument(info_span!("outer", number)))
            })
            .collect();
        for task in tasks {
            let id = task.id();
            task.await.unwrap();
            assert!(!table.parts.of(id.into()).entries.contains_key(&id.into()));
        }
    }
}
