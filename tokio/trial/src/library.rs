//! Published libraries that stand on tokio, and the tests inside their packages.

use crate::cargo::{self, Build};
use crate::suite::{self, Program, Suite};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What is written under a library's own manifest: no workspace around it.
const NO_WORKSPACE: &str = "\n[workspace]\n";

/// Settings of cargo's that go before those of a manifest. Some libraries deny warnings, of which each new
/// compiler has more. And binaries without debug information are small.
const SETTINGS: [&str; 3] = [
    "build.rustflags=['--cap-lints=warn']",
    "profile.dev.debug=0",
    "profile.dev.incremental=false",
];

/// Among the arguments of a library: it is built with `--cfg tokio_unstable`.
const FLAGGED: &str = "--unstable";

/// A line of the list of libraries: a name, a version, arguments of cargo's.
pub(crate) struct Library {
    pub(crate) name: String,
    version: String,
    is_flagged: bool,
    arguments: Vec<String>,
}

/// Reads the list.
pub(crate) fn read(path: &Path) -> Result<Vec<Library>, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    parse(&text).map_err(|line| format!("{}: no name and version: {line}", path.display()))
}

fn parse(text: &str) -> Result<Vec<Library>, String> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let libraries = lines.map(|line| {
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        match (words.next(), words.next()) {
            (Some(name), Some(version)) => Ok(Library {
                name: name.to_owned(),
                version: version.to_owned(),
                is_flagged: line.contains(FLAGGED),
                arguments: words.filter(|word| *word != FLAGGED).map(ToOwned::to_owned).collect(),
            }),
            _ => Err(line.to_owned()),
        }
    });
    libraries.collect()
}

/// Splits what is asked for, each a name or `NAME=CHECKOUT`, into names and checkouts. The error is a name
/// that is not in the list.
pub(crate) fn wanted(
    libraries: &[Library],
    asked: &[String],
) -> Result<(Vec<String>, BTreeMap<String, PathBuf>), String> {
    let (mut names, mut checkouts) = (Vec::new(), BTreeMap::new());
    for one in asked {
        let (name, checkout) = match one.split_once('=') {
            Some((name, checkout)) => (name, Some(checkout)),
            None => (one.as_str(), None),
        };
        if libraries.iter().all(|library| library.name != name) {
            return Err(name.to_owned());
        }
        names.push(name.to_owned());
        checkouts.extend(checkout.map(|checkout| (name.to_owned(), checkout.into())));
    }
    Ok((names, checkouts))
}

/// Has cargo fetch the libraries' published packages, and returns where each lies.
pub(crate) fn fetch(libraries: &[Library], folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut manifest = "[package]\nname = \"sources\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\
        publish = false\n\n[workspace]\n\n[lib]\npath = \"lib.rs\"\n\n[dependencies]\n"
        .to_owned();
    for Library { name, version, .. } in libraries {
        manifest += &format!("{name} = {{ version = \"={version}\", default-features = false }}\n");
    }
    let named = |error: io::Error| format!("{}: {error}", folder.display());
    fs::create_dir_all(folder).map_err(named)?;
    fs::write(folder.join("Cargo.toml"), manifest).map_err(named)?;
    fs::write(folder.join("lib.rs"), "").map_err(named)?;
    let chosen = cargo::chosen(folder)?;
    let places = libraries.iter().map(|Library { name, version, .. }| {
        let is_it = |place: &Path| place.ends_with(format!("{name}-{version}"));
        let found = chosen.iter().find(|(chosen, place)| chosen == name && is_it(place));
        let (_, place) = found.ok_or(format!("cargo has not fetched {name} {version}"))?;
        Ok(place.clone())
    });
    places.collect()
}

