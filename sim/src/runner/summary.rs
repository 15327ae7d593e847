//! What a sweep can say about all its runs together.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;
use std::time::Duration;

use super::child::Run;
use super::minutes_and_seconds;

/// The numbers of one sweep. Its `Display` is one line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Summary {
    pub(crate) name: String,
    pub(crate) seeds: u64,
    /// More than `seeds`: some seeds run twice.
    pub(crate) runs: u64,
    pub(crate) real: Duration,
    /// Virtual nanoseconds. The sum of a long sweep does not fit 64 bits.
    pub(crate) virtual_time: u128,
    pub(crate) decisions: u64,
    pub(crate) choices: u64,
    pub(crate) hashes: HashSet<u64>,
    /// In how many seeds the scenario reached each `sometimes`.
    pub(crate) sometimes: BTreeMap<String, u64>,
    pub(crate) compared: u64,
    /// What the world could not control, and in how many seeds.
    pub(crate) leaks: BTreeMap<String, u64>,
    /// The system refused fixed addresses, so runs may differ where a program looks at them.
    pub(crate) random_addresses: bool,
}

impl Summary {
    /// Takes the runs of one seed in.
    pub(super) fn add(&mut self, runs: &[Run]) {
        self.seeds += 1;
        self.runs += runs.len() as u64;
        self.compared += u64::from(runs.len() > 1);
        for run in runs {
            self.virtual_time += u128::from(run.report.time);
            self.decisions += run.report.decisions;
            self.choices += run.report.choices;
            self.hashes.insert(run.report.hash);
        }
        for (name, reached) in runs.first().into_iter().flat_map(|run| &run.report.sometimes) {
            *self.sometimes.entry(name.clone()).or_insert(0) += u64::from(*reached);
        }
        let leaks: BTreeSet<&String> = runs.iter().flat_map(|run| &run.report.leaks).collect();
        for leak in leaks {
            *self.leaks.entry(leak.clone()).or_insert(0) += 1;
        }
    }

    /// The names that no seed reached.
    pub(crate) fn never(&self) -> impl Iterator<Item = &str> {
        self.sometimes.iter().filter(|(_, seeds)| **seeds == 0).map(|(name, _)| name.as_str())
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let real = self.real.as_secs_f64();
        let per_minute = if real > 0.0 { self.seeds as f64 * 60.0 / real } else { 0.0 };
        let virtual_seconds = self.virtual_time as f64 / 1e9;
        let share = 100.0 * self.choices as f64 / self.decisions.max(1) as f64;
        write!(
            f,
            "liten-sim: `{}`: {} seeds in {}",
            self.name,
            self.seeds,
            minutes_and_seconds(self.real)
        )?;
        write!(f, " ({per_minute:.0} a minute), {virtual_seconds:.1} s virtual,")?;
        write!(f, " {} decisions ({share:.0} % with a choice)", self.decisions)?;
        write!(f, ", {} distinct hashes", self.hashes.len())?;
        write!(f, ", {} seeds run twice", self.compared)?;
        for (name, seeds) in &self.sometimes {
            write!(f, ", `{name}` in {seeds} of {} seeds", self.seeds)?;
        }
        if self.never().next().is_some() {
            let names: Vec<String> = self.never().map(|name| format!("`{name}`")).collect();
            write!(f, "; WARNING: never reached: {}", names.join(", "))?;
        }
        // A few of them show what is wrong. All of them would hide the rest of the line.
        for (leak, seeds) in self.leaks.iter().take(3) {
            let leak = leak.lines().next().unwrap_or("");
            write!(
                f,
                "; WARNING: may not be reproducible in {seeds} of {} seeds: {leak}",
                self.seeds
            )?;
        }
        if self.random_addresses {
            f.write_str("; the system refused fixed addresses, so they were random")?;
        }
        Ok(())
    }
}
