//! Runs published tests twice, on real tokio and on the package named `tokio` over liten, and prints a table.
//!
//! `trial tokio FACE FOLDER [--unstable] [--release VERSION] [FILE...]` runs tokio's own, or those in some
//! files (`sync_mpsc`, for instance). All files are modules of one binary: 150 binaries would take their time
//! to link. A file that does not compile is left out and reported. With `--unstable` all is compiled with
//! `--cfg tokio_unstable` and with the features that have items behind it. With `--release` the tests are
//! those of another release than the one whose files the package has, such as `1.47.5`, `newest` or
//! `newest-1.47`; what it failed then and does not now is fine.
//!
//! `trial libraries FACE FOLDER [NAME...]` runs the tests inside the packages of the libraries that the file
//! `libraries` lists, or of some of them. NAME=CHECKOUT takes the source of a library from a folder: some
//! packages lack the tests that their repositories have.
//!
//! `trial documentation FACE FOLDER [PACKAGE...]` runs the examples in the documentation of tokio, tokio-util
//! and tokio-stream, or of some of them.
//!
//! FACE is where `tokio/lay` has laid the package down, FOLDER is where this program builds. Each test runs
//! in a process of its own, so that one that hangs or ends its process costs itself alone, and signals,
//! children and panic hooks of the others do not disturb it.
//!
//! Counted are the tests that real tokio passes in the same run: what wants a server or the network fails
//! on both. A test that fails is tried again twice, because some are at the mercy of the machine. What fails
//! on liten only is looked up in a list: `expected`, or `expected-of-libraries`, `expected-unstable`,
//! `expected-of-releases`, `expected-of-documentation`. The run fails if something is missing there, and also
//! if something there passes, so that the list can only shrink.

mod cargo;
mod documentation;
mod expected;
mod library;
mod round;
mod suite;
mod table;

use expected::Expected;
use round::Round;
use std::env;
use std::path::{self, Path, PathBuf};
use std::process::ExitCode;
use suite::{Suite, Tests};
use table::Table;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [what, face, folder, wanted @ ..] = &arguments[..] else {
        eprintln!(
            "usage: bash tokio/checks/suites [--unstable] [--release VERSION] [FILE...]\n       bash \
             tokio/checks/libraries [NAME...]\n       bash tokio/checks/documentation [PACKAGE...]"
        );
        return ExitCode::FAILURE;
    };
    match run(what, face, folder, wanted) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Runs what is asked for, and returns whether everything is as expected.
fn run(what: &str, face: &str, folder: &str, wanted: &[String]) -> Result<bool, String> {
    // cargo runs in folders of its own, and manifests name the package.
    let absolute = |path: &str| path::absolute(path).map_err(|error| format!("{path}: {error}"));
    let (face, folder) = (absolute(face)?, absolute(folder)?);
    match what {
        "tokio" => run_own(&face, &folder, wanted),
        "libraries" => run_libraries(&face, &folder, wanted),
        "documentation" => run_documentation(&face, &folder, wanted),
        _ => Err(format!(
            "there are the tests of tokio, of libraries and of documentation, not of {what}"
        )),
    }
}

/// Runs tokio's own tests, and returns whether everything is as expected.
fn run_own(face: &Path, folder: &Path, arguments: &[String]) -> Result<bool, String> {
    let own = own_release()?;
    let tests = asked(arguments, &own)?;
    let mut expected = Expected::read(&list("expected"))?;
    if tests.flagged {
        expected.add(Expected::read(&list("expected-unstable"))?);
    }
    let mut folder = folder.to_owned();
    if tests.release != own {
        expected =
            expected.of_release(&tests.release, Expected::read(&list("expected-of-releases"))?);
        folder.push(&tests.release);
    }
    if tests.flagged {
        folder.push("unstable");
    }
    let real = Suite::build("tokio", &folder.join("real"), None, &tests)?;
    let ours = Suite::build("liten", &folder.join("face"), Some(face), &tests)?;
    let table = Table::new(&round::run(&real)?, &round::run(&ours)?);
    Ok(judge("file", &table, &expected, &tests.files))
}

/// Reads which of tokio's tests are asked for. `own` is the release whose files the package has.
fn asked(arguments: &[String], own: &str) -> Result<Tests, String> {
    let mut tests = Tests { release: own.to_owned(), flagged: false, files: Vec::new() };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--unstable" => tests.flagged = true,
            "--release" => {
                arguments.next().ok_or("which release?")?.clone_into(&mut tests.release);
            }
            option if option.starts_with('-') => {
                return Err(format!("there is no option {option}"));
            }
            file => tests.files.push(file.to_owned()),
        }
    }
    match tests.flagged && tests.release != own {
        // Their features have other names in older releases, and their items another look.
        true => Err(format!("with --unstable there are the tests of tokio {own} only")),
        false => Ok(tests),
    }
}

