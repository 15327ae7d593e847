//! The package that is laid down, first in memory: nothing is written before everything is there.

use crate::{Before, liten, pin};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The line of our manifest that says where liten lies.
const LITEN: &str = "liten = { path = \"../..\"";
/// A file that every folder has which was laid down.
pub(crate) const MARK: &str = "LAID-DOWN";
const MARK_TEXT: &str = "\
This is the package named tokio over the liten runtime, with liten in it. liten's `tokio/lay` has laid it
down. When it is run again, it overwrites the files that it has laid down, and removes all other files
from its packages' folders named src. It needs nothing outside of this folder but crates from the registry,
so it can be committed with the project whose Cargo.toml names it under [patch.crates-io].
";
/// What a project tells git to leave out is not left out here, whatever the names: the package is whole or of
/// no use.
const GITIGNORE: &str = "!*\n/target/\n/liten/target/\n";

/// Paths and contents of the files.
#[derive(Default)]
pub(crate) struct Parcel {
    files: BTreeMap<String, Vec<u8>>,
}

impl Parcel {
    pub(crate) fn put(&mut self, path: impl Into<String>, bytes: Vec<u8>) {
        self.files.insert(path.into(), bytes);
    }

    /// Returns the text of a file for changes.
    pub(crate) fn text(&self, path: &str) -> Result<String, String> {
        let bytes = self.files.get(path).ok_or_else(|| format!("no file {path} to edit"))?;
        String::from_utf8(bytes.clone()).map_err(|_| format!("{path} is not UTF-8"))
    }

    /// Gives tokio's licence a name that says whose it is.
    pub(crate) fn name_licence(&mut self) -> Result<(), String> {
        let licence = self.files.remove("LICENSE").ok_or("upstream/files lacks tokio's LICENSE")?;
        self.put("LICENSE-TOKIO", licence);
        Ok(())
    }

    /// Adds our files, liten and their licences. `version`: the one that the package gets, if not its own.
    pub(crate) fn put_ours(&mut self, home: &Path, version: Option<&str>) -> Result<(), String> {
        let repository = home.parent().ok_or("the folder `tokio` does not lie in liten")?;
        let face = home.join("face");
        for path in files_under(&face.join("src"))? {
            let name = relative(&face, &path);
            if self.files.contains_key(&name) {
                return Err(format!("{name} is tokio's and ours: take it out of upstream/files"));
            }
            self.put(name, read(&path)?);
        }
        let manifest = String::from_utf8(read(&face.join("Cargo.toml"))?)
            .map_err(|_| "the manifest is not UTF-8")?;
        if manifest.matches(LITEN).count() != 1 {
            return Err(format!("face/Cargo.toml does not have `{LITEN}` once"));
        }
        let path = format!("liten = {{ path = \"{}\"", liten::FOLDER);
        let manifest = manifest.replace(LITEN, &path);
        let manifest = match version {
            Some(version) => pin::manifest(&manifest, version)?,
            None => manifest,
        };
        self.put("Cargo.toml", manifest.into_bytes());
        self.files.extend(liten::files(repository)?);
        for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
            self.put(name, read(&repository.join(name))?);
        }
        self.put(".gitignore", GITIGNORE.into());
        self.put(MARK, (MARK_TEXT.to_owned() + &version.map_or(String::new(), pin::line)).into());
        Ok(())
    }

    /// Writes the package. What is as it should be is not touched, so that cargo builds only what has
    /// changed. Nothing outside of the folder is written or removed: a link in it may lead anywhere.
    pub(crate) fn write(&self, folder: &Path, before: Before<'_>) -> Result<(), String> {
        let is_empty = match folder.read_dir() {
            Ok(mut entries) => entries.next().is_none(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => true,
            Err(error) => return Err(format!("{}: {error}", folder.display())),
        };
        if !is_empty && !folder.join(MARK).exists() {
            return Err(format!(
                "{} is not empty and was not laid down by this command: name a new folder",
                folder.display()
            ));
        }
        self.refuse_links(folder)?;
        // First, so that a run that is interrupted can be repeated.
        let mark = self.files.get(MARK).map_or(MARK_TEXT.as_bytes(), Vec::as_slice);
        put_file(&folder.join(MARK), mark, before)?;
        for (name, bytes) in &self.files {
            put_file(&folder.join(name), bytes, before)?;
        }
        for sources in self.sources() {
            for path in files_under(&folder.join(sources))? {
                if !self.files.contains_key(&relative(folder, &path)) {
                    before(&path)?;
                    fs::remove_file(&path)
                        .map_err(|error| format!("{}: {error}", path.display()))?;
                }
            }
        }
        Ok(())
    }

    /// Refuses a link in the place of a folder of the package. The files would be written where it leads, and
    /// what is not in the package would be removed there.
    fn refuse_links(&self, folder: &Path) -> Result<(), String> {
        let above = |name| Path::new(name).ancestors().skip(1);
        let folders: BTreeSet<_> = self.files.keys().flat_map(above).collect();
        // The empty path is the folder itself, which the caller may name by a link.
        let inside = folders.iter().filter(|name| **name != Path::new(""));
        match inside.map(|name| folder.join(name)).find(|path| path.is_symlink()) {
            Some(path) => Err(format!(
                "{} is a link, and this command would overwrite and remove files where it leads: remove the \
                 link, or name a new folder",
                path.display()
            )),
            None => Ok(()),
        }
    }

    /// The folders named `src` of the packages in it. What lies beside them may have been built there.
    fn sources(&self) -> BTreeSet<&str> {
        let of_file = |name: &'_ str| match name.find("/src/") {
            Some(place) => Some(place + "/src".len()),
            None => name.starts_with("src/").then_some("src".len()),
        };
        self.files.keys().filter_map(|name| name.get(..of_file(name)?)).collect()
    }

    /// Returns whether a folder has each of these files as it is here.
    pub(crate) fn lies_in(&self, folder: &Path) -> bool {
        self.files
            .iter()
            .all(|(name, bytes)| fs::read(folder.join(name)).is_ok_and(|there| there == *bytes))
    }
}

