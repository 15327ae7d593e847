//! Where in the program a thread is blocked or computes: its last function on the stack, and what that has
//! called.

use super::await_tree::{Frame, Owner, Symbols};
use crate::engine::sync_shim::StaticMutex;
use crate::observe::spare_descriptors::with_one_free;
use crate::runtime::ThreadActivity;
use crate::short::{end, short};
use std::collections::BTreeMap;
use std::sync::mpsc;
use std::time::Duration;
use std::{fmt, mem, thread};

/// So many addresses are kept with their names, which are some hundred bytes for each. A stack has some
/// fifty.
const KEPT: usize = 4096;
/// An address without a name is asked for so often before its name is looked up again.
const MOST_UNSURE: u16 = 2_000;
/// A look waits so long for the names of a stack.
const PATIENCE: Duration = Duration::from_millis(500);

static NAMES: StaticMutex<Names> = StaticMutex::new(Names {
    known: BTreeMap::new(),
    runtime: Vec::new(),
    uses: 0,
    is_naming: false,
});

/// What is known of addresses. A thread that computes has another stack at each look, and most of its
/// addresses are those of the stack before.
struct Names {
    known: BTreeMap<usize, Named>,
    /// The folders of this crate's sources.
    runtime: Vec<String>,
    /// How many stacks have been asked for.
    uses: u64,
    /// A thread looks names up.
    is_naming: bool,
}

struct Named {
    /// The functions that are there: several, if some are in line.
    frames: Vec<Frame>,
    /// When it was asked for last.
    used: u64,
    /// How often it is given before it is looked up again, if it has no name: there may have been no
    /// descriptor for a file.
    left: Option<u16>,
}

impl Names {
    /// The frames at these addresses, or those of them that are not known.
    fn of(&mut self, addresses: &[usize]) -> Result<Vec<Frame>, Vec<usize>> {
        self.uses += 1;
        let mut frames = Vec::new();
        let mut unknown = Vec::new();
        for address in addresses {
            let Some(named) = self.known.get_mut(address) else {
                unknown.push(*address);
                continue;
            };
            named.used = self.uses;
            named.left = named.left.map(|left| left - 1);
            frames.extend_from_slice(&named.frames);
            if named.left == Some(0) {
                self.known.remove(address);
            }
        }
        if unknown.is_empty() { Ok(frames) } else { Err(unknown) }
    }

    fn keep(&mut self, address: usize, frames: Vec<Frame>) {
        if self.known.len() >= KEPT {
            let mut used: Vec<_> = self.known.values().map(|named| named.used).collect();
            let (_, &mut middle, _) = used.select_nth_unstable(KEPT / 2);
            self.known.retain(|_, named| named.used > middle);
        }
        let left = (!frames.iter().all(Frame::is_named)).then_some(MOST_UNSURE);
        self.known.insert(address, Named { frames, used: self.uses, left });
    }
}

/// The call in a program in which a thread is blocked or computes; from
/// [`BlockedThread::call`](super::BlockedThread::call) and
/// [`Finding::BlockedWorker`](super::Finding::BlockedWorker).
///
/// Known on Linux on x86-64, of a thread that is in a system call, or that computes. One that computes is
/// interrupted for that: see [`insight`](crate::insight). It may be in another function at another moment.
/// The function is the program's own, and not one of a library, if the program was built with line tables
/// (`debug = "line-tables-only"`); without, it is one of the crate whose function is the outermost on the
/// stack. In an optimised program without them, functions that the compiler has put in line are missing.
/// After `strip = true` nothing is known.
///
/// Its `Display` is `std::sync::Mutex<T>::lock in app::audit at src/audit.rs:31`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockedCall {
    callee: Option<String>,
    function: String,
    file: Option<String>,
    line: Option<u32>,
}

impl BlockedCall {
    /// Returns the name of the function of the program.
    pub fn function(&self) -> &str {
        &self.function
    }

    /// Returns the name of the function that it has called, which is std's or a library's.
    pub fn callee(&self) -> Option<&str> {
        self.callee.as_deref()
    }

    /// Returns the file of the call, if line tables tell it.
    pub fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    /// Returns the line of the call, counted from 1, if line tables tell it.
    pub fn line(&self) -> Option<u32> {
        self.line
    }

