//! What `--mend` would change, said before it is changed.
//!
//! The package is laid down outside of the project for as long as this takes, and cargo is told of it on the
//! command line. So it answers as it would after the change, and no file of the project gets another text.

use crate::change::Step;
use crate::finding::Finding;
use crate::found;
use crate::mend;
use crate::project::Project;
use crate::undo;
use crate::words::say;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use toml_edit::Value;

/// A folder that goes when this is dropped.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // It may not have been made.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Says what the changes would be. Returns whether the patch would be in effect after them.
pub(crate) fn preview(mut project: Project, place: Option<&Path>) -> Result<bool, String> {
    undo::note_of_half(&project)?;
    let mut finding = found(&project)?;
    let mut steps = mend::steps(&finding, place)?;
    for step in &steps {
        say(&format!("Would do: {step}"));
    }
    let version = steps.iter().find_map(|step| match step {
        Step::Lay { version, .. } => version.clone(),
        _ => None,
    });
    let is_new = steps.iter().any(|step| matches!(step, Step::Edit { .. }));
    let folder = Folder(env::temp_dir().join(format!("tokio-on-liten-{}", process::id())));
    if is_new {
        packer::lay(&packer::home(), &folder.0, version.as_deref(), &mut |_| {
            crate::interrupt::check()
        })?;
        let path = Value::from(folder.0.display().to_string());
        let patch = format!("patch.crates-io.tokio.path={path}");
        project.arguments.extend(["--config".into(), patch.into()]);
        finding = found(&project)?;
        steps = mend::steps(&finding, place)?;
        for step in &steps {
            say(&format!("Would do: {step}"));
        }
    }
    let is_known = is_new || matches!(finding, Finding::Locked { .. } | Finding::InEffect { .. });
    let helps = !steps.is_empty() || matches!(finding, Finding::InEffect { .. });
    match (helps, is_known) {
        (true, true) if steps.is_empty() && !is_new => say(&"There is nothing to mend."),
        (true, true) => say(&"The patch would be in effect then."),
        (true, false) => say(&"What the lock file needs shows after that."),
        (false, _) => {
            say(&"A mend would leave all as it is, because after that:");
            say(&finding);
        }
    }
    say(&"Nothing has been changed.");
    Ok(helps)
}
