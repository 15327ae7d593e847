//! Says whether a project's tokio is the package named `tokio` over liten, and if not, why, and what to do:
//! `diagnosis [--mend[=PACKAGE]] [FOLDER] [ARGUMENT OF CARGO...]`.
//!
//! cargo drops a patch that does not fit with a warning at most, and the program then runs on real tokio.
//! What it has chosen stands in the answer of `cargo metadata`, and why, in the requirements there. The
//! exit code is 0 if the patch is in effect. The project's files are afterwards what they were before, unless
//! `--mend` asks for more: then it does what it would tell the user to do, where nothing is to be decided.

mod finding;
mod flags;
mod graph;
mod lock;
mod mend;
mod project;
mod update;
mod words;

use finding::Finding;
use project::Project;
use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What is mended before it is given up: the package, the manifest, the lock file, each once.
const MENDS: usize = 3;

fn main() -> ExitCode {
    let mut arguments = env::args_os().skip(1).peekable();
    let mend = arguments.next_if(|argument| mend_of(argument).is_some());
    let mend = mend.as_ref().and_then(mend_of);
    let folder: PathBuf = arguments.next().unwrap_or_else(|| ".".into()).into();
    let project = Project { folder, arguments: arguments.collect() };
    let finding = match examine(&project, mend) {
        Ok(finding) => finding,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    let variables: BTreeMap<_, _> = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let place = flags::place_of_unstable(&project.folder, &project.arguments, &variables);
    if let Some(place) = place {
        println!(
            "liten's package refuses to compile with `--cfg tokio_unstable`, which stands in {place}: take \
             it out."
        );
        return ExitCode::FAILURE;
    }
    match finding {
        Finding::InEffect { .. } => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// Whether to mend, and where the package lies or is to be laid down if the user says that.
fn mend_of(argument: &OsString) -> Option<Option<&Path>> {
    let argument = argument.to_str()?;
    match argument.strip_prefix("--mend")? {
        "" => Some(None),
        rest => rest.strip_prefix('=').map(|package| Some(Path::new(package))),
    }
}

/// Says what it finds and what it mends, and returns what it has found last.
fn examine(project: &Project, mend: Option<Option<&Path>>) -> Result<Finding, String> {
    let mut finding = project.finding()?;
    println!("{finding}");
    let Some(package) = mend else { return Ok(finding) };
    for _ in 0..MENDS {
        let Some(done) = mend::mend(project, &finding, package)? else { break };
        println!("\n{done}\n");
        let found = project.finding()?;
        println!("{found}");
        // What has not helped once is not done again.
        if found == finding {
            break;
        }
        finding = found;
    }
    Ok(finding)
}
