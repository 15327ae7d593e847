//! Whether a seed does the same in each run.

use super::child::{Launcher, Run, Traces};
use super::mask::Mask;
use super::sweep::Finding;

/// How many runs of a failing seed are compared, unless the user says otherwise.
pub(super) const RUNS: usize = 3;

pub(super) enum Confirmation {
    /// All runs did the same, as far as they tell.
    Same { runs: usize },
    /// The text says where the runs part.
    Differs { runs: usize, same: usize, how: String },
}

/// Runs the seed of `finding` until there are `runs` runs of it, and compares them.
pub(super) fn confirm(
    launcher: &Launcher,
    mask: &Mask,
    finding: &mut Finding,
    runs: usize,
) -> Result<Confirmation, String> {
    let missing = runs.saturating_sub(finding.runs.len());
    let masks = vec![mask.clone(); missing];
    finding.runs.extend(launcher.run_each(finding.seed, &masks, Traces::AsAsked)?);
    let first = finding.failing();
    let runs = finding.runs.len();
    let same = finding.runs.iter().filter(|run| run.equals(first)).count();
    match finding.runs.iter().find(|run| !run.equals(first)) {
        None => Ok(Confirmation::Same { runs }),
        Some(other) => Ok(Confirmation::Differs { runs, same, how: difference(first, other) }),
    }
}

/// Where two runs of one seed part, in words.
fn difference(a: &Run, b: &Run) -> String {
    let (one, other) = (&a.report, &b.report);
    let pairs = || one.prefixes.iter().zip(&other.prefixes);
    let same = pairs().take_while(|(x, y)| x == y).last().map_or(0, |(x, _)| x.0);
    let place = match pairs().find(|(x, y)| x != y) {
        Some((x, y)) => format!("they part between decisions {same} and {}", x.0.min(y.0)),
        None if one.hash == other.hash => {
            "they made the same decisions, but ended otherwise".to_string()
        }
        None => format!("they part after decision {same}"),
    };
    let end = |run: &Run| {
        let report = &run.report;
        let message = report.first_line();
        let colon = if message.is_empty() { "" } else { ": " };
        format!(
            "{}{colon}{message} (hash {:016x}, {} decisions)",
            report.outcome, report.hash, report.decisions
        )
    };
    format!("{place}\n    one run:   {}\n    other run: {}", end(a), end(b))
}
