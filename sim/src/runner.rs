//! The parent: it runs a scenario with one seed after the other, each in a process of its own, and
//! explains the first failure.
//!
//! A process for each seed costs about two milliseconds. In return, no run can see what an earlier
//! one left behind: statics, thread-locals and the addresses of its memory are as they are in every
//! run.

mod child;
mod confirm;
mod cores;
mod failure;
pub(crate) mod mask;
mod minimise;
pub(crate) mod report;
mod settings;
mod summary;
mod sweep;
mod system;
#[cfg(test)]
mod tests;
mod trees;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use child::Launcher;
use cores::Cores;
use failure::Failure;
use settings::Settings;
use sweep::Plan;

pub(crate) use summary::Summary;

use mask::Mask;

/// What to run. The user's environment may say otherwise, see `Settings`.
#[derive(Clone, Debug)]
pub(crate) struct Sweep {
    /// The path of the test as libtest writes it, such as `failover::it_fails_over`.
    pub(crate) name: String,
    pub(crate) seeds: u64,
    pub(crate) first: u64,
    /// How many children run at once. 0: one for each core that this process may use.
    pub(crate) jobs: usize,
    /// The real time that a child may take.
    pub(crate) seconds: u64,
    /// The real time for the search for a smaller failure. 0: no search. Runs that have begun may
    /// end after it.
    pub(crate) minimise_seconds: u64,
    /// What the child is called with. `test_arguments` gives it for a test.
    pub(crate) arguments: Vec<String>,
    /// What the child runs, if that is not this program.
    pub(crate) program: Option<PathBuf>,
    /// Variables that the child gets beside those of this process.
    pub(crate) environment: Vec<(&'static str, String)>,
}

/// The arguments with which a libtest program runs the one test `name`.
pub(crate) fn test_arguments(name: &str) -> Vec<String> {
    let flags = ["--exact", "--nocapture", "--test-threads=1", "--include-ignored"];
    [name].iter().chain(&flags).map(|argument| argument.to_string()).collect()
}

/// Runs the seeds of `sweep`. The error is the report when one of them fails.
pub(crate) fn sweep(sweep: Sweep) -> Result<Summary, String> {
    let settings = Settings::from_environment()?;
    let summary = sweep_with(&sweep, &settings)?;
    // Past libtest, which hides what a passing test prints. A closed standard error is the user's
    // wish.
    let _ = writeln!(io::stderr(), "{summary}");
    Ok(summary)
}

/// The error is the report, or says which operation of the runner failed.
fn sweep_with(sweep: &Sweep, settings: &Settings) -> Result<Summary, String> {
    let start = Instant::now();
    let sweep = &Sweep { seconds: sweep.seconds.max(1), ..sweep.clone() };
    let plan = plan(sweep, settings, start)?;
    let jobs = match settings.jobs.map_or(sweep.jobs, |jobs| usize::try_from(jobs).unwrap_or(0)) {
        0 => Cores::of_process().count(),
        jobs => jobs,
    };
    let limit = Duration::from_secs(sweep.seconds);
    let added = [settings.passed_on.as_slice(), &sweep.environment].concat();
    let (program, arguments) = (sweep.program.clone(), sweep.arguments.clone());
    let launcher = Launcher::new(program, arguments, jobs, limit, &added)?;
    let random_addresses = !system::addresses_can_be_fixed();
    if let Some(stop) = settings.stop {
        launcher.stop_at(decision(stop, &launcher, &plan)?);
    }
    let mut summary = Summary { name: sweep.name.clone(), random_addresses, ..Summary::default() };
    let found = sweep::hunt(&launcher, &plan, &mut summary)?;
    summary.real = start.elapsed();
    let Some(finding) = found else { return Ok(summary) };
    let only = settings.only.as_deref();
    let replays = settings.replays.map(|runs| usize::try_from(runs).unwrap_or(usize::MAX));
    let launcher = &launcher;
    let plan = &plan;
    let failure = Failure { sweep, launcher, plan, only, replays, random_addresses, finding };
    Err(failure.explain()?)
}

/// The decision at which the one seed of `plan` is to stop. A negative number counts from the end
/// of its run, which is made for that.
fn decision(stop: i64, launcher: &Launcher, plan: &Plan) -> Result<u64, String> {
    let decisions = match stop {
        0.. => 0,
        _ => launcher.run(plan.first, &plan.mask)?.report.decisions,
    };
    Ok(decisions.saturating_add_signed(stop).max(1))
}

fn plan(sweep: &Sweep, settings: &Settings, start: Instant) -> Result<Plan, String> {
    let mut mask = Mask::default();
    if let Some(text) = &settings.only {
        mask = Mask::from_setting(text).map_err(|error| format!("LITEN_SIM_ONLY: {error}"))?;
    }
    let first = settings.first.unwrap_or(sweep.first);
    let seeds = settings.seeds.unwrap_or(sweep.seeds);
    let compare = Some(if settings.check { 1 } else { 16 });
    let plan = Plan { first, count: Some(seeds), until: None, compare, mask, show_output: false };
    if let Some(seed) = settings.seed {
        // The user wants to see this one run, not to know whether it repeats.
        let compare = compare.filter(|_| settings.check);
        return Ok(Plan { first: seed, count: Some(1), compare, show_output: true, ..plan });
    }
    match settings.seconds {
        Some(seconds) => {
            let until = Some(start + Duration::from_secs(seconds));
            Ok(Plan { count: None, until, ..plan })
        }
        None => Ok(plan),
    }
}

/// A real duration for people.
fn minutes_and_seconds(time: Duration) -> String {
    match time.as_secs() {
        0..10 => format!("{:.1} s", time.as_secs_f64()),
        seconds @ 10..120 => format!("{seconds} s"),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}
