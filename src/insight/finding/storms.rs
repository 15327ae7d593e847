//! Tasks that are polled all the time and never wait, seen by many looks.
//!
//! A look reads of each worker how many polls it has begun, and which task it polls. Of the polls between the
//! first and the last look, a task has had about the part that it has of the looks that met a poll. That is
//! rather too little for a task whose polls are short, and so it is enough for a suspicion. A task that
//! answers many messages is polled often, too, but it waits in between. So a task with [`MANY_POLLS`] is
//! looked at [`WAITS_ASKED`] times, and is named only if it was hot each time.
//!
//! What remains is a task that always has more to do than it can, and yields again and again. It looks the
//! same from the outside, and so the finding is a suspicion.
//!
//! While nothing is shown, one look in some seconds tells whether the workers begin so many polls that one
//! task may have [`MANY_POLLS`] of them. Only then are looks in quick succession worth their time.

use super::Finding;
use crate::engine::task::{RunningTask, TaskId};
use std::collections::{HashMap, VecDeque};
use std::panic::Location;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A task with this many polls in a second is suspected.
const MANY_POLLS: u64 = 20_000;

/// Looks that are older are forgotten.
const WINDOW: Duration = Duration::from_secs(2);

/// The shortest part of the window that the looks have to cover.
const SHORTEST: Duration = Duration::from_secs(1);

/// Looks that cover this much show that nothing is polled all the time, if there were few polls.
const ENDED: Duration = Duration::from_millis(100);

/// The fewest different polls of a task that the looks have to meet.
const FEWEST_MET: u64 = 5;

/// For how long looks in quick succession should go on: until a suspect has been asked about often enough.
pub(in crate::insight) const CLOSE_LOOKS: Duration = Duration::from_millis(2500);

/// How many times in a row a suspect has to be hot before it is named.
const WAITS_ASKED: u32 = 32;

/// What one worker does.
#[derive(Clone, Copy)]
pub(in crate::insight) struct Seen {
    /// How many polls it has begun.
    pub(in crate::insight) polls: u64,
    pub(in crate::insight) task: Option<RunningTask>,
}

/// The looks at one runtime.
#[derive(Default)]
pub(in crate::insight) struct Storms {
    /// By worker. The oldest look first.
    looks: Vec<VecDeque<(Instant, Seen)>>,
    suspects: HashMap<TaskId, Suspect>,
    /// As of the last looks that covered enough time.
    busy_places: Vec<(&'static Location<'static>, u32)>,
    /// How many polls each worker had begun, at the last look in passing.
    passing: Option<(Instant, Vec<u64>)>,
}

struct Suspect {
    task: RunningTask,
    name: Option<Arc<str>>,
    polls_per_second: u64,
    /// How many times in turn it was hot.
    hot: u32,
}

impl Storms {
    /// Takes a look at all workers.
    pub(in crate::insight) fn look(&mut self, at: Instant, workers: &[Seen]) {
        self.looks.resize_with(workers.len().max(self.looks.len()), VecDeque::new);
        for (looks, seen) in self.looks.iter_mut().zip(workers) {
            looks.push_back((at, *seen));
            let is_old = |look: &(Instant, Seen)| at.saturating_duration_since(look.0) > WINDOW;
            while looks.front().is_some_and(is_old) {
                looks.pop_front();
            }
        }
        // What was found before stands until there is enough to judge by, unless it is plain that it has
        // ended.
        if !self.looks.iter().any(covers_enough) {
            let begun: u64 = self.looks.iter().map(begun).sum();
            let time = self.looks.iter().filter_map(covered).max().unwrap_or_default();
            if time >= ENDED && (begun as f64) < MANY_POLLS as f64 * time.as_secs_f64() {
                self.suspects.clear();
            }
            return;
        }
        self.busy_places = self.places();
        let mut busy: HashMap<TaskId, (RunningTask, u64)> = HashMap::new();
        for (task, polls) in self.looks.iter().flat_map(often_polled) {
            busy.entry(task.id()).or_insert((task, 0)).1 += polls;
        }
        busy.retain(|_, (_, polls)| *polls >= MANY_POLLS);
        self.suspects.retain(|id, _| busy.contains_key(id));
        for (id, (task, polls_per_second)) in busy {
            let new = || Suspect { task, name: None, polls_per_second, hot: 0 };
            self.suspects.entry(id).or_insert_with(new).polls_per_second = polls_per_second;
        }
    }

    /// Takes a look of which the last one was seconds ago. Returns whether the workers have begun so many
    /// polls since then that one task may be polled all the time. If not, what was found before has ended.
    pub(in crate::insight) fn look_in_passing(&mut self, at: Instant, workers: &[Seen]) -> bool {
        let polls: Vec<u64> = workers.iter().map(|seen| seen.polls).collect();
        let before = self.passing.replace((at, polls.clone()));
        let Some((since, before)) = before else { return false };
        let seconds = at.saturating_duration_since(since).as_secs_f64();
        // Of all workers: a task may go from one to another.
        let begun = polls.iter().zip(&before).map(|(now, before)| now.saturating_sub(*before));
        let is_busy = begun.sum::<u64>() as f64 >= MANY_POLLS as f64 * seconds;
        if !is_busy {
            *self = Self { passing: self.passing.take(), ..Self::default() };
        }
        is_busy
    }

