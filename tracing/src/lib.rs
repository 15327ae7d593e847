//! Shows the spans of `tracing` beside the tasks of liten.
//!
//! With [`TaskSpans`] among the layers of a program's subscriber, liten's insight says in which span a task
//! is, with the values of the span's fields, in its sentences and in the list of tasks:
//!
//! ```text
//! worker 0 has been in one poll for 104 ms: task 7, spawned at src/main.rs:31:9 (in request{path="/a"}), …
//! ```
//!
//! ```
//! use tracing::Instrument;
//! use tracing_subscriber::Layer;
//! use tracing_subscriber::filter::LevelFilter;
//! use tracing_subscriber::layer::SubscriberExt;
//! use tracing_subscriber::util::SubscriberInitExt;
//!
//! let spans = liten_tracing::TaskSpans::new().with_filter(LevelFilter::INFO);
//! tracing_subscriber::registry().with(spans).init();
//!
//! liten::block_on(async {
//!     let request = tracing::info_span!("request", path = "/report");
//!     let task = liten::spawn(std::future::pending::<()>().instrument(request));
//!     let handle = liten::runtime::Handle::current();
//!     while handle.metrics().num_cold_tasks() == 0 {
//!         liten::task::yield_now().await;
//!     }
//!     let seen = handle.tasks().find(|seen| seen.id() == task.id()).unwrap();
//!     assert_eq!(seen.description().as_deref(), Some(r#"request{path="/report"}"#));
//! });
//! ```
//!
//! | the task | the span |
//! |---|---|
//! | is being polled | the innermost one that it has entered and not left; none if there is none |
//! | waits | the innermost one that was open at the end of its last poll, among those that it left last |
//!
//! A task that waits for several things at once may be in several spans, of which the second row says one. It
//! also says a span that the task has left for good, if the program keeps that span open.
//!
//! Without a filter the layer enables spans of all levels in all crates. The page shows the values of
//! fields, also values that are hidden from the log.
//!
//! # Cost
//!
//! A span takes memory for its name and the first 256 bytes of its fields, until it and the spans within it
//! are closed. To enter or leave a span in a task takes two locks, each of which is one of sixteen, and two
//! lookups in tables. A program whose subscriber does not have the layer pays nothing.
//!
//! # Programs that use tokio
//!
//! A program on the package named `tokio` must depend on the copy of this crate inside that package.
//! Otherwise it has liten twice, and the layer sees no task: `liten-tracing = { path =
//! "tokio-on-liten/liten/tracing" }`.

mod open_spans;
mod parts;
mod span;
mod table;

use crate::open_spans::OpenSpans;
use crate::span::Span;
use crate::table::Table;
use std::sync::Arc;
use tracing_core::Subscriber;
use tracing_core::span::{Attributes, Id, Record};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

/// A layer that remembers in which span each task is.
///
/// Insight has one [function](liten::insight::describe_tasks) for this. A program that has set one of its own
/// keeps it, and then this layer does nothing.
#[derive(Debug)]
pub struct TaskSpans {
    /// Not in the extensions of the registry: a `Debug` of a field that panics while another layer writes
    /// there poisons them, and each later use of them panics.
    open: OpenSpans,
    table: Option<&'static Table>,
}

impl TaskSpans {
    /// Returns the layer, and has insight ask it, unless the program has called
    /// [`describe_tasks`](liten::insight::describe_tasks) before.
    #[expect(clippy::new_without_default, reason = "it changes what the process shows")]
    pub fn new() -> Self {
        Self { open: OpenSpans::default(), table: Table::of_the_process() }
    }

    /// The table and the calling task and its span, if there are all of them.
    fn here(&self, id: &Id) -> Option<(&'static Table, u64, Arc<Span>)> {
        Some((self.table?, liten::task::try_id()?.into(), self.open.get(id)?))
    }
}

impl<S> Layer<S> for TaskSpans
where
    S: Subscriber + for<'lookup> LookupSpan<'lookup>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if self.table.is_none() {
            return;
        }
        // The nearest one that this layer's filter lets through.
        let parent = context.span(id).and_then(|span| Some(span.parent()?.id()));
        let parent = parent.and_then(|parent| self.open.get(&parent));
        self.open.insert(id, Arc::new(Span::new(attributes, parent)));
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _: Context<'_, S>) {
        if let Some(span) = self.open.get(id) {
            span.record(values);
        }
    }

    fn on_enter(&self, id: &Id, _: Context<'_, S>) {
        if let Some((table, task, span)) = self.here(id) {
            table.enter(task, span);
        }
    }

    fn on_exit(&self, id: &Id, _: Context<'_, S>) {
        if let Some((table, task, span)) = self.here(id) {
            table.exit(task, &span);
        }
    }

    fn on_close(&self, id: Id, _: Context<'_, S>) {
        if let (Some(table), Some(span)) = (self.table, self.open.remove(&id)) {
            table.close(&span);
        }
    }
}

/// A layer that was replaced is not told of the ends of its spans.
impl Drop for TaskSpans {
    fn drop(&mut self) {
        self.open.close_all();
    }
}