impl Suite {
    /// Builds the tests of a library from a copy of its source below `folder`, with the package in `face` in
    /// place of tokio if there is one.
    pub(crate) fn of_library(
        library: &Library,
        source: &Path,
        folder: &Path,
        face: Option<&Path>,
    ) -> Result<Self, String> {
        let (name, kind) = match face {
            None => ("tokio", "real"),
            Some(_) => ("liten", "face"),
        };
        // A checkout's name is another than a package's, so the two do not mix.
        let named = source.file_name().ok_or(format!("{} has no name", source.display()))?;
        let place = folder.join(kind).join(named);
        copy(source, &place)
            .map_err(|error| format!("{} could not be copied: {error}", source.display()))?;
        add_settings(&place.join("Cargo.toml"), face)
            .map_err(|error| format!("{}: {error}", place.display()))?;
        // Those that do not compile do not keep cargo from the others.
        let mut arguments = vec!["--no-fail-fast"];
        arguments.extend(SETTINGS.iter().flat_map(|setting| ["--config", setting]));
        arguments.extend(library.arguments.iter().map(String::as_str));
        // What is built with other flags would replace what others have built there.
        let (target, flags) = match library.is_flagged {
            false => ("target", None),
            true => ("target-unstable", Some(suite::FLAG)),
        };
        let build = Build::of_tests(&place, &folder.join(target), flags, &arguments)?;
        if let Some(face) = face {
            in_effect(&build, face).map_err(|error| format!("{}: {error}", library.name))?;
        }
        let errors = place.join("errors");
        fs::write(&errors, build.text())
            .map_err(|error| format!("{}: {error}", errors.display()))?;
        let prefix = |target: &Value| format!("{}::{}", library.name, title(target));
        let manifest = place.join("Cargo.toml").display().to_string();
        let broken = own_errors(&build, &manifest).ok_or_else(|| {
            format!(
                "cargo could not build what the tests of {} stand on: see {}, or above",
                library.name,
                errors.display()
            )
        })?;
        let broken = broken.into_iter().map(prefix).collect();
        let programs = build.messages.iter().filter_map(|message| {
            let binary = message["executable"].as_str()?;
            // Examples are built, which is something, but are no tests.
            message["profile"]["test"].as_bool().filter(|is_test| *is_test)?;
            let prefix = prefix(&message["target"]) + "::";
            Some(Program { binary: binary.into(), prefix })
        });
        Ok(Self { name, programs: programs.collect(), folder: place, broken })
    }
}

/// The targets that do not compile, or nothing if what they stand on does not.
fn own_errors<'a>(build: &'a Build, manifest: &str) -> Option<Vec<&'a Value>> {
    let is_own = |message: &Value| message["manifest_path"] == manifest;
    let targets = build.errors().map(|(message, _)| is_own(message).then_some(&message["target"]));
    let targets: Vec<&Value> = targets.collect::<Option<_>>()?;
    (build.succeeded || !targets.is_empty()).then_some(targets)
}

/// What a target is called in names of tests: `lib`, or the name of its file.
fn title(target: &Value) -> &str {
    let kinds = target["kind"].as_array();
    let is_library = kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind == "lib"));
    if is_library { "lib" } else { target["name"].as_str().unwrap_or("unnamed") }
}

/// Fails unless each package named tokio that took part in the build is the one in `face`: cargo drops a
/// patch that does not fit, and the comparison would be one of tokio with itself.
fn in_effect(build: &Build, face: &Path) -> Result<(), String> {
    let artifacts = build.messages.iter().filter(|message| message["target"]["name"] == "tokio");
    let manifests: BTreeSet<&str> =
        artifacts.filter_map(|message| message["manifest_path"].as_str()).collect();
    match manifests.iter().find(|manifest| !Path::new(manifest).starts_with(face)) {
        Some(manifest) => Err(format!("the patch is not in effect, cargo has chosen {manifest}")),
        None => Ok(()),
    }
}

