//! What the user reads about a failing seed.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::child::{Launcher, Run, Traces};
use super::confirm::{Confirmation, RUNS, confirm};
use super::mask::Mask;
use super::minimise::{Smallest, Verdict, minimise};
use super::report::{ChildReport, Outcome};
use super::sweep::{Finding, Plan};
use super::trees::{UNWOKEN, trees};
use super::{Sweep, minutes_and_seconds, test_arguments};
use crate::choices::{Key, Kind};
use crate::place;
use crate::timeline::seconds;

/// How many lines of the output the report shows.
const TAIL: usize = 40;

/// How many disturbances the report lists. The file has all of them.
const LISTED: usize = 20;

/// What the line of a report begins with that says when the last poll was.
const LAST_POLL: &str = "the last poll of a task";

/// What the line of a tree ends with whose future nothing can wake.
const NEVER: &str = "could never be woken";

/// How many keys a command line has at most.
const IN_LINE: usize = 12;

/// A failing seed with all that is known about it.
pub(super) struct Failure<'a> {
    pub(super) sweep: &'a Sweep,
    pub(super) launcher: &'a Launcher,
    pub(super) plan: &'a Plan,
    /// What the mask came from, when the user gave one: keys or a file.
    pub(super) only: Option<&'a str>,
    /// How many runs of the seed the user wants to be compared.
    pub(super) replays: Option<usize>,
    pub(super) random_addresses: bool,
    pub(super) finding: Finding,
}

/// The result of the search for a smaller set.
struct Explained {
    smallest: Smallest,
    real: Duration,
}

/// The run that the report tells of: the smallest that fails, or the one that was found.
struct Told {
    mask: Mask,
    run: Run,
    trees: Vec<String>,
}

