//! tokio's published release: where cargo has put it, and which of its files are taken.

use crate::tool::{output, tool};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};

/// Returns the uppermost folder, in which cargo is called. It and rustup look for files in the current
/// directory and in all above it, and a clone of liten may lie inside of a project that has such files.
fn outside(home: &Path) -> PathBuf {
    let top = home.ancestors().last().filter(|top| top.has_root());
    top.unwrap_or(Path::new("/")).to_owned()
}

/// Returns the platform that cargo itself was built for.
fn host(outside: &Path) -> Option<String> {
    let output = output(tool("cargo").arg("-vV").current_dir(outside)).ok()?;
    let said = String::from_utf8(output.stdout).ok()?;
    said.lines().find_map(|line| line.strip_prefix("host: ")).map(ToOwned::to_owned)
}

/// A release of tokio on this machine.
pub(crate) struct Release {
    version: String,
    folder: PathBuf,
    list: PathBuf,
}

impl Release {
    /// Lets cargo find the release that `upstream/Cargo.toml` names, and fetch it if it is not there.
    pub(crate) fn find(home: &Path) -> Result<Self, String> {
        let outside = outside(home);
        // What is relative would not be found from there.
        let manifest = std::path::absolute(home.join("upstream/Cargo.toml"))
            .map_err(|error| format!("{}: {error}", home.display()))?;
        let mut ask = tool("cargo");
        ask.args(["metadata", "--format-version=1", "--locked", "--manifest-path"]).arg(&manifest);
        // Of the workspace's other crates cargo then asks only for those that this command was built from.
        // Without it, it asks for those of every platform, and finds them only with the network.
        if let Some(host) = host(&outside) {
            ask.args(["--filter-platform", &host]);
        }
        // Its lock is this workspace's, not that of a program whose build calls this.
        let output = output(ask.current_dir(&outside).env_remove("CARGO_TARGET_DIR"))?;
        if !output.status.success() {
            return Err(format!(
                "cargo could not get the release of tokio that {} names. It needs the network once; after \
                 that the crate lies in cargo's cache. cargo says:\n{}",
                manifest.display(),
                String::from_utf8_lossy(&output.stderr).trim_end()
            ));
        }
        let (version, folder) = chosen(&output.stdout)?;
        Ok(Self { version, folder, list: home.join("upstream/files") })
    }

    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// Returns the listed files, each after a comparison with its checksum.
    pub(crate) fn files(&self) -> Result<Vec<(String, Vec<u8>)>, String> {
        let mut files = Vec::new();
        for (expected, path) in self.list()? {
            let bytes = self.read(&path)?;
            let found = checksum(&bytes);
            if found != expected {
                return Err(format!(
                    "{path} of tokio {} in {} is not the file that {} lists: its SHA-256 is {found}, and \
                     {expected} was expected. Either the file was changed on this machine (remove the \
                     folder, and cargo unpacks it again), or the list is for another release: see \
                     \"A new release of tokio\" in tokio/README.md, and run `bash tokio/lay --record`.",
                    self.version,
                    self.folder.display(),
                    self.list.display()
                ));
            }
            files.push((path, bytes));
        }
        Ok(files)
    }

    /// Writes the list again with the checksums of this release. The names stay.
    pub(crate) fn record(&self) -> Result<usize, String> {
        let mut text = String::new();
        let list = self.list()?;
        for (_, path) in &list {
            text += &format!("{}  {path}\n", checksum(&self.read(path)?));
        }
        fs::write(&self.list, text).map_err(|error| format!("{}: {error}", self.list.display()))?;
        Ok(list.len())
    }

    /// The paths of the listed files.
    pub(crate) fn names(&self) -> Result<Vec<String>, String> {
        Ok(self.list()?.into_iter().map(|(_, path)| path).collect())
    }

