//! A change of a project, and all that are made together.

use crate::interrupt;
use crate::kept::{Kept, KeptFolder, replace};
use crate::project::{Project, said};
use crate::update;
use crate::words::{quoted, say};
use std::fmt;
use std::path::{Path, PathBuf};

/// One change. It is printed as what a user would do instead.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The package is laid down in a folder.
    Lay { folder: PathBuf },
    /// A manifest gets another text. `lines` says which lines are new in it.
    Edit { manifest: PathBuf, text: String, lines: String },
    /// cargo updates the lock file.
    Update { arguments: Vec<String> },
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lay { folder } => write!(f, "bash tokio/lay {}", quoted(folder)),
            Self::Edit { manifest, lines, .. } => write!(f, "in {}, {lines}", manifest.display()),
            Self::Update { arguments } => f.write_str(&update::command(arguments)),
        }
    }
}

/// The changes that have been made so far. They are made together or not at all: when this is dropped, it
/// puts all of them back, unless they are to stay.
pub(crate) struct Changes<'a> {
    project: &'a Project,
    files: Vec<Kept>,
    folders: Vec<KeptFolder>,
}

impl<'a> Changes<'a> {
    pub(crate) fn new(project: &'a Project) -> Self {
        Self { project, files: Vec::new(), folders: Vec::new() }
    }

    pub(crate) fn make(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Lay { folder } => {
                self.folders.push(KeptFolder::new(folder));
                let kept = self.folders.last_mut().expect("one was added");
                let mut keep = |path: &Path| interrupt::check().and_then(|()| kept.keep(path));
                packer::lay(&packer::home(), folder, &mut keep)?;
            }
            Step::Edit { manifest, text, .. } => {
                self.keep(manifest.clone())?;
                replace(manifest, text.as_bytes())
                    .map_err(|error| format!("{}: {error}", manifest.display()))?;
            }
            Step::Update { arguments } => {
                self.keep(self.project.lock()?)?;
                let output = self.project.cargo(arguments)?;
                if !output.status.success() {
                    return Err(format!("`{step}` fails. It says:\n\n{}", said(&output)));
                }
            }
        }
        Ok(())
    }

    /// The first state of a file is the one to go back to.
    fn keep(&mut self, path: PathBuf) -> Result<(), String> {
        if !self.files.iter().any(|kept| kept.path() == path) {
            self.files.push(Kept::new(&path)?);
        }
        Ok(())
    }

    pub(crate) fn stay(mut self) {
        self.files.drain(..).for_each(Kept::stay);
        self.folders.drain(..).for_each(KeptFolder::stay);
    }
}

impl Drop for Changes<'_> {
    fn drop(&mut self) {
        let files = self.files.iter().filter(|kept| kept.has_changed()).map(Kept::path);
        let folders = self.folders.iter().filter(|kept| kept.has_changed()).map(KeptFolder::path);
        let names: Vec<_> = files.chain(folders).map(|path| path.display().to_string()).collect();
        self.files.clear();
        // One that was laid down twice was new the first time.
        self.folders.drain(..).rev().for_each(drop);
        if !names.is_empty() {
            say(&format!("Put back as it was: {}", names.join(", ")));
        }
    }
}
