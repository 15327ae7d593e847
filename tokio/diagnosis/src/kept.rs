//! What is put back as it was.

use crate::words::complain;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{ErrorKind, Result as IoResult};
#[cfg(unix)]
use std::os::unix::fs::symlink as link_to;
use std::path::{Path, PathBuf};
use std::process;

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

/// Puts back the files that are written and removed while the package is laid down in a folder. Others in it
/// stay: another run may have laid it down in the same place at the same time.
pub(crate) struct KeptFolder {
    folder: PathBuf,
    before: BTreeMap<PathBuf, There>,
    /// The folders that were not there.
    new: BTreeSet<PathBuf>,
    stays: bool,
}

impl KeptFolder {
    pub(crate) fn new(folder: &Path) -> Self {
        let (before, new) = (BTreeMap::new(), BTreeSet::new());
        Self { folder: folder.to_owned(), before, new, stays: false }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.folder
    }

    /// Looks at a file that is about to be written or removed. The first look counts.
    pub(crate) fn keep(&mut self, path: &Path) -> Result<(), String> {
        if !self.before.contains_key(path) {
            let there = There::at(path).map_err(|error| format!("{}: {error}", path.display()))?;
            let above = path.ancestors().skip(1).take_while(|above| !above.exists());
            self.new.extend(above.map(Path::to_owned));
            self.before.insert(path.to_owned(), there);
        }
        Ok(())
    }

    /// Lets the folder be what it has become.
    pub(crate) fn stay(mut self) {
        self.stays = true;
    }

    pub(crate) fn has_changed(&self) -> bool {
        self.before.iter().any(|(path, there)| there.differs(path))
    }

