//! The spans and events that a timer sends.

use crate::current_thread;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::time::Duration;
use tokio::time::{Instant, sleep};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

pub(crate) fn all() {
    let told = Arc::new(Told::default());
    let runtime = current_thread();
    let _entered = runtime.enter();
    tracing::subscriber::with_default(told.clone(), || {
        let mut sleep = pin!(sleep(Duration::from_secs(3600)));
        let mut poll = || {
            let poll = sleep.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert!(poll.is_pending());
            sleep.as_mut().reset(Instant::now() + Duration::from_secs(7200));
        };
        poll();
        poll();
    });
    told.lines.lock().unwrap().iter().for_each(|line| println!("  {line}"));
}

/// What was sent, a line for each.
#[derive(Default)]
struct Told {
    spans: AtomicU64,
    lines: Mutex<Vec<String>>,
}

impl Told {
    fn tell(&self, line: String) {
        self.lines.lock().unwrap().push(line);
    }
}

/// The fields whose values are the same each time.
struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let is_fixed = !["duration", "loc.line", "loc.col"].contains(&field.name());
        let value = if is_fixed { format!("{value:?}") } else { "…".to_owned() };
        self.0 += &format!(" {}={value}", field.name());
    }
}

impl Subscriber for Told {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let id = self.spans.fetch_add(1, Relaxed) + 1;
        let mut fields = Fields(String::new());
        span.record(&mut fields);
        let (meta, parent) = (span.metadata(), span.parent().map(|id| id.into_u64()));
        let parent = (parent, span.is_root());
        self.tell(format!("new {id} {} {} {parent:?}{}", meta.target(), meta.name(), fields.0));
        Id::from_u64(id)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields(String::new());
        event.record(&mut fields);
        self.tell(format!("event {}{}", event.metadata().target(), fields.0));
    }

    fn enter(&self, id: &Id) {
        self.tell(format!("enter {}", id.into_u64()));
    }

    fn exit(&self, id: &Id) {
        self.tell(format!("exit {}", id.into_u64()));
    }

    fn try_close(&self, id: Id) -> bool {
        self.tell(format!("close {}", id.into_u64()));
        true
    }
}