    /// Pairs of a checksum and a path, as `sha256sum` writes them.
    fn list(&self) -> Result<Vec<(String, String)>, String> {
        let named = |error: &dyn std::fmt::Display| format!("{}: {error}", self.list.display());
        let text = fs::read_to_string(&self.list).map_err(|error| named(&error))?;
        text.lines()
            .map(|line| {
                let (checksum, path) = line
                    .split_once("  ")
                    .ok_or_else(|| named(&format!("not a checksum and a path: {line:?}")))?;
                Ok((checksum.to_owned(), path.to_owned()))
            })
            .collect()
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        fs::read(self.folder.join(path)).map_err(|error| {
            format!(
                "tokio {} in {} has no file {path} that could be read ({error}). If it is a newer release, \
                 {} has to be written for it: see \"A new release of tokio\" in tokio/README.md.",
                self.version,
                self.folder.display(),
                self.list.display()
            )
        })
    }
}

/// Returns the version and the folder of the tokio in an answer of `cargo metadata`.
pub(crate) fn chosen(answer: &[u8]) -> Result<(String, PathBuf), String> {
    let answer: Value = serde_json::from_slice(answer)
        .map_err(|error| format!("the answer of `cargo metadata` is not JSON: {error}"))?;
    let packages = answer["packages"].as_array().into_iter().flatten();
    let mut found = packages.filter(|package| package["name"] == "tokio");
    let text = |package: &Value, key: &str| package[key].as_str().map(ToOwned::to_owned);
    let tokio = found.next().ok_or("cargo's answer has no package named tokio")?;
    let folder = text(tokio, "manifest_path")
        .and_then(|path| Some(Path::new(&path).parent()?.to_owned()))
        .ok_or("cargo's answer does not say where tokio lies")?;
    let version = text(tokio, "version").ok_or("cargo's answer does not say which tokio it is")?;
    Ok((version, folder))
}

/// Returns the SHA-256 of some bytes, as `sha256sum` writes it.
pub fn checksum(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::{Release, checksum};
    use std::fs;
    use std::path::PathBuf;

    /// A release of one file, in a folder of its own.
    fn release(name: &str, listed: &str) -> (Release, PathBuf) {
        let folder = std::env::temp_dir().join(format!("packer-{}-{name}", std::process::id()));
        fs::create_dir_all(folder.join("src")).expect("the folder can be made");
        fs::write(folder.join("src/lib.rs"), "pub fn it() {}\n").expect("the file can be written");
        fs::write(folder.join("files"), listed).expect("the list can be written");
        let list = folder.join("files");
        (Release { version: "1.0.0".into(), folder: folder.clone(), list }, folder)
    }

    #[test]
    fn a_file_with_another_checksum_is_an_error_that_names_it() {
        let (release, folder) = release("changed", &format!("{:064}  src/lib.rs\n", 0));
        let error = release.files().expect_err("the checksum is another one");
        assert!(error.contains("src/lib.rs of tokio 1.0.0"), "{error}");
        fs::remove_dir_all(folder).expect("the folder goes away");
    }

    #[test]
    fn a_listed_file_that_the_release_does_not_have_is_an_error_that_names_it() {
        let (release, folder) = release("gone", &format!("{:064}  src/gone.rs\n", 0));
        let error = release.files().expect_err("there is no such file");
        assert!(error.contains("has no file src/gone.rs"), "{error}");
        fs::remove_dir_all(folder).expect("the folder goes away");
    }

    #[test]
    fn what_was_recorded_is_accepted() {
        let (release, folder) = release("recorded", &format!("{:064}  src/lib.rs\n", 0));
        assert_eq!(release.record(), Ok(1));
        let files = release.files().expect("the checksum is that of the file");
        assert_eq!(files, [("src/lib.rs".to_owned(), b"pub fn it() {}\n".to_vec())]);
        fs::remove_dir_all(folder).expect("the folder goes away");
    }

    #[test]
    fn the_checksum_is_sha_256() {
        let of_nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(checksum(b""), of_nothing);
    }
}
