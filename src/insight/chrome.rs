//! Traces in the format of Chrome's trace viewer: a process for each runtime, a track for each worker.

use super::event::PollOutcome;
use super::json::Object;
use super::trace::{Cause, Mark, Trace};
use crate::engine::task::RunningTask;
use crate::observe::{Event, Record};
use crate::short::short;
use std::fmt;
use std::io;

/// One entry of the list that the format is.
enum Entry<'a> {
    ProcessName(&'a Trace),
    TrackName(&'a Trace, usize),
    Slice(&'a Trace, usize, &'a Record),
    UnderWay(&'a Trace, usize, RunningTask, u64),
    /// Where the arrow with that number begins, or ends.
    Arrow {
        trace: &'a Trace,
        number: usize,
        cause: &'a Cause,
        is_end: bool,
    },
    /// Why the trace was kept, at its end.
    Mark(&'a Trace, &'a Mark),
}

impl Trace {
    /// Returns the trace as JSON in the format of Chrome's trace viewer, which <https://ui.perfetto.dev> and
    /// `chrome://tracing` read.
    ///
    /// There is a track for each worker, with its polls, its sleeps and its rounds of the driver. Polls have
    /// the place from which the task was spawned as their name. An arrow leads from a wake or a spawn to
    /// the poll that followed, if no event that was lost could be that poll.
    pub fn to_chrome_json(&self) -> String {
        let mut text = String::new();
        write_json(&[self], &mut text);
        text
    }

    /// Writes what [`to_chrome_json`](Self::to_chrome_json) returns, without having all of it in memory.
    ///
    /// It is written in small pieces, so `out` should have a buffer.
    ///
    /// # Errors
    ///
    /// The first error of `out`.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::fs::File;
    /// use std::io::{BufWriter, Write};
    ///
    /// # liten::block_on(async {
    /// let recording = liten::runtime::Handle::current().record().unwrap();
    /// liten::task::yield_now().await;
    /// # let dir = std::env::temp_dir().join(format!("liten-doc-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir)?;
    /// let mut file = BufWriter::new(File::create(dir.join("trace.json"))?);
    /// recording.stop().write_chrome_json(&mut file)?;
    /// file.flush()?;
    /// # std::fs::remove_dir_all(&dir)?;
    /// # std::io::Result::Ok(())
    /// # }).unwrap();
    /// ```
    pub fn write_chrome_json(&self, out: impl io::Write) -> io::Result<()> {
        let mut out = Fallible { out, error: None };
        write_json(&[self], &mut out);
        out.error.map_or(Ok(()), Err)
    }
}

/// Text for something that may fail; after the first error nothing more is written.
struct Fallible<W> {
    out: W,
    error: Option<io::Error>,
}

impl<W: io::Write> fmt::Write for Fallible<W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.error.is_none() {
            self.error = self.out.write_all(text.as_bytes()).err();
        }
        self.error.as_ref().map_or(Ok(()), |_| Err(fmt::Error))
    }
}

/// Text of a limited length; after what has no room nothing more is taken.
struct Bounded {
    text: String,
    room: usize,
    is_full: bool,
}

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.is_full |= text.len() > self.room;
        if self.is_full {
            return Err(fmt::Error);
        }
        self.room -= text.len();
        self.text.push_str(text);
        Ok(())
    }
}

/// All of `traces` in one. `None`: that would be more than `most` bytes.
pub(super) fn json(traces: &[&Trace], most: usize) -> Option<String> {
    let mut out = Bounded { text: String::new(), room: most, is_full: false };
    write_json(traces, &mut out);
    (!out.is_full).then_some(out.text)
}

fn write_json(traces: &[&Trace], text: &mut dyn fmt::Write) {
    let causes: Vec<Vec<Cause>> = traces.iter().map(|trace| trace.causes()).collect();
    let mut number = 0;
    let entries = traces.iter().zip(&causes).flat_map(|(&trace, causes)| {
        let tracks = 0..=trace.workers.len();
        let names = tracks.map(move |track| Entry::TrackName(trace, track));
        let slices = trace.records().map(move |(track, record)| Entry::Slice(trace, track, record));
        let under_way = trace.under_way.iter();
        let under_way =
            under_way.map(move |&(track, task, begin)| Entry::UnderWay(trace, track, task, begin));
        let first = number;
        number += causes.len();
        let arrows = causes.iter().enumerate().flat_map(move |(index, cause)| {
            let arrow = move |is_end| Entry::Arrow { trace, number: first + index, cause, is_end };
            [arrow(false), arrow(true)]
        });
        [Entry::ProcessName(trace)]
            .into_iter()
            .chain(names)
            .chain(slices)
            .chain(under_way)
            .chain(arrows)
            .chain(trace.mark.iter().map(|mark| Entry::Mark(trace, mark)))
    });
    Object::write(text, |all| {
        all.list("traceEvents", entries, |entry, object| write(&entry, object));
        all.object("otherData", |object| {
            object.text("program", super::shown::program());
            object.number("lost", traces.iter().map(|trace| trace.lost()).sum::<u64>());
            for mark in traces.iter().filter_map(|trace| trace.mark.as_ref()) {
                object.sentence("reason", &mark.reason);
                object.text("at", &mark.at);
                object.number("skipped", mark.skipped);
            }
        });
    });
}