    /// Names what the thread with this stack is in.
    ///
    /// To read debug information may take long, and it takes locks that a blocked thread may hold, such as
    /// that of the dynamic linker. So another thread does it. While it works, other stacks are not named. If
    /// it does not end in time, the answer is there for a later look.
    pub(super) fn named(addresses: &[usize]) -> Option<Self> {
        if addresses.is_empty() {
            return None;
        }
        let mut names = NAMES.lock();
        let unknown = match names.of(addresses) {
            Ok(frames) => return Self::of(&frames, &names.runtime),
            Err(unknown) => unknown,
        };
        if mem::replace(&mut names.is_naming, true) {
            return None;
        }
        drop(names);
        let (tell, told) = mpsc::channel::<()>();
        let naming = move || {
            let end = NamingEnds;
            look_up(unknown);
            drop(end);
            drop(tell);
        };
        if thread::Builder::new().name("liten-names".to_owned()).spawn(naming).is_err() {
            drop(NamingEnds);
        }
        // Until it is dropped.
        _ = told.recv_timeout(PATIENCE);
        let mut names = NAMES.lock();
        let frames = names.of(addresses).ok()?;
        Self::of(&frames, &names.runtime)
    }

    /// The innermost frame comes first. `runtime`: the folders of this crate's sources.
    fn of(frames: &[Frame], runtime: &[String]) -> Option<Self> {
        let owner = |frame: &Frame| frame.owner_of(runtime);
        let is_others = |frame: &Frame| owner(frame) != Owner::System;
        let outermost = frames.iter().rev().find(|frame| is_others(frame))?.root();
        let is_programs = |frame: &Frame| match owner(frame) {
            Owner::Program => true,
            Owner::Unknown => frame.root() == outermost,
            Owner::System | Owner::Library => false,
        };
        // A task may be a library's from the outermost function on, such as a connection.
        let at =
            frames.iter().position(is_programs).or_else(|| frames.iter().position(is_others))?;
        let frame = &frames[at];
        let callee = at.checked_sub(1).map(|callee| &frames[callee]);
        let callee = callee.filter(|callee| callee.is_named());
        let callee = callee.map(|callee| public_name(callee.short()).to_owned());
        Some(Self {
            callee,
            function: frame.short().to_owned(),
            file: frame.short_file().map(str::to_owned),
            line: frame.line(),
        })
    }
}

/// Looks names up, and keeps them.
fn look_up(addresses: Vec<usize>) {
    with_one_free(|| {
        let symbols = Symbols::load();
        let runtime = symbols.runtime();
        for address in addresses {
            let frames = symbols.named(&[address]);
            NAMES.lock().keep(address, frames);
        }
        NAMES.lock().runtime = runtime;
    });
}

/// The name by which programs call it: `read` of `__GI___libc_read`.
fn public_name(function: &str) -> &str {
    let name = function.strip_prefix("__GI_").unwrap_or(function);
    name.strip_prefix("__libc_").unwrap_or(name)
}

/// Lets the next stack be named, also after a panic.
struct NamingEnds;

impl Drop for NamingEnds {
    fn drop(&mut self) {
        NAMES.lock().is_naming = false;
    }
}

impl fmt::Display for BlockedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(callee) = &self.callee {
            write!(f, "{} in ", short(callee))?;
        }
        self.fmt_function(f)
    }
}

impl BlockedCall {
    fn fmt_function(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", short(&self.function))?;
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, " at {}:{line}", end(file)),
            _ => Ok(()),
        }
    }
}

/// A call of a thread that computes: the function of the program comes first.
struct Seen<'a>(&'a BlockedCall);

impl fmt::Display for Seen<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(call) = self;
        call.fmt_function(f)?;
        match &call.callee {
            Some(callee) => write!(f, ", which calls {}", short(callee)),
            None => Ok(()),
        }
    }
}

/// What a thread does, as the system says it, and the function of the program in which it does so.
pub(super) struct Doing<'a>(pub(super) &'a ThreadActivity, pub(super) Option<&'a BlockedCall>);

