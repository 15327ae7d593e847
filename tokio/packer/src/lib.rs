//! Lays down the package named `tokio` over liten.
//!
//! What is tokio's comes from its published release, which cargo fetches: the files that `upstream/files`
//! lists, each compared with its checksum there, with the changes of [`edits`]. What is ours comes from
//! `face`, and liten comes with it. So the folder names no other place on this machine: it can be
//! committed with a project, and built where there is no clone of liten.

mod edits;
mod liten;
mod news;
mod parcel;
mod pin;
mod release;
mod tool;

pub use release::checksum;
pub use tool::{output, tool};

use parcel::Parcel;
use release::Release;
use std::env;
use std::path::{Path, PathBuf};

/// Returns the folder `tokio` of this copy of liten. The scripts say which it is: two clones that share a
/// folder for what is built share the programs too, and what was compiled in may be the other one's.
pub fn home() -> PathBuf {
    let compiled = || Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_owned);
    let told = env::var_os("LITEN_TOKIO").map(PathBuf::from);
    told.or_else(compiled).expect("this package lies in `tokio`")
}

/// Is called with the path of each file before that is written or removed. Its error stops the work.
pub type Before<'a> = &'a mut dyn FnMut(&Path) -> Result<(), String>;

/// Lays the package down in a folder, under a version that the caller chooses or else its own, and returns
/// which release of tokio its files are from.
///
/// # Errors
///
/// Says why it cannot. A folder that has other files in it is left alone.
pub fn lay(
    home: &Path,
    folder: &Path,
    version: Option<&str>,
    before: Before<'_>,
) -> Result<String, String> {
    version.map_or(Ok(()), pin::check)?;
    let release = Release::find(home)?;
    let mut parcel = Parcel::default();
    for (path, bytes) in release.files()? {
        parcel.put(path, bytes);
    }
    edits::apply(&mut parcel)?;
    parcel.name_licence()?;
    parcel.put_ours(home, version)?;
    parcel.write(folder, before)?;
    Ok(release.version().to_owned())
}

/// Returns whether a folder has been laid down, by this copy of liten or another one.
pub fn is_laid_down(folder: &Path) -> bool {
    folder.join(parcel::MARK).exists()
}

/// Removes a package that was laid down in a folder, with what cargo has built in it, and the folder, too,
/// unless there is more in it. Returns whether the folder has gone.
///
/// # Errors
///
/// Names what cannot be removed. A folder that was not laid down is left alone.
pub fn remove(folder: &Path) -> Result<bool, String> {
    parcel::remove(folder)
}

/// Returns the version that a caller has chosen for the package in a folder.
pub fn laid_as(folder: &Path) -> Option<String> {
    pin::read(&std::fs::read_to_string(folder.join(parcel::MARK)).ok()?)
}

/// Returns whether what is ours in a folder that was laid down is what this copy of liten would write
/// there.
pub fn is_current(home: &Path, folder: &Path) -> bool {
    let mut parcel = Parcel::default();
    let version = laid_as(folder);
    parcel.put_ours(home, version.as_deref()).is_ok_and(|()| parcel.lies_in(folder))
}

/// Writes the checksums of the release that `upstream/Cargo.toml` names into `upstream/files`, and returns
/// what it did.
///
/// # Errors
///
/// Says which file is missing or cannot be read or written.
pub fn record(home: &Path) -> Result<String, String> {
    let release = Release::find(home)?;
    let count = release.record()?;
    Ok(format!("Recorded {count} files of tokio {}.", release.version()))
}

/// Returns what a release of tokio, or the `newest`, has that another one had not: files, places that a
/// change of ours names, public names, tests. Without `since` the other one is that whose files are taken.
///
/// # Errors
///
/// Says why cargo cannot fetch one of them.
pub fn news(home: &Path, since: Option<&str>, version: &str) -> Result<String, String> {
    news::compare(home, since, version)
}
