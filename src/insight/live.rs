//! What the workers of one runtime have done lately, for the page's pictures: read out of a recording piece
//! by piece, and kept as sums over short times.
//!
//! The rings of a recording hold a second's events of a busy server, or less. So they are emptied often, and
//! of each event only a sum stays: how long a worker was in polls of tasks of one place, slept, or called
//! wakers, in each [`BIN`]. What lasts longer than a bin is kept one by one, and its time is in no bin: a
//! reader may have those in which it began before it ends. All of it is bounded: so many bins, lanes, places
//! and long events, and what is beyond them is counted together as others.

use super::last_place::LastPlace;
use super::tap::Tap;
use super::track::{NextRecords, Track};
use crate::engine::task::{Polled, RunningTask, TaskId};
use crate::observe::{Event, Record};
use crate::runtime::Handle;
use std::collections::{HashMap, VecDeque};
use std::panic::Location;

/// In nanoseconds, as all times here.
pub(super) const BIN: u64 = 200_000_000;
/// Two minutes.
pub(super) const BINS: usize = 600;
/// Of more workers the others have no lane.
pub(super) const MOST_LANES: usize = 32;
/// The places of spawns that are told apart. The first one stands for all that have come later.
const MOST_PLACES: usize = 256;
/// The same in one lane of one bin.
const MOST_SHARES: usize = 24;
/// How many long events are kept.
const MOST_SPANS: usize = 1_000;
/// Of how many tasks the polls are counted. If there are more, all counts begin anew.
const MOST_POLLED: usize = 1 << 16;
/// How many tasks that are ready are remembered until they are polled, and in how many events a read looks
/// for them. With more events, only some tasks are followed.
const MOST_READY: usize = 10_000;
const FOLLOWED: usize = 4_096;
/// One bucket for each doubling of the time, the first for all below 1 µs, the last for 16 s and more.
pub(super) const DOUBLINGS: usize = 26;

/// What the sums of a runtime take at most, as insight.rs says. A vector may have room for twice as many
/// as it holds, and so may a table, which has a byte more for each entry.
const _: () = {
    const fn table(entries: usize) -> usize {
        (entries * 8 / 7).next_power_of_two() * (size_of::<(TaskId, u64)>() + 1)
    }
    let shares = (MOST_SHARES + 1).next_power_of_two() * size_of::<Share>();
    let lanes = MOST_LANES + 1;
    let in_bin = lanes.next_power_of_two() * size_of::<Lane>() + lanes * shares;
    let bins = (BINS + 1).next_power_of_two() * size_of::<Bin>() + (BINS + 1) * in_bin;
    let spans = (MOST_SPANS + 1).next_power_of_two() * size_of::<Span>();
    assert!(bins + spans + table(MOST_POLLED) + table(MOST_READY + 2 * FOLLOWED) <= 15_000_000);
};

pub(super) type Place = &'static Location<'static>;

pub(super) struct Live {
    /// Another one each time that a recording begins, so that a reader does not take one for the other.
    pub(super) number: u64,
    tap: Tap,
    next: NextRecords,
    /// The places that have been met, by number.
    pub(super) places: Vec<Place>,
    numbers: HashMap<Place, u16>,
    last_place: LastPlace<u16>,
    /// The number of the first bin; they follow each other.
    pub(super) first: u64,
    pub(super) bins: VecDeque<Bin>,
    pub(super) spans: VecDeque<Span>,
    /// How many spans there were before these.
    pub(super) earlier_spans: u64,
    /// Since when a task is ready, of those that the last read has followed.
    ready: HashMap<TaskId, u64>,
    /// It has followed the tasks whose numbers this divides.
    stride: u64,
    /// How often tasks that have not ended were polled.
    polls: HashMap<TaskId, u64>,
    pub(super) lost: u64,
    pub(super) events: u64,
}

/// What happened in a short time.
#[derive(Default)]
pub(super) struct Bin {
    pub(super) lanes: Vec<Lane>,
    /// How many polls took how long.
    pub(super) polls: [u32; DOUBLINGS],
    /// How many tasks waited how long from ready to polled.
    pub(super) waits: [u32; DOUBLINGS],
    /// How many events were overwritten before they were read.
    pub(super) lost: u64,
}

/// One worker in a bin.
#[derive(Default, Clone)]
pub(super) struct Lane {
    pub(super) asleep: u64,
    pub(super) driver: u64,
    pub(super) shares: Vec<Share>,
}

