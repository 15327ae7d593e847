//! What is put back as it was.

use crate::words::complain;
use packer::is_laid_down;
use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Result as IoResult};
use std::path::{Path, PathBuf};

/// Puts a file back when it is dropped, as it was when this was made. cargo has no stable way to resolve a
/// project without writing its lock file.
pub(crate) struct Kept {
    path: PathBuf,
    /// `None`: there was no file.
    before: Option<Vec<u8>>,
    stays: bool,
}

impl Kept {
    pub(crate) fn new(path: &Path) -> Result<Self, String> {
        let before = match fs::read(path) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(format!("{}: {error}", path.display())),
        };
        Ok(Self { path: path.to_owned(), before, stays: false })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Lets the file be what it has become.
    pub(crate) fn stay(mut self) {
        self.stays = true;
    }

    pub(crate) fn has_changed(&self) -> bool {
        self.before != fs::read(&self.path).ok()
    }

    fn put_back(&self) -> IoResult<()> {
        match &self.before {
            _ if self.stays || !self.has_changed() => Ok(()),
            None => fs::remove_file(&self.path),
            Some(bytes) => replace(&self.path, bytes),
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if let Err(error) = self.put_back() {
            complain(&format!("{} could not be put back: {error}", self.path.display()));
        }
    }
}

/// Puts a folder back in which the package is laid down. It holds the files in memory, some five megabytes.
pub(crate) struct KeptFolder {
    folder: PathBuf,
    /// The uppermost folder that was not there.
    new: Option<PathBuf>,
    before: BTreeMap<PathBuf, Vec<u8>>,
    stays: bool,
}

impl KeptFolder {
    pub(crate) fn new(folder: &Path) -> Result<Self, String> {
        let named = |error| format!("{}: {error}", folder.display());
        let new = folder.ancestors().take_while(|above| !above.exists()).last();
        // A folder with something else in it is refused, and may be of any size.
        let before = match is_laid_down(folder) {
            true => contents(folder).map_err(named)?,
            false => BTreeMap::new(),
        };
        let (folder, new) = (folder.to_owned(), new.map(Path::to_owned));
        Ok(Self { folder, new, before, stays: false })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.folder
    }

    /// Lets the folder be what it has become.
    pub(crate) fn stay(mut self) {
        self.stays = true;
    }

    pub(crate) fn has_changed(&self) -> bool {
        match &self.new {
            Some(new) => new.exists(),
            // One that is not marked after it was to be laid down is one that was refused.
            None => {
                is_laid_down(&self.folder)
                    && contents(&self.folder).ok() != Some(self.before.clone())
            }
        }
    }

    fn put_back(&self) -> IoResult<()> {
        match &self.new {
            _ if self.stays || !self.has_changed() => return Ok(()),
            Some(new) => return fs::remove_dir_all(new),
            None => {}
        }
        let now = contents(&self.folder)?;
        for path in now.keys().filter(|path| !self.before.contains_key(*path)) {
            fs::remove_file(path)?;
        }
        for (path, bytes) in
            self.before.iter().filter(|(path, bytes)| now.get(*path) != Some(bytes))
        {
            if let Some(above) = path.parent() {
                fs::create_dir_all(above)?;
            }
            replace(path, bytes)?;
        }
        Ok(())
    }
}

impl Drop for KeptFolder {
    fn drop(&mut self) {
        if let Err(error) = self.put_back() {
            complain(&format!("{} could not be put back: {error}", self.folder.display()));
        }
    }
}

/// All files in a folder, without what has been built there.
fn contents(folder: &Path) -> IoResult<BTreeMap<PathBuf, Vec<u8>>> {
    let mut found = BTreeMap::new();
    for entry in folder.read_dir()? {
        let path = entry?.path();
        if !path.is_dir() {
            let bytes = fs::read(&path)?;
            found.insert(path, bytes);
        } else if !path.ends_with("target") && !path.ends_with(".git") {
            found.append(&mut contents(&path)?);
        }
    }
    Ok(found)
}

/// Gives a file another text in one step, so that neither an interruption nor a full disk leaves half of it.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> IoResult<()> {
    // A link stays one.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".tokio-on-liten");
    let beside = path.with_file_name(name);
    let written = fs::write(&beside, bytes).and_then(|()| {
        if let Ok(there) = fs::metadata(&path) {
            fs::set_permissions(&beside, there.permissions())?;
        }
        fs::rename(&beside, &path)
    });
    if written.is_err() {
        // It may not have been made, and the reason for that is the one to tell.
        let _ = fs::remove_file(&beside);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::{Kept, KeptFolder, replace};
    use std::fs;
    use std::path::{Path, PathBuf};

    fn folder(of: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("kept-{of}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("the folder can be made");
        folder
    }

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().expect("it lies in a folder")).expect("it can be made");
        fs::write(path, text).expect("the file can be written");
    }