/// The release whose files the package has.
fn own_release() -> Result<String, String> {
    let path = list("../upstream/Cargo.toml");
    let text =
        std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let release = text.lines().find_map(|line| line.strip_prefix("tokio = { version = \"="));
    let release = release.and_then(|rest| rest.split('"').next());
    release.map(ToOwned::to_owned).ok_or(format!("{} names no release of tokio", path.display()))
}

/// Runs the tests of libraries, and returns whether everything is as expected.
fn run_libraries(face: &Path, folder: &Path, wanted: &[String]) -> Result<bool, String> {
    let expected = Expected::read(&list("expected-of-libraries"))?;
    let libraries = library::read(&list("libraries"))?;
    let (wanted, checkouts) = library::wanted(&libraries, wanted)
        .map_err(|name| format!("{name} is not in the list {}", list("libraries").display()))?;
    let sources = library::fetch(&libraries, &folder.join("sources"))?;
    let (mut real, mut ours) = (Round::default(), Round::default());
    for (library, source) in libraries.iter().zip(&sources) {
        if wanted.is_empty() || wanted.contains(&library.name) {
            eprintln!("== {} ==", library.name);
            let source = checkouts.get(&library.name).unwrap_or(source);
            real.add(round::run(&Suite::of_library(library, source, folder, None)?)?);
            ours.add(round::run(&Suite::of_library(library, source, folder, Some(face))?)?);
        }
    }
    Ok(judge("library", &Table::new(&real, &ours), &expected, &wanted))
}

/// Runs the examples in documentation, and returns whether everything is as expected.
fn run_documentation(face: &Path, folder: &Path, wanted: &[String]) -> Result<bool, String> {
    let expected = Expected::read(&list("expected-of-documentation"))?;
    let release = own_release()?;
    let build =
        |name: &str, face| Suite::of_documentation(&folder.join(name), face, &release, wanted);
    let mut real = build("real", None)?;
    let mut ours = build("face", Some(face))?;
    // Those for Windows, for instance, or with features of their own.
    println!("{} examples compile on neither.", real.broken.intersection(&ours.broken).count());
    ours.broken.retain(|name| !real.broken.contains(name));
    real.broken.clear();
    let table = Table::new(&round::run(&real)?, &round::run(&ours)?);
    let wanted: Vec<String> =
        wanted.iter().map(|package| format!("of_{}", package.replace('-', "_"))).collect();
    Ok(judge("package", &table, &expected, &wanted))
}

/// Where a list of ours lies. cargo says it when it runs this: two copies of the repository that share a
/// target folder share this program too.
fn list(name: &str) -> PathBuf {
    let package = env::var_os("CARGO_MANIFEST_DIR").unwrap_or(env!("CARGO_MANIFEST_DIR").into());
    Path::new(&package).join(name)
}

fn judge(what: &str, table: &Table, expected: &Expected, wanted: &[String]) -> bool {
    table.print(what);
    let surprises = expected.surprises(table, wanted);
    for surprise in &surprises {
        println!("{surprise}");
    }
    surprises.is_empty()
}

#[cfg(test)]
mod tests {
    use super::{asked, own_release};

    fn ask(line: &str) -> Result<(String, bool, Vec<String>), String> {
        let words: Vec<String> = line.split_whitespace().map(ToOwned::to_owned).collect();
        asked(&words, "1.54.1").map(|tests| (tests.release, tests.flagged, tests.files))
    }

    #[test]
    fn without_options_the_own_releases_tests_run() {
        let own = "1.54.1".to_owned();
        assert_eq!(ask("fs sync_mpsc"), Ok((own, false, vec!["fs".into(), "sync_mpsc".into()])));
        assert!(own_release().is_ok_and(|release| release.starts_with("1.")));
    }

    #[test]
    fn options_say_which_release_and_whether_with_the_flag() {
        assert_eq!(ask("--release 1.47.5"), Ok(("1.47.5".into(), false, Vec::new())));
        assert_eq!(ask("--unstable fs"), Ok(("1.54.1".into(), true, vec!["fs".into()])));
        for wrong in ["--release", "--stable", "--unstable --release 1.47.5"] {
            assert!(ask(wrong).is_err(), "{wrong}");
        }
    }
}
