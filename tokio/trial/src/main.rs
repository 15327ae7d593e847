//! Runs tokio's own published tests twice, on real tokio and on the package named `tokio` over liten, and
//! prints a table: `trial FACE FOLDER [FILE...]`.
//!
//! FACE is where `tokio/lay` has laid the package down, FOLDER is where this program builds. With names of
//! files of tests (`sync_mpsc`, for instance) it runs those alone.
//!
//! All files are modules of one binary: 150 binaries would take their time to link. Each test then runs in
//! a process of its own, so that one that hangs or ends its process costs itself alone, and signals,
//! children and panic hooks of the others do not disturb it. A file that does not compile is left out and
//! reported.
//!
//! Counted are the tests that real tokio passes in the same run. A test that fails is tried again twice,
//! because some are at the mercy of the machine. What fails on liten only is looked up in `expected`: the
//! run fails if something is missing there, and also if something there passes, so that the list can only
//! shrink.

mod expected;
mod round;
mod suite;
mod table;

use expected::Expected;
use std::env;
use std::path::Path;
use std::process::ExitCode;
use suite::Suite;
use table::Table;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [face, folder, wanted @ ..] = &arguments[..] else {
        eprintln!("usage: bash tokio/suites [FILE...]");
        return ExitCode::FAILURE;
    };
    match run(Path::new(face), Path::new(folder), wanted) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Returns whether everything is as expected.
fn run(face: &Path, folder: &Path, wanted: &[String]) -> Result<bool, String> {
    let expected = Expected::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("expected"))?;
    let real = Suite::build("tokio", &folder.join("real"), None, wanted)?;
    let ours = Suite::build("liten", &folder.join("face"), Some(face), wanted)?;
    let real = round::run(&real)?;
    let ours = round::run(&ours)?;
    let table = Table::new(&real, &ours);
    table.print();
    let surprises = expected.surprises(&table, wanted);
    for surprise in &surprises {
        println!("{surprise}");
    }
    Ok(surprises.is_empty())
}
