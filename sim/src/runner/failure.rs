//! What the user reads about a failing seed.

use std::collections::BTreeSet;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::child::{Launcher, Run, Traces};
use super::confirm::{Confirmation, confirm};
use super::mask::Mask;
use super::minimise::{Smallest, Verdict, minimise};
use super::report::{ChildReport, Outcome};
use super::sweep::{Finding, Plan};
use super::trees::trees;
use super::{Sweep, minutes_and_seconds, test_arguments};

/// How many lines of the output the report shows.
const TAIL: usize = 40;

/// How many disturbances the report lists. The file has all of them.
const LISTED: usize = 20;

/// A failing seed with all that is known about it.
pub(super) struct Failure<'a> {
    pub(super) sweep: &'a Sweep,
    pub(super) launcher: &'a Launcher,
    pub(super) plan: &'a Plan,
    /// The file that the mask came from, when the user gave one.
    pub(super) only: Option<&'a Path>,
    pub(super) random_addresses: bool,
    pub(super) finding: Finding,
}

/// The result of the search for a smaller set, and the file that holds it.
struct Explained {
    smallest: Smallest,
    /// The run with that set alone.
    report: ChildReport,
    file: Result<PathBuf, String>,
    real: Duration,
}

impl Failure<'_> {
    /// Runs the seed again, looks for the fewest disturbances, and says all of it.
    pub(super) fn explain(mut self) -> Result<String, String> {
        if self.finding.failing().report.outcome == Outcome::Stopped {
            return Ok(self.picture());
        }
        let confirmation = confirm(self.launcher, &self.plan.mask, &mut self.finding)?;
        let explained = match confirmation {
            Confirmation::Same { .. } if self.sweep.minimise_seconds > 0 => Some(self.minimise()?),
            // Without runs that repeat, a smaller set would prove nothing.
            _ => None,
        };
        let trees = match confirmation {
            Confirmation::Same { .. } => self.trees()?,
            Confirmation::Differs { .. } => Vec::new(),
        };
        Ok(self.text(&confirmation, explained.as_ref(), &trees))
    }

    /// Where the tasks of liten's runtimes wait in a run that does not go on. The run stops for
    /// that just before its end.
    fn trees(&self) -> Result<Vec<String>, String> {
        let ChildReport { outcome, decisions, .. } = &self.finding.failing().report;
        if !matches!(outcome, Outcome::Stuck | Outcome::Limit) || *decisions < 2 {
            return Ok(Vec::new());
        }
        self.launcher.stop_at(decisions - 1);
        let run = self.launcher.run(self.finding.seed, &self.plan.mask);
        self.launcher.stop_at(0);
        let run = run?;
        if run.report.outcome != Outcome::Stopped {
            return Ok(Vec::new());
        }
        let output =
            run.output.end(u64::MAX).map_err(|error| format!("read the output: {error}"))?;
        Ok(trees(output.lines()))
    }

    /// What there was to see where the run stopped.
    fn picture(&self) -> String {
        let mut lines = Lines::default();
        let report = &self.finding.failing().report;
        self.headline(&mut lines, report);
        self.circumstances(&mut lines, report);
        lines.0
    }

    fn minimise(&self) -> Result<Explained, String> {
        let start = Instant::now();
        let until = start + Duration::from_secs(self.sweep.minimise_seconds);
        let (seed, failing) = (self.finding.seed, &self.finding.failing().report);
        let smallest = minimise(&failing.happened, self.launcher.jobs(), until, |sets| {
            let masks: Vec<Mask> = sets.iter().map(|set| Mask::only(set.iter().copied())).collect();
            let runs = self.launcher.run_each(seed, &masks, Traces::Off)?;
            let verdict = |run: &Run| match &run.report.outcome {
                Outcome::Passed => Verdict::Passed,
                _ if run.ends_as(failing) => Verdict::Same,
                _ => Verdict::Other,
            };
            Ok(runs.iter().map(verdict).collect())
        })?;
        // The words for the disturbances differ from those of the long run: its times were other
        // ones.
        let mask = Mask::only(smallest.keys.iter().copied());
        let report = match smallest.keys.len() {
            0 => failing.clone(),
            _ => self.launcher.run(seed, &mask)?.report,
        };
        let path = self.kept("only");
        let file = make_parent(&path).and_then(|()| mask.write_to(&path)).map(|()| path);
        Ok(Explained { smallest, report, file, real: start.elapsed() })
    }

    fn text(
        &self,
        confirmation: &Confirmation,
        explained: Option<&Explained>,
        trees: &[String],
    ) -> String {
        let mut lines = Lines::default();
        let run = self.finding.failing();
        self.headline(&mut lines, &run.report);
        self.circumstances(&mut lines, &run.report);
        if !trees.is_empty() {
            lines.add(1, "where tasks wait, just before the end:");
            trees.iter().for_each(|line| lines.add(2, line));
        }
        match confirmation {
            Confirmation::Same { runs } if run.report.decisions == 0 => {
                lines.add(1, &format!("reproducible: the same end in {runs} of {runs} runs"));
            }
            Confirmation::Same { runs } => {
                let hash = run.report.hash;
                lines.add(1, &format!("reproducible: hash {hash:016x} in {runs} of {runs} runs"));
            }
            Confirmation::Differs { runs, same, how } => {
                lines.add(
                    1,
                    &format!("not reproducible: {same} of {runs} runs did the same; {how}"),
                );
            }
        }
        let leaks: BTreeSet<&String> =
            self.finding.runs.iter().flat_map(|run| &run.report.leaks).collect();
        for leak in leaks {
            lines.add(1, &format!("leak: {leak}"));
        }
        if self.random_addresses {
            lines.add(1, "addresses: random, because the system refused `personality`");
        }
        if let Some(explained) = explained {
            explained.tell(&mut lines, &run.report);
        }
        lines.add(1, &format!("again:    {}", self.command(self.only)));
        if let Some(Ok(file)) = explained.filter(|it| it.worked()).map(|it| &it.file) {
            lines.add(1, &format!("smallest: {}", self.command(Some(file))));
        }
        if run.report.decisions > 0 {
            lines.add(1, &format!("look:     LITEN_SIM_STOP=-50 {}", self.command(self.only)));
        }
        let kept = self.kept("output");
        let place = match make_parent(&kept).and_then(|()| {
            run.output
                .copy_to(&kept)
                .map_err(|error| format!("copy to {}: {error}", kept.display()))
        }) {
            Ok(()) => format!("all of it: {}", kept.display()),
            Err(error) => format!("not kept: {error}"),
        };
        lines.add(1, &format!("output of the failing run (last {TAIL} lines; {place}):"));
        for line in run.output.tail(TAIL) {
            lines.add(2, &line);
        }
        lines.0
    }

    fn headline(&self, lines: &mut Lines, report: &ChildReport) {
        let (name, seed) = (&self.sweep.name, self.finding.seed);
        let what = match report.outcome {
            Outcome::Passed => "is not reproducible",
            Outcome::Stopped => "has stopped",
            _ => "failed",
        };
        let place = match self.plan.count {
            Some(1) => String::new(),
            count => {
                let of = count.map_or(String::new(), |count| format!(" of {count} seeds"));
                format!(" (the {}{of})", ordinal(seed - self.plan.first + 1))
            }
        };
        lines.add(0, &format!("liten-sim: `{name}` {what} with seed {seed}{place}"));
        let mut whence = Vec::new();
        if !report.host.is_empty() {
            whence.push(format!("host {}", report.host));
        }
        if !report.thread.is_empty() {
            whence.push(format!("thread {}", report.thread));
        }
        if report.decisions > 0 || report.time > 0 {
            whence.push(format!("{} virtual", seconds(report.time)));
            whence.push(format!("decision {}", report.decisions));
        }
        let mut end = match (&report.outcome, report.message.is_empty()) {
            (Outcome::Hung, _) => {
                format!("hung: no end after {} s of real time", self.sweep.seconds)
            }
            (Outcome::Failed, false) => report.message.clone(),
            (outcome, true) => outcome.to_string(),
            (outcome, false) => format!("{outcome}: {}", report.message),
        };
        if !whence.is_empty() {
            end = format!("{}: {end}", whence.join(", "));
        }
        lines.add(1, &end);
        if matches!(&report.outcome, Outcome::Crashed(how) if how.starts_with("exit code 0 ")) {
            let arguments = self.sweep.arguments.join(" ");
            lines.add(
                1,
                &format!("the child may not have reached the test: its arguments are {arguments}"),
            );
        }
    }

    fn circumstances(&self, lines: &mut Lines, report: &ChildReport) {
        if !report.drawn.is_empty() {
            lines.add(1, &format!("drawn: {}", report.drawn));
        }
        if !report.faults.is_empty() {
            let told: Vec<String> = report
                .faults
                .iter()
                .map(|(time, what)| format!("{what} at {}", seconds(*time)))
                .collect();
            lines.add(1, &format!("faults: {}", told.join(", ")));
        }
        if !report.waits.is_empty() {
            lines.add(1, "who waits for what:");
            for wait in &report.waits {
                lines.add(2, wait);
            }
        }
    }

    /// A file beside the program's build that stays after the sweep.
    fn kept(&self, ending: &str) -> PathBuf {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let name: String = self.sweep.name.chars().map(plain).collect();
        folder_for_results(self.launcher.program())
            .join(format!("{name}-{}.{ending}", self.finding.seed))
    }

    /// What to type into a shell to run the seed again.
    fn command(&self, only: Option<&Path>) -> String {
        let mut text = String::new();
        if let Some(only) = only {
            let _ = write!(text, "LITEN_SIM_ONLY={} ", quoted(&only.to_string_lossy()));
        }
        let _ = write!(text, "LITEN_SIM_SEED={} ", self.finding.seed);
        let name = &self.sweep.name;
        if self.sweep.arguments == test_arguments(name) {
            let _ = write!(text, "cargo test -- --exact {name}");
            if env::args()
                .any(|argument| argument == "--ignored" || argument == "--include-ignored")
            {
                text.push_str(" --include-ignored");
            }
        } else {
            if self.sweep.program.is_some() {
                text.push_str("liten-sim ");
            }
            text.push_str(&quoted(&self.launcher.program().to_string_lossy()));
            for argument in &self.sweep.arguments {
                let _ = write!(text, " {}", quoted(argument));
            }
        }
        text
    }
}

