//! What a worker did at equal distances of time: the viewer's call tree and flame graph are made of that.

use crate::nanoseconds;
use fxprof_processed_profile::{
    CategoryHandle, CpuDelta, Frame, FrameFlags, FrameInfo, Profile, ThreadHandle, Timestamp,
};
use liten::insight::{Event, EventKind};
use std::panic::Location;
use std::time::{Duration, Instant};

/// The most samples of a worker: the viewer stays quick, and the file small.
const MOST_SAMPLES: u32 = 10_000;
/// Nothing that is shorter takes time.
const LEAST_INTERVAL: Duration = Duration::from_micros(10);

/// What a worker is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// It polls a task that was spawned there.
    Poll(&'static Location<'static>),
    Sleep,
    Events,
    /// None of these: it looks for work.
    Runtime,
}

/// One of them, from its begin to its end.
pub(crate) struct Span {
    begin: Instant,
    end: Instant,
    work: Work,
}

impl Span {
    /// `None` if the event takes no time.
    pub(crate) fn of(event: &Event) -> Option<Self> {
        let work = match event.kind() {
            EventKind::Poll { task, .. } => Work::Poll(task.spawned_at()),
            EventKind::Sleep => Work::Sleep,
            EventKind::Turn { .. } => Work::Events,
            _ => return None,
        };
        Some(Self { begin: event.begin(), end: event.end(), work })
    }
}

/// The distance between two samples in a trace of that length.
pub(crate) fn interval(length: Duration) -> Duration {
    LEAST_INTERVAL.max(length / MOST_SAMPLES)
}

/// When to look: from the begin of the first span to the end of the last.
pub(crate) fn times(
    origin: Instant,
    interval: Duration,
    spans: &[Span],
) -> impl Iterator<Item = Instant> {
    let begin = spans.first().map_or(origin, |span| span.begin);
    let end = spans.iter().map(|span| span.end).max().unwrap_or(begin);
    // On the same grid for each worker.
    let before = begin.saturating_duration_since(origin).as_nanos().div_ceil(interval.as_nanos());
    let first = origin + interval * u32::try_from(before).unwrap_or(u32::MAX);
    std::iter::successors(Some(first), move |time| Some(*time + interval))
        .take_while(move |time| *time < end)
}

/// What was done at each of these times, which ascend, as the begins of the spans do. If one span lies within
/// another, the inner one counts.
pub(crate) fn at(
    spans: &[Span],
    times: impl Iterator<Item = Instant>,
) -> impl Iterator<Item = (Instant, Work)> {
    let (mut next, mut open) = (0, Vec::new());
    times.map(move |time| {
        while let Some(span) = spans.get(next).filter(|span| span.begin <= time) {
            open.push(span);
            next += 1;
        }
        open.retain(|span: &&Span| span.end > time);
        (time, open.last().map_or(Work::Runtime, |span| span.work))
    })
}

impl Work {
    /// Adds a sample: that the thread did this then, and since the last sample.
    pub(crate) fn add(
        self,
        profile: &mut Profile,
        thread: ThreadHandle,
        time: Timestamp,
        category: CategoryHandle,
        interval: Duration,
    ) {
        let label = match self {
            Self::Poll(place) => &place.to_string(),
            Self::Sleep => "parked",
            Self::Events => "events",
            Self::Runtime => "runtime",
        };
        let frame = Frame::Label(profile.intern_string(label));
        let frame = FrameInfo { frame, category_pair: category.into(), flags: FrameFlags::empty() };
        let stack = profile.intern_stack_frames(thread, std::iter::once(frame));
        // A poll may have waited in a system call: how much it has computed is not known. The graph shows how
        // long a worker was busy.
        let busy = match self {
            Self::Sleep => CpuDelta::ZERO,
            Self::Poll(_) | Self::Events | Self::Runtime => {
                CpuDelta::from_nanos(nanoseconds(interval))
            }
        };
        profile.add_sample(thread, time, stack, busy, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn span(origin: Instant, begin: u32, end: u32, work: Work) -> Span {
        Span { begin: origin + begin * MS, end: origin + end * MS, work }
    }

    #[test]
    fn each_sample_has_what_was_done_at_its_time() {
        let origin = Instant::now();
        let poll = Work::Poll(Location::caller());
        let spans = [
            span(origin, 2, 4, poll),
            span(origin, 4, 5, Work::Sleep),
            span(origin, 7, 10, poll),
            span(origin, 8, 9, Work::Events),
        ];
        let times = times(origin, MS, &spans);
        let seen: Vec<_> =
            at(&spans, times).map(|(time, work)| ((time - origin).as_millis(), work)).collect();
        let runtime = Work::Runtime;
        let wanted = [
            (2, poll),
            (3, poll),
            (4, Work::Sleep),
            (5, runtime),
            (6, runtime),
            (7, poll),
            (8, Work::Events),
            (9, poll),
        ];
        assert_eq!(seen, wanted);
    }

    #[test]
    fn a_worker_that_did_nothing_has_no_samples() {
        assert_eq!(times(Instant::now(), MS, &[]).count(), 0);
    }

    #[test]
    fn a_long_trace_has_as_many_samples_as_a_short_one() {
        assert_eq!(interval(Duration::from_secs(10)), MS);
        assert_eq!(interval(Duration::ZERO), LEAST_INTERVAL);
    }
}
