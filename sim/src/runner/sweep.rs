//! Runs seed after seed until one fails.

use std::io::{Write as _, stderr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use super::child::{Launcher, Run, joined};
use super::mask::Mask;
use super::report::Outcome;
use super::summary::Summary;
use super::trees::dump;

/// Which seeds to run.
pub(super) struct Plan {
    pub(super) first: u64,
    /// `None`: until the time is over.
    pub(super) count: Option<u64>,
    pub(super) until: Option<Instant>,
    /// Compare two runs of one seed in so many.
    pub(super) compare: Option<u64>,
    pub(super) mask: Mask,
    pub(super) show_output: bool,
}

/// A seed that failed, or whose two runs differ.
pub(super) struct Finding {
    pub(super) seed: u64,
    /// One run or two.
    pub(super) runs: Vec<Run>,
}

impl Finding {
    pub(super) fn failing(&self) -> &Run {
        // A seed whose runs differ may have passed at first.
        self.runs.iter().find(|run| !run.report.passed()).unwrap_or(&self.runs[0])
    }

    fn is_one(&self) -> bool {
        self.runs.iter().any(|run| !run.report.passed() || !run.equals(&self.runs[0]))
    }
}

/// Runs the seeds of `plan`. Gives the lowest failing seed of those that ended: after a failure no
/// new one starts.
pub(super) fn hunt(
    launcher: &Launcher,
    plan: &Plan,
    summary: &mut Summary,
) -> Result<Option<Finding>, String> {
    let next = AtomicU64::new(0);
    let stop = AtomicBool::new(false);
    let found = Mutex::new((summary, None::<Finding>));
    let ended: Vec<Result<(), String>> = thread::scope(|scope| {
        let work = || {
            let result = work(launcher, plan, &next, &stop, |finding| {
                let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                found.0.add(&finding.runs);
                let lower = found.1.as_ref().is_none_or(|known| finding.seed < known.seed);
                if finding.is_one() && lower {
                    found.1 = Some(finding);
                }
            });
            if result.is_err() {
                stop.store(true, Ordering::Relaxed);
            }
            result
        };
        let jobs = plan.count.map_or(launcher.jobs(), |count| {
            launcher.jobs().min(usize::try_from(count).unwrap_or(usize::MAX))
        });
        let threads: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(joined).collect()
    });
    ended.into_iter().collect::<Result<(), String>>()?;
    Ok(found.into_inner().unwrap_or_else(PoisonError::into_inner).1)
}

/// What one thread does: it takes the next seed as long as there is one.
fn work(
    launcher: &Launcher,
    plan: &Plan,
    next: &AtomicU64,
    stop: &AtomicBool,
    take: impl Fn(Finding),
) -> Result<(), String> {
    loop {
        let over = plan.until.is_some_and(|until| Instant::now() >= until);
        if over || stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        let place = next.fetch_add(1, Ordering::Relaxed);
        if plan.count.is_some_and(|count| place >= count) {
            return Ok(());
        }
        let Some(seed) = plan.first.checked_add(place) else { return Ok(()) };
        let mut runs = vec![launcher.run(seed, &plan.mask)?];
        if runs[0].report.passed()
            && plan.compare.is_some_and(|one_in| place.is_multiple_of(one_in))
        {
            runs.push(launcher.run(seed, &plan.mask)?);
        }
        if plan.show_output {
            let Run { report, output } = &runs[0];
            let shown = if report.outcome == Outcome::Stopped {
                output.end(u64::MAX).and_then(|text| write!(stderr(), "{}", dump(&text)))
            } else {
                output.show()
            };
            shown.map_err(|error| format!("show the output: {error}"))?;
        }
        let finding = Finding { seed, runs };
        if finding.is_one() {
            stop.store(true, Ordering::Relaxed);
        }
        take(finding);
    }
}