/// Everything that lies in a folder that was laid down, or that cargo puts there. The mark comes last, so
/// that a removal that is interrupted can be repeated.
const LAID: [&str; 10] = [
    "src",
    liten::FOLDER,
    "target",
    "Cargo.toml",
    "Cargo.lock",
    "LICENSE-TOKIO",
    "LICENSE-MIT",
    "LICENSE-APACHE",
    ".gitignore",
    MARK,
];

/// Removes what was laid down in a folder, and the folder if nothing else is in it. What links lead to stays.
/// Returns whether the folder has gone.
pub(crate) fn remove(folder: &Path) -> Result<bool, String> {
    let is_empty = || folder.read_dir().is_ok_and(|mut entries| entries.next().is_none());
    match folder.join(MARK).exists() {
        false if !folder.exists() => return Ok(true),
        // A run was interrupted before it wrote the mark, or after it removed that.
        false if !is_empty() => {
            return Err(format!("{} was not laid down by `bash tokio/lay`", folder.display()));
        }
        _ => {}
    }
    for path in LAID.map(|name| folder.join(name)) {
        let removed = match fs::symlink_metadata(&path) {
            Ok(there) if there.is_dir() => fs::remove_dir_all(&path),
            Ok(_) => fs::remove_file(&path),
            Err(error) => Err(error),
        };
        match removed {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            done => done.map_err(|error| format!("{}: {error}", path.display()))?,
        }
    }
    match fs::remove_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(false),
        done => done.map(|()| true).map_err(|error| format!("{}: {error}", folder.display())),
    }
}

/// Writes a file that is not there as it should be. A link goes, and what it leads to stays as it is.
fn put_file(path: &Path, bytes: &[u8], before: Before<'_>) -> Result<(), String> {
    let named = |error: io::Error| format!("{}: {error}", path.display());
    let is_link = path.is_symlink();
    if !is_link && fs::read(path).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    before(path)?;
    if is_link {
        fs::remove_file(path).map_err(named)?;
    }
    fs::create_dir_all(path.parent().expect("it lies in the folder")).map_err(named)?;
    fs::write(path, bytes).map_err(named)
}

