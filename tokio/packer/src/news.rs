//! What another release of tokio has that an earlier one had not: what has to be looked at before its files
//! are taken.
//!
//! Sources are read as text, by lines that begin with `pub` and by attributes for tests. That finds more than
//! there is, such as what only other files of tokio's can name, and that is meant: a person reads the list.

use crate::edits;
use crate::parcel::{Parcel, files_under, relative};
use crate::release::{self, Release};
use crate::tool::{output, tool};
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// A release as it lies in cargo's cache.
struct Source {
    version: String,
    /// The text of each file of `src` and `tests`.
    files: BTreeMap<String, String>,
}

/// Compares two releases, and returns a text with a row of figures and what is behind each of them.
pub(crate) fn compare(home: &Path, since: Option<&str>, version: &str) -> Result<String, String> {
    let release = Release::find(home)?;
    let since = Source::fetch(since.unwrap_or(release.version()))?;
    let newer = Source::fetch(version)?;
    // The licence lies beside the sources, and `--record` looks at it.
    let taken = release.names()?.into_iter().filter(|path| path.starts_with("src/"));
    let taken: BTreeSet<String> = taken.collect();
    let ours = names_of_ours(home)?;
    let (added, gone) = (difference(&newer, &since), difference(&since, &newer));
    let changed: Vec<&String> = taken.iter().filter(|path| differs(&since, &newer, path)).collect();
    let lost: Vec<&String> = taken.iter().filter(|path| !newer.has(path)).collect();
    let moved = edits::moved(&newer.parcel());
    let known = since.names();
    let names = newer.names().into_iter().filter(|name| !known.contains(name));
    let (free, named): (Vec<_>, Vec<_>) = names.partition(|(path, _)| taken.contains(path));
    let (there, missing): (Vec<_>, Vec<_>) =
        named.into_iter().partition(|(_, name)| ours.contains(name));
    let old_tests = since.tests();
    let tests: Vec<_> =
        newer.tests().into_iter().filter(|test| !old_tests.contains(test)).collect();

    let mut text = String::from(
        "| tokio | since | new files | gone files | taken files that differ | taken files that are gone \
         | places that have moved | new names in taken files | new names that are here \
         | new names that are not | new tests |\n|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    let counts = [
        added.len(),
        gone.len(),
        changed.len(),
        lost.len(),
        moved.len(),
        free.len(),
        there.len(),
        missing.len(),
        tests.len(),
    ];
    let counts = counts.map(|count| format!(" {count} |")).concat();
    _ = writeln!(text, "| {} | {} |{counts}", newer.version, since.version);
    let pair = |(path, name): &(String, String)| format!("{path}: {name}");
    list(&mut text, "New files", added.iter().map(ToString::to_string));
    list(&mut text, "Files that are gone", gone.iter().map(ToString::to_string));
    list(&mut text, "Files that are taken and differ", changed.iter().map(ToString::to_string));
    list(&mut text, "Files that are taken and gone", lost.iter().map(ToString::to_string));
    list(&mut text, "Places in packer/src/edits.rs that have moved", moved.into_iter());
    list(&mut text, "New names that come with the files", free.iter().map(pair));
    list(&mut text, "New names that the face or liten has", there.iter().map(pair));
    list(&mut text, "New names that are missing here", missing.iter().map(pair));
    list(&mut text, "New tests", tests.iter().map(pair));
    Ok(text)
}

fn list(text: &mut String, what: &str, lines: impl Iterator<Item = String>) {
    let mut lines = lines.peekable();
    if lines.peek().is_some() {
        _ = writeln!(text, "\n{what}:");
    }
    lines.for_each(|line| _ = writeln!(text, "* {line}"));
}

/// Files of `src` that one release has and the other has not.
fn difference<'a>(one: &'a Source, other: &Source) -> Vec<&'a String> {
    let files = one.files.keys().filter(|path| path.starts_with("src/"));
    files.filter(|path| !other.has(path)).collect()
}

fn differs(one: &Source, other: &Source, path: &str) -> bool {
    one.has(path) && other.has(path) && one.files[path] != other.files[path]
}

/// The names of public items and functions in the face and in liten.
fn names_of_ours(home: &Path) -> Result<BTreeSet<String>, String> {
    let liten = home.parent().ok_or("the folder `tokio` does not lie in liten")?.join("src");
    let mut names = BTreeSet::new();
    for folder in [home.join("face/src"), liten] {
        for path in files_under(&folder)? {
            let text = fs::read_to_string(&path).unwrap_or_default();
            // Names are also made by macros there, so that each word before a bracket may be one.
            let words = text.split(|sign: char| !sign.is_alphanumeric() && sign != '_');
            names.extend(words.filter(|word| !word.is_empty()).map(ToOwned::to_owned));
        }
    }
    Ok(names)
}

