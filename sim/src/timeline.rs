//! What happened last in a run, in words.
//!
//! It is kept only in the run that a report is made from: to write it down takes longer than most
//! of what it tells. A process makes one run, so it is a static.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::choices::Key;
use crate::network::Nanos;

/// How many events are kept.
const KEPT: usize = 40;

/// How many bytes of a packet are shown.
const SHOWN: usize = 32;

static IS_ON: AtomicBool = AtomicBool::new(false);

static KNOWN: Mutex<Known> =
    Mutex::new(Known { events: VecDeque::new(), open: None, about: BTreeMap::new() });

struct Known {
    events: VecDeque<String>,
    /// The host whose printed line has not ended. Its text is in the last event.
    open: Option<String>,
    about: BTreeMap<Key, String>,
}

/// From now on events are kept, or no longer.
pub(crate) fn turn(on: bool) {
    // Relaxed: one thread of the run runs at a time, and handing over the turn orders all that it
    // did.
    IS_ON.store(on, Ordering::Relaxed);
}

/// Whether events are kept.
pub(crate) fn is_on() -> bool {
    // Relaxed: see `turn`.
    IS_ON.load(Ordering::Relaxed)
}

/// `words` says what happens at `now`.
pub(crate) fn note(now: Nanos, words: impl FnOnce() -> String) {
    if is_on() {
        let mut known = known();
        known.open = None;
        known.add(format!("{}  {}", seconds(now), words()));
    }
}

/// The host prints a part of a line, or more.
pub(crate) fn note_output(now: Nanos, host: &str, text: &str) {
    let mut known = known();
    let goes_on = known.open.as_deref() == Some(host);
    for (i, line) in text.lines().enumerate() {
        match known.events.back_mut().filter(|_| goes_on && i == 0) {
            Some(last) => last.push_str(line),
            None if line.is_empty() => {}
            None => known.add(format!("{}  {host} prints: {line}", seconds(now))),
        }
    }
    known.open = (!text.ends_with('\n')).then(|| host.to_owned());
}

/// What there is to say of the disturbance `key`.
pub(crate) fn explain(key: Key, words: String) {
    known().about.insert(key, words);
}

pub(crate) fn about(key: Key) -> Option<String> {
    known().about.get(&key).cloned()
}

/// The events, the first one first.
pub(crate) fn events() -> Vec<String> {
    known().events.iter().cloned().collect()
}

/// A virtual time, in one unit wherever a report has one.
pub(crate) fn seconds(nanos: Nanos) -> String {
    format!("{:.6} s", nanos as f64 / 1e9)
}

/// The first bytes of a packet as a text.
pub(crate) fn shown(bytes: &[u8]) -> String {
    let mut text = String::from("\"");
    for byte in bytes.iter().take(SHOWN) {
        let _ = write!(text, "{}", byte.escape_ascii());
    }
    text.push_str(if bytes.len() > SHOWN { "\"…" } else { "\"" });
    text
}

fn known() -> std::sync::MutexGuard<'static, Known> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Known {
    fn add(&mut self, event: String) {
        if self.events.len() == KEPT {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }
}