    /// Whether there are tasks of which [`ask`](Self::ask) wants to know.
    pub(in crate::insight) fn has_suspects(&self) -> bool {
        !self.suspects.is_empty()
    }

    pub(in crate::insight) fn is_suspect(&self, task: TaskId) -> bool {
        self.suspects.contains_key(&task)
    }

    /// Takes the suspects among the live tasks, with their names and whether they wait. A suspect that is not
    /// among them has never waited.
    pub(in crate::insight) fn ask(&mut self, found: Vec<(TaskId, Option<Arc<str>>, bool)>) {
        let mut waiting = Vec::new();
        for (id, name, waits) in found {
            if let Some(suspect) = self.suspects.get_mut(&id) {
                suspect.name = name;
                waiting.extend(waits.then_some(id));
            }
        }
        for (id, suspect) in &mut self.suspects {
            suspect.hot = if waiting.contains(id) { 0 } else { suspect.hot.saturating_add(1) };
        }
    }

    /// The places whose tasks the workers polled, with the part of all looks at them in percent. Workers that
    /// polled nothing in this time do not count, such as spare ones.
    pub(in crate::insight) fn busy_places(&self) -> Vec<(&'static Location<'static>, u32)> {
        self.busy_places.clone()
    }

    fn places(&self) -> Vec<(&'static Location<'static>, u32)> {
        let (mut places, mut looks) = (HashMap::new(), 0_usize);
        let works = |looks: &&VecDeque<(Instant, Seen)>| {
            let is_polling = looks.back().is_some_and(|(_, last)| last.task.is_some());
            covers_enough(looks) && (begun(looks) != 0 || is_polling)
        };
        for (_, seen) in self.looks.iter().filter(works).flatten() {
            looks += 1;
            if let Some(task) = seen.task {
                *places.entry(task.spawned_at()).or_insert(0) += 1;
            }
        }
        let percent = |met: usize| (100 * met / looks.max(1)) as u32;
        places.into_iter().map(|(place, met)| (place, percent(met))).collect()
    }

    /// The busiest first.
    pub(in crate::insight) fn findings(&self) -> Vec<Finding> {
        let sure = self.suspects.values().filter(|suspect| suspect.hot >= WAITS_ASKED);
        let mut found: Vec<_> = sure.collect();
        found.sort_by_key(|suspect| std::cmp::Reverse(suspect.polls_per_second));
        let finding = |suspect: &Suspect| Finding::BusyTask {
            task: suspect.task,
            name: suspect.name.clone(),
            polls_per_second: suspect.polls_per_second,
        };
        found.into_iter().map(finding).collect()
    }
}

/// Whether one worker's looks cover enough time to judge by.
fn covers_enough(looks: &VecDeque<(Instant, Seen)>) -> bool {
    covered(looks).is_some_and(|time| time >= SHORTEST)
}

fn covered(looks: &VecDeque<(Instant, Seen)>) -> Option<Duration> {
    Some(looks.back()?.0.saturating_duration_since(looks.front()?.0))
}

/// How many polls it has begun in that time.
fn begun(looks: &VecDeque<(Instant, Seen)>) -> u64 {
    let (first, last) = (looks.front(), looks.back());
    first.zip(last).map_or(0, |((_, first), (_, last))| last.polls.saturating_sub(first.polls))
}