/// The polls of tasks of one place.
#[derive(Clone)]
pub(super) struct Share {
    pub(super) place: u16,
    pub(super) time: u64,
    pub(super) polls: u32,
}

/// An event that was longer than a bin.
pub(super) struct Span {
    pub(super) lane: usize,
    pub(super) begin: u64,
    pub(super) end: u64,
    /// `None`: a sleep.
    pub(super) poll: Option<(RunningTask, u16)>,
}

impl Live {
    /// `None`: there are no workers, or the runtime has been shut down.
    pub(super) fn of(handle: &Handle, number: u64) -> Option<Self> {
        let tap = Tap::of(handle, None)?;
        Some(Self {
            number,
            next: tap.start(),
            tap,
            places: Vec::new(),
            numbers: HashMap::new(),
            last_place: LastPlace::new(),
            first: 0,
            bins: VecDeque::new(),
            spans: VecDeque::new(),
            earlier_spans: 0,
            ready: HashMap::new(),
            stride: 1,
            polls: HashMap::new(),
            lost: 0,
            events: 0,
        })
    }

    /// Takes what has been recorded since the last time.
    pub(super) fn read_on(&mut self) {
        let (workers, others) = self.tap.read(&mut self.next);
        let now = self.now();
        self.make_room(now);
        self.follow(&workers, &others);
        for (worker, track) in workers.iter().enumerate() {
            for record in &track.records {
                self.count(worker.min(MOST_LANES), record);
            }
        }
        let lost = workers.iter().chain([&others]).map(|track| track.lost).sum::<u64>();
        self.lost += lost;
        if let Some(bin) = self.bin(now) {
            bin.lost += lost;
        }
    }

    pub(super) fn now(&self) -> u64 {
        self.tap.now()
    }

    /// What the workers poll at the moment: lane, which of its polls that is, task, and the number of its
    /// place.
    pub(super) fn under_way(&mut self) -> Vec<(usize, u64, RunningTask, u16)> {
        let polls: Vec<_> = self.tap.under_way().filter(|poll| poll.0 < MOST_LANES).collect();
        let placed = polls
            .into_iter()
            .map(|(lane, poll, task)| (lane, poll, task, self.place(task.spawned_at())));
        placed.collect()
    }

    /// Bins from this number on may still change.
    pub(super) fn open(&self) -> u64 {
        (self.now() / BIN).saturating_sub(1)
    }

    fn make_room(&mut self, now: u64) {
        let current = now / BIN;
        if current >= self.first + (self.bins.len() + BINS) as u64 {
            // The last read was so long ago that nothing of it is left.
            self.bins.clear();
            self.first = current;
        }
        while self.first + (self.bins.len() as u64) <= current {
            self.bins.push_back(Bin::default());
        }
        while self.bins.len() > BINS {
            self.bins.pop_front();
            self.first += 1;
        }
    }

    fn bin(&mut self, time: u64) -> Option<&mut Bin> {
        let index = (time / BIN).checked_sub(self.first)?;
        self.bins.get_mut(index as usize)
    }

    fn lane(&mut self, lane: usize, time: u64) -> Option<&mut Lane> {
        let lanes = &mut self.bin(time)?.lanes;
        if lanes.len() <= lane {
            lanes.resize(lane + 1, Lane::default());
        }
        lanes.get_mut(lane)
    }

    fn count(&mut self, lane: usize, record: &Record) {
        self.events += 1;
        let end = record.at;
        match record.event {
            Event::Poll { task, duration, outcome } => {
                self.count_poll(task.id(), outcome);
                let place = self.place(task.spawned_at());
                if let Some(bin) = self.bin(end) {
                    bin.polls[doubling(duration)] += 1;
                }
                self.spread(lane, end, duration, Some((task, place)), |lane, time, polls| {
                    lane.add(place, time, polls);
                });
            }
            Event::Sleep { duration } => {
                self.spread(lane, end, duration, None, |lane, time, _| lane.asleep += time);
            }
            Event::Turn { duration, .. } => {
                self.spread(lane, end, duration, None, |lane, time, _| lane.driver += time);
            }
            Event::Wake(_) | Event::Spawn(_) | Event::Panic(_) => {}
        }
    }

    /// A task that has ended is not shown any more.
    fn count_poll(&mut self, task: TaskId, outcome: Polled) {
        if outcome == Polled::Ready {
            self.polls.remove(&task);
            return;
        }
        if self.polls.len() >= MOST_POLLED && !self.polls.contains_key(&task) {
            self.polls.clear();
        }
        *self.polls.entry(task).or_default() += 1;
    }

