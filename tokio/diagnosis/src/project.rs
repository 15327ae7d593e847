//! A project, and what cargo says of it.

use crate::finding::{self, Finding};
use crate::graph::{Graph, Tokio};
use crate::interrupt;
use crate::kept::Kept;
use crate::patch::{Manifest, resolved};
use crate::submodule;
use crate::toolchain::{Pin, release};
use crate::update::{self, Update};
use crate::words;
use packer::{output, tool};
use std::env;
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
    /// What is the matter with the toolchain of the project, if anything is.
    pub(crate) fn toolchain(&self) -> Result<Option<Finding>, String> {
        // The variable goes before all files.
        let is_told = env::var_os("RUSTUP_TOOLCHAIN").is_some();
        let pin = Pin::of(&self.folder).filter(|_| !is_told).filter(|pin| {
            // Without rustup nothing looks at the file.
            let asked = |what| {
                let output = self.run(tool("rustup").args([what, "list"])).ok()?;
                output
                    .status
                    .success()
                    .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
            };
            asked("override").is_some_and(|list| !pin.is_overridden(&self.folder, &list))
        });
        let is_old =
            |text: &str| release(text).is_some_and(|release| release < finding::oldest_rust());
        if let Some(pin) = &pin {
            if is_old(&pin.channel) {
                return Ok(Some(Finding::OldRust { found: None, pin: Some(pin.clone()) }));
            }
            let list = self.run(tool("rustup").args(["toolchain", "list"]))?;
            if list.status.success() && !pin.is_among(&String::from_utf8_lossy(&list.stdout)) {
                return Ok(Some(Finding::NoToolchain { pin: pin.clone() }));
            }
        }
        let output = self.run(tool("cargo").arg("--version"))?;
        if !output.status.success() {
            return Ok(Some(Finding::CargoFails { said: said(&output) }));
        }
        // "cargo 1.85.0 (d73d2caf9 2024-12-31)"
        let found = String::from_utf8_lossy(&output.stdout).into_owned();
        let version = found.split(' ').nth(1).unwrap_or_default();
        Ok(is_old(version).then(|| Finding::OldRust { found: Some(version.to_owned()), pin }))
    }

    pub(crate) fn finding(&self) -> Result<Finding, String> {
        let mut output = self.metadata(&["--locked"])?;
        // Where the lock file is missing or does not fit, cargo writes it, and tells what it has chosen.
        let is_about_lock = |said: &str| said.contains("lock file") && said.contains("--locked");
        if !output.status.success() && is_about_lock(&said(&output)) && !self.wants_locked() {
            let _kept = Kept::new(&self.lock()?)?;
            output = self.metadata(&[])?;
            // What lies in cargo's cache may be enough.
            if !output.status.success() && words::is_about_network(&said(&output)) {
                let offline = self.metadata(&["--offline"])?;
                output = if offline.status.success() { offline } else { output };
            }
        }
        if !output.status.success() {
            return Ok(self.why_cargo_fails(&said(&output)));
        }
        let graph = Graph::parse(&output.stdout)?;
        let mut finding = Finding::of(&graph, &words(&said(&output)), |tokio, version| {
            self.update(tokio, version)
        });
        if let Finding::InEffect { ours, stale, .. } = &mut finding {
            *stale = stale_folder(ours);
        }
        if let Finding::Foreign { found } = &finding {
            let manifest = self.root()?.join("Cargo.toml");
            if manifest_at(&manifest).is_some_and(|text| text.replaces_tokio()) {
                return Ok(Finding::Replaced { manifest, found: found.clone() });
            }
        }
        Ok(finding)
    }

    fn why_cargo_fails(&self, said: &str) -> Finding {
        let submodules = submodule::missing(&self.folder, said);
        if !submodules.is_empty() {
            return Finding::NotCheckedOut { submodules, said: said.to_owned() };
        }
        match self.absent_patch() {
            Some(folder) => Finding::NotLaid { folder },
            None => Finding::of_failure(&words(said)),
        }
    }

    /// The folder that the patch in the manifest names, if it is not there.
    fn absent_patch(&self) -> Option<PathBuf> {
        let manifest = self.lock().ok()?.with_file_name("Cargo.toml");
        let path = manifest_at(&manifest)?;
        let folder = resolved(&manifest.with_file_name(path.patched_path()?));
        (!folder.join("Cargo.toml").exists()).then_some(folder)
    }

    fn wants_locked(&self) -> bool {
        self.arguments.iter().any(|argument| argument == "--locked" || argument == "--frozen")
    }

    fn metadata(&self, more: &[&str]) -> Result<Output, String> {
        let more = if self.wants_locked() { &[] } else { more };
        let mut ask = tool("cargo");
        ask.args(["metadata", "--format-version=1", "--all-features"]);
        self.run(ask.args(more).args(&self.arguments))
    }

    /// Where the lock file is, or would be.
    pub(crate) fn lock(&self) -> Result<PathBuf, String> {
        let mut ask = tool("cargo");
        let output =
            self.run(ask.args(["locate-project", "--workspace", "--message-format=plain"]))?;
        let manifest = String::from_utf8_lossy(&output.stdout);
        match output.status.success() {
            true => Ok(Path::new(manifest.trim_end()).with_file_name("Cargo.lock")),
            false => Err(said(&output)),
        }
    }

    /// The root of the workspace.
    pub(crate) fn root(&self) -> Result<PathBuf, String> {
        Ok(self.lock()?.parent().expect("a file lies in a folder").to_owned())
    }

    /// Whether there is a lock file that the next build would write again.
    pub(crate) fn is_lock_behind(&self) -> Result<bool, String> {
        let is_there = self.lock()?.exists() && !self.wants_locked();
        Ok(is_there && !self.metadata(&["--locked"])?.status.success())
    }

    /// The updates that let liten's package take the place of a tokio. The lock file is put back.
    fn update(&self, tokio: &str, version: &str) -> Update {
        let found = self.updates(tokio, version, &[]);
        // What lies in cargo's cache may be enough.
        let found = match found {
            Ok(Update::None(why)) if words::is_about_network(&why) => {
                match self.updates(tokio, version, &["--offline"]) {
                    Ok(Update::These(updates)) => Ok(Update::These(updates)),
                    _ => Ok(Update::None(why)),
                }
            }
            found => found,
        };
        match found {
            Ok(Update::None(_)) if self.brings_it(&update::all(), version) => {
                Update::These(vec![update::all()])
            }
            Ok(update) => update,
            Err(error) => Update::None(error),
        }
    }

    /// The smallest updates. The lock file may hold other crates in versions that liten's package does not
    /// go with. cargo names one at a time, and only if it is asked for a version of tokio that it cannot
    /// have. So each is updated before the next is asked for. Each call has the arguments `more`.
    fn updates(&self, tokio: &str, version: &str, more: &[&str]) -> Result<Update, String> {
        let lock = self.lock()?;
        let _kept = Kept::new(&lock)?;
        let read =
            || fs::read_to_string(&lock).map_err(|error| format!("{}: {error}", lock.display()));
        let with_more = |mut update: Vec<String>| {
            update.extend(more.iter().map(|&argument| argument.to_owned()));
            update
        };
        let (mut updates, mut tried) = (Vec::new(), Vec::new());
        let last = with_more(update::precise(tokio, version));
        loop {
            let output = self.cargo(&last)?;
            let before = read()?;
            if output.status.success() {
                // With vendored crates cargo takes the real one without a word if it finds no others.
                let is_ours = update::without_source(&before, "tokio").is_some();
                updates.push(last);
                return Ok(match is_ours {
                    true => Update::These(updates),
                    false => Update::None(said(&output)),
                });
            }
            let next = update::in_the_way(&said(&output)).into_iter().find_map(|name| {
                let locked = update::locked(&before, &name);
                (!tried.contains(&name) && !locked.is_empty()).then_some((name, locked))
            });
            let Some((name, locked)) = next.filter(|_| tried.len() < TRIES) else {
                return Ok(Update::None(said(&output)));
            };
            tried.push(name);
            let update = with_more(update::of(&locked));
            self.cargo(&update)?;
            if read()? != before {
                updates.push(update);
            }
        }
    }

    /// Whether an update would bring liten's package. Nothing is written.
    fn brings_it(&self, update: &[String], version: &str) -> bool {
        let mut update = update.to_owned();
        update.push("--dry-run".to_owned());
        let Ok(output) = self.cargo(&update) else { return false };
        // "Updating tokio v1.54.1 -> v1.999.0 (/place)", or that it removes one and adds the other.
        let comes = |line: &str| {
            let is_in = |words| line.contains(&format!("{words}{version} "));
            line.contains(" tokio v") && (is_in("-> v") || is_in("Adding tokio v"))
        };
        said(&output).lines().any(comes)
    }

    /// Runs an update with these arguments and the caller's.
    pub(crate) fn cargo(&self, arguments: &[String]) -> Result<Output, String> {
        self.run(tool("cargo").args(arguments).args(update::arguments(&self.arguments)))
    }

    fn run(&self, command: &mut Command) -> Result<Output, String> {
        interrupt::check()?;
        let output = output(command.current_dir(&self.folder))?;
        interrupt::check()?;
        Ok(output)
    }
}

fn manifest_at(path: &Path) -> Option<Manifest> {
    Manifest::parse(&fs::read_to_string(path).ok()?).ok()
}

/// The folder of a package that was laid down from another state of liten than this one.
fn stale_folder(ours: &Tokio) -> Option<PathBuf> {
    let folder = Path::new(&ours.place).parent()?;
    // What has another version without a choice is told by that.
    let version = packer::laid_as(folder).unwrap_or_else(|| finding::version().to_owned());
    let is_ours = ours.version == version && packer::is_laid_down(folder);
    (is_ours && !packer::is_current(&packer::home(), folder)).then(|| folder.to_owned())
}

pub(crate) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).trim_end().to_owned()
}

/// What cargo has said without its progress.
fn words(said: &str) -> String {
    let progress = ["Blocking ", "Downloading ", "Downloaded ", "Locking ", "Updating "];
    let is_progress =
        |line: &&str| progress.iter().any(|begin| line.trim_start().starts_with(begin));
    let lines: Vec<_> = said.lines().filter(|line| !is_progress(line)).collect();
    lines.join("\n")
}