/// The tasks of one worker's looks, with their polls per second.
fn often_polled(looks: &VecDeque<(Instant, Seen)>) -> Vec<(RunningTask, u64)> {
    let Some(time) = covered(looks).filter(|time| *time >= SHORTEST) else { return Vec::new() };
    let per_second = begun(looks) as f64 / time.as_secs_f64();
    let mut met: HashMap<RunningTask, u64> = HashMap::new();
    let (mut all, mut before) = (0, None);
    for (_, seen) in looks {
        // One long poll is met by many looks, and counts once.
        if before.replace(seen.polls) != Some(seen.polls) {
            if let Some(task) = seen.task {
                *met.entry(task).or_default() += 1;
                all += 1;
            }
        }
    }
    met.retain(|_, met| *met >= FEWEST_MET);
    let part = |met: u64| met as f64 / all as f64;
    met.into_iter().map(|(task, met)| (task, (per_second * part(met)) as u64)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::Location;

    fn task() -> RunningTask {
        RunningTask::new(TaskId::next(), Location::caller())
    }

    /// Looks for two seconds at one worker, which begins `polls_between` polls between two looks and is met
    /// at the polls of these tasks in turn; each time the tasks are asked of, and wait if `waits` says so.
    fn said(
        polls_between: u64,
        tasks: &[Option<RunningTask>],
        mut waits: impl FnMut(u64) -> bool,
    ) -> Vec<String> {
        let (mut storms, begin) = (Storms::default(), Instant::now());
        for look in 0..=100_u64 {
            let at = begin + Duration::from_millis(20) * look as u32;
            let task = tasks[look as usize % tasks.len()];
            storms.look(at, &[Seen { polls: polls_between * look, task }]);
            if storms.has_suspects() {
                let found = tasks.iter().flatten();
                let found = found.map(|task| (task.id(), Some("spins".into()), waits(look)));
                storms.ask(found.collect());
            }
        }
        storms.findings().iter().map(Finding::to_string).collect()
    }

    #[test]
    fn a_look_in_passing_tells_whether_one_task_may_be_polled_all_the_time() {
        let (mut storms, begin) = (Storms::default(), Instant::now());
        let mut look = |seconds, polls: [u64; 2]| {
            let seen = polls.map(|polls| Seen { polls, task: None });
            storms.look_in_passing(begin + Duration::from_secs(seconds), &seen)
        };
        assert!(!look(0, [1_000_000, 0]), "there is nothing to compare with");
        assert!(!look(5, [1_000_000 + 5 * MANY_POLLS - 1, 0]));
        assert!(look(10, [2_000_000, 5 * MANY_POLLS]));
        assert!(!look(15, [2_000_000, 5 * MANY_POLLS]));
    }

    #[test]
    fn a_task_that_has_all_polls_and_never_waits_is_named() {
        let spins = task();
        let said = said(1_000, &[Some(spins)], |_| false);
        let [sentence] = &said[..] else { panic!("{said:?}") };
        let expected = format!("task {} \"spins\", spawned at ", spins.id());
        assert!(sentence.starts_with(&expected), "{sentence}");
        assert!(
            sentence.contains(", is polled some 50000 times a second and never waits: suspected")
        );
    }

    #[test]
    fn others_beside_it_and_gaps_between_polls_make_no_difference() {
        let spins = Some(task());
        let met = [spins, None, None, Some(task()), spins, None];
        let said = said(1_500, &met, |_| false);
        // The other one has a third of the polls, and was met as often as that.
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].contains("some 50000 times") && said[1].contains("some 25000"), "{said:?}");
    }

    #[test]
    fn nothing_is_said_of_tasks_that_wait_or_are_polled_less_or_once() {
        let one = [Some(task())];
        assert_eq!(said(1_000, &one, |look| look % 20 == 0), [""; 0], "it waits now and then");
        assert_eq!(said(300, &one, |_| false), [""; 0], "15,000 polls a second");
        assert_eq!(said(0, &one, |_| false), [""; 0], "it is in one long poll");
        assert_eq!(said(1_000, &[None], |_| false), [""; 0], "no task is ever met");
        let many: Vec<_> = (0..100).map(|_| Some(task())).collect();
        assert_eq!(
            said(100_000, &many, |_| false),
            [""; 0],
            "many tasks, each polled now and then"
        );
    }

    #[test]
    fn what_was_found_stands_until_there_are_enough_looks_or_it_has_ended() {
        let (mut storms, begin, spins) = (Storms::default(), Instant::now(), task());
        let at = |millis| begin + Duration::from_millis(millis);
        let seen = |millis| [Seen { polls: 50 * millis, task: Some(spins) }];
        assert!(!storms.look_in_passing(at(0), &seen(0)));
        for millis in (0..=2_000).step_by(20) {
            storms.look(at(millis), &seen(millis));
            storms.ask(Vec::new());
        }
        assert_eq!((storms.findings().len(), storms.busy_places().len()), (1, 1));
        // As the first request after a pause finds it.
        for millis in (5_000..=5_200).step_by(20) {
            storms.look(at(millis), &seen(millis));
            assert_eq!((storms.findings().len(), storms.busy_places().len()), (1, 1));
        }
        assert!(storms.look_in_passing(at(5_000), &seen(5_000)));
        assert_eq!(storms.findings().len(), 1);
        // It has ended since the last look in passing.
        for millis in [8_000, 8_100] {
            assert_eq!(storms.findings().len(), 1);
            storms.look(at(millis), &seen(5_200));
        }
        assert_eq!(storms.findings().len(), 0);
        assert!(!storms.look_in_passing(at(20_000), &seen(5_200)));
        assert_eq!(storms.busy_places().len(), 0);
    }

    #[test]
    fn a_task_that_has_ended_is_forgotten() {
        let (mut storms, begin, spins) = (Storms::default(), Instant::now(), task());
        for look in 0..=300_u32 {
            let at = begin + Duration::from_millis(20) * look;
            let task = (look < 100).then_some(spins);
            storms.look(at, &[Seen { polls: 1_000 * u64::from(look), task }]);
            storms.ask(Vec::new());
            let is_named = !storms.findings().is_empty();
            assert!(is_named || !(82..100).contains(&look), "{look}");
            assert!(!is_named || look < 200, "{look}");
        }
        assert!(!storms.has_suspects());
        assert!(storms.looks[0].len() <= 101);
    }
}
