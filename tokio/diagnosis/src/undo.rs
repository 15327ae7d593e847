//! The way back: what `--undo` does.
//!
//! A file that is still as the mend has left it gets its old text, to the byte. In one that has changed
//! since, and where there is no record, only the patch goes. So nothing that a person has done is lost.

use crate::change::Changes;
use crate::interrupt;
use crate::kept::text_of;
use crate::patch::{Manifest, resolved};
use crate::project::{Project, said};
use crate::record::{Entry, NAME, Record};
use crate::update;
use crate::words::{is_about_network, say};
use packer::{is_laid_down, output, tool};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// A part of the way back. It is printed as what is done.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// A file gets the text that it had, or goes if there was none.
    Restore { path: PathBuf, before: Option<String> },
    /// The manifest has changed since. `lines` says which lines of it go.
    TakeOut { manifest: PathBuf, text: String, lines: String },
    /// The lock file has changed since. cargo finds the real tokio again, in the release `wanted` if it can.
    Lock { lock: PathBuf, wanted: Option<String> },
    /// A folder goes.
    Remove { folder: PathBuf },
    /// A folder lies where other projects may use it, and stays.
    Leave { folder: PathBuf },
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Restore { path, before: Some(_) } => {
                write!(f, "{} becomes what it was, to the byte", path.display())
            }
            Self::Restore { path, before: None } => {
                write!(f, "{}, which was not there, is removed", path.display())
            }
            Self::TakeOut { manifest, lines, .. } => {
                write!(f, "in {}, the lines of the patch go: {lines}", manifest.display())
            }
            Self::Lock { lock, .. } => {
                write!(f, "cargo puts the real tokio into {}", lock.display())
            }
            Self::Remove { folder } => write!(f, "the folder {} is removed", folder.display()),
            Self::Leave { folder } => {
                write!(f, "the folder {} stays: other projects may use it", folder.display())
            }
        }
    }
}