impl fmt::Display for Doing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(activity, call) = self;
        activity.fmt(f)?;
        match (activity, call) {
            (_, None) => Ok(()),
            (ThreadActivity::Calls(_), Some(call)) => write!(f, ", called by {call}"),
            // It may be in another function at another moment.
            (_, Some(call)) => write!(f, ", seen in {}", Seen(call)),
        }
    }
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::{BlockedCall, Frame};

    fn said(frames: &[(&str, &str)]) -> Option<String> {
        let frame = |&(function, place): &(&str, &str)| {
            let (file, line) = place.rsplit_once(':').unzip();
            Frame::new(function, file, line.map(|line| line.parse().unwrap()))
        };
        let frames: Vec<_> = frames.iter().map(frame).collect();
        BlockedCall::of(&frames, &["/x/liten/src/".to_owned()]).map(|call| call.to_string())
    }

    const POLL: (&str, &str) =
        ("liten::engine::task::cell::poll", "/x/liten/src/engine/task/cell.rs:4");

    #[test]
    fn a_call_of_std_is_told_with_the_function_of_the_program() {
        let lock = (
            "std::sync::poison::mutex::Mutex<T>::lock",
            "/rustc/5/library/std/src/sync/mutex.rs:1",
        );
        let frames = [
            ("syscall", ""),
            (
                "std::sys::sync::mutex::futex::Mutex::lock_contended",
                "/rustc/5/library/std/src/futex.rs:1",
            ),
            lock,
            ("app::audit::write", "./src/audit.rs:31"),
            ("app::run::{{closure}}", "./src/main.rs:7"),
            (
                "<core::pin::Pin<P> as core::future::future::Future>::poll",
                "/rustc/5/core/src/future.rs:1",
            ),
            POLL,
        ];
        let expected =
            "std::sync::poison::mutex::Mutex<T>::lock in app::audit::write at src/audit.rs:31";
        assert_eq!(said(&frames).as_deref(), Some(expected));
        // Without line tables.
        let bare = frames.map(|(function, _)| (function, ""));
        let expected = "std::sync::poison::mutex::Mutex<T>::lock in app::audit::write";
        assert_eq!(said(&bare).as_deref(), Some(expected));
    }

    #[test]
    fn a_library_between_is_told_as_what_was_called() {
        let frames = [
            ("syscall", ""),
            (
                "rayon_core::latch::LockLatch::wait",
                "/home/a/.cargo/registry/src/x/rayon-core-1/src/latch.rs:9",
            ),
            (
                "rayon_core::ThreadPool::install",
                "/home/a/.cargo/registry/src/x/rayon-core-1/src/lib.rs:3",
            ),
            ("app::sums::{{closure}}", "./src/sums.rs:12"),
            POLL,
        ];
        assert_eq!(
            said(&frames).as_deref(),
            Some("rayon_core::ThreadPool::install in app::sums at src/sums.rs:12")
        );
        // Without line tables the crate of the outermost function is taken for the program.
        let bare = frames.map(|(function, _)| (function, ""));
        assert_eq!(said(&bare).as_deref(), Some("rayon_core::ThreadPool::install in app::sums"));
        let of_library = [frames[0], frames[1], POLL];
        let expected =
            "syscall in rayon_core::latch::LockLatch::wait at rayon-core-1/src/latch.rs:9";
        assert_eq!(said(&of_library).as_deref(), Some(expected));
    }

    /// With line tables alone.
    #[test]
    fn functions_without_a_path_are_told_apart_by_their_files() {
        let frames = [
            ("syscall", ""),
            (
                "lock<std::fs::File>",
                "/home/a/.rustup/lib/rustlib/src/rust/library/std/src/mutex.rs:492",
            ),
            ("handle", "./src/audit_log.rs:31"),
            ("{async_block#0}", "./src/audit_log.rs:14"),
            ("poll<app::{async_block_env#0}>", "/x/liten/src/engine/task/cell.rs:4"),
        ];
        let expected = "lock in handle at src/audit_log.rs:31";
        assert_eq!(said(&frames).as_deref(), Some(expected));
    }

    #[test]
    fn what_a_function_without_a_name_has_called_is_not_told_of_its_caller() {
        let frames = [("fsync", ""), ("", ""), ("app::open", "./src/open.rs:3"), POLL];
        assert_eq!(said(&frames).as_deref(), Some("app::open at src/open.rs:3"));
    }

    #[test]
    fn a_stack_without_a_function_of_a_program_says_nothing() {
        assert_eq!(said(&[("read", ""), POLL]), None);
        assert_eq!(said(&[]), None);
    }
}
