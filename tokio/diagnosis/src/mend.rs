//! What `--mend` does itself: the lines of the manifest, the update of the lock file, a package that another
//! copy of liten has laid down. All else is a choice, and is left to the person.

use crate::finding::Finding;
use crate::project::{Project, said};
use crate::update;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use toml_edit::{DocumentMut, InlineTable, Item, Table, TableLike};

/// Where the package goes if the caller does not say where: beside the workspace.
const BESIDE: &str = "tokio-on-liten";

/// Mends what was found, and returns what was done, or nothing if it is not for this to mend. `package` is
/// where the package named tokio lies or is to be laid down.
pub(crate) fn mend(
    project: &Project,
    finding: &Finding,
    package: Option<&Path>,
) -> Result<Option<String>, String> {
    match finding {
        Finding::NoPatch { root, .. } => add_patch(Path::new(root), package),
        Finding::Locked { updates, .. } => {
            for update in updates {
                let output = project.cargo(update)?;
                if !output.status.success() {
                    return Err(said(&output));
                }
            }
            Ok(Some(format!("Done: {}", update::commands(updates).replace('\n', "\nDone: "))))
        }
        Finding::Outdated { patch, .. } => {
            // "1.998.0 (/place)". Where it comes by git there is no folder to lay it down in.
            let place = patch.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
            match place.map(Path::new).filter(|place| place.is_dir()) {
                Some(place) => Ok(Some(lay(place)?)),
                None => Ok(None),
            }
        }
        _ => Ok(None),
    }
}

/// Writes the patch into the manifest of the workspace's root, after the package was laid down if it is not
/// there.
fn add_patch(root: &Path, package: Option<&Path>) -> Result<Option<String>, String> {
    let manifest = root.join("Cargo.toml");
    let named = |error: &dyn std::fmt::Display| format!("{}: {error}", manifest.display());
    let text = fs::read_to_string(&manifest).map_err(|error| named(&error))?;
    let beside = root.parent().unwrap_or(root).join(BESIDE);
    let package = package.unwrap_or(&beside);
    // Looked at before anything is written.
    if with_patch(&text, "").map_err(|error| named(&error))?.is_none() {
        return Ok(None);
    }
    let mut done = String::new();
    if !package.join("Cargo.toml").exists() {
        done = lay(package)? + "\n";
    }
    let package =
        package.canonicalize().map_err(|error| format!("{}: {error}", package.display()))?;
    let path = from(root, &package).display().to_string();
    let Some(text) = with_patch(&text, &path).map_err(|error| named(&error))? else {
        return Ok(None);
    };
    fs::write(&manifest, text).map_err(|error| named(&error))?;
    done += &format!(
        "Done: in {}, under [patch.crates-io]: tokio = {{ path = \"{path}\" }}",
        manifest.display()
    );
    Ok(Some(done))
}

/// How the manifest in `root` names a folder: without the path above both if one lies beside the other, so
/// that the pair of them can be moved.
fn from(root: &Path, package: &Path) -> PathBuf {
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    match (package.strip_prefix(&root), root.parent().map(|above| package.strip_prefix(above))) {
        (Ok(below), _) => below.to_owned(),
        (_, Some(Ok(beside))) => Path::new("..").join(beside),
        _ => package.to_owned(),
    }
}

/// The text of a manifest with the patch added, and all else as it was. `None`: there is an entry of this
/// name already, which was put there on purpose.
fn with_patch(manifest: &str, path: &str) -> Result<Option<String>, String> {
    let mut manifest: DocumentMut =
        manifest.parse().map_err(|error: toml_edit::TomlError| error.to_string())?;
    // Without a line of its own: only the tables in it have one.
    let group = || {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    };
    let patches = manifest.entry("patch").or_insert_with(group);
    let patches = patches.as_table_like_mut().ok_or("`patch` is not a table")?;
    let patches: &mut dyn TableLike = patches
        .entry("crates-io")
        .or_insert_with(|| Item::Table(Table::new()))
        .as_table_like_mut()
        .ok_or("`patch.crates-io` is not a table")?;
    if patches.contains_key("tokio") {
        return Ok(None);
    }
    let mut entry = InlineTable::new();
    entry.insert("path", path.into());
    patches.insert("tokio", Item::Value(entry.into()));
    Ok(Some(manifest.to_string()))
}

/// Lays the package down with the command of this copy of liten.
fn lay(folder: &Path) -> Result<String, String> {
    // cargo says where this lies when it runs it: two clones may share the folder of what is built.
    let diagnosis = std::env::var_os("CARGO_MANIFEST_DIR");
    let diagnosis = diagnosis.unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let script = Path::new(&diagnosis).with_file_name("lay");
    let output = Command::new("bash")
        .arg(&script)
        .arg(folder)
        .output()
        .map_err(|error| format!("bash could not be run: {error}"))?;
    match output.status.success() {
        true => Ok(format!("Done: bash tokio/lay {}", folder.display())),
        false => Err(said(&output)),
    }
}

#[cfg(test)]
mod tests {
    use super::{from, with_patch};
    use std::path::Path;

    #[track_caller]
    fn patched(manifest: &str) -> String {
        with_patch(manifest, "../x").expect("it is a manifest").expect("it has no such patch")
    }

    #[test]
    fn the_lines_are_added_and_the_others_stay() {
        let manifest =
            "# The program.\n[package]\nname = \"app\" # its name\n\n[dependencies]\na = '1'\n";
        let expected = format!("{manifest}\n[patch.crates-io]\ntokio = {{ path = \"../x\" }}\n");
        assert_eq!(patched(manifest), expected);
    }

    #[test]
    fn other_patches_stay() {
        let manifest =
            "[patch.crates-io]\n# A fork.\nb = { path = \"b\" }\n\n[profile.dev]\ndebug = 0\n";
        let expected = manifest.replace("\n\n", "\ntokio = { path = \"../x\" }\n\n");
        assert_eq!(patched(manifest), expected);
        let manifest = "[patch.\"https://example.org\"]\nb = { path = \"b\" }\n";
        let text = patched(manifest);
        assert!(text.starts_with(manifest), "{text}");
        assert!(text.ends_with("\n[patch.crates-io]\ntokio = { path = \"../x\" }\n"), "{text}");
        let text = patched("patch.crates-io.b.path = \"b\"\n");
        let parsed: toml_edit::DocumentMut = text.parse().expect("it is TOML");
        for (name, path) in [("b", "b"), ("tokio", "../x")] {
            assert_eq!(parsed["patch"]["crates-io"][name]["path"].as_str(), Some(path), "{text}");
        }
    }

    #[test]
    fn an_entry_that_is_there_is_left_alone() {
        let manifest = "[patch.crates-io]\ntokio = { git = \"https://example.org\" }\n";
        assert_eq!(with_patch(manifest, "../x"), Ok(None));
        assert!(with_patch("patch = 1\n", "../x").is_err());
        assert!(with_patch("[", "../x").is_err());
    }

    #[test]
    fn what_lies_beside_the_workspace_is_named_from_there() {
        let name = |package| from(Path::new("/a/b"), Path::new(package));
        assert_eq!(name("/a/x"), Path::new("../x"));
        assert_eq!(name("/a/b/x"), Path::new("x"));
        assert_eq!(name("/c/x"), Path::new("/c/x"));
    }
}