    #[test]
    fn a_file_is_put_back_as_it_was_and_one_that_was_not_there_is_removed() {
        let folder = folder("file");
        let path = folder.join("Cargo.lock");
        for before in [None, Some("before")] {
            if let Some(text) = before {
                write(&path, text);
            }
            let kept = Kept::new(&path).expect("the file can be read");
            write(&path, "after");
            assert!(kept.has_changed());
            drop(kept);
            assert_eq!(fs::read_to_string(&path).ok().as_deref(), before);
        }
        let kept = Kept::new(&path).expect("the file can be read");
        write(&path, "after");
        kept.stay();
        assert_eq!(fs::read_to_string(&path).ok().as_deref(), Some("after"));
        fs::remove_dir_all(folder).expect("the folder goes away");
    }

    #[test]
    fn a_folder_that_was_laid_down_before_is_put_back_and_what_was_built_in_it_stays() {
        let folder = folder("folder");
        for (name, text) in [("LAID-DOWN", ""), ("src/one.rs", "1"), ("src/two.rs", "2")] {
            write(&folder.join(name), text);
        }
        let kept = KeptFolder::new(&folder).expect("it can be read");
        assert!(!kept.has_changed());
        fs::remove_dir_all(folder.join("src")).expect("the folder goes away");
        for (name, text) in
            [("src/one.rs", "other"), ("src/new/three.rs", "3"), ("target/built", "")]
        {
            write(&folder.join(name), text);
        }
        assert!(kept.has_changed());
        drop(kept);
        let read = |name: &str| fs::read_to_string(folder.join(name)).ok();
        assert_eq!(read("src/one.rs").as_deref(), Some("1"));
        assert_eq!(read("src/two.rs").as_deref(), Some("2"));
        assert_eq!(read("src/new/three.rs"), None);
        assert!(read("target/built").is_some());
        fs::remove_dir_all(folder).expect("the folder goes away");
    }

    #[test]
    fn a_folder_that_was_not_there_goes_with_those_above_it_and_a_foreign_one_is_left_alone() {
        let folder = folder("new");
        let deep = folder.join("a/b");
        let kept = KeptFolder::new(&deep).expect("there is nothing to read");
        write(&deep.join("LAID-DOWN"), "");
        drop(kept);
        assert!(folder.exists() && !folder.join("a").exists());

        write(&folder.join("thesis"), "mine");
        let kept = KeptFolder::new(&folder).expect("it can be read");
        write(&folder.join("thesis"), "mine, too");
        assert!(!kept.has_changed());
        drop(kept);
        assert_eq!(fs::read_to_string(folder.join("thesis")).ok().as_deref(), Some("mine, too"));
        fs::remove_dir_all(folder).expect("the folder goes away");
    }

    #[test]
    fn a_text_that_cannot_be_written_leaves_the_file_and_nothing_beside_it() {
        let folder = folder("replace");
        let path = folder.join("Cargo.toml");
        write(&path, "before");
        replace(&path, b"after").expect("the file can be written");
        assert_eq!(fs::read_to_string(&path).ok().as_deref(), Some("after"));
        // The name under which it is written first is taken by a folder.
        fs::create_dir(folder.join("Cargo.toml.tokio-on-liten")).expect("the folder can be made");
        assert!(replace(&path, b"never").is_err());
        assert_eq!(fs::read_to_string(&path).ok().as_deref(), Some("after"));
        fs::remove_dir_all(folder).expect("the folder goes away");
    }
}
