//! Lays down the package named `tokio` over liten: `packer DIR`.
//!
//! What is tokio's comes from its published release, which cargo fetches: the files that `upstream/files`
//! lists, each compared with its checksum there, with the changes of [`edits`]. What is ours comes from
//! `face`. The package refers to this copy of liten by its path.
//!
//! `packer --record` writes the checksums of the release that `upstream/Cargo.toml` names into
//! `upstream/files`.

mod edits;
mod parcel;
mod release;

use parcel::Parcel;
use release::Release;
use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: bash tokio/lay DIR
Lays the package named tokio down in DIR: a new or empty folder, or one that was laid down before.";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--record"] => record(),
        [folder] if !folder.starts_with('-') => lay(Path::new(folder)),
        _ => Err(USAGE.to_owned()),
    };
    match done {
        Ok(message) => {
            println!("{message}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The folder `tokio` of the repository. cargo says it when it runs this: two clones that share a folder for
/// what is built share this program too, and what was compiled in may be the other one's.
fn home() -> PathBuf {
    let packer =
        env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&packer).parent().expect("it lies in `tokio`").to_owned()
}

fn lay(folder: &Path) -> Result<String, String> {
    let home = home();
    let release = Release::find(&home)?;
    let mut parcel = Parcel::default();
    for (path, bytes) in release.files()? {
        parcel.put(path, bytes);
    }
    edits::apply(&mut parcel)?;
    parcel.put_ours(&home)?;
    parcel.write(folder)?;
    let folder = folder.canonicalize().map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(format!(
        "The package named tokio, with the files of tokio {}, lies in {folder}. Add to the Cargo.toml of the \
         workspace's root:\n\n[patch.crates-io]\ntokio = {{ path = \"{folder}\" }}\n\nand run once: \
         cargo update -p tokio",
        release.version(),
        folder = folder.display(),
    ))
}

fn record() -> Result<String, String> {
    let release = Release::find(&home())?;
    let count = release.record()?;
    Ok(format!("Recorded {count} files of tokio {}.", release.version()))
}