impl Failure<'_> {
    /// Runs the seed again, looks for the fewest disturbances, and says all of it.
    pub(super) fn explain(mut self) -> Result<String, String> {
        if self.finding.failing().report.outcome == Outcome::Stopped {
            return Ok(self.picture());
        }
        let runs = self.replays.unwrap_or(RUNS);
        let confirmation = confirm(self.launcher, &self.plan.mask, &mut self.finding, runs)?;
        let repeats = matches!(confirmation, Confirmation::Same { .. });
        // Without runs that repeat, a smaller set would prove nothing. And the user's own set is
        // mostly the smallest of an earlier report.
        let searches = repeats
            && self.sweep.minimise_seconds > 0
            && self.only.is_none()
            && self.replays.is_none();
        let explained = if searches { Some(self.minimise()?) } else { None };
        let told = if repeats { self.tell(explained.as_ref())? } else { None };
        Ok(self.text(&confirmation, explained.as_ref(), told.as_ref()))
    }

    /// Makes the run that the report tells of once more, with its last events.
    fn tell(&self, explained: Option<&Explained>) -> Result<Option<Told>, String> {
        let mask = match explained.filter(|it| it.worked()) {
            Some(explained) => Mask::only(explained.smallest.keys.iter().copied()),
            None => self.plan.mask.clone(),
        };
        self.launcher.tell_events(true);
        let run = self.launcher.run(self.finding.seed, &mask);
        self.launcher.tell_events(false);
        let run = run?;
        // To note the events takes memory, and a program may depend on its addresses.
        if !run.ends_as(&self.finding.failing().report) {
            return Ok(None);
        }
        let trees = self.trees(&mask, &run.report)?;
        Ok(Some(Told { mask, run, trees }))
    }

    /// Where the tasks of liten's runtimes wait in a run that does not go on. The run stops for
    /// that just before its end.
    fn trees(&self, mask: &Mask, report: &ChildReport) -> Result<Vec<String>, String> {
        let ChildReport { outcome, decisions, .. } = report;
        if !matches!(outcome, Outcome::Stuck | Outcome::Limit) || *decisions < 2 {
            return Ok(Vec::new());
        }
        self.launcher.stop_at(decisions - 1);
        let run = self.launcher.run(self.finding.seed, mask);
        self.launcher.stop_at(0);
        let run = run?;
        if run.report.outcome != Outcome::Stopped {
            return Ok(Vec::new());
        }
        let output =
            run.output.end(u64::MAX).map_err(|error| format!("read the output: {error}"))?;
        Ok(trees(output.lines(), *outcome == Outcome::Stuck))
    }

    /// What there was to see where the run stopped.
    fn picture(&self) -> String {
        let mut lines = Lines::default();
        let report = &self.finding.failing().report;
        self.headline(&mut lines, report, false);
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
        Ok(Explained { smallest, real: start.elapsed() })
    }

    fn text(
        &self,
        confirmation: &Confirmation,
        explained: Option<&Explained>,
        told: Option<&Told>,
    ) -> String {
        let mut lines = Lines::default();
        let found = self.finding.failing();
        let run = told.map_or(found, |told| &told.run);
        let is_smaller = told.is_some() && explained.is_some_and(Explained::worked);
        self.headline(&mut lines, &run.report, is_smaller);
        if is_smaller && run.report.first_line() != found.report.first_line() {
            let said = found.report.first_line();
            lines.add(1, &format!("with all disturbances the same place said: {said}"));
        }
        let is_lost = |line: &&String| line.ends_with(NEVER) || line.ends_with(UNWOKEN);
        let lost = told.iter().flat_map(|told| &told.trees).filter(is_lost);
        lost.for_each(|line| lines.add(1, line));
        if let Some(explained) = explained {
            explained.tell(&mut lines, &run.report, &found.report);
        } else if self.only.is_some() {
            let happened = &run.report.happened;
            lines.add(1, &format!("with these {} disturbances:", happened.len()));
            list(&mut lines, happened, |key| words_of(key, &run.report, &found.report));
        }
        self.circumstances(&mut lines, &run.report);
        if let Some(told) = told.filter(|told| !told.trees.is_empty()) {
            lines.add(1, "where tasks wait, just before the end:");
            told.trees.iter().for_each(|line| lines.add(2, line));
        }
        if !run.report.events.is_empty() {
            lines.add(1, "the last events:");
            run.report.events.iter().for_each(|event| lines.add(2, event));
        }
        self.confirmed(&mut lines, confirmation);
        self.commands(&mut lines, told, is_smaller);
        self.output(&mut lines, run);
        let drawn = drawn_for(&run.report, is_smaller);
        if !drawn.is_empty() {
            lines.add(1, &format!("drawn: {drawn}"));
        }
        lines.0
    }

    /// Whether the failure repeats, and what may keep it from that.
    fn confirmed(&self, lines: &mut Lines, confirmation: &Confirmation) {
        match confirmation {
            Confirmation::Same { runs } if self.finding.failing().report.decisions == 0 => {
                lines.add(1, &format!("reproducible: the same end in {runs} of {runs} runs"));
            }
            Confirmation::Same { runs } => {
                let hash = self.finding.failing().report.hash;
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
    }

    /// What to type to see the failure again.
    fn commands(&self, lines: &mut Lines, told: Option<&Told>, is_smaller: bool) {
        lines.add(1, &format!("again:    {}", self.command(self.only)));
        let smallest = match told.filter(|_| is_smaller) {
            Some(told) => match self.setting(&told.mask) {
                Ok(setting) => Some(setting),
                Err(error) => return lines.add(1, &format!("the set is not kept: {error}")),
            },
            None => self.only.map(str::to_owned),
        };
        let smallest = smallest.as_deref();
        if is_smaller {
            lines.add(1, &format!("smallest: {}", self.command(smallest)));
        }
        let Some(told) = told.filter(|told| told.run.report.look > 0) else { return };
        let look = told.run.report.look;
        lines.add(1, &format!("look:     LITEN_SIM_STOP={look} {}", self.command(smallest)));
        let moment = match told.run.report.outcome {
            Outcome::Stuck | Outcome::Limit => "at the last poll",
            _ if told.run.report.happened.is_empty() => "shortly before its end",
            _ => "just before its last disturbance",
        };
        lines.add(
            2,
            &format!(
                "(stops that run at decision {look}, {moment}, and shows where each thread and \
                 task is; any other decision will do as well)"
            ),
        );
    }

    /// The disturbances of `mask` for a command line: themselves, or the file that has them.
    fn setting(&self, mask: &Mask) -> Result<String, String> {
        if mask.keys.len() <= IN_LINE {
            return Ok(mask.word());
        }
        let path = self.kept("only");
        make_parent(&path)?;
        mask.write_to(&path)?;
        Ok(path.to_string_lossy().into_owned())
    }

    fn output(&self, lines: &mut Lines, run: &Run) {
        let kept = self.kept("output");
        let place = match make_parent(&kept).and_then(|()| {
            run.output
                .copy_to(&kept)
                .map_err(|error| format!("copy to {}: {error}", kept.display()))
        }) {
            Ok(()) => format!("all of it: {}", kept.display()),
            Err(error) => format!("not kept: {error}"),
        };
        let told = run.output.told(TAIL, &run.report.message);
        if told.is_empty() {
            return lines.add(1, &format!("output of that run: none ({place})"));
        }
        lines.add(1, &format!("output of that run (last {TAIL} lines; {place}):"));
        told.iter().for_each(|line| lines.add(2, line));
    }

    fn headline(&self, lines: &mut Lines, report: &ChildReport, is_smaller: bool) {
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
            let of = if is_smaller { " of the smallest run" } else { "" };
            whence.push(format!("decision {}{of}", report.decisions));
        }
        whence.extend(report.waits.iter().find(|wait| wait.starts_with(LAST_POLL)).cloned());
        let mut end = match (&report.outcome, report.message.is_empty()) {
            (Outcome::Hung, _) => {
                format!("hung: no end after {} s of real time", self.sweep.seconds)
            }
            (Outcome::Failed | Outcome::Stopped, false) => report.message.clone(),
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
            // A thread that is in no function of the program, and has no socket to wait for.
            let is_idle = |wait: &&String| {
                wait.contains("/liten-")
                    && !wait.contains("an epoll with ")
                    && wait.rsplit_once(", in ").is_some_and(|(_, place)| place::is_runtime(place))
            };
            let is_known = |wait: &&String| is_idle(wait) || wait.starts_with(LAST_POLL);
            for wait in report.waits.iter().filter(|wait| !is_known(wait)) {
                lines.add(2, without_runtime(wait));
            }
            let idle = report.waits.iter().filter(is_idle).count();
            if idle > 0 {
                lines.add(2, &format!("(and {idle} threads of runtimes that have nothing to do)"));
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
    fn command(&self, only: Option<&str>) -> String {
        let mut text = String::new();
        if let Some(only) = only {
            let _ = write!(text, "LITEN_SIM_ONLY={} ", quoted(only));
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

    fn tell(&self, lines: &mut Lines, told: &ChildReport, failing: &ChildReport) {
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
            lines.add(1, &format!("fails without any disturbance ({cost}): {all} were left out"));
            return;
        }
        let cut = if *cut_short { "; the time was over, so a smaller set may exist" } else { "" };
        let count = keys.len();
        lines.add(
            1,
            &format!("smallest that still fails ({cost}): {count} of {all} disturbances{cut}"),
        );
        let twins: BTreeMap<Key, &str> = keys
            .iter()
            .zip(without)
            .map(|(key, without)| {
                let twin = match without {
                    Some(Verdict::Passed) => "   without this the run passes",
                    Some(Verdict::Other) => "   without this the run fails in another way",
                    Some(Verdict::Same) | None => "",
                };
                (*key, twin)
            })
            .collect();
        list(lines, keys, |key| {
            let twin = twins.get(&key).copied().unwrap_or_default();
            format!("{}{twin}", words_of(key, told, failing))
        });
    }
}

/// What a thread waits for, without the place where it does if that is the runtime's own.
fn without_runtime(wait: &str) -> &str {
    match wait.rsplit_once(", in ") {
        Some((what, place)) if place::is_runtime(place) => what,
        _ => wait,
    }
}

/// Writes a line for each of the first keys, and says what their kinds are.
fn list(lines: &mut Lines, keys: &[Key], words: impl Fn(Key) -> String) {
    let listed = || keys.iter().take(LISTED);
    listed().for_each(|key| lines.add(2, &words(*key)));
    if keys.len() > LISTED {
        lines.add(2, &format!("and {} more", keys.len() - LISTED));
    }
    for kind in listed().map(|key| key.kind).collect::<BTreeSet<_>>() {
        lines.add(2, &format!("({kind}: {})", kind.words()));
    }
}

/// A disturbance in the words of the run, or of the longer one.
fn words_of(key: Key, told: &ChildReport, failing: &ChildReport) -> String {
    let words = told.told(key).or_else(|| failing.told(key));
    words.map_or_else(|| key.to_string(), |words| format!("{}: {words}", key.kind))
}

/// What the seed drew for the run as a whole, without what the smallest run has none of.
fn drawn_for(report: &ChildReport, is_smaller: bool) -> String {
    let needs = |part: &str| {
        let kinds = [
            ("pauses", Kind::Pause),
            ("stalls", Kind::Pause),
            ("late polls", Kind::Poll),
            ("slow tasks", Kind::Slow),
            ("overtakes", Kind::Overtake),
            ("clocks", Kind::Clock),
        ];
        let kind = kinds.iter().find(|(start, _)| part.starts_with(start));
        kind.is_none_or(|(_, kind)| report.happened.iter().any(|key| key.kind == *kind))
    };
    let parts = report.drawn.split("; ").filter(|part| !is_smaller || needs(part));
    parts.collect::<Vec<_>>().join("; ")
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