/// Puts a project back, or only says what that would change. Returns what there is to say at the end.
pub(crate) fn undo(project: &Project, is_trial: bool) -> Result<&'static str, String> {
    let root = project.root()?;
    let record = Record::in_folder(&root)?;
    if let Some(record) = &record {
        record.refuse_another()?;
    }
    let acts = plan(&root, record.as_ref())?;
    if acts.is_empty() && record.is_none() {
        return Ok(
            "There is nothing to undo: the manifest has no patch of tokio that leads to liten's \
            package, and no mend is written down.",
        );
    }
    if is_trial {
        acts.iter().for_each(|act| say(&format!("Would do: {act}")));
        return Ok("Nothing has been changed.");
    }
    let mut changes = Changes::new(project);
    for act in &acts {
        interrupt::check()?;
        make(project, &mut changes, act)?;
    }
    interrupt::check()?;
    changes.stay()?;
    // From here on there is no way but forward. The record goes last: with it the rest can be repeated.
    for act in &acts {
        if let Act::Remove { folder } = act {
            if !packer::remove(folder)? {
                say(&format!(
                    "In {} there is more than was laid down, and that stays.",
                    folder.display()
                ));
                continue;
            }
        }
        say(&format!("Done: {act}"));
    }
    if let Some(record) = record {
        record.remove_half_written();
        let path = record.path();
        fs::remove_file(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok("Undone: this project asks the registry for tokio again.")
}

/// Puts back what a mend has left that was killed, so that the next one finds the project as it was.
pub(crate) fn undo_half(project: &Project) -> Result<(), String> {
    let record = Record::in_folder(&project.root()?)?;
    match record {
        Some(record) if !record.is_finished() => {
            say(&"A mend was cut off before its end. What it had changed is put back first.");
            undo(project, false).map(drop)
        }
        _ => Ok(()),
    }
}

fn make(project: &Project, changes: &mut Changes<'_>, act: &Act) -> Result<(), String> {
    match act {
        Act::Restore { path, before } => changes.write(path, before.as_deref()),
        Act::TakeOut { manifest, text, .. } => changes.write(manifest, Some(text)),
        Act::Lock { lock, wanted } => {
            changes.keep(lock.clone())?;
            relock(project, lock, wanted.as_deref())
        }
        Act::Remove { .. } | Act::Leave { .. } => Ok(()),
    }
}

fn plan(root: &Path, record: Option<&Record>) -> Result<Vec<Act>, String> {
    let (manifest, lock) = (root.join("Cargo.toml"), root.join("Cargo.lock"));
    let entry = |name| record.and_then(|record| record.file(name)).filter(|entry| !entry.is_lost());
    let mut acts = Vec::new();
    let text = text_of(&manifest)?;
    match entry("Cargo.toml") {
        Some(entry) if entry.before == text => {}
        Some(entry) if entry.is_after(text.as_deref()) => {
            acts.push(Act::Restore { path: manifest, before: entry.before.clone() });
        }
        _ => acts.extend(text.and_then(|text| taken_out(root, manifest, &text))),
    }
    let is_cut_off = record.is_some_and(|record| !record.is_finished());
    let noted = entry("Cargo.lock");
    // Without a record it is the patch that says whose package the lock file names.
    if record.is_some() || !acts.is_empty() {
        acts.extend(act_for_lock(lock, noted, is_cut_off)?);
    }
    for folder in record.into_iter().flat_map(Record::folders) {
        let folder = resolved(&root.join(folder));
        if folder.exists() {
            acts.push(match folder.starts_with(root) {
                true => Act::Remove { folder },
                false => Act::Leave { folder },
            });
        }
    }
    Ok(acts)
}

/// Takes the patch out of a manifest, and the exclusion of its folder.
fn taken_out(root: &Path, path: PathBuf, text: &str) -> Option<Act> {
    let mut manifest = Manifest::parse(text).ok()?;
    let name = manifest.patched_path()?.to_owned();
    let folder = resolved(&root.join(&name));
    // A patch that leads elsewhere is a person's own.
    if folder.exists() && !is_laid_down(&folder) {
        return None;
    }
    let lines = manifest.remove_patch(&name);
    Some(Act::TakeOut { manifest: path, text: manifest.text(), lines })
}

fn act_for_lock(
    lock: PathBuf,
    entry: Option<&Entry>,
    is_cut_off: bool,
) -> Result<Option<Act>, String> {
    let Some(text) = text_of(&lock)? else { return Ok(None) };
    let before = entry.and_then(|entry| entry.before.clone());
    if let Some(entry) = entry {
        if before.as_ref() == Some(&text) {
            return Ok(None);
        }
        // One that a build has made is removed, unless the person has taken it up.
        let is_of_build = entry.was_never_there() && !is_tracked(&lock);
        if is_cut_off || is_of_build || entry.is_after(Some(&text)) {
            return Ok(Some(Act::Restore { path: lock, before }));
        }
    }
    if update::without_source(&text, "tokio").is_none() {
        return Ok(None);
    }
    let wanted = before.and_then(|before| {
        let mut all = update::locked(&before, "tokio").into_iter();
        all.find_map(|one| {
            one.strip_prefix("tokio@").filter(|v| v.starts_with("1.")).map(Into::into)
        })
    });
    Ok(Some(Act::Lock { lock, wanted }))
}

fn is_tracked(path: &Path) -> bool {
    let (folder, name) = (path.parent(), path.file_name());
    let (Some(folder), Some(name)) = (folder, name) else { return false };
    let mut ask = tool("git");
    ask.args(["ls-files", "--error-unmatch", "--"]).arg(name).current_dir(folder);
    output(&mut ask).is_ok_and(|output| output.status.success())
}

/// Lets cargo find the real tokio, and else change as little as it can.
fn relock(project: &Project, lock: &Path, wanted: Option<&str>) -> Result<(), String> {
    let call = |arguments: &[&str]| {
        let arguments: Vec<_> = arguments.iter().map(|&one| one.to_owned()).collect();
        project.cargo(&arguments)
    };
    let mut done = call(&["update", "--workspace"])?;
    // What lies in cargo's cache may be enough.
    if !done.status.success() && is_about_network(&said(&done)) {
        let offline = call(&["update", "--workspace", "--offline"])?;
        done = if offline.status.success() { offline } else { done };
    }
    if !done.status.success() {
        return Err(format!(
            "cargo cannot put the real tokio into the lock file, which has changed since the mend. It \
             says:\n\n{}",
            said(&done)
        ));
    }
    let text = text_of(lock)?.unwrap_or_default();
    let found = update::locked(&text, "tokio").into_iter().find(|one| one.starts_with("tokio@1."));
    if let (Some(found), Some(wanted)) = (found, wanted) {
        // Where it does not go with what has changed since, a newer one is as good.
        let arguments = ["update", "-p", &found, "--precise", wanted];
        if !call(&arguments)?.status.success() {
            call(&[&arguments[..], &["--offline"]].concat())?;
        }
    }
    Ok(())
}

/// What `doctor` without an option says of a record that it finds.
pub(crate) fn note_of_half(project: &Project) -> Result<(), String> {
    // Where cargo finds no project, it says so later.
    let Ok(root) = project.root() else { return Ok(()) };
    match Record::in_folder(&root)? {
        Some(record) if !record.is_finished() => Err(format!(
            "a mend of this project was cut off before its end, as {NAME} says: run `bash tokio/doctor \
             --undo` to put the project back, or `--mend` to do that and to mend it"
        )),
        _ => Ok(()),
    }
}
