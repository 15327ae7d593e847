//! What `--mend` does itself: the package, the lines of the manifest, the update of the lock file. All else
//! is a choice, and is left to the person.

use crate::change::Step;
use crate::finding::{self, Finding};
use crate::fit::Fit;
use crate::patch::{Manifest, relative, resolved};
use packer::{is_laid_down, laid_as};
use std::fs;
use std::path::Path;

/// Where the package goes if the caller does not say where. In the project, because there it can be
/// committed, and is there for colleagues, for CI and in a container. Beside it, where it would not be in
/// the way of tools that look at all files, it would be on this machine only.
const INSIDE: &str = "tokio-on-liten";

/// The changes that mend what was found, or none if it is not for this to mend. Nothing is done here. `place`
/// is where the package named tokio lies or is to be laid down.
pub(crate) fn steps(finding: &Finding, place: Option<&Path>) -> Result<Vec<Step>, String> {
    // One that was laid down under a version that a person chose keeps that.
    let lay = |folder: &Path| {
        let version = laid_as(folder);
        vec![Step::Lay { folder: folder.to_owned(), version }]
    };
    Ok(match finding {
        Finding::NoPatch { root, fit, .. } => patch(Path::new(root), place, fit.as_ref())?,
        Finding::Refused { patch, fit, .. } => match folder_of(patch) {
            Some(folder) if is_laid_down(folder) => {
                vec![Step::Lay {
                    folder: folder.to_owned(),
                    version: fit.as_ref().and_then(Fit::version),
                }]
            }
            _ => Vec::new(),
        },
        // Where there is nothing above it, the path is that of another machine.
        Finding::NotLaid { folder } if folder.parent().is_some_and(Path::is_dir) => lay(folder),
        Finding::InEffect { stale: Some(folder), .. } => lay(folder),
        // "1.998.0 (/place)". Where it comes by git there is no folder to lay it down in.
        Finding::Outdated { patch, .. } => folder_of(patch).map_or(Vec::new(), lay),
        Finding::Locked { updates, .. } => {
            let updates = updates.iter().cloned();
            updates.map(|arguments| Step::Update { arguments }).collect()
        }
        _ => Vec::new(),
    })
}

/// The folder of a patch as cargo names it.
fn folder_of(patch: &str) -> Option<&Path> {
    let (_, rest) = patch.split_once('(')?;
    rest.strip_suffix(')').map(Path::new).filter(|folder| folder.is_dir())
}

/// The package in its folder, and the patch in the manifest of the workspace's root.
fn patch(root: &Path, place: Option<&Path>, fit: Option<&Fit>) -> Result<Vec<Step>, String> {
    let root = resolved(root);
    let path = root.join("Cargo.toml");
    let named = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = fs::read_to_string(&path).map_err(|error| named(&error))?;
    let mut manifest = Manifest::parse(&text).map_err(|error| named(&error))?;
    let folder = place.map_or_else(|| root.join(INSIDE), resolved);
    let name = relative(&root, &folder).unwrap_or_else(|| folder.display().to_string());
    let Some(mut lines) = manifest.add_patch(&name).map_err(|error| named(&error))? else {
        return Ok(Vec::new());
    };
    if folder.starts_with(&root) {
        if let Some(line) = manifest.exclude(&name).map_err(|error| named(&error))? {
            lines = format!("{lines}; {line}");
        }
    }
    let edit = Step::Edit { manifest: path, text: manifest.text(), lines };
    // A package that was not laid down is the caller's own. One that was is laid down again, because the
    // command may have been interrupted.
    let is_foreign = folder.join("Cargo.toml").exists() && !is_laid_down(&folder);
    if is_foreign {
        return Ok(vec![edit]);
    }
    let version = match is_laid_down(&folder) {
        true => laid_as(&folder),
        false => None,
    };
    let lets_in = |version: &str| fit.is_none_or(|fit| fit.lets_in(version));
    let version = match lets_in(version.as_deref().unwrap_or(finding::version())) {
        true => version,
        // Other projects may use it under the version that it has.
        false if is_laid_down(&folder) && !folder.starts_with(&root) => {
            return Err(format!(
                "the package in {} is tokio {}, which the requirements of this project keep out: name \
                 another folder with --mend=DIR",
                folder.display(),
                version.as_deref().unwrap_or(finding::version())
            ));
        }
        false => fit.and_then(Fit::version),
    };
    Ok(vec![Step::Lay { folder, version }, edit])
}