    fn put_back(&self) -> IoResult<()> {
        if self.stays {
            return Ok(());
        }
        for (path, there) in self.before.iter().filter(|(path, there)| there.differs(path)) {
            there.put_back(path)?;
        }
        // Those inside come after those around them.
        for folder in self.new.iter().rev() {
            match fs::remove_dir(folder) {
                Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => {}
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                done => done?,
            }
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

/// What is in the place of a file. What a link leads to is not looked at: it is not the folder's.
enum There {
    Nothing,
    File(Vec<u8>),
    Link(PathBuf),
}

impl There {
    fn at(path: &Path) -> IoResult<Self> {
        match fs::symlink_metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::Nothing),
            Err(error) => Err(error),
            Ok(found) if found.is_symlink() => fs::read_link(path).map(Self::Link),
            Ok(_) => fs::read(path).map(Self::File),
        }
    }

    fn differs(&self, path: &Path) -> bool {
        match (self, Self::at(path)) {
            (Self::Nothing, Ok(Self::Nothing)) => false,
            (Self::File(one), Ok(Self::File(other))) => *one != other,
            (Self::Link(one), Ok(Self::Link(other))) => *one != other,
            _ => true,
        }
    }

    fn put_back(&self, path: &Path) -> IoResult<()> {
        let is_file = matches!(self, Self::File(_));
        // A file is replaced in one step, but not through a link.
        if path.is_symlink() || !is_file && path.exists() {
            fs::remove_file(path)?;
        }
        if let (Self::File(_) | Self::Link(_), Some(above)) = (self, path.parent()) {
            fs::create_dir_all(above)?;
        }
        match self {
            Self::Nothing => Ok(()),
            Self::File(bytes) => replace(path, bytes),
            Self::Link(to) => link_to(to, path),
        }
    }
}

/// Other systems want to know what the link leads to, and that may not be there.
#[cfg(not(unix))]
fn link_to(_: &Path, _: &Path) -> IoResult<()> {
    Err(ErrorKind::Unsupported.into())
}

/// The text of a file. `None`: there is no file.
pub(crate) fn text_of(path: &Path) -> Result<Option<String>, String> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

/// The name under which a process writes a file before that takes the place of another one.
pub(crate) fn name_beside(name: &str, process: u32) -> String {
    format!("{name}.tokio-on-liten-{process}")
}

/// Gives a file another text in one step, so that neither an interruption nor a full disk leaves half of it.
/// Two runs may do so at the same time: each has a name of its own for what it writes first.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> IoResult<()> {
    // A link stays one.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = path.with_file_name(name_beside(&name, process::id()));
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
    #[cfg(unix)]
    use super::link_to;
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
        let mut kept = KeptFolder::new(&folder);
        assert!(!kept.has_changed());
        for name in ["src/one.rs", "src/two.rs", "src/new/three.rs"] {
            kept.keep(&folder.join(name)).expect("it can be read");
        }
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
        assert!(!folder.join("src/new").exists() && read("target/built").is_some());
        fs::remove_dir_all(folder).expect("the folder goes away");
    }

    #[test]
    fn a_folder_that_was_not_there_goes_with_those_above_it_and_a_foreign_one_is_left_alone() {
        let folder = folder("new");
        let deep = folder.join("a/b");
        let mut kept = KeptFolder::new(&deep);
        kept.keep(&deep.join("LAID-DOWN")).expect("there is nothing to read");
        write(&deep.join("LAID-DOWN"), "");
        drop(kept);
        assert!(folder.exists() && !folder.join("a").exists());

        write(&folder.join("thesis"), "mine");
        let kept = KeptFolder::new(&folder);
        write(&folder.join("thesis"), "mine, too");
        assert!(!kept.has_changed());
        drop(kept);
        assert_eq!(fs::read_to_string(folder.join("thesis")).ok().as_deref(), Some("mine, too"));
        fs::remove_dir_all(folder).expect("the folder goes away");
    }

    #[test]
    fn what_another_run_has_laid_down_in_the_same_new_folder_stays() {
        let folder = folder("shared");
        let shared = folder.join("a/b");
        let mut kept = KeptFolder::new(&shared);
        kept.keep(&shared.join("src/one.rs")).expect("there is nothing to read");
        write(&shared.join("src/one.rs"), "");
        write(&shared.join("of-the-other"), "");
        drop(kept);
        assert!(shared.join("of-the-other").exists());
        assert!(!shared.join("src").exists());
        fs::remove_dir_all(folder).expect("the folder goes away");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_put_back_as_a_link_and_what_it_leads_to_is_not_looked_at() {
        let folder = folder("link");
        let (link, notes) = (folder.join("laid/src/notes"), folder.join("notes"));
        write(&folder.join("laid/LAID-DOWN"), "");
        write(&folder.join("laid/src/one.rs"), "");
        write(&notes.join("one"), "before");
        for after in [None, Some("a file in its place")] {
            link_to(&notes, &link).expect("the link can be made");
            let mut kept = KeptFolder::new(&folder.join("laid"));
            kept.keep(&link).expect("it can be read");
            fs::remove_file(&link).expect("the link is there");
            if let Some(text) = after {
                write(&link, text);
            }
            write(&notes.join("one"), "after");
            drop(kept);
            assert_eq!(fs::read_link(&link).ok().as_ref(), Some(&notes));
            assert_eq!(fs::read_to_string(notes.join("one")).ok().as_deref(), Some("after"));
            fs::remove_file(&link).expect("the link is there");
        }
        // A file whose place a link has taken comes back without a word to what that leads to.
        let mut kept = KeptFolder::new(&folder.join("laid"));
        kept.keep(&folder.join("laid/src/one.rs")).expect("it can be read");
        fs::remove_file(folder.join("laid/src/one.rs")).expect("the file is there");
        link_to(notes.join("one"), folder.join("laid/src/one.rs")).expect("it can be made");
        drop(kept);
        assert!(!folder.join("laid/src/one.rs").is_symlink());
        assert_eq!(fs::read_to_string(notes.join("one")).ok().as_deref(), Some("after"));
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
        let beside = format!("Cargo.toml.tokio-on-liten-{}", std::process::id());
        fs::create_dir(folder.join(beside)).expect("the folder can be made");
        assert!(replace(&path, b"never").is_err());
        assert_eq!(fs::read_to_string(&path).ok().as_deref(), Some("after"));
        fs::remove_dir_all(folder).expect("the folder goes away");
    }
}
