//! Says whether a project's tokio is the package named `tokio` over liten, and if not, why, and what to do:
//! `diagnosis [FOLDER] [ARGUMENT OF CARGO...]`.
//!
//! cargo drops a patch that does not fit with a warning at most, and the program then runs on real tokio.
//! What it has chosen stands in the answer of `cargo metadata`, and why, in the requirements there. The
//! exit code is 0 if the patch is in effect. The project's lock file is afterwards what it was before.

mod finding;
mod graph;
mod lock;
mod words;

use finding::Finding;
use graph::Graph;
use lock::Kept;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};

fn main() -> ExitCode {
    let mut arguments = env::args_os().skip(1);
    let folder: PathBuf = arguments.next().unwrap_or_else(|| ".".into()).into();
    let project = Project { folder, arguments: arguments.collect() };
    let finding = match project.finding() {
        Ok(finding) => finding,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    println!("{finding}");
    if uses_unstable() {
        println!(
            "RUSTFLAGS has `--cfg tokio_unstable`, and liten's package refuses to compile with it: \
             take it out."
        );
        return ExitCode::FAILURE;
    }
    match finding {
        Finding::InEffect { .. } => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

struct Project {
    folder: PathBuf,
    /// What the caller wants to be passed on to cargo.
    arguments: Vec<OsString>,
}

impl Project {
    fn finding(&self) -> Result<Finding, String> {
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
        Ok(Finding::of(graph.as_ref(), &said(&output), |version| self.would_update(version)))
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

    /// Whether the update of this version of tokio would bring liten's. Nothing is written.
    fn would_update(&self, version: &str) -> bool {
        let mut ask = Command::new("cargo");
        ask.args(["update", "--dry-run", "--package", &format!("tokio@{version}")]);
        let Ok(output) = self.run(ask.args(&self.arguments)) else { return false };
        // "Updating tokio v1.54.1 -> v1.999.0 (/place)", or that it removes one and adds the other.
        let comes = |line: &str| {
            let is_in = |words| line.contains(&format!("{words}{} ", finding::version()));
            is_in("-> v") || is_in("Adding tokio v")
        };
        said(&output).lines().any(comes)
    }

    fn run(&self, command: &mut Command) -> Result<Output, String> {
        let output = command.current_dir(&self.folder).output();
        output.map_err(|error| {
            format!("cargo could not be run in {}: {error}", self.folder.display())
        })
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn uses_unstable() -> bool {
    env::var("RUSTFLAGS").is_ok_and(|flags| flags.contains("tokio_unstable"))
}
