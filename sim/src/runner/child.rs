//! One run of the program in a process of its own.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use super::cores::Cores;
use super::mask::Mask;
use super::report::{ChildReport, Outcome};
use super::system;
use crate::place::without_machinery;
use crate::run;

/// Variables that differ from one call of a program to the next, or from one shell to the next.
///
/// The environment lies on the stack, so another length moves every address of the stack.
const DIFFERS: [&str; 15] = [
    "_",
    "CARGO_MAKEFLAGS",
    "COLUMNS",
    "INVOCATION_ID",
    "LINES",
    "MAKEFLAGS",
    "MFLAGS",
    "OLDPWD",
    "SHLVL",
    "SSH_AUTH_SOCK",
    "SSH_CLIENT",
    "SSH_CONNECTION",
    "SSH_TTY",
    "WINDOWID",
    "XDG_SESSION_ID",
];

/// The same for whole families. Libtest's settings would change how the child runs its one test.
const DIFFERS_FROM: [&str; 3] = ["LITEN_SIM_", "NEXTEST_", "RUST_TEST_"];

/// The variable by which a panic prints a stack trace.
const TRACES: &str = "RUST_BACKTRACE";

/// Whether a panic prints a stack trace. To make one takes longer than most runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Traces {
    AsAsked,
    Off,
}

/// A run that has ended.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) report: ChildReport,
    pub(super) output: Output,
}

impl Run {
    /// Whether nothing tells this run from `other`.
    pub(super) fn equals(&self, other: &Run) -> bool {
        let facts = |run: &Run| (run.report.hash, run.report.decisions, run.report.choices);
        facts(self) == facts(other)
            && self.ends_as(&other.report)
            && self.report.first_line() == other.report.first_line()
    }

    /// Whether this run shows the same failure as `other`, perhaps on another way.
    pub(super) fn ends_as(&self, other: &ChildReport) -> bool {
        self.report.outcome == other.outcome && self.report.cause() == other.cause()
    }
}

/// The file with what a child printed. It goes away with this value.
#[derive(Debug)]
pub(super) struct Output(PathBuf);

impl Output {
    /// The last lines of the file, without those of stack traces that are not the program's.
    pub(super) fn tail(&self, lines: usize) -> Vec<String> {
        // It may be of any size, so only its end is read.
        let text = match self.end(64 * 1024) {
            Ok(text) => text,
            Err(error) => return vec![format!("(read the output: {error})")],
        };
        let all = without_machinery(text.lines());
        all[all.len().saturating_sub(lines)..].iter().map(|line| line.to_string()).collect()
    }

    /// The same without what libtest says, and without `message`, which the report has above.
    pub(super) fn told(&self, lines: usize, message: &str) -> Vec<String> {
        let said = message.split_once(": ").map_or(message, |(_, said)| said);
        let is_noise = |line: &str| {
            line.is_empty()
                || line == "running 1 test"
                || line.starts_with("note: ")
                || said.lines().any(|said| said == line)
        };
        let all = self.tail(usize::MAX).into_iter().map(|line| {
            let rest = line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... "));
            rest.map_or(line.as_str(), |(_, rest)| rest).to_owned()
        });
        let mut all: Vec<String> = all.filter(|line| !is_noise(line)).collect();
        all.drain(..all.len().saturating_sub(lines));
        all
    }

