//! What is kept of a span.

use std::fmt::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tracing_core::field::{Field, Visit};
use tracing_core::span::{Attributes, Record};

/// The most bytes that are kept of the fields of a span, without an ellipsis. A field may hold a whole
/// request.
const MOST_BYTES: usize = 256;
/// The most spans around a span that are kept with it. One that lies deeper is shown without those around it.
/// This also bounds the recursion in which the last one of them is dropped.
const MOST_AROUND: usize = 16;

/// A span, and the spans around it.
#[derive(Debug)]
pub(crate) struct Span {
    name: &'static str,
    /// No code of the program runs while it is locked.
    fields: Mutex<Fields>,
    parent: Option<Arc<Span>>,
    /// How many spans are around it, as far as they are kept.
    around: usize,
    is_closed: AtomicBool,
    /// The task that has entered it last. 0: no task has.
    pub(crate) task: AtomicU64,
}

impl Span {
    pub(crate) fn new(attributes: &Attributes<'_>, parent: Option<Arc<Self>>) -> Self {
        let parent = parent.filter(|parent| parent.around < MOST_AROUND);
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        Self {
            name: attributes.metadata().name(),
            fields: Mutex::new(fields),
            around: parent.as_ref().map_or(0, |parent| parent.around + 1),
            parent,
            is_closed: AtomicBool::new(false),
            task: AtomicU64::new(0),
        }
    }

    /// Adds fields whose values have come after the span was made.
    pub(crate) fn record(&self, values: &Record<'_>) {
        let mut new = Fields::default();
        values.record(&mut new);
        let mut fields = self.fields();
        let space = if fields.0.is_empty() { "" } else { " " };
        // An error means that the text was cut.
        _ = fields.write_str(space);
        _ = fields.write_str(&new.0);
    }

    fn fields(&self) -> MutexGuard<'_, Fields> {
        self.fields.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn close(&self) {
        // Ordering: Relaxed, the flag stands for nothing else in memory.
        self.is_closed.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_open(&self) -> bool {
        // Ordering: as in `close`.
        !self.is_closed.load(Ordering::Relaxed)
    }
}

/// As tracing-subscriber writes the spans of an event: `request{path="/report"}:render`.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = &self.parent {
            write!(f, "{parent}:")?;
        }
        f.write_str(self.name)?;
        match &self.fields().0[..] {
            "" => Ok(()),
            fields => write!(f, "{{{fields}}}"),
        }
    }
}

/// The fields as text, and no more of them than is kept.
#[derive(Debug, Default)]
struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let space = if self.0.is_empty() { "" } else { " " };
        // An error means that the text was cut, or that the value cannot be written.
        _ = match field.name() {
            "message" => write!(self, "{space}{value:?}"),
            name => write!(self, "{space}{name}={value:?}"),
        };
    }
}

impl Write for Fields {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = MOST_BYTES.saturating_sub(self.0.len());
        if text.len() <= room {
            self.0.push_str(text);
            return Ok(());
        }
        let end = (0..=room).rev().find(|&end| text.is_char_boundary(end));
        self.0.push_str(&text[..end.unwrap_or(0)]);
        if !self.0.ends_with('…') {
            self.0.push('…');
        }
        Err(fmt::Error)
    }
}