impl Explained {
    /// Whether there is a set with which the run fails.
    fn worked(&self) -> bool {
        !self.smallest.keys.is_empty() || self.smallest.calm == Some(Verdict::Same)
    }

    fn tell(&self, lines: &mut Lines, failing: &ChildReport) {
        let Smallest { keys, without, runs, cut_short, calm } = &self.smallest;
        let all = failing.happened.len();
        let word = if *runs == 1 { "run" } else { "runs" };
        let cost = format!("{runs} {word}, {}", minutes_and_seconds(self.real));
        if !self.worked() {
            let why = match calm {
                None => "there was no time for a run without disturbances",
                _ => "the run does not fail without disturbances, and it left no list of them",
            };
            lines.add(1, &format!("smallest that still fails ({cost}): unknown; {why}"));
            return;
        }
        if keys.is_empty() {
            lines.add(1, &format!("fails without any disturbance ({cost}); {all} happened"));
            return;
        }
        let cut = if *cut_short { "; the time was over, so a smaller set may exist" } else { "" };
        let count = keys.len();
        lines.add(
            1,
            &format!("smallest that still fails ({cost}): {count} of {all} disturbances{cut}"),
        );
        for (key, without) in keys.iter().zip(without).take(LISTED) {
            let told = self.report.told(*key).or_else(|| failing.told(*key));
            // The key itself stands in the file.
            let told = told.map_or_else(|| key.to_string(), |told| format!("{}: {told}", key.kind));
            let twin = match without {
                Some(Verdict::Passed) => "   without this the run passes",
                Some(Verdict::Other) => "   without this the run fails in another way",
                Some(Verdict::Same) | None => "",
            };
            lines.add(2, &format!("{told}{twin}"));
        }
        if count > LISTED {
            lines.add(2, &format!("and {} more", count - LISTED));
        }
        for kind in keys.iter().take(LISTED).map(|key| key.kind).collect::<BTreeSet<_>>() {
            lines.add(2, &format!("({kind}: {})", kind.words()));
        }
        if let Err(error) = &self.file {
            lines.add(1, &format!("the set is not kept: {error}"));
        }
    }
}