impl Source {
    /// Has cargo fetch a release, or the newest one of tokio 1.
    fn fetch(version: &str) -> Result<Self, String> {
        let requirement = match version {
            "newest" => "1".to_owned(),
            version => format!("={version}"),
        };
        let folder = env::temp_dir().join(format!("liten-tokio-{}-{version}", std::process::id()));
        let found = Self::find(&folder, &requirement);
        _ = fs::remove_dir_all(&folder);
        let (version, folder) = found?;
        let mut files = BTreeMap::new();
        for part in ["src", "tests"] {
            for path in files_under(&folder.join(part))? {
                if let Ok(text) = fs::read_to_string(&path) {
                    files.insert(relative(&folder, &path), text);
                }
            }
        }
        Ok(Self { version, files })
    }

    fn find(folder: &Path, requirement: &str) -> Result<(String, PathBuf), String> {
        let named = |error: std::io::Error| format!("{}: {error}", folder.display());
        fs::create_dir_all(folder).map_err(named)?;
        let manifest = format!(
            "[package]\nname = \"release\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[workspace]\n\n[lib]\n\
             path = \"lib.rs\"\n\n[dependencies]\ntokio = \"{requirement}\"\n"
        );
        fs::write(folder.join("Cargo.toml"), manifest).map_err(named)?;
        fs::write(folder.join("lib.rs"), "").map_err(named)?;
        let output =
            output(tool("cargo").args(["metadata", "--format-version=1"]).current_dir(folder))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).trim_end().to_owned());
        }
        release::chosen(&output.stdout)
    }

    fn has(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    /// Its files as they would be laid down.
    fn parcel(&self) -> Parcel {
        let mut parcel = Parcel::default();
        for (path, text) in &self.files {
            parcel.put(path.clone(), text.clone().into_bytes());
        }
        parcel
    }

    /// Its public names, with the file of each.
    fn names(&self) -> BTreeSet<(String, String)> {
        let files = self.files.iter().filter(|(path, _)| {
            path.starts_with("src/") && !path.contains("/tests/") && !path.contains("loom")
        });
        let names = files.flat_map(|(path, text)| {
            text.lines().filter_map(public_name).map(|name| (path.clone(), name.to_owned()))
        });
        names.collect()
    }

    /// Its tests, with the file of each.
    fn tests(&self) -> BTreeSet<(String, String)> {
        let files = self.files.iter().filter(|(path, _)| path.starts_with("tests/"));
        files.flat_map(|(path, text)| tests_in(text).map(|name| (path.clone(), name))).collect()
    }
}

/// The name that a line makes public.
fn public_name(line: &str) -> Option<&str> {
    let mut words = line.trim_start().strip_prefix("pub ")?.split_whitespace();
    let kinds = ["fn", "struct", "enum", "trait", "type", "mod", "static", "union"];
    let kind = words.find(|word| kinds.contains(word) || (*word == "use" || *word == "in"))?;
    let name = words.next().filter(|_| kinds.contains(&kind))?;
    name.split(|sign: char| !sign.is_alphanumeric() && sign != '_').next()
}

/// The names of the functions below an attribute for tests.
fn tests_in(text: &str) -> impl Iterator<Item = String> {
    let mut is_test = false;
    text.lines().filter_map(move |line| {
        let line = line.trim_start();
        is_test |= line.starts_with("#[") && line.contains("test") && !line.contains("cfg");
        let rest = line.strip_prefix("pub ").unwrap_or(line);
        let rest = rest.strip_prefix("async ").unwrap_or(rest).strip_prefix("fn ")?;
        let name = rest.split(['(', '<']).next().unwrap_or_default().to_owned();
        std::mem::take(&mut is_test).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::{public_name, tests_in};

    #[test]
    fn a_public_item_is_known_by_its_line() {
        for (line, name) in [
            ("    pub async fn readable(&self) -> io::Result<()> {", Some("readable")),
            ("pub struct Interest(usize);", Some("Interest")),
            ("pub const fn new() -> Self {", Some("new")),
            ("pub(crate) fn inner()", None),
            ("pub use self::handle::Handle;", None),
            ("// pub fn", None),
        ] {
            assert_eq!(public_name(line), name, "{line}");
        }
    }

    #[test]
    fn a_test_is_known_by_its_attribute() {
        let text = "#[tokio::test]\nasync fn one() {\n}\nfn helper() {}\n#[test]\n#[ignore]\nfn two() {}\n";
        assert_eq!(tests_in(text).collect::<Vec<_>>(), ["one", "two"]);
        assert_eq!(tests_in("#[cfg(test)]\nfn helper() {}\n").count(), 0);
    }
}