/// Copies a package. What is the same already stays as it is, for cargo goes by times. The lock file is left
/// out: it names the versions of the day when the package was published.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in from.read_dir()? {
        let entry = entry?;
        let (name, from) = (entry.file_name(), entry.path());
        let to = to.join(&name);
        if entry.file_type()?.is_dir() {
            // Settings of cargo's are those of the library's authors for their own work.
            if !["target", ".git", ".cargo"].iter().any(|skipped| name == *skipped) {
                copy(&from, &to)?;
            }
        } else if name != "Cargo.lock" && name != "Cargo.toml" {
            write(&to, &fs::read(&from)?)?;
        } else if name == "Cargo.toml" {
            fs::copy(&from, to.with_file_name("Cargo.toml.published"))?;
        }
    }
    Ok(())
}

fn add_settings(manifest: &Path, face: Option<&Path>) -> io::Result<()> {
    let mut text = fs::read_to_string(manifest.with_file_name("Cargo.toml.published"))?;
    text += NO_WORKSPACE;
    if let Some(face) = face {
        text += &format!("\n[patch.crates-io]\ntokio = {{ path = '{}' }}\n", face.display());
    }
    write(manifest, text.as_bytes())
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match fs::read(path) {
        Ok(there) if there == bytes => Ok(()),
        _ => fs::write(path, bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::{Build, in_effect, own_errors, parse, title, wanted};
    use serde_json::json;
    use std::path::Path;

    #[test]
    fn a_line_has_a_name_a_version_and_arguments() {
        let libraries = parse("# remark\n\na 1.0 --features b,c # why\n").expect("it is complete");
        assert_eq!(libraries.len(), 1);
        assert_eq!((&*libraries[0].name, &*libraries[0].version), ("a", "1.0"));
        assert_eq!(libraries[0].arguments, ["--features", "b,c"]);
        assert!(!libraries[0].is_flagged);
        let flagged = parse("a 1.0 --unstable --tests\n").expect("it is complete");
        assert!(flagged[0].is_flagged && flagged[0].arguments == ["--tests"]);
        assert!(parse("a # 1.0\n").is_err());
    }

    #[test]
    fn a_library_may_come_from_a_checkout() {
        let libraries = parse("a 1.0\nb 1.0\n").expect("it is complete");
        let asked = ["a".to_owned(), "b=/checkout".to_owned()];
        let (names, checkouts) = wanted(&libraries, &asked).expect("both are in the list");
        assert_eq!(names, ["a", "b"]);
        assert_eq!(checkouts["b"], Path::new("/checkout"));
        assert_eq!(checkouts.len(), 1);
        assert!(wanted(&libraries, &["c=/checkout".to_owned()]).is_err());
    }

    #[test]
    fn a_tokio_from_elsewhere_is_an_error() {
        let build = |manifest: &str| Build {
            succeeded: true,
            messages: vec![json!({ "target": { "name": "tokio" }, "manifest_path": manifest })],
        };
        assert!(in_effect(&build("/face/Cargo.toml"), Path::new("/face")).is_ok());
        assert!(
            in_effect(&build("/registry/tokio-1.54.1/Cargo.toml"), Path::new("/face")).is_err()
        );
    }

    #[test]
    fn an_error_elsewhere_is_no_target_that_does_not_compile() {
        let build = |manifests: &[&str]| {
            Build {
            succeeded: false,
            messages: manifests
                .iter()
                .map(|manifest| {
                    json!({ "manifest_path": manifest, "message": { "level": "error" }, "target": 1 })
                })
                .collect(),
        }
        };
        assert_eq!(own_errors(&build(&["/own"]), "/own"), Some(vec![&json!(1)]));
        assert_eq!(own_errors(&build(&["/own", "/face"]), "/own"), None);
        assert_eq!(own_errors(&build(&[]), "/own"), None);
    }

    #[test]
    fn tests_are_named_after_their_file() {
        assert_eq!(title(&json!({ "name": "tokio_util", "kind": ["lib"] })), "lib");
        assert_eq!(title(&json!({ "name": "framed", "kind": ["test"] })), "framed");
    }
}
