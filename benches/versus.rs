//! liten, tokio and smol in one process, in turns: what an operation costs, the ratios, and the goals.
//!
//! Criterion measures one runtime after the other, so that a neighbour on the machine that wakes up
//! in between looks like a difference. Here each round measures all of them within some tens of
//! milliseconds, and a ratio is taken within a round; the tables show the medians over all rounds.
//! The task bodies are those of the criterion benches, written once; so are the channels.
//!
//! Usage: `cargo bench --bench versus -- [--json] [--rounds N] [--workers N] [NAME]…`. `NAME` is a
//! part of a row's name. `build`, `hello`, `growth` and the rows of `mixed` take minutes and run only when
//! they are named.

#[path = "versus/build.rs"]
mod build;
#[path = "versus/channels.rs"]
mod channels;
#[path = "contest/clock.rs"]
mod clock;
#[path = "versus/connect.rs"]
mod connect;
#[path = "versus/contest.rs"]
mod contest;
#[path = "contest/families.rs"]
mod families;
#[path = "versus/growth.rs"]
mod growth;
#[path = "contest/idle.rs"]
mod idle;
#[path = "versus/intervals.rs"]
mod intervals;
#[path = "versus/lateness.rs"]
mod lateness;
#[path = "versus/local.rs"]
mod local;
#[path = "versus/memory.rs"]
mod memory;
#[path = "versus/mixed.rs"]
mod mixed;
#[path = "versus/network.rs"]
mod network;
#[path = "contest/page.rs"]
mod page;
#[path = "versus/report.rs"]
mod report;
#[path = "versus/rounds.rs"]
mod rounds;
#[path = "contest/row.rs"]
mod row;
#[path = "versus/rows.rs"]
mod rows;
#[path = "contest/runtimes.rs"]
mod runtimes;
#[path = "contest/sleeps.rs"]
mod sleeps;
#[path = "contest/sockets.rs"]
mod sockets;
#[path = "versus/statistics.rs"]
mod statistics;
#[path = "contest/tasks.rs"]
mod tasks;
#[path = "versus/wake_latency.rs"]
mod wake_latency;
#[path = "contest/yields.rs"]
mod yields;

use contest::Contest;
use mixed::picture::{self, Picture};
use report::Report;
use rounds::{Effort, Score};
use std::collections::HashMap;

/// The scheduler's rows run again with these.
const MORE_WORKERS: [usize; 2] = [4, 8];
/// With more workers, a ratio may be so many times what it was.
const TOLERANCE: f64 = 1.10;
const BUILD: &str = "build";
const HELLO: &str = "hello";
const GROWTH: &str = "growth";
const MIXED: &str = "mixed";
/// For the rows with a mixed load, whose goals were set for so many.
const MIXED_WORKERS: usize = 2;

fn main() {
    memory::child();
    if network::child() {
        return;
    }
    let options = Options::read();
    let report = Report::new(options.json);
    Versus { options, report, found: false }.run();
}

struct Options {
    effort: Effort,
    json: bool,
    workers: Option<usize>,
    /// Rows whose name contains one of these. Empty: all but those that must be named.
    names: Vec<String>,
}

impl Options {
    fn read() -> Self {
        // Without `--bench` cargo is testing.
        let mut options =
            Self { effort: Effort::Once, json: false, workers: None, names: Vec::new() };
        let (mut benching, mut rounds) = (false, None);
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut number = || {
                let value = arguments.next().and_then(|value| value.parse().ok());
                value.filter(|&value| value > 0).expect("a number above 0 follows the option")
            };
            match argument.as_str() {
                "--bench" => benching = true,
                "--json" => options.json = true,
                "--rounds" => rounds = Some(number()),
                "--workers" => options.workers = Some(number()),
                option if option.starts_with("--") => {}
                name => options.names.push(name.to_owned()),
            }
        }
        if benching {
            options.effort = Effort::Rounds(rounds);
        }
        options
    }

    fn wants(&self, row: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|name| row.contains(name.as_str()))
    }

    /// Where the picture is to go, if it is wanted.
    fn path(&self, picture: Picture) -> Option<String> {
        let path = |name: &String| match name.strip_prefix(picture.name())? {
            "" => Some(picture.path().to_owned()),
            path => path.strip_prefix('=').map(ToOwned::to_owned),
        };
        self.names.iter().find_map(path)
    }

    /// For rows that run only when they are named.
    fn names(&self, row: &str) -> bool {
        self.names.iter().any(|name| name == row)
    }
}

struct Versus {
    options: Options,
    report: Report,
    /// Whether any row had one of the names.
    found: bool,
}