pub(crate) fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// With slashes on every system, as `upstream/files` has them.
pub(crate) fn relative(folder: &Path, path: &Path) -> String {
    let inside = path.strip_prefix(folder).expect("it was found there");
    let parts: Vec<_> = inside.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

/// All files in a folder and in those below it. A link counts as a file, wherever it leads: what lies there
/// is not the folder's.
pub(crate) fn files_under(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let named = |error: io::Error| format!("{}: {error}", folder.display());
    let mut found = Vec::new();
    for entry in folder.read_dir().map_err(named)? {
        let entry = entry.map_err(named)?;
        if entry.file_type().map_err(named)?.is_dir() {
            found.extend(files_under(&entry.path())?);
        } else {
            found.push(entry.path());
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::Parcel;
    use std::fs;
    use std::path::{Path, PathBuf};

    fn write(parcel: &Parcel, folder: &Path) -> Result<(), String> {
        parcel.write(folder, &mut |_| Ok(()))
    }

    fn folder(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("parcel-{}-{name}", std::process::id()))
    }

    #[test]
    fn a_folder_with_other_things_in_it_is_left_alone() {
        let folder = folder("foreign");
        fs::create_dir_all(&folder).expect("the folder can be made");
        fs::write(folder.join("thesis.txt"), "mine").expect("the file can be written");
        let error = write(&Parcel::default(), &folder).expect_err("the folder has another file");
        assert!(error.contains("was not laid down"), "{error}");
        assert!(!folder.join("LAID-DOWN").exists());
        fs::remove_dir_all(folder).expect("the folder goes away");
    }

    #[test]
    fn laid_down_again_it_loses_the_sources_that_are_no_longer_in_it() {
        let folder = folder("again");
        let mut parcel = Parcel::default();
        parcel.put("src/lib.rs", b"mod old;".to_vec());
        parcel.put("src/old.rs", Vec::new());
        write(&parcel, &folder).expect("the folder is new");
        let mut parcel = Parcel::default();
        parcel.put("src/lib.rs", b"mod new;".to_vec());
        parcel.put("src/new/part.rs", Vec::new());
        parcel.put("part/src/lib.rs", Vec::new());
        assert!(!parcel.lies_in(&folder));
        write(&parcel, &folder).expect("the folder is ours");
        assert!(parcel.lies_in(&folder));
        assert!(!folder.join("src/old.rs").exists() && folder.join("src/new/part.rs").exists());
        assert_eq!(fs::read(folder.join("src/lib.rs")).expect("it is there"), b"mod new;");
        // What has been built beside the sources is not looked at.
        for (path, stays) in [("part/src/old.rs", false), ("part/target/src/built.rs", true)] {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().expect("it lies in a folder"))
                .expect("it can be made");
            fs::write(&path, "").expect("the file can be written");
            write(&parcel, &folder).expect("the folder is ours");
            assert_eq!(path.exists(), stays, "{}", path.display());
        }
        fs::remove_dir_all(folder).expect("the folder goes away");
    }

    #[test]
    fn what_was_laid_down_is_removed_and_nothing_else() {
        let folder = folder("removed");
        let mut parcel = Parcel::default();
        for name in ["src/lib.rs", "liten/src/lib.rs", "Cargo.toml"] {
            parcel.put(name, Vec::new());
        }
        assert_eq!(super::remove(&folder), Ok(true), "there is none");
        fs::create_dir_all(&folder).expect("the folder can be made");
        assert_eq!(super::remove(&folder), Ok(true), "it is empty");
        write(&parcel, &folder).expect("the folder is new");
        fs::create_dir_all(folder.join("target/debug")).expect("the folder can be made");
        assert_eq!(super::remove(&folder), Ok(true));
        assert!(!folder.exists());

        write(&parcel, &folder).expect("the folder is new");
        fs::write(folder.join("thesis.txt"), "mine").expect("the file can be written");
        assert_eq!(super::remove(&folder), Ok(false));
        assert_eq!(fs::read_dir(&folder).expect("it is there").count(), 1);
        let error = super::remove(&folder).expect_err("it was not laid down");
        assert!(error.contains("was not laid down"), "{error}");
        fs::remove_dir_all(folder).expect("the folder goes away");
    }

    #[test]
    fn each_file_is_told_before_it_is_written_or_removed_and_no_other_one() {
        let folder = folder("told");
        let mut parcel = Parcel::default();
        for name in ["src/lib.rs", "src/old.rs", "src/same.rs"] {
            parcel.put(name, b"old".to_vec());
        }
        write(&parcel, &folder).expect("the folder is new");
        let mut parcel = Parcel::default();
        for (name, text) in [("src/lib.rs", "new"), ("src/new.rs", "new"), ("src/same.rs", "old")] {
            parcel.put(name, text.into());
        }
        let refuse = |_: &Path| Err("not now".to_owned());
        assert_eq!(parcel.write(&folder, &mut { refuse }), Err("not now".to_owned()));
        let mut told = Vec::new();
        let mut note = |path: &Path| {
            told.push((super::relative(&folder, path), fs::read_to_string(path).ok()));
            Ok(())
        };
        parcel.write(&folder, &mut note).expect("the folder is ours");
        let old = || Some("old".to_owned());
        let expected = [("src/lib.rs", old()), ("src/new.rs", None), ("src/old.rs", old())];
        assert_eq!(told, expected.map(|(name, text)| (name.to_owned(), text)));
        fs::remove_dir_all(folder).expect("the folder goes away");
    }

    #[cfg(unix)]
    #[test]
    fn what_links_lead_to_is_neither_written_nor_removed() {
        use std::os::unix::fs::symlink;
        let notes = folder("notes");
        fs::create_dir_all(&notes).expect("the folder can be made");
        let is_whole = || {
            fs::read(notes.join("lib.rs")).is_ok_and(|there| there == b"mine")
                && fs::read_dir(&notes).is_ok_and(|there| there.count() == 1)
        };
        fs::write(notes.join("lib.rs"), "mine").expect("the file can be written");
        let folder = folder("links");
        let mut parcel = Parcel::default();
        parcel.put("src/lib.rs", b"mod new;".to_vec());
        parcel.put("liten/src/lib.rs", Vec::new());
        write(&parcel, &folder).expect("the folder is new");

        // One among the sources goes, and one in the place of a file becomes that file.
        symlink(&notes, folder.join("src/notes")).expect("the link can be made");
        for name in ["src/lib.rs", "LAID-DOWN"] {
            fs::remove_file(folder.join(name)).expect("the file is there");
            symlink(notes.join("lib.rs"), folder.join(name)).expect("the link can be made");
        }
        write(&parcel, &folder).expect("the folder is ours");
        assert!(is_whole());
        assert!(folder.join("src/notes").symlink_metadata().is_err());
        assert!(!folder.join("src/lib.rs").is_symlink() && !folder.join("LAID-DOWN").is_symlink());
        assert!(parcel.lies_in(&folder));

        // One in the place of a folder is a person's choice, and for that person to undo.
        for name in ["liten/src", "liten"] {
            fs::remove_dir_all(folder.join(name)).expect("the folder is there");
            symlink(&notes, folder.join(name)).expect("the link can be made");
            fs::write(folder.join("src/lib.rs"), "old").expect("the file can be written");
            let error = write(&parcel, &folder).expect_err("a folder is a link");
            assert!(error.contains(&format!("{name} is a link")), "{error}");
            assert!(is_whole());
            assert_eq!(fs::read(folder.join("src/lib.rs")).expect("it is there"), b"old");
            fs::remove_file(folder.join(name)).expect("the link is there");
            write(&parcel, &folder).expect("the folder is ours");
        }
        // The folder that the caller names may be reached through one.
        let link = folder.with_extension("link");
        symlink(&folder, &link).expect("the link can be made");
        write(&parcel, &link).expect("the folder is ours");
        fs::remove_file(link).expect("the link is there");
        fs::remove_dir_all(folder).expect("the folder goes away");
        fs::remove_dir_all(notes).expect("the folder goes away");
    }
}
