//! tokio's own tests: one binary with the files that compile.

use crate::cargo::{self, Build};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Which of tokio's tests are run, and how.
pub(crate) struct Tests {
    /// The release whose tests they are: the one whose files the package has, or another one.
    pub(crate) release: String,
    /// Whether everything is compiled with `--cfg tokio_unstable`.
    pub(crate) flagged: bool,
    /// Names of the files that are wanted: all, if there is none.
    pub(crate) files: Vec<String>,
}

/// How the manifest of each suite begins.
const PACKAGE: &str = r#"[package]
name = "suite"
version = "0.0.0"
edition = "2021"
# Two tests look for this in the manifest of the package that they belong to.
homepage = "https://tokio.rs"
publish = false

[workspace]

[lib]
path = "lib.rs"

[[test]]
name = "all"
path = "all.rs"

"#;

/// What tokio's tests ask for, with words in capitals for what depends on the release and on the flag.
const MANIFEST: &str = r#"[dependencies]
tokio = { version = "RELEASE", features = ["full", "test-util"MORE] }

[dev-dependencies]
async-stream = "0.3"
bytes = "1.2.1"
futures = { version = "0.3", features = ["async-await"] }
futures-concurrency = "7.6.3"
futures-test = "0.3.31"
libc = "0.2.168"
nix = { version = "0.31", default-features = false, features = ["aio", "fs", "socket"] }
pin-project-lite = "0.2.11"
proptest = "1"
rand = "0.9"
socket2 = "0.6"
tempfile = "3"
tokio-stream = "0.1"
tokio-test = "0.4"

[target.'cfg(tokio_unstable)'.dev-dependencies]
backtrace = "0.3.58"
tracing = "0.1.29"
tracing-mock = "=0.1.0-beta.1"

# The tests ask for the features that tokio itself was built with.
[features]
default = ["full", "test-util"MORE]
full = [
    "fs", "io-std", "io-util", "macros", "net", "parking_lot", "process", "rt", "rt-multi-thread", "signal",
    "sync", "time",
]
fs = []
io-std = []
io-uring = []
io-util = []
macros = []
net = []
parking_lot = []
process = []
rt = []
rt-multi-thread = []
schedule-latency = []
signal = []
sync = []
taskdump = []
test-util = []
time = []
tracing = []

[profile.dev]
debug = 0
incremental = false
"#;

/// The features that have items behind the flag, without `io-uring`, which liten refuses.
const FLAGGED_FEATURES: [&str; 3] = ["schedule-latency", "taskdump", "tracing"];

pub(crate) const FLAG: &str = "--cfg tokio_unstable";

/// What files of tests find at the root of their crate, where each was alone.
const ROOT: &str = "#[allow(unused_imports)]\nuse tokio::time;\n";

/// The tests on one of the two packages named tokio, compiled.
pub(crate) struct Suite {
    /// Which of the two packages it is.
    pub(crate) name: &'static str,
    pub(crate) programs: Vec<Program>,
    pub(crate) folder: PathBuf,
    /// Files that do not compile.
    pub(crate) broken: BTreeSet<String>,
}

/// A binary with tests.
pub(crate) struct Program {
    pub(crate) binary: PathBuf,
    /// What stands before the names of its tests in tables and lists.
    pub(crate) prefix: String,
}

impl Tests {
    fn manifest(&self, face: Option<&Path>) -> String {
        let more = FLAGGED_FEATURES.map(|feature| format!(", \"{feature}\""));
        let more = if self.flagged { more.concat() } else { String::new() };
        manifest(&MANIFEST.replace("MORE", &more), &self.release, face)
    }

    /// Names and paths of the files that are wanted, of those in `folder`.
    fn paths(&self, folder: &Path) -> Result<Vec<(String, PathBuf)>, String> {
        let named = |error: std::io::Error| format!("{}: {error}", folder.display());
        let mut files = Vec::new();
        for entry in folder.read_dir().map_err(named)? {
            let path = entry.map_err(named)?.path();
            let Some(name) = path.file_stem().and_then(|stem| stem.to_str()) else { continue };
            let is_test = path.extension().is_some_and(|extension| extension == "rs");
            let is_wanted = self.files.is_empty() || self.files.iter().any(|file| file == name);
            if is_test && is_wanted {
                files.push((name.to_owned(), path.clone()));
            }
        }
        if files.is_empty() {
            return Err(format!(
                "{}: no file of tests has one of these names: {:?}",
                folder.display(),
                self.files
            ));
        }
        files.sort();
        Ok(files)
    }
}

/// What a manifest writes for a release, for the `newest` one, and for `newest-1.47`, the newest of those.
fn requirement(release: &str) -> String {
    match release.strip_prefix("newest") {
        None => format!("={release}"),
        Some(of) => of.strip_prefix('-').map_or("1".to_owned(), |of| format!("~{of}")),
    }
}