impl Versus {
    fn run(mut self) {
        let cpus = num_cpus::get();
        let workers = self.options.workers.unwrap_or(cpus);
        self.report.say(&format!(
            "{cpus} CPUs. Costs are medians over the rounds; a ratio is the median of the rounds' \
             ratios [lowest-highest], below 1 liten is faster; the goal is for liten / tokio."
        ));
        let base = self.section("scheduler", Some(workers), rows::scheduler(workers));
        // Two tasks at once need two workers.
        let at_least_two = workers.max(2);
        self.section("timers", Some(at_least_two), rows::timers(at_least_two));
        self.section("one thread", None, local::contests());
        self.section("sync", Some(workers), channels::contests(workers));
        let on_tokio = channels::contests_on_tokio(workers);
        self.section("sync on tokio's runtime", Some(workers), on_tokio);
        self.section("lateness", Some(workers), lateness::contests(workers));
        self.section("intervals", Some(workers), intervals::contests(workers));
        self.section("wake latency", Some(workers), wake_latency::contests(workers));
        self.section("memory", Some(workers), memory::contests(workers));
        self.section("connections", Some(workers), connect::contests(workers));
        self.section("network", Some(workers), network::contests(workers));
        if self.options.names.is_empty() && !matches!(self.options.effort, Effort::Once) {
            self.report.skipped(MIXED, "takes minutes: only when named");
        } else {
            let workers = self.options.workers.unwrap_or(MIXED_WORKERS);
            self.section("mixed load", Some(workers), mixed::contests(workers));
        }
        if self.options.workers.is_none() {
            for workers in MORE_WORKERS.into_iter().filter(|&more| more != workers) {
                let mut contests = rows::scheduler(workers);
                for contest in &mut contests {
                    let base = base.get(&contest.name);
                    contest.figures[0].goal = base.map(|ratio| ratio * TOLERANCE);
                }
                self.section("scheduler", Some(workers), contests);
            }
        }
        for (name, title) in [(BUILD, "clean release build"), (HELLO, "program")] {
            if self.options.names(name) {
                let contest = if name == BUILD { build::clean_build() } else { build::hello() };
                self.section(title, None, vec![contest]);
            } else if self.options.names.is_empty() {
                self.report.skipped(name, "takes minutes: only when named");
            }
        }
        if self.options.names(GROWTH) {
            self.growth(workers);
        } else if self.options.names.is_empty() {
            self.report.skipped(GROWTH, "takes minutes: only when named");
        }
        for picture in Picture::ALL {
            if let Some(path) = self.options.path(picture) {
                self.picture(picture, self.options.workers.unwrap_or(MIXED_WORKERS), &path);
            }
        }
        if !self.found {
            self.report.skipped(&self.options.names.join(" "), "no row has that in its name");
        }
    }

    /// Runs those that are wanted, and returns the ratios liten / tokio of their first figures.
    fn section(
        &mut self,
        title: &str,
        workers: Option<usize>,
        contests: Vec<Contest>,
    ) -> HashMap<String, f64> {
        self.report.section(title, workers);
        let wanted = contests.into_iter().filter(|contest| self.options.wants(&contest.name));
        let wanted: Vec<_> = wanted.collect();
        let mut ratios = HashMap::new();
        for contest in wanted {
            if let Some(scores) = self.contest(&contest) {
                self.report.scores(&contest, &scores);
                ratios.insert(contest.name, scores[0].ratios[0].median);
            }
        }
        ratios
    }

    /// `None`: there are no figures, and the report says why.
    fn contest(&mut self, contest: &Contest) -> Option<Vec<Score>> {
        self.found = true;
        match rounds::run(contest, self.options.effort) {
            Err(reason) => self.report.skipped(&contest.name, &reason),
            Ok(_) if matches!(self.options.effort, Effort::Once) => self.report.ran(contest),
            Ok(scores) => return Some(scores),
        }
        None
    }

    fn picture(&mut self, picture: Picture, workers: usize, path: &str) {
        self.report.section("picture of a mixed load", Some(workers));
        let mut points = Vec::new();
        for (burn, contest) in picture.contests(workers) {
            if let Some(scores) = self.contest(&contest) {
                self.report.scores(&contest, &scores);
                let lateness = scores[1].medians.iter().map(|nanos| nanos / 1e6).collect();
                points.push(picture::Point { burn: burn.as_secs_f64() * 1e3, lateness });
            }
        }
        if !points.is_empty() {
            let svg = picture.draw(&points, workers);
            std::fs::write(path, svg).expect("the picture can be written");
            self.report.say(&format!("\nThe picture is in {path}."));
        }
    }

    fn growth(&mut self, workers: usize) {
        self.report.section(GROWTH, Some(workers));
        let title = format!("ns per operation while so many tasks live, {workers} workers");
        self.grow(&title, "tasks", &growth::TASKS, growth::with_tasks(workers));
        self.report.section(GROWTH, None);
        let title = "ns per operation with so many workers";
        self.grow(title, "workers", &growth::WORKERS, growth::with_workers());
    }

    fn grow(&mut self, title: &str, of: &str, sizes: &[usize], rows: Vec<growth::Growth>) {
        if !matches!(self.options.effort, Effort::Once) {
            self.report.say(&format!("\n{title}\n\n{}", growth::head(of, sizes)));
        }
        for row in rows {
            let mut medians = Vec::new();
            for contest in row.contests {
                if let Some(mut scores) = self.contest(&contest) {
                    if self.options.json {
                        self.report.scores(&contest, &scores);
                    }
                    medians.push(scores.swap_remove(0).medians);
                }
            }
            if medians.len() == sizes.len() {
                self.report.say(&growth::row(row.name, &medians));
            }
        }
    }
}