/// A text whose lines are indented by two spaces for each level.
#[derive(Default)]
struct Lines(String);

impl Lines {
    /// Further lines of `text` go one level deeper.
    fn add(&mut self, level: usize, text: &str) {
        for (i, line) in text.lines().enumerate() {
            let indent = 2 * (level + usize::from(i > 0));
            let _ = writeln!(self.0, "{:indent$}{line}", "");
        }
    }
}

/// `sim` in Cargo's target folder, which has a `CACHEDIR.TAG`. The folder for temporary files where
/// there is none.
fn folder_for_results(program: &Path) -> PathBuf {
    let target = program.ancestors().find(|folder| folder.join("CACHEDIR.TAG").exists());
    target.map_or_else(|| env::temp_dir().join("liten-sim"), |target| target.join("sim"))
}

fn make_parent(path: &Path) -> Result<(), String> {
    let Some(folder) = path.parent() else { return Ok(()) };
    fs::create_dir_all(folder).map_err(|error| format!("create {}: {error}", folder.display()))
}

fn seconds(nanos: u64) -> String {
    format!("{:.3} s", nanos as f64 / 1e9)
}

fn ordinal(n: u64) -> String {
    let ending = match (n % 10, n % 100) {
        (1, rest) if rest != 11 => "st",
        (2, rest) if rest != 12 => "nd",
        (3, rest) if rest != 13 => "rd",
        _ => "th",
    };
    format!("{n}{ending}")
}

/// `text` as one word of a shell.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_string();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}