    /// How often the task was polled at least: since the recording began, as far as events were not lost.
    pub(super) fn polls(&self, task: TaskId) -> u64 {
        self.polls.get(&task).copied().unwrap_or(0)
    }

    /// Adds what ended at `end` to the bins that it was in, with the number of ends there; of what was longer
    /// than a bin, and is kept, only its end.
    fn spread(
        &mut self,
        lane: usize,
        end: u64,
        duration: u64,
        poll: Option<(RunningTask, u16)>,
        mut add: impl FnMut(&mut Lane, u64, u32),
    ) {
        let begin = end.saturating_sub(duration);
        if duration > BIN && lane < MOST_LANES {
            self.keep(Span { lane, begin, end, poll });
            if let Some(lane) = self.lane(lane, end) {
                add(lane, 0, 1);
            }
            return;
        }
        let mut from = begin.max(self.first * BIN);
        while from <= end {
            let until = end.min((from / BIN + 1) * BIN - 1);
            let ends = u32::from(until == end);
            if let Some(lane) = self.lane(lane, from) {
                add(lane, (until - from) + u64::from(ends == 0), ends);
            }
            from = until + 1;
        }
    }

    fn keep(&mut self, span: Span) {
        self.spans.push_back(span);
        if self.spans.len() > MOST_SPANS {
            self.spans.pop_front();
            self.earlier_spans += 1;
        }
    }

    /// The number of a place.
    pub(super) fn place(&mut self, place: Place) -> u16 {
        let (places, numbers) = (&mut self.places, &mut self.numbers);
        self.last_place.find(place, || {
            if let Some(&number) = numbers.get(place) {
                return number;
            }
            let number = places.len() as u16 + 1;
            if usize::from(number) >= MOST_PLACES {
                return 0;
            }
            places.push(place);
            numbers.insert(place, number);
            number
        })
    }

    /// Finds out how long tasks were ready before they were polled.
    fn follow(&mut self, workers: &[Track], others: &Track) {
        let tracks = || workers.iter().chain([others]);
        let count: usize = tracks().map(|track| track.records.len()).sum();
        // By their numbers, so that a task is followed from its wake to its poll.
        let stride = count.div_ceil(FOLLOWED).max(1) as u64;
        let is_followed = |task: TaskId| scattered(task) % stride == 0;
        if std::mem::replace(&mut self.stride, stride) != stride {
            // This read sees no polls of the others, and a later one would take their next poll for the
            // first.
            self.ready.retain(|task, _| is_followed(*task));
        }
        let whole = whole_from(tracks());
        if whole.is_some() {
            self.ready.clear();
        }
        let mut steps: Vec<(u64, bool, TaskId)> = Vec::new();
        for record in tracks().flat_map(|track| &track.records) {
            match record.event {
                Event::Wake(task) | Event::Spawn(task) if is_followed(task.id()) => {
                    steps.push((record.at, false, task.id()));
                }
                Event::Poll { task, duration, .. } if is_followed(task.id()) => {
                    steps.push((record.at.saturating_sub(duration), true, task.id()));
                }
                _ => {}
            }
        }
        steps.retain(|(time, ..)| whole.is_none_or(|whole| *time >= whole));
        steps.sort_unstable();
        if self.ready.len() > MOST_READY {
            // Most are of tasks that are never polled, or whose polls were not recorded.
            self.ready.clear();
        }
        for (time, is_poll, task) in steps {
            if !is_poll {
                self.ready.insert(task, time);
                continue;
            }
            let Some(&since) = self.ready.get(&task) else { continue };
            // A worker notes a poll when the task may have been woken again, and that wake may have been read
            // before: it waits for the next poll.
            let Some(wait) = time.checked_sub(since) else { continue };
            self.ready.remove(&task);
            if let Some(bin) = self.bin(time) {
                bin.waits[doubling(wait)] += 1;
            }
        }
    }
}

impl Lane {
    fn add(&mut self, place: u16, time: u64, polls: u32) {
        let is_full = self.shares.len() >= MOST_SHARES;
        let place = match self.shares.iter().any(|share| share.place == place) {
            false if is_full => 0,
            _ => place,
        };
        match self.shares.iter_mut().find(|share| share.place == place) {
            Some(share) => {
                share.time += time;
                share.polls += polls;
            }
            None => self.shares.push(Share { place, time, polls }),
        }
    }
}

