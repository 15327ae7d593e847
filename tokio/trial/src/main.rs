//! Runs published tests twice, on real tokio and on the package named `tokio` over liten, and prints a table.
//!
//! `trial tokio FACE FOLDER [FILE...]` runs tokio's own, or those in some files (`sync_mpsc`, for instance).
//! All files are modules of one binary: 150 binaries would take their time to link. A file that does not
//! compile is left out and reported.
//!
//! `trial libraries FACE FOLDER [NAME...]` runs the tests inside the packages of the libraries that the file
//! `libraries` lists, or of some of them. NAME=CHECKOUT takes the source of a library from a folder: some
//! packages lack the tests that their repositories have.
//!
//! FACE is where `tokio/lay` has laid the package down, FOLDER is where this program builds. Each test runs
//! in a process of its own, so that one that hangs or ends its process costs itself alone, and signals,
//! children and panic hooks of the others do not disturb it.
//!
//! Counted are the tests that real tokio passes in the same run: what wants a server or the network fails
//! on both. A test that fails is tried again twice, because some are at the mercy of the machine. What fails
//! on liten only is looked up in `expected`, or in `expected-of-libraries`: the run fails if something is
//! missing there, and also if something there passes, so that the list can only shrink.

mod cargo;
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
use suite::Suite;
use table::Table;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [what, face, folder, wanted @ ..] = &arguments[..] else {
        eprintln!(
            "usage: bash tokio/checks/suites [FILE...] or bash tokio/checks/libraries [NAME...]"
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
        _ => Err(format!("there are the tests of tokio and of libraries, not of {what}")),
    }
}

/// Runs tokio's own tests, and returns whether everything is as expected.
fn run_own(face: &Path, folder: &Path, wanted: &[String]) -> Result<bool, String> {
    let expected = Expected::read(&list("expected"))?;
    let real = Suite::build("tokio", &folder.join("real"), None, wanted)?;
    let ours = Suite::build("liten", &folder.join("face"), Some(face), wanted)?;
    let table = Table::new(&round::run(&real)?, &round::run(&ours)?);
    Ok(judge("file", &table, &expected, wanted))
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
