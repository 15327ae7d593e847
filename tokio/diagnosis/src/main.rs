//! Says whether a project's tokio is the package named `tokio` over liten, and if not, why, and what to do:
//! `diagnosis [--mend[=PACKAGE] | --undo] [--dry-run] [FOLDER] [ARGUMENT OF CARGO...]`.
//!
//! cargo drops a patch that does not fit with a warning at most, and the program then runs on real tokio.
//! What it has chosen stands in the answer of `cargo metadata`, and why, in the requirements there. The
//! exit code is 0 if the patch is in effect. What cargo has to write for its answer is put back, unless
//! `--mend` asks for more: then the doctor does what it would tell the user to do, where nothing is to be
//! decided, and puts all of it back if the patch is not in effect after that. A signal that can be handled
//! has the same end.

mod change;
mod finding;
mod fit;
mod graph;
mod interrupt;
mod kept;
mod mend;
mod patch;
mod preview;
mod project;
mod record;
mod request;
mod submodule;
mod toolchain;
mod undo;
mod update;
mod words;

use change::{Changes, Step};
use finding::Finding;
use project::Project;
use request::{Order, Request};
use std::env;
use std::path::Path;
use std::process::ExitCode;
use words::{complain, say};

/// What is mended before it is given up: the folder, the manifest, the lock file, the folder's age, each
/// once.
const MENDS: usize = 4;

fn main() -> ExitCode {
    match interrupt::watch().and_then(|()| answer()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            // What a signal has made fail is told as that.
            complain(&interrupt::check().err().unwrap_or(error));
            ExitCode::FAILURE
        }
    }
}

/// Says what there is to say, and returns whether the patch is in effect.
fn answer() -> Result<bool, String> {
    let Request { order, is_trial, project } = Request::parse(env::args_os().skip(1))?;
    // The way back needs neither a toolchain nor the network where the files are as they were left.
    if order == Order::Undo {
        say(&undo::undo(&project, is_trial)?);
        return Ok(true);
    }
    let finding = match project.toolchain()? {
        Some(refusal) => refusal,
        None => match order {
            Order::Mend { place } if is_trial => {
                return preview::preview(project, place.as_deref());
            }
            Order::Mend { place } => mended(&project, place.as_deref())?,
            _ => {
                undo::note_of_half(&project)?;
                found(&project)?
            }
        },
    };
    say(&finding);
    Ok(matches!(finding, Finding::InEffect { .. }))
}

/// What cargo says of a project, unless a signal has kept it from saying all.
fn found(project: &Project) -> Result<Finding, String> {
    let finding = project.finding()?;
    interrupt::check()?;
    Ok(finding)
}

/// Mends what can be mended, and says what it does. Returns what it has found last: what it has found
/// before that is no longer so. `place` is where the package lies or is to be laid down.
fn mended(project: &Project, place: Option<&Path>) -> Result<Finding, String> {
    undo::undo_half(project)?;
    let mut finding = found(project)?;
    let mut changes = Changes::new(project);
    for _ in 0..MENDS {
        let steps = mend::steps(&finding, place)?;
        if steps.is_empty() {
            break;
        }
        for step in &steps {
            changes.make(step)?;
            interrupt::check()?;
            say(&format!("Done: {step}"));
        }
        let next = found(project)?;
        // What has not helped once is not done again.
        if next == finding {
            break;
        }
        finding = next;
    }
    if matches!(finding, Finding::InEffect { .. }) {
        // What the next build would write into the lock file is written now, so that the way back knows it.
        if !changes.is_empty() && project.is_lock_behind()? {
            let step = Step::Update { arguments: update::needed() };
            changes.make(&step)?;
            say(&format!("Done: {step}"));
        }
        interrupt::check()?;
        changes.stay()?;
    }
    Ok(finding)
}
