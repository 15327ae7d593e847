//! What the workers of a [`liten`] runtime have done, as a profile for
//! [Firefox Profiler](https://profiler.firefox.com).
//!
//! [`to_json`] turns a recording into a file that the viewer opens ("Load a profile from file"). The viewer
//! runs in the browser: the file stays on the machine, unless it is uploaded there on purpose.
//!
//! ```
//! use liten::runtime::Handle;
//!
//! # fn main() -> std::io::Result<()> { liten::block_on(async {
//! let recording = Handle::current().record().unwrap();
//! liten::spawn(async { liten::task::yield_now().await }).await.unwrap();
//! let trace = recording.stop();
//! std::fs::write(std::env::temp_dir().join("profile.json"), liten_fxprof::to_json(&trace))
//! # }) }
//! ```
//!
//! # What is in it
//!
//! | in the viewer | what it is |
//! |---|---|
//! | a track for each worker | its name is `worker 0` and so on; one more is for all other threads |
//! | marker chart | a row for each place from which tasks were spawned, with their polls; sleeps; rounds of events |
//! | marker table | the same, and each wake and each spawn; searched by place, or by `task 17` |
//! | call tree, flame graph | how the time of a worker divides between places, the runtime and sleep |
//!
//! The call tree is made of samples: for up to 10,000 times at equal distances, what each worker did then. So
//! what is much shorter than that distance is in it by chance. The markers are exact. A place has a sample, not
//! the functions below it: liten records no stacks.
//!
//! The time between two events of a worker, in which it looks for work, is that of the runtime. Before its
//! first event and after its last one a worker has no samples: it may have slept.

#![forbid(unsafe_code)]

mod marker;
mod sample;

use crate::marker::{Cause, Poll, Sleep, Turn};
use crate::sample::{Span, Work};
use fxprof_processed_profile::{
    CategoryColor, CategoryHandle, MarkerTiming, ProcessHandle, Profile, ReferenceTimestamp,
    SamplingInterval, ThreadHandle, Timestamp,
};
use liten::insight::{Event, EventKind, Trace};
use std::time::{Duration, Instant, SystemTime};

/// Returns `trace` as JSON in the format of Firefox Profiler (its "processed profile").
///
/// The process in the profile has the name of the runtime, if it has one, and says how many events were lost, if
/// some were.
///
/// # Examples
///
/// See [the crate](crate).
pub fn to_json(trace: &Trace) -> String {
    let profile = Writer::new(trace).write();
    serde_json::to_string(&profile).expect("its keys are strings, and none of its values fails")
}

/// A profile that is being made of a trace.
struct Writer<'a> {
    trace: &'a Trace,
    profile: Profile,
    process: ProcessHandle,
    categories: Categories,
    interval: Duration,
}

/// What has a colour of its own.
#[derive(Clone, Copy)]
struct Categories {
    poll: CategoryHandle,
    sleep: CategoryHandle,
    events: CategoryHandle,
    cause: CategoryHandle,
    runtime: CategoryHandle,
}

impl Categories {
    fn new(profile: &mut Profile) -> Self {
        Self {
            poll: profile.add_category("Poll", CategoryColor::Blue),
            sleep: profile.add_category("Sleep", CategoryColor::Transparent),
            events: profile.add_category("Events", CategoryColor::Green),
            cause: profile.add_category("Wake or spawn", CategoryColor::Orange),
            runtime: profile.add_category("Runtime", CategoryColor::Gray),
        }
    }
}

impl<'a> Writer<'a> {
    fn new(trace: &'a Trace) -> Self {
        let interval = sample::interval(trace.end().saturating_duration_since(trace.begin()));
        let nanoseconds = SamplingInterval::from_nanos(nanoseconds(interval));
        let mut profile = Profile::new(&program(), wall_clock(trace.begin()), nanoseconds);
        // There are labels only, so nothing is to be looked up.
        profile.set_symbolicated(true);
        let mut name =
            format!("{} (runtime {})", trace.runtime_name().unwrap_or("liten"), trace.runtime_id());
        if trace.lost() > 0 {
            name += &format!(", {} events lost", trace.lost());
        }
        let begin = Timestamp::from_nanos_since_reference(0);
        let process = profile.add_process(&name, std::process::id(), begin);
        let categories = Categories::new(&mut profile);
        let mut writer = Self { trace, profile, process, categories, interval };
        let end = writer.time(trace.end());
        writer.profile.set_process_end_time(process, end);
        writer
    }

