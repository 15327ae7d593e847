//! Descriptors that are kept for the time when the program has none left.
//!
//! A program that has used up its descriptors is one that a page should show. But the page's connection is a
//! descriptor, and so is a file under `/proc`. So while a page is open, some descriptors are kept that lead
//! to nothing. What needs one and finds none closes one of these, and tries again at once. When it is done,
//! its own descriptor becomes the kept one: `dup2` puts another kept file in its place, so that its number is
//! not free for others in between.
//!
//! # How many there are
//!
//! Never more than are wanted; all changes are made under one lock. There may be fewer:
//!
//! | what happens | it leaves |
//! |---|---|
//! | a spare one is closed for something | one less, until that is given back |
//! | another thread takes the number between that close and the second try | one less |
//! | what was made with it is closed without that: a connection that cannot be registered | one less |
//! | it is given back while none is kept that `dup2` could copy, or `dup2` fails | one more, or as many |
//!
//! In the last case the descriptor is closed and a new one is opened. Another thread may take the number
//! between the two.
//!
//! [`SpareDescriptors::refill`] brings back those that are missing, as soon as there are descriptors again.
//! The page's thread calls it before it waits for a connection, and again every now and then while some are
//! missing. Nothing here tries more than twice, so nothing turns: the caller has to wait before it calls
//! again.
//!
//! What each number is for, of [`KEPT`]:
//!
//! | kept | may be taken for |
//! |---|---|
//! | 2 | connections, of which the second one comes while the first is being answered |
//! | 1 | a connection that takes the place of one of these, or a file under `/proc` |
//! | 1 | a file under `/proc`; mostly it is the file that `dup2` takes |
//!
//! Rejected: a table of descriptors of its own for the page's thread (`unshare`). Sandboxes refuse that call,
//! and a runtime whose last handle is dropped on that thread would close descriptors that are others' in the
//! table. And to raise the limit for a moment: each thread may use what that allows.

use crate::engine::sync_shim::StaticMutex;
use std::fs::File;
use std::io;
#[cfg(all(unix, feature = "insight"))]
use std::os::fd::OwnedFd;
use std::path::Path;

/// How many a page keeps.
pub(crate) const KEPT: usize = 4;

/// Something that can be opened without rights, as often as there are descriptors. Where there is none, as on
/// other systems than Unix, nothing is kept.
const NOTHING: &str = "/dev/null";

static SPARE: StaticMutex<Spare> = StaticMutex::new(Spare { files: Vec::new(), wanted: 0 });

struct Spare {
    files: Vec<File>,
    /// How many there are to be: of all pages together.
    wanted: usize,
}

impl Spare {
    /// Returns whether there are as many as can be had: not if the system has none at the moment.
    fn fill(&mut self) -> bool {
        while self.files.len() < self.wanted {
            match File::open(NOTHING) {
                Ok(file) => self.files.push(file),
                Err(error) => return !is_lacking(&error),
            }
        }
        true
    }

    /// Closes one, if more than `left` are there. Returns whether it has.
    fn close_one(&mut self, left: usize) -> bool {
        self.files.len() > left && self.files.pop().is_some()
    }
}

/// The right to have [`KEPT`] of them, until it is dropped.
pub(crate) struct SpareDescriptors(());

impl SpareDescriptors {
    pub(crate) fn keep() -> Self {
        let mut spare = SPARE.lock();
        spare.wanted += KEPT;
        spare.fill();
        Self(())
    }

    /// Replaces those that other threads have taken. Returns `false` if it is to be called again later,
    /// because there are none to be had.
    pub(crate) fn refill(&self) -> bool {
        SPARE.lock().fill()
    }
}

impl Drop for SpareDescriptors {
    fn drop(&mut self) {
        let mut spare = SPARE.lock();
        spare.wanted -= KEPT;
        let wanted = spare.wanted;
        spare.files.truncate(wanted);
    }
}

/// Whether the error says that there is no descriptor left, in the process or in the system.
#[cfg(unix)]
pub(crate) fn is_lacking(error: &io::Error) -> bool {
    use nix::libc::{EMFILE, ENFILE};
    matches!(error.raw_os_error(), Some(EMFILE | ENFILE))
}

/// Elsewhere descriptors are not counted like that.
#[cfg(not(unix))]
pub(crate) fn is_lacking(_: &io::Error) -> bool {
    false
}

/// Does what needs a descriptor: with one of the spare ones if there is no other, unless that would leave
/// fewer than `left` of them. Says whether it was a spare one.
pub(crate) fn with_spare<T>(
    left: usize,
    mut make: impl FnMut() -> io::Result<T>,
) -> io::Result<(T, bool)> {
    let lacking = match make() {
        Err(error) if is_lacking(&error) => error,
        made => return made.map(|made| (made, false)),
    };
    // Held until it is made, so that no thread of ours takes what another one has closed.
    let mut spare = SPARE.lock();
    if !spare.close_one(left) {
        return Err(lacking);
    }
    let made = make();
    if made.is_err() {
        spare.fill();
    }
    made.map(|made| (made, true))
}

/// Closes what a descriptor leads to. The descriptor is kept if some are missing.
#[cfg(all(unix, feature = "insight"))]
pub(crate) fn give_back(descriptor: impl Into<OwnedFd>) {
    let mut descriptor = descriptor.into();
    let mut spare = SPARE.lock();
    if spare.files.len() < spare.wanted {
        let replaced = spare.files.first().is_some_and(|file| replace(&mut descriptor, file));
        if replaced {
            return spare.files.push(descriptor.into());
        }
        drop(descriptor);
        spare.fill();
    }
}

#[cfg(not(all(unix, feature = "insight")))]
pub(crate) fn give_back<T>(descriptor: T) {
    drop(descriptor);
}

/// Has `descriptor` lead to `file`, and not to children of this process.
#[cfg(all(unix, feature = "insight"))]
fn replace(descriptor: &mut OwnedFd, file: &File) -> bool {
    use nix::fcntl::{FcntlArg, FdFlag, fcntl};
    // Not `dup3`, which would do both in one step, because macOS has none. A child that is started between
    // the two has a descriptor that leads to nothing.
    nix::unistd::dup2(file, descriptor).is_ok()
        && fcntl(&*descriptor, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).is_ok()
}

/// Opens the file at `path`, if need be with a spare descriptor, and closes it when `read` has read it.
pub(crate) fn read_file<T>(
    path: impl AsRef<Path>,
    read: impl FnOnce(&mut File) -> io::Result<T>,
) -> io::Result<T> {
    let (mut file, is_spare) = with_spare(0, || File::open(path.as_ref()))?;
    let content = read(&mut file);
    if is_spare {
        give_back(file);
    }
    content
}

/// As [`std::fs::read_to_string`], if need be with a spare descriptor.
pub(crate) fn read_to_string(path: impl AsRef<Path>) -> io::Result<String> {
    use std::io::Read;
    read_file(path, |file| {
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        Ok(text)
    })
}

/// Leaves one descriptor free for code of others, which opens files itself, while it runs. If there was none
/// to be had, other threads may take it meanwhile.
pub(crate) fn with_one_free<T>(run: impl FnOnce() -> T) -> T {
    let is_free = match File::open(NOTHING) {
        Err(error) if is_lacking(&error) => !SPARE.lock().close_one(0),
        _ => true,
    };
    let result = run();
    if !is_free {
        SPARE.lock().fill();
    }
    result
}
