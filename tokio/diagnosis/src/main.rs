//! Says whether a project's tokio is the package named `tokio` over liten, and if not, why, and what to do:
//! `diagnosis [FOLDER] [ARGUMENT OF CARGO...]`.
//!
//! cargo drops a patch that does not fit with a warning at most, and the program then runs on real tokio.
//! What it has chosen stands in the answer of `cargo metadata`, and why, in the requirements there. The
//! exit code is 0 if the patch is in effect.

mod finding;
mod graph;

use finding::Finding;
use graph::Graph;
use std::env;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let mut arguments = env::args_os().skip(1);
    let folder: PathBuf = arguments.next().unwrap_or_else(|| ".".into()).into();
    let mut ask = Command::new("cargo");
    ask.args(["metadata", "--format-version=1", "--all-features"])
        .args(arguments)
        .current_dir(&folder);
    let output = match ask.output() {
        Ok(output) => output,
        Err(error) => {
            eprintln!("error: cargo could not be run in {}: {error}", folder.display());
            return ExitCode::FAILURE;
        }
    };
    let said = String::from_utf8_lossy(&output.stderr);
    let graph = output.status.success().then(|| Graph::parse(&output.stdout));
    let finding = Finding::of(graph.and_then(Result::ok).as_ref(), &said);
    println!("{finding}");
    if uses_unstable() {
        println!(
            "RUSTFLAGS has `--cfg tokio_unstable`, and liten's package refuses to compile with it: \
             take it out."
        );
        return ExitCode::FAILURE;
    }
    match finding {
        Finding::InEffect { .. } => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn uses_unstable() -> bool {
    env::var("RUSTFLAGS").is_ok_and(|flags| flags.contains("tokio_unstable"))
}
