//! A change of a project, and all that are made together.

use crate::interrupt;
use crate::kept::{Kept, KeptFolder, replace, text_of};
use crate::patch::relative;
use crate::project::{Project, said};
use crate::record::Record;
use crate::update;
use crate::words::{lay, say};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// One change. It is printed as what a user would do instead.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The package is laid down in a folder, under a version that lets the requirements have it.
    Lay { folder: PathBuf, version: Option<String> },
    /// A manifest gets another text. `lines` says which lines are new in it.
    Edit { manifest: PathBuf, text: String, lines: String },
    /// cargo updates the lock file.
    Update { arguments: Vec<String> },
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lay { folder, version } => f.write_str(&lay(folder, version.as_deref())),
            Self::Edit { manifest, lines, .. } => write!(f, "in {}, {lines}", manifest.display()),
            Self::Update { arguments } => f.write_str(&update::command(arguments)),
        }
    }
}

/// The changes that have been made so far. They are made together or not at all: when this is dropped, it
/// puts all of them back, unless they are to stay. Each is written down before it is made, so that a later
/// run can put back what this one could not.
pub(crate) struct Changes<'a> {
    project: &'a Project,
    files: Vec<Kept>,
    folders: Vec<KeptFolder>,
    record: Option<(Record, Kept)>,
}

impl<'a> Changes<'a> {
    pub(crate) fn new(project: &'a Project) -> Self {
        Self { project, files: Vec::new(), folders: Vec::new(), record: None }
    }

    pub(crate) fn make(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Lay { folder, version } => self.lay(folder, version.as_deref()),
            Step::Edit { manifest, text, .. } => {
                self.note_file(manifest, Some(text))?;
                self.write(manifest, Some(text))
            }
            Step::Update { arguments } => {
                let lock = self.project.lock()?;
                let before = text_of(&lock)?;
                self.note_file(&lock, before.as_deref())?;
                self.keep(lock.clone())?;
                let output = self.project.cargo(arguments)?;
                match output.status.success() {
                    true => self.note_file_again(&lock, before.as_deref()),
                    false => Err(format!("`{step}` fails. It says:\n\n{}", said(&output))),
                }
            }
        }
    }

    fn lay(&mut self, folder: &Path, version: Option<&str>) -> Result<(), String> {
        // One that the caller has laid down before stays when the mend is undone.
        let is_new = folder.read_dir().map_or(true, |mut entries| entries.next().is_none());
        if is_new {
            let root = self.project.root()?;
            let name = relative(&root, folder).unwrap_or_else(|| folder.display().to_string());
            self.note(|record| record.note_folder(name))?;
        }
        self.folders.push(KeptFolder::new(folder));
        let kept = self.folders.last_mut().expect("one was added");
        let mut keep = |path: &Path| interrupt::check().and_then(|()| kept.keep(path));
        packer::lay(&packer::home(), folder, version, &mut keep).map(drop)
    }

    /// Writes down that a file is about to get another text.
    fn note_file(&mut self, path: &Path, after: Option<&str>) -> Result<(), String> {
        let before = text_of(path)?;
        let name = name_of(path);
        self.note(|record| record.note_file(&name, before.as_deref(), after))
    }

    /// Writes down what cargo has made of a file, which was not known before.
    fn note_file_again(&mut self, path: &Path, before: Option<&str>) -> Result<(), String> {
        let after = text_of(path)?;
        let name = name_of(path);
        self.note(|record| record.note_file(&name, before, after.as_deref()))
    }

    fn note(&mut self, what: impl FnOnce(&mut Record)) -> Result<(), String> {
        if self.record.is_none() {
            let root = self.project.root()?;
            let record = Record::in_folder(&root)?.unwrap_or_else(|| Record::new(&root));
            let kept = Kept::new(&record.path())?;
            self.record = Some((record, kept));
        }
        let (record, _) = self.record.as_mut().expect("it was made");
        what(record);
        record.save(false)
    }

    /// Gives a file a text that is written down already, or removes it.
    pub(crate) fn write(&mut self, path: &Path, text: Option<&str>) -> Result<(), String> {
        self.keep(path.to_owned())?;
        let done = match text {
            Some(text) => replace(path, text.as_bytes()),
            None => fs::remove_file(path),
        };
        done.map_err(|error| format!("{}: {error}", path.display()))
    }

    /// The first state of a file is the one to go back to.
    pub(crate) fn keep(&mut self, path: PathBuf) -> Result<(), String> {
        if !self.files.iter().any(|kept| kept.path() == path) {
            self.files.push(Kept::new(&path)?);
        }
        Ok(())
    }

    /// Whether nothing has been changed.
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty() && self.folders.is_empty()
    }

    /// Lets all changes stay.
    pub(crate) fn stay(mut self) -> Result<(), String> {
        if let Some((record, _)) = &mut self.record {
            // Whether there was a lock file is to be known even where it has not changed: a build writes it.
            let lock = self.project.lock()?;
            let there = text_of(&lock)?;
            if record.file(&name_of(&lock)).is_none() {
                record.note_file(&name_of(&lock), there.as_deref(), there.as_deref());
            }
            record.save(true)?;
        }
        self.files.drain(..).for_each(Kept::stay);
        self.folders.drain(..).for_each(KeptFolder::stay);
        if let Some((_, kept)) = self.record.take() {
            kept.stay();
        }
        Ok(())
    }
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

impl Drop for Changes<'_> {
    fn drop(&mut self) {
        let files = self.files.iter().filter(|kept| kept.has_changed()).map(Kept::path);
        let folders = self.folders.iter().filter(|kept| kept.has_changed()).map(KeptFolder::path);
        let names: Vec<_> = files.chain(folders).map(|path| path.display().to_string()).collect();
        self.files.clear();
        // One that was laid down twice was new the first time.
        self.folders.drain(..).rev().for_each(drop);
        // Last, because until then all else may have to be put back from it.
        self.record = None;
        if !names.is_empty() {
            say(&format!("Put back as it was: {}", names.join(", ")));
        }
    }
}