/// A suite's manifest that asks for what is in `text`, with this release of tokio, or with the package in
/// `face` in its place.
pub(crate) fn manifest(text: &str, release: &str, face: Option<&Path>) -> String {
    let text = PACKAGE.to_owned() + text;
    match face {
        // Another release's tests would be other ones.
        None => text.replace("RELEASE", &requirement(release)),
        Some(face) => {
            let patch = format!("\n[patch.crates-io]\ntokio = {{ path = '{}' }}\n", face.display());
            text.replace("RELEASE", "1") + &patch
        }
    }
}

/// Makes the package of a suite in `folder`, without its tests.
pub(crate) fn begin(folder: &Path, manifest: &str) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    fs::write(folder.join("Cargo.toml"), manifest)?;
    fs::write(folder.join("lib.rs"), "")?;
    // What did not compile the last time is not what does not compile now.
    _ = fs::remove_file(folder.join("errors"));
    Ok(())
}

impl Suite {
    /// Builds them in `folder`, with the package in `face` in place of tokio if there is one.
    pub(crate) fn build(
        name: &'static str,
        folder: &Path,
        face: Option<&Path>,
        tests: &Tests,
    ) -> Result<Self, String> {
        let named = |error: std::io::Error| format!("{}: {error}", folder.display());
        begin(folder, &tests.manifest(face)).map_err(named)?;
        let sources = tests_of_tokio(folder, face)?;
        let files = tests.paths(&sources)?;
        let mut broken = BTreeSet::new();
        loop {
            let left = files.iter().filter(|(name, _)| !broken.contains(name));
            let modules = left.map(|(name, path)| {
                format!("#[path = {:?}]\nmod {name};\n", path.display().to_string())
            });
            let root = ROOT.to_owned() + &modules.collect::<String>();
            fs::write(folder.join("all.rs"), root).map_err(named)?;
            match compile(folder, &sources, tests.flagged)? {
                Compiled::Binary(binary) => {
                    let programs = vec![Program { binary, prefix: String::new() }];
                    return Ok(Self { name, programs, folder: folder.to_owned(), broken });
                }
                Compiled::Errors(found) => {
                    eprintln!("on {name}, left out because they do not compile: {found:?}");
                    broken.extend(found);
                }
            }
        }
    }
}

/// The folder with the tests of the release that cargo has chosen, or that lies beside what was chosen: of
/// the real one, whatever the package is that the tests run on.
fn tests_of_tokio(folder: &Path, face: Option<&Path>) -> Result<PathBuf, String> {
    let real = match face {
        None => folder.to_owned(),
        Some(_) => folder.with_file_name("real"),
    };
    let chosen = cargo::chosen(&real)?;
    let tokio = chosen.into_iter().find(|(name, _)| name == "tokio");
    let (_, tokio) = tokio.ok_or("cargo's answer does not say where tokio lies")?;
    Ok(tokio.join("tests"))
}

pub(crate) enum Compiled {
    Binary(PathBuf),
    /// The files with errors.
    Errors(BTreeSet<String>),
}

pub(crate) fn compile(folder: &Path, tests: &Path, flagged: bool) -> Result<Compiled, String> {
    let target = folder.with_file_name("target");
    let flags = flagged.then_some(FLAG);
    let build = Build::of_tests(folder, &target, flags, &["--test", "all"])?;
    if build.succeeded {
        let mut tests = build.messages.iter().filter(|message| message["target"]["name"] == "all");
        let binary = tests.find_map(|message| message["executable"].as_str());
        return binary
            .map(|path| Compiled::Binary(path.into()))
            .ok_or_else(|| "cargo does not say where the binary lies".to_owned());
    }
    let mut broken = BTreeSet::new();
    for (_, said) in build.errors() {
        for span in said["spans"].as_array().into_iter().flatten() {
            broken.extend(file_of(span, tests));
        }
    }
    let texts = build.text();
    let log = folder.join("errors");
    let before = fs::read_to_string(&log).unwrap_or_default();
    fs::write(&log, before + &texts).map_err(|error| format!("{}: {error}", log.display()))?;
    match broken.is_empty() {
        true => Err(format!("what fails to compile is none of the tests:\n{texts}")),
        false => Ok(Compiled::Errors(broken)),
    }
}

/// The file of tests that a place lies in, or from which the macro was called that it lies in.
fn file_of(span: &Value, tests: &Path) -> Option<String> {
    if span.is_null() {
        return None;
    }
    let path = Path::new(span["file_name"].as_str()?);
    if span["is_primary"] == true || span["expansion"].is_object() {
        if let Ok(inside) = path.strip_prefix(tests) {
            if inside.components().count() == 1 {
                return Some(inside.file_stem()?.to_str()?.to_owned());
            }
        }
    }
    file_of(&span["expansion"]["span"], tests)
}

#[cfg(test)]
mod tests {
    use super::requirement;

    #[test]
    fn a_release_is_named_by_its_number_or_as_the_newest() {
        assert_eq!(requirement("1.54.1"), "=1.54.1");
        assert_eq!(requirement("newest"), "1");
        assert_eq!(requirement("newest-1.47"), "~1.47");
    }
}