    fn write(mut self) -> Profile {
        let workers = self.trace.workers();
        let mut tracks = vec![Vec::new(); workers + 1];
        for event in self.trace.events() {
            tracks[event.worker().unwrap_or(workers)].push(event);
        }
        for (index, mut events) in tracks.into_iter().enumerate() {
            let name = if index < workers {
                format!("worker {index}")
            } else {
                "other threads".to_owned()
            };
            let thread = self.thread(index, &name);
            events.sort_by_key(|event| (event.begin(), event.end()));
            events.iter().for_each(|event| self.mark(thread, event));
            self.sample(thread, &events);
        }
        self.profile
    }

    fn thread(&mut self, index: usize, name: &str) -> ThreadHandle {
        let begin = Timestamp::from_nanos_since_reference(0);
        let number = u32::try_from(index).unwrap_or(u32::MAX);
        let thread = self.profile.add_thread(self.process, number, begin, false);
        self.profile.set_thread_name(thread, name);
        self.profile.set_thread_show_markers_in_timeline(thread, true);
        let end = self.time(self.trace.end());
        self.profile.set_thread_end_time(thread, end);
        thread
    }

    fn mark(&mut self, thread: ThreadHandle, event: &Event) {
        let (begin, end) = (self.time(event.begin()), self.time(event.end()));
        let interval = MarkerTiming::Interval(begin, end);
        let (profile, categories) = (&mut self.profile, self.categories);
        match event.kind() {
            EventKind::Poll { task, outcome, .. } => {
                let poll = Poll::new(profile, categories.poll, task, outcome);
                profile.add_marker(thread, interval, poll);
            }
            EventKind::Wake(task) => {
                let cause = Cause::new(profile, categories.cause, "wake", task);
                profile.add_marker(thread, MarkerTiming::Instant(begin), cause);
            }
            EventKind::Spawn(task) => {
                let cause = Cause::new(profile, categories.cause, "spawn", task);
                profile.add_marker(thread, MarkerTiming::Instant(begin), cause);
            }
            EventKind::Panic(task) => {
                let panic = Cause::new(profile, categories.cause, "panic", task);
                profile.add_marker(thread, MarkerTiming::Instant(begin), panic);
            }
            EventKind::Sleep => {
                profile.add_marker(thread, interval, Sleep { category: categories.sleep });
            }
            EventKind::Turn { wakers, of_timers, .. } => {
                let turn = Turn { category: categories.events, wakers, of_timers };
                profile.add_marker(thread, interval, turn);
            }
            // Kinds that newer versions of liten may have.
            _ => {}
        }
    }

    /// What the worker did at each time that is looked at.
    fn sample(&mut self, thread: ThreadHandle, events: &[Event]) {
        let spans: Vec<_> = events.iter().filter_map(Span::of).collect();
        let times = sample::times(self.trace.begin(), self.interval, &spans);
        for (time, work) in sample::at(&spans, times) {
            let category = match work {
                Work::Poll(_) => self.categories.poll,
                Work::Sleep => self.categories.sleep,
                Work::Events => self.categories.events,
                Work::Runtime => self.categories.runtime,
            };
            let time = self.time(time);
            work.add(&mut self.profile, thread, time, category, self.interval);
        }
    }

    fn time(&self, instant: Instant) -> Timestamp {
        let time = instant.saturating_duration_since(self.trace.begin());
        Timestamp::from_nanos_since_reference(nanoseconds(time))
    }
}

/// In 64 bits, which last for 584 years.
fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// What a clock on the wall showed at that time, unless it has been set since.
fn wall_clock(instant: Instant) -> ReferenceTimestamp {
    let now = SystemTime::now();
    now.checked_sub(instant.elapsed()).unwrap_or(now).into()
}

/// The name of the program's file.
fn program() -> String {
    let path = std::env::current_exe().unwrap_or_default();
    path.file_name().map_or_else(|| "liten".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// The README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
