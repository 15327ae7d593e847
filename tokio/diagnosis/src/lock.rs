//! The lock file of a project that is only looked at.

use std::fs;
use std::io::{ErrorKind, Result as IoResult};
use std::path::{Path, PathBuf};

/// Puts a file back when it is dropped, as it was when this was made. cargo has no stable way to resolve a
/// project without writing this file.
pub(crate) struct Kept {
    path: PathBuf,
    /// `None`: there was no file.
    before: Option<Vec<u8>>,
}

impl Kept {
    pub(crate) fn new(path: &Path) -> Result<Self, String> {
        let before = match fs::read(path) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(format!("{}: {error}", path.display())),
        };
        Ok(Self { path: path.to_owned(), before })
    }

    fn put_back(&self) -> IoResult<()> {
        let there = fs::read(&self.path).ok();
        match &self.before {
            before if *before == there => Ok(()),
            None => fs::remove_file(&self.path),
            // In one step, so that no interruption leaves half a file.
            Some(bytes) => {
                let beside = self.path.with_extension("lock.before");
                fs::write(&beside, bytes)?;
                fs::rename(beside, &self.path)
            }
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if let Err(error) = self.put_back() {
            eprintln!("error: {} could not be put back: {error}", self.path.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Kept;
    use std::fs;

    #[test]
    fn a_file_is_put_back_as_it_was_and_one_that_was_not_there_is_removed() {
        let folder = std::env::temp_dir().join(format!("kept-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("the folder can be made");
        let path = folder.join("Cargo.lock");
        for before in [None, Some("before")] {
            if let Some(text) = before {
                fs::write(&path, text).expect("the file can be written");
            }
            let kept = Kept::new(&path).expect("the file can be read");
            fs::write(&path, "after").expect("the file can be written");
            drop(kept);
            assert_eq!(fs::read_to_string(&path).ok().as_deref(), before);
        }
        fs::remove_dir_all(folder).expect("the folder goes away");
    }
}
