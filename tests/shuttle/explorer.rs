//! Runs a scenario under many schedules.

use shuttle::scheduler::{
    PctScheduler, RandomScheduler, ReplayScheduler, Schedule, Scheduler, Task, TaskId,
};
use shuttle::{Config, MaxSteps, Runner};
use std::env;

/// Schedules per scenario, unless the environment says another number.
const SCHEDULES: usize = 10_000;

/// Far more steps than any schedule needs that comes to an end.
const MOST_STEPS: usize = 20_000;

/// How many changes of priority a schedule of the second kind contains.
const DEPTHS: [usize; 2] = [2, 6];

/// Once in this many steps a parked thread may wake up for no reason.
const SPURIOUS: usize = 16;

/// Explores `scenario`: half of the schedules choose at random at each step, the other half let priorities
/// decide that change at a few random steps, which finds what needs one thread to be late for long.
pub(super) fn explore(scenario: impl Fn() + Send + Sync + Copy + 'static) {
    explore_some(schedules(), scenario);
}

/// As [`explore`], for `schedules` schedules.
pub(super) fn explore_some(schedules: usize, scenario: impl Fn() + Send + Sync + Copy + 'static) {
    if let Ok(schedule) = env::var("LITEN_SHUTTLE_REPLAY") {
        let text = std::fs::read_to_string(&schedule).unwrap_or(schedule);
        Runner::new(ReplayScheduler::new_from_encoded(&text), config()).run(scenario);
        return;
    }
    let random = RandomScheduler::new(schedules.div_ceil(2));
    Runner::new(Sober::new(random), config()).run(scenario);
    for depth in DEPTHS {
        let priorities = PctScheduler::new(depth, schedules.div_ceil(2 * DEPTHS.len()));
        Runner::new(Sober::new(priorities), config()).run(scenario);
    }
}

fn schedules() -> usize {
    let number = env::var("LITEN_SHUTTLE_SCHEDULES").ok();
    number.map_or(SCHEDULES, |number| number.trim().parse().expect("a number of schedules"))
}

fn config() -> Config {
    let mut config = Config::new();
    config.stack_size = 1 << 17;
    config.max_steps = MaxSteps::FailAfter(MOST_STEPS);
    config.silence_warnings = true;
    config
}

/// Lets parked threads sleep: shuttle would wake them for no reason at most steps, to find nothing.
struct Sober<S> {
    inner: S,
    steps: usize,
}

impl<S> Sober<S> {
    fn new(inner: S) -> Self {
        Self { inner, steps: 0 }
    }
}

impl<S: Scheduler> Scheduler for Sober<S> {
    fn new_execution(&mut self) -> Option<Schedule> {
        self.steps = 0;
        self.inner.new_execution()
    }

    fn next_task(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        self.steps += 1;
        if self.steps % SPURIOUS == 0 || runnable.iter().all(|task| task.runnable()) {
            return self.inner.next_task(runnable, current, is_yielding);
        }
        let awake: Vec<&Task> = runnable.iter().copied().filter(|task| task.runnable()).collect();
        self.inner.next_task(&awake, current, is_yielding)
    }

    fn next_u64(&mut self) -> u64 {
        self.inner.next_u64()
    }
}