fn write(entry: &Entry<'_>, object: &mut Object<'_>) {
    match *entry {
        Entry::ProcessName(trace) => {
            let name = short(trace.name.as_deref().unwrap_or("liten"));
            named(object, "process_name", &format!("{name} (runtime {})", trace.runtime));
            object.number("pid", trace.runtime);
        }
        Entry::TrackName(trace, track) => {
            let worker = format!("worker {track}");
            let name = if track < trace.workers.len() { &worker } else { "other threads" };
            named(object, "thread_name", name);
            on(object, trace, track);
        }
        Entry::Slice(trace, track, record) => {
            slice(object, record);
            on(object, trace, track);
        }
        Entry::UnderWay(trace, track, task, begin) => {
            lasts(object, "poll", trace.end, trace.end.saturating_sub(begin));
            object.place("name", task.spawned_at());
            object.object("args", |object| {
                object.number("task", task.id());
                object.text("outcome", PollOutcome::UnderWay.word());
            });
            on(object, trace, track);
        }
        Entry::Mark(trace, mark) => {
            object.text("ph", "i");
            object.text("s", "p");
            object.text("cat", "snapshot");
            object.sentence("name", &mark.reason);
            object.number("ts", Micros(trace.end));
            on(object, trace, 0);
        }
        Entry::Arrow { trace, number, cause, is_end } => {
            let (at, track) =
                if is_end { (cause.polled_at, cause.to) } else { (cause.at, cause.from) };
            object.text("ph", if is_end { "f" } else { "s" });
            object.text("bp", "e");
            object.number("id", number);
            object.text("cat", "cause");
            object.text("name", if cause.is_spawn { "spawn" } else { "wake" });
            object.number("ts", Micros(at));
            on(object, trace, track);
        }
    }
}

fn slice(object: &mut Object<'_>, record: &Record) {
    let at = record.at;
    let of_task = |object: &mut Object<'_>, verb, task: RunningTask| {
        lasts(object, verb, at, 0);
        object.text("name", &format!("{verb} task {}", task.id()));
        object.object("args", |object| object.place("spawned_at", task.spawned_at()));
    };
    match record.event {
        Event::Poll { task, duration, outcome } => {
            lasts(object, "poll", at, duration);
            object.place("name", task.spawned_at());
            object.object("args", |object| {
                object.number("task", task.id());
                object.text("outcome", PollOutcome::of(outcome).word());
            });
        }
        Event::Wake(task) => of_task(object, "wake", task),
        Event::Spawn(task) => of_task(object, "spawn", task),
        Event::Panic(task) => of_task(object, "panic", task),
        Event::Sleep { duration } => {
            lasts(object, "sleep", at, duration);
            object.text("name", "parked");
        }
        Event::Turn { duration, wakers, fired } => {
            lasts(object, "driver", at, duration);
            object.text("name", "events");
            object.object("args", |object| {
                object.number("wakers", wakers);
                object.number("of_timers", fired);
            });
        }
    }
}

/// A slice that ends at `at`.
fn lasts(object: &mut Object<'_>, category: &str, at: u64, duration: u64) {
    object.text("ph", "X");
    object.text("cat", category);
    object.number("ts", Micros(at.saturating_sub(duration)));
    object.number("dur", Micros(duration));
}

fn named(object: &mut Object<'_>, what: &str, name: &str) {
    object.text("ph", "M");
    object.text("name", what);
    object.object("args", |object| object.sentence("name", name));
}

fn on(object: &mut Object<'_>, trace: &Trace, track: usize) {
    object.number("pid", trace.runtime);
    object.number("tid", track);
}

/// Nanoseconds, shown as microseconds, which the format wants.
struct Micros(u64);

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1_000, self.0 % 1_000)
    }
}