    /// The last bytes of the file, at most `most`.
    pub(super) fn end(&self, most: u64) -> io::Result<String> {
        let mut file = File::open(&self.0)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(most)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    pub(super) fn copy_to(&self, path: &Path) -> io::Result<()> {
        fs::copy(&self.0, path).map(drop)
    }

    /// Writes the whole output to standard error, past libtest, which hides what a passing test
    /// prints.
    pub(super) fn show(&self) -> io::Result<()> {
        io::copy(&mut File::open(&self.0)?, &mut io::stderr().lock()).map(drop)
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        // Its folder goes away with the sweep at the latest.
        let _ = fs::remove_file(&self.0);
    }
}

/// Starts the children of one sweep.
pub(super) struct Launcher {
    program: PathBuf,
    arguments: Vec<String>,
    environment: Vec<(OsString, OsString)>,
    folder: PathBuf,
    next: AtomicU64,
    jobs: usize,
    limit: Duration,
    /// The decision at which runs stop from now on, 0 for none.
    stop: AtomicU64,
    /// Whether runs tell their last events from now on.
    timeline: AtomicBool,
}

impl Launcher {
    /// The children run `program`, or this one. `limit` is the real time that a child may take. The
    /// children get the variables `passed_on` too.
    pub(super) fn new(
        program: Option<PathBuf>,
        arguments: Vec<String>,
        jobs: usize,
        limit: Duration,
        passed_on: &[(&'static str, String)],
    ) -> Result<Self, String> {
        let program = match program {
            Some(program) => program,
            None => env::current_exe().map_err(|error| format!("find the executable: {error}"))?,
        };
        let mut environment: Vec<_> = env::vars_os().filter(|(name, _)| !differs(name)).collect();
        let added =
            passed_on.iter().map(|(name, value)| (OsString::from(*name), OsString::from(value)));
        environment.extend(added);
        let folder = new_folder()?;
        let (next, stop) = (AtomicU64::new(0), AtomicU64::new(0));
        Ok(Self {
            program,
            arguments,
            environment,
            folder,
            next,
            jobs,
            limit,
            stop,
            timeline: AtomicBool::new(false),
        })
    }

    pub(super) fn program(&self) -> &Path {
        &self.program
    }

    pub(super) fn jobs(&self) -> usize {
        self.jobs
    }

    /// Lets the runs that follow stop at the decision.
    pub(super) fn stop_at(&self, decision: u64) {
        self.stop.store(decision, Ordering::Relaxed);
    }

    /// Lets the runs that follow tell their last events, or not.
    pub(super) fn tell_events(&self, on: bool) {
        // Relaxed: one thread sets it and starts the runs.
        self.timeline.store(on, Ordering::Relaxed);
    }

    /// Runs `seed` once. A failing run is no error: an error says that the runner itself could not
    /// go on.
    pub(super) fn run(&self, seed: u64, mask: &Mask) -> Result<Run, String> {
        self.run_with(seed, mask, Traces::AsAsked)
    }

    fn run_with(&self, seed: u64, mask: &Mask, traces: Traces) -> Result<Run, String> {
        let n = self.next.fetch_add(1, Ordering::Relaxed);
        // Names of one length keep the environment of all runs at one length.
        let place = |ending: &str| self.folder.join(format!("{n:08}.{ending}"));
        let (report, without, output) = (place("report"), place("without"), place("output"));
        let files = place("files");
        mask.write_to(&without)?;
        fs::create_dir(&files).map_err(|error| format!("create {}: {error}", files.display()))?;
        let core = Cores::of_process().take(self.jobs);
        let places = [&*report, &*without, &*output, &*files];
        let child = self.start(seed, places, core.number(), traces)?;
        let output = Output(output);
        let (status, hung) = self.wait(child)?;
        drop(core);
        let report_of_run = judge(status, hung, &report);
        // What the program left there of its own.
        let _ = fs::remove_dir_all(files);
        for path in [report, without] {
            // A child that crashed left no report.
            let _ = fs::remove_file(path);
        }
        Ok(Run { report: report_of_run, output })
    }

    /// Runs `seed` once with each mask, as many at once as the sweep may.
    pub(super) fn run_each(
        &self,
        seed: u64,
        masks: &[Mask],
        traces: Traces,
    ) -> Result<Vec<Run>, String> {
        let mut runs = Vec::new();
        for some in masks.chunks(self.jobs.max(1)) {
            let ended: Vec<Result<Run, String>> = thread::scope(|scope| {
                let threads: Vec<_> = some
                    .iter()
                    .map(|mask| scope.spawn(move || self.run_with(seed, mask, traces)))
                    .collect();
                threads.into_iter().map(joined).collect()
            });
            for run in ended {
                runs.push(run?);
            }
        }
        Ok(runs)
    }

    fn start(
        &self,
        seed: u64,
        [report, without, output, files]: [&Path; 4],
        core: Option<usize>,
        traces: Traces,
    ) -> Result<Child, String> {
        // A file and not a pipe: the runner need not read along, however much the child prints.
        let open = || OpenOptions::new().create_new(true).append(true).open(output);
        let file = open().map_err(|error| format!("create {}: {error}", output.display()))?;
        let errors = file.try_clone().map_err(|error| format!("duplicate the output: {error}"))?;
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).env_clear().envs(self.environment.iter().cloned());
        command.env("LITEN_SIM_SEED", seed.to_string());
        command.env("LITEN_SIM_REPORT", report).env("LITEN_SIM_WITHOUT", without);
        // Of one length, so that the environment of all runs is.
        let stop = self.stop.load(Ordering::Relaxed);
        command.env(run::STOP_AT, format!("{stop:020}"));
        let timeline = self.timeline.load(Ordering::Relaxed);
        command.env(run::TIMELINE, if timeline { "1" } else { "0" });
        command.env("LITEN_SIM_REAL", self.limit.as_secs().to_string());
        if traces == Traces::Off && env::var_os(TRACES).is_some() {
            command.env(TRACES, "0");
        }
        // Files of a moment are named by random numbers, which the seed decides. In a folder for
        // all they would meet those of another run.
        command.env("TMPDIR", files);
        command.stdin(Stdio::null()).stdout(file).stderr(errors);
        system::prepare(&mut command, core);
        command.spawn().map_err(|error| format!("start {}: {error}", self.program.display()))
    }

    /// Waits for the child and kills it when its time is over. Says how it ended and whether it was
    /// late.
    fn wait(&self, mut child: Child) -> Result<(ExitStatus, bool), String> {
        let id = child.id();
        let late = AtomicBool::new(false);
        let (ended, end) = mpsc::channel::<()>();
        let waited = thread::scope(|scope| {
            let late = &late;
            scope.spawn(move || {
                if end.recv_timeout(self.limit) == Err(RecvTimeoutError::Timeout) {
                    late.store(true, Ordering::Relaxed);
                    system::kill_group(id);
                }
            });
            let waited = system::wait_for_end(id);
            drop(ended);
            waited
        });
        // Processes that the child started and left behind would disturb the next child on this
        // core.
        system::kill_group(id);
        let status = child.wait().map_err(|error| format!("reap the child {id}: {error}"))?;
        waited?;
        // The child may have ended by itself at the very moment of its limit.
        let killed = status.signal() == Some(libc::SIGKILL);
        Ok((status, killed && late.load(Ordering::Relaxed)))
    }
}

impl Drop for Launcher {
    fn drop(&mut self) {
        // A rest in the folder for temporary files does no harm.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Waits for a thread that runs children, and passes its panic on.
pub(super) fn joined<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// What the run counts as. The way in which the process ended weighs more than what it wrote.
fn judge(status: ExitStatus, hung: bool, path: &Path) -> ChildReport {
    let (mut report, problem) = ChildReport::read_part(path);
    if hung {
        report.outcome = Outcome::Hung;
    } else if let Some(signal) = status.signal() {
        report.outcome = Outcome::Crashed(format!("signal {signal}"));
    } else if let Some(problem) = problem {
        let wrote = path.exists();
        report.outcome = Outcome::Crashed(match status.code() {
            Some(code) if !wrote => format!("exit code {code} without a report"),
            // The problem names the file, whose name is another one in each run.
            Some(code) => format!("exit code {code} with a broken report"),
            None => status.to_string(),
        });
        if wrote {
            report.leaks.push(problem);
        }
    }
    report
}

fn differs(name: &OsStr) -> bool {
    // The library reads these names with ASCII letters only, so a loss in other names does no harm.
    let name = name.to_string_lossy();
    DIFFERS.contains(&&*name) || DIFFERS_FROM.iter().any(|start| name.starts_with(start))
}

fn new_folder() -> Result<PathBuf, String> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let base = env::temp_dir();
    loop {
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        // Zeroes in front keep the length the same from one call of the program to the next.
        let folder = base.join(format!("liten-sim-{:010}-{n:06}", process::id()));
        match fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            // An earlier process with this id was killed and left it.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(format!("create {}: {error}", folder.display())),
        }
    }
}