/// If events are lost: the time from which on all are there, so that it is known what became of a task.
fn whole_from<'a>(tracks: impl Iterator<Item = &'a Track>) -> Option<u64> {
    let torn = tracks.filter(|track| track.lost != 0);
    torn.map(|track| track.records.first().map_or(u64::MAX, |first| first.at)).max()
}

/// So that tasks that are spawned in turns are not followed in turns.
fn scattered(task: TaskId) -> u64 {
    task.to_bits().wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32
}

/// The number of the doubling that `nanoseconds` are in: 0 is all below 1,024.
fn doubling(nanoseconds: u64) -> usize {
    ((nanoseconds >> 9 | 1).ilog2() as usize).min(DOUBLINGS - 1)
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::*;

    fn live() -> (crate::runtime::Runtime, Live) {
        let runtime =
            crate::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let mut live = Live::of(runtime.handle(), 1).unwrap();
        live.read_on();
        (runtime, live)
    }

    fn new_task() -> RunningTask {
        RunningTask::new(TaskId::next(), Location::caller())
    }

    fn poll(task: RunningTask, begin: u64, duration: u64) -> Record {
        let event = Event::Poll { task, duration, outcome: Polled::Pending };
        Record { at: begin + duration, event }
    }

    fn wake(task: RunningTask, at: u64) -> Record {
        Record { at, event: Event::Wake(task) }
    }

    impl Live {
        fn follow_one(&mut self, records: Vec<Record>, lost: u64) {
            self.follow(&[Track { records, lost, ..Track::default() }], &Track::default());
        }

        fn waits(&self) -> u32 {
            self.bins.iter().flat_map(|bin| bin.waits).sum()
        }
    }

    /// A worker notes a poll when the task may have been woken again, and that wake may have been read
    /// before.
    #[test]
    fn a_poll_that_is_read_after_the_next_wake_does_not_end_its_wait() {
        let (_runtime, mut live) = live();
        let (task, before) = (new_task(), live.waits());
        live.follow_one(vec![wake(task, 3_000)], 0);
        live.follow_one(vec![poll(task, 1_000, 2_500)], 0);
        assert_eq!(live.waits(), before);
        live.follow_one(vec![poll(task, 7_000, 10)], 0);
        assert_eq!(live.waits(), before + 1);
        assert_eq!(live.bins[0].waits[doubling(4_000)], 1);
    }

    /// What has happened to the task in between was not looked at.
    #[test]
    fn a_wait_is_not_known_if_a_read_in_between_does_not_follow_the_task() {
        let (_runtime, mut live) = live();
        let is_left_out = |task: &RunningTask| scattered(task.id()) % 2 != 0;
        let task = (0..).map(|_| new_task()).find(is_left_out).unwrap();
        let before = live.waits();
        live.follow_one(vec![wake(task, 1_000)], 0);
        let many = (0..FOLLOWED as u64).map(|at| wake(new_task(), at));
        live.follow_one(many.chain([poll(task, 2_000, 10), wake(task, 9_000)]).collect(), 0);
        live.follow_one(vec![poll(task, 10_000, 10)], 0);
        assert_eq!(live.waits(), before);
        live.follow_one(vec![wake(task, 11_000), poll(task, 12_000, 10)], 0);
        assert_eq!(live.waits(), before + 1);
    }

    #[test]
    fn a_wait_is_not_known_if_events_are_lost_in_between() {
        let (_runtime, mut live) = live();
        let (task, other, before) = (new_task(), new_task(), live.waits());
        live.follow_one(vec![wake(task, 1_000)], 0);
        // Of another thread there are events from the time of the lost ones.
        let track = |records, lost| Track { records, lost, ..Track::default() };
        let lost = track(vec![wake(other, 8_000), poll(other, 8_100, 10)], 5);
        live.follow(&[lost, track(vec![wake(task, 3_000)], 0)], &Track::default());
        assert_eq!(live.waits(), before + 1);
        live.follow_one(vec![poll(task, 10_000, 10)], 0);
        assert_eq!(live.waits(), before + 1);
    }

    #[test]
    fn polls_are_counted_of_a_bounded_number_of_tasks_until_they_end() {
        let (_runtime, mut live) = live();
        let (task, ends) = (TaskId::next(), TaskId::next());
        (0..3).for_each(|_| live.count_poll(task, Polled::Pending));
        live.count_poll(ends, Polled::Yielded);
        assert_eq!([task, ends].map(|task| live.polls(task)), [3, 1]);
        live.count_poll(ends, Polled::Ready);
        assert_eq!((live.polls(ends), live.polls.len()), (0, 1));
        (1..MOST_POLLED).for_each(|_| live.count_poll(TaskId::next(), Polled::Pending));
        live.count_poll(task, Polled::Pending);
        assert_eq!((live.polls(task), live.polls.len()), (4, MOST_POLLED));
        live.count_poll(TaskId::next(), Polled::Pending);
        assert_eq!((live.polls(task), live.polls.len()), (0, 1), "there were more");
    }

    /// A reader has some of the bins before the poll ends, and would not learn of the time in those.
    #[test]
    fn the_time_of_an_event_that_is_longer_than_a_bin_is_kept_once() {
        let (_runtime, mut live) = live();
        let task = new_task();
        live.make_room(9 * BIN);
        live.count(0, &poll(task, BIN / 2, 7 * BIN));
        live.count(0, &Record { at: 9 * BIN, event: Event::Sleep { duration: BIN + 1 } });
        let span = live.spans.front().unwrap();
        assert_eq!((span.begin, span.end - span.begin, live.spans.len()), (BIN / 2, 7 * BIN, 2));
        let lanes: Vec<_> = live.bins.iter().flat_map(|bin| &bin.lanes).collect();
        let shares = || lanes.iter().flat_map(|lane| &lane.shares);
        assert_eq!(shares().map(|share| share.time).sum::<u64>(), 0);
        assert_eq!(shares().map(|share| share.polls).sum::<u32>(), 1);
        assert_eq!(lanes.iter().map(|lane| lane.asleep).max(), Some(0));
    }

    /// Whatever is recorded, and for however long.
    #[test]
    fn all_that_is_kept_is_bounded() {
        let (_runtime, mut live) = live();
        let mut time = live.now();
        for round in 0..1_000 {
            // Two seconds, of which each worker has one in a poll, and more workers than have lanes.
            time += 10 * BIN;
            live.make_room(time);
            for worker in 0..2 * MOST_LANES {
                live.count(worker.min(MOST_LANES), &poll(new_task(), time - 5 * BIN, 5 * BIN));
            }
            assert!(live.bins.len() <= BINS && live.spans.len() <= MOST_SPANS, "{round}");
        }
        let places = |bin: &Bin| bin.lanes.iter().map(|lane| lane.shares.len()).max();
        assert_eq!((live.bins.len(), live.spans.len()), (BINS, MOST_SPANS));
        assert_eq!(live.earlier_spans, (1_000 * MOST_LANES - MOST_SPANS) as u64);
        assert_eq!(live.bins.iter().map(|bin| bin.lanes.len()).max(), Some(MOST_LANES + 1));
        assert_eq!(live.bins.iter().filter_map(places).max(), Some(1));
        live.make_room(time + 2 * BINS as u64 * BIN);
        assert_eq!((live.bins.len(), live.first), (1, time / BIN + 2 * BINS as u64));
    }

    #[test]
    fn beyond_so_many_places_all_are_counted_as_one() {
        let (_runtime, mut live) = live();
        let (first, second) = (Location::caller(), Location::caller());
        live.places = vec![new_task().spawned_at(); MOST_PLACES - 2];
        let last = MOST_PLACES as u16 - 1;
        let numbers = [first, second, first].map(|place| live.place(place));
        assert_eq!((numbers, live.places.len()), ([last, 0, last], MOST_PLACES - 1));
        let mut lane = Lane::default();
        (1..=100).for_each(|place| lane.add(place, 10, 2));
        assert_eq!(lane.shares.len(), MOST_SHARES + 1);
        let others = lane.shares.iter().find(|share| share.place == 0).unwrap();
        let left = 100 - MOST_SHARES;
        assert_eq!((others.time, others.polls), (10 * left as u64, 2 * left as u32));
    }

    /// Such as tasks that are woken and never polled.
    #[test]
    fn tasks_that_are_ready_are_remembered_within_bounds() {
        let (_runtime, mut live) = live();
        for _ in 0..10 {
            live.follow_one((0..FOLLOWED as u64).map(|at| wake(new_task(), at)).collect(), 0);
            assert!(live.ready.len() <= MOST_READY + FOLLOWED, "{}", live.ready.len());
        }
        live.follow_one((0..40 * FOLLOWED as u64).map(|at| wake(new_task(), at)).collect(), 0);
        assert!(live.ready.len() <= MOST_READY + 2 * FOLLOWED, "{}", live.ready.len());
    }
}
