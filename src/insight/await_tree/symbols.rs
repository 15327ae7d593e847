//! The names of the functions on a stack, their files and lines.
//!
//! They are looked up in the program's debug information, and that of its libraries. What is read of it, and
//! what it is made into, takes tens of megabytes. So it is given back when none has asked for a name for
//! [`KEPT_FOR`]. Not at once: it takes as long as half a second to read it again, and trees are often asked
//! for one after the other.
//!
//! std keeps it until the program ends, and reads what belongs to the C library as well, because the last
//! frames of each stack are of that. That is why the stacks are not std's `Backtrace`, and why this stops
//! where the task's frames end.

use super::frames::Frame;
use super::freed_memory;
use super::traced::stack::Stack;
use crate::engine::sync_shim::{StaticMutex, StaticMutexGuard};
use crate::runtime::tokio_words::IS_TOKIO;
use backtrace::Symbol;
use std::env;
use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// This file, below the folder of the sources.
const FILE: &str = "insight/await_tree/symbols.rs";

const KEPT_FOR: Duration = Duration::from_secs(3);

/// How many frames are named at each end of a stack. To name one can take a millisecond, where the
/// dependencies of the program are not optimised.
const MOST_AT_AN_END: usize = 1024;

static USE: StaticMutex<Use> = StaticMutex::new(Use { users: 0, loads: 0, is_watched: false });

/// How the debug information, in which names are looked up, is used.
struct Use {
    /// How many [`Symbols`] there are.
    users: usize,
    /// How many there have been.
    loads: u64,
    /// A thread gives it back when it is no longer used.
    is_watched: bool,
}

/// The right to look names up, while it lives.
pub(in crate::insight) struct Symbols {
    /// Files below it are named as seen from there.
    folder: Option<PathBuf>,
}

impl Symbols {
    /// Reads what names are looked up in. To be called before a task is traced: the lock that is held
    /// meanwhile is also taken to note a stack.
    pub(in crate::insight) fn load() -> Self {
        let mut used = USE.lock();
        used.users += 1;
        used.loads += 1;
        drop(used);
        let symbols = Self { folder: env::current_dir().ok() };
        backtrace::resolve(Self::load as *const c_void as *mut c_void, |_| {});
        symbols
    }

    /// The folders of this crate's sources, and of what stands over them under tokio's name.
    pub(in crate::insight) fn runtime(&self) -> Vec<String> {
        let mut folders = Vec::new();
        // What is in front of an address is named, as the call is in front of where a function goes on.
        let inside = (Self::load as *const c_void).wrapping_byte_add(1);
        backtrace::resolve(inside.cast_mut(), |symbol| {
            let file = symbol.filename().map(|path| self.file(path));
            folders.extend(file.and_then(|file| Some(file.strip_suffix(FILE)?.to_owned())));
        });
        let under_tokio = folders.iter().filter_map(|own| own.strip_suffix("liten/src/"));
        let under_tokio: Vec<_> = under_tokio.map(|above| format!("{above}src/")).collect();
        folders.extend(under_tokio.into_iter().filter(|_| IS_TOKIO));
        folders
    }

    /// The frames at these addresses; one without a name where none is known.
    pub(in crate::insight) fn named(&self, addresses: &[usize]) -> Vec<Frame> {
        let mut frames = Vec::new();
        for address in addresses {
            let before = frames.len();
            self.add_frames(std::slice::from_ref(address), &mut frames);
            if frames.len() == before {
                frames.push(Frame::unnamed());
            }
        }
        frames
    }

    /// The frames of a stack, the innermost first, to that of the traced poll. Of a stack with very many
    /// frames, the middle is left out.
    pub(super) fn frames(&self, stack: &Stack) -> Vec<Frame> {
        let addresses = stack.addresses();
        let mut frames = Vec::new();
        if addresses.len() <= 2 * MOST_AT_AN_END {
            self.add_frames(addresses, &mut frames);
        } else if !self.add_frames(&addresses[..MOST_AT_AN_END], &mut frames) {
            frames.push(Frame::left_out());
            self.add_frames(&addresses[addresses.len() - MOST_AT_AN_END..], &mut frames);
        }
        frames
    }

    /// Adds the frames at these addresses, to that of the traced poll; returns whether that is among them.
    fn add_frames(&self, addresses: &[usize], frames: &mut Vec<Frame>) -> bool {
        addresses.iter().any(|&address| {
            let before = frames.len();
            // Functions that are in line have the same address as the one that they are in.
            backtrace::resolve(address as *mut c_void, |symbol| frames.extend(self.frame(symbol)));
            frames[before..].iter().any(Frame::is_base)
        })
    }

    fn frame(&self, symbol: &Symbol) -> Option<Frame> {
        // Without the number that the compiler adds to tell functions of one name.
        let function = format!("{:#}", symbol.name()?);
        let file = symbol.filename().map(|path| self.file(path));
        Some(Frame { function, file, line: symbol.lineno() })
    }

    fn file(&self, path: &Path) -> String {
        let below = self.folder.as_ref().and_then(|folder| path.strip_prefix(folder).ok());
        below.map_or_else(|| path.display().to_string(), |below| format!("./{}", below.display()))
    }
}

impl Drop for Symbols {
    fn drop(&mut self) {
        let mut used = USE.lock();
        used.users -= 1;
        if used.users > 0 || used.is_watched {
            return;
        }
        let builder = thread::Builder::new().name("liten-symbols".to_owned());
        match builder.spawn(watch) {
            Ok(_) => used.is_watched = true,
            // Without a thread for it, nothing is kept.
            Err(_) => give_back(used),
        }
    }
}

/// Waits until nothing has been loaded for some time, and gives back what names were looked up in.
fn watch() {
    let mut seen = USE.lock().loads;
    loop {
        thread::sleep(KEPT_FOR);
        let mut used = USE.lock();
        if used.users == 0 && used.loads == seen {
            used.is_watched = false;
            return give_back(used);
        }
        seen = used.loads;
    }
}

fn give_back(used: StaticMutexGuard<'_, Use>) {
    // Under the lock, so that no user loads what is being given back.
    backtrace::clear_symbol_cache();
    drop(used);
    freed_memory::give_back();
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::{Stack, Symbols};

    #[inline(never)]
    fn noted() -> Stack {
        Stack::capture()
    }

    #[test]
    fn functions_have_their_names_and_lines() {
        let line = line!() + 1;
        let stack = noted();
        let frames = Symbols::load().frames(&stack);
        let here = frames.iter().position(|frame| frame.function.ends_with("noted"));
        let here = here.unwrap_or_else(|| panic!("{frames:?}"));
        let caller = &frames[here + 1];
        assert!(caller.function.ends_with("functions_have_their_names_and_lines"), "{caller:?}");
        // A binary that is built with `debug = 0` has names only.
        if caller.file.is_some() {
            let is_here = |file: &str| file.ends_with("symbols.rs");
            assert!(caller.file.as_deref().is_some_and(is_here), "{caller:?}");
            assert_eq!(caller.line, Some(line));
        } else {
            assert_eq!((&caller.file, caller.line), (&None, None));
        }
    }
}
