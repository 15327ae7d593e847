//! A project, and what cargo says of it.

use crate::finding::{self, Finding};
use crate::graph::Graph;
use crate::lock::Kept;
use crate::update::{self, Update};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// How many crates are tried one after the other before it has to be all of them.
const TRIES: usize = 20;

pub(crate) struct Project {
    pub(crate) folder: PathBuf,
    /// What the caller wants to be passed on to cargo.
    pub(crate) arguments: Vec<OsString>,
}

impl Project {
    pub(crate) fn finding(&self) -> Result<Finding, String> {
        let mut output = self.metadata(&["--locked"])?;
        // Where the lock file is missing or does not fit, cargo writes it, and tells what it has chosen.
        let is_about_lock = |said: &str| said.contains("lock file") && said.contains("--locked");
        if !output.status.success() && is_about_lock(&said(&output)) && !self.wants_locked() {
            let _kept = Kept::new(&self.lock()?)?;
            output = self.metadata(&[])?;
        }
        let graph = match output.status.success() {
            true => Some(Graph::parse(&output.stdout)?),
            false => None,
        };
        Ok(Finding::of(graph.as_ref(), &words(&said(&output)), |tokio| self.update(tokio)))
    }

    fn wants_locked(&self) -> bool {
        self.arguments.iter().any(|argument| argument == "--locked" || argument == "--frozen")
    }

    fn metadata(&self, more: &[&str]) -> Result<Output, String> {
        let more = if self.wants_locked() { &[] } else { more };
        let mut ask = Command::new("cargo");
        ask.args(["metadata", "--format-version=1", "--all-features"]);
        self.run(ask.args(more).args(&self.arguments))
    }

    /// Where the lock file is, or would be.
    fn lock(&self) -> Result<PathBuf, String> {
        let mut ask = Command::new("cargo");
        let output =
            self.run(ask.args(["locate-project", "--workspace", "--message-format=plain"]))?;
        let manifest = String::from_utf8_lossy(&output.stdout);
        match output.status.success() {
            true => Ok(Path::new(manifest.trim_end()).with_file_name("Cargo.lock")),
            false => Err(said(&output)),
        }
    }

    /// The updates that let liten's package take the place of a tokio. The lock file stays as it is.
    fn update(&self, tokio: &str) -> Update {
        match self.updates(tokio) {
            Ok(Update::None(_)) if self.brings_it(&update::all()) => {
                Update::These(vec![update::all()])
            }
            Ok(update) => update,
            Err(error) => Update::None(error),
        }
    }

    /// The smallest updates. The lock file may hold other crates in versions that liten's package does not
    /// go with. cargo names one at a time, and only if it is asked for a version of tokio that it cannot
    /// have. So each is updated before the next is asked for.
    fn updates(&self, tokio: &str) -> Result<Update, String> {
        let lock = self.lock()?;
        let _kept = Kept::new(&lock)?;
        let read =
            || fs::read_to_string(&lock).map_err(|error| format!("{}: {error}", lock.display()));
        let (mut updates, mut tried) = (Vec::new(), Vec::new());
        let last = update::precise(tokio, finding::version());
        loop {
            let output = self.cargo(&last)?;
            if output.status.success() {
                updates.push(last);
                return Ok(Update::These(updates));
            }
            let before = read()?;
            let next = update::in_the_way(&said(&output)).into_iter().find_map(|name| {
                let locked = update::locked(&before, &name);
                (!tried.contains(&name) && !locked.is_empty()).then_some((name, locked))
            });
            let Some((name, locked)) = next.filter(|_| tried.len() < TRIES) else {
                return Ok(Update::None(said(&output)));
            };
            tried.push(name);
            let update = update::of(&locked);
            self.cargo(&update)?;
            if read()? != before {
                updates.push(update);
            }
        }
    }

    /// Whether an update would bring liten's package. Nothing is written.
    fn brings_it(&self, update: &[String]) -> bool {
        let mut update = update.to_owned();
        update.push("--dry-run".to_owned());
        let Ok(output) = self.cargo(&update) else { return false };
        // "Updating tokio v1.54.1 -> v1.999.0 (/place)", or that it removes one and adds the other.
        let comes = |line: &str| {
            let is_in = |words| line.contains(&format!("{words}{} ", finding::version()));
            line.contains(" tokio v") && (is_in("-> v") || is_in("Adding tokio v"))
        };
        said(&output).lines().any(comes)
    }

    /// Runs cargo with these arguments and the caller's.
    pub(crate) fn cargo(&self, arguments: &[String]) -> Result<Output, String> {
        // An update is there to write the file that this one wants to stay.
        let more = self.arguments.iter().filter(|argument| *argument != "--locked");
        self.run(Command::new("cargo").args(arguments).args(more))
    }

    fn run(&self, command: &mut Command) -> Result<Output, String> {
        let output = command.current_dir(&self.folder).output();
        output.map_err(|error| {
            format!("cargo could not be run in {}: {error}", self.folder.display())
        })
    }
}

pub(crate) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What cargo has said without its progress.
fn words(said: &str) -> String {
    let progress = ["Blocking ", "Downloading ", "Downloaded ", "Locking ", "Updating "];
    let is_progress =
        |line: &&str| progress.iter().any(|begin| line.trim_start().starts_with(begin));
    let lines: Vec<_> = said.lines().filter(|line| !is_progress(line)).collect();
    lines.join("\n")
}
