//! What a thread does, judged by what the system says of it. Pure.

use crate::short::short;
use std::fmt;
use std::time::{Duration, Instant};

/// What a thread does, as the operating system sees it. Known on Linux.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ThreadActivity {
    /// It is on a processor, or ready to be. No more is known: it was watched for less than 40 ms, did
    /// neither of the next two for most of the time, or the system does not count.
    Runs,
    /// It runs, and has been on a processor for at least half of the time that it was watched.
    Computes,
    /// It is ready to run, and has waited for a processor for at least half of the time that it was watched:
    /// other threads, of this process or of others, have them.
    WaitsForProcessor,
    /// It is in a system call.
    Calls(SystemCall),
    /// It waits in the kernel, but not in a system call that is known: mostly for memory that comes from a
    /// file.
    Sleeps,
    /// The system does not say, or the poll was over before it had said so.
    Unknown,
}

impl ThreadActivity {
    /// Whether the thread is perhaps ready to run, and has no processor. The system counts the time for which
    /// it has waited for one only when it has got one. Until then no more is known than that it could run.
    pub(crate) fn may_lack_processor(&self) -> bool {
        matches!(self, Self::Runs | Self::WaitsForProcessor)
    }
}

/// A system call that a thread is in. What it has been given is not read, but for a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemCall {
    number: u64,
    name: Option<&'static str>,
    file: Option<(u32, Option<String>)>,
}

impl SystemCall {
    /// Returns the number by which the system knows the call.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns its name, if it is one of those that threads wait in.
    pub fn name(&self) -> Option<&'static str> {
        self.name
    }

    /// Returns the descriptor that the call is about.
    pub fn descriptor(&self) -> Option<u32> {
        self.file.as_ref().map(|(descriptor, _)| *descriptor)
    }

    /// Returns what the descriptor refers to: the path of a file, or something like `pipe:[4711]`.
    pub fn file(&self) -> Option<&str> {
        self.file.as_ref()?.1.as_deref()
    }
}

impl fmt::Display for ThreadActivity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Runs => f.write_str("runs"),
            Self::Computes => f.write_str("computes"),
            Self::WaitsForProcessor => f.write_str("waits for a processor"),
            Self::Calls(call) => write!(f, "in {call}"),
            Self::Sleeps => f.write_str("waits in the kernel"),
            Self::Unknown => f.write_str("what its thread does is not known"),
        }
    }
}

#[cfg(all(test, feature = "insight"))]
impl SystemCall {
    pub(crate) fn of_name(name: &'static str) -> Self {
        Self { number: 0, name: Some(name), file: None }
    }
}

impl fmt::Display for SystemCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name {
            // Locks of std and of other crates, and condition variables.
            Some("futex") => f.write_str("the system call futex (a lock or a condition)")?,
            // A name alone, such as "poll", may be taken for one of the program's functions.
            Some(name) => write!(f, "the system call {name}")?,
            None => write!(f, "system call {}", self.number)?,
        }
        match &self.file {
            Some((descriptor, Some(file))) => {
                // A name of a file may have any characters, and the text is for terminals.
                write!(f, "(fd {descriptor} → {})", short(file).escape_debug())
            }
            Some((descriptor, None)) => write!(f, "(fd {descriptor})"),
            None => Ok(()),
        }
    }
}

/// How long a thread has been on a processor, and how long it has waited for one, since it began; as of a
/// moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ThreadUse {
    pub(crate) at: Instant,
    pub(crate) processor: Duration,
    pub(crate) queue: Duration,
}

/// The system counts the time on a processor every 1 to 10 ms, and that in the queue when the thread gets a
/// processor. Over a shorter span the figure may still
/// describe the time before.
const SHORTEST_SPAN: Duration = Duration::from_millis(40);

impl ThreadUse {
    /// What the thread, which can run now, has done for most of the time since `before`.
    pub(super) fn mostly_since(self, before: Self) -> ThreadActivity {
        let time = self.at.saturating_duration_since(before.at);
        let is_most = |now: Duration, before| now.saturating_sub(before) >= time / 2;
        if time < SHORTEST_SPAN {
            ThreadActivity::Runs
        } else if is_most(self.processor, before.processor) {
            ThreadActivity::Computes
        } else if is_most(self.queue, before.queue) {
            ThreadActivity::WaitsForProcessor
        } else {
            ThreadActivity::Runs
        }
    }
}

/// What the files of a thread say.
///
/// `call`: the content of `syscall`, if it could be read; `state`: the letter in `stat`; `runs`: says what
/// a thread does that can run. `name` and `file` find the name of a system call, with whether its first
/// argument is a descriptor, and what a descriptor refers to.
pub(super) fn judge(
    call: Option<&str>,
    state: Option<char>,
    runs: impl FnOnce() -> ThreadActivity,
    name: impl Fn(u64) -> Option<(&'static str, bool)>,
    file: impl Fn(u32) -> Option<String>,
) -> ThreadActivity {
    let mut words = call.unwrap_or_default().split_ascii_whitespace();
    match (words.next(), state) {
        (Some("running"), _) | (None, Some('R')) => runs(),
        (Some("-1"), _) | (None, Some('S' | 'D')) => ThreadActivity::Sleeps,
        (Some(number), _) => {
            let Ok(number) = number.parse() else {
                return ThreadActivity::Unknown;
            };
            let known = name(number);
            let first = words.next().and_then(|word| word.strip_prefix("0x"));
            let descriptor = first
                .filter(|_| known.is_some_and(|(_, of_file)| of_file))
                .and_then(|word| u64::from_str_radix(word, 16).ok())
                // The kernel takes the lower half of the register.
                .map(|word| word as u32);
            ThreadActivity::Calls(SystemCall {
                number,
                name: known.map(|(name, _)| name),
                file: descriptor.map(|descriptor| (descriptor, file(descriptor))),
            })
        }
        (None, _) => ThreadActivity::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// For how many milliseconds a thread has been on a processor, and has waited for one, in how many.
    fn mostly([processor, queue, time]: [u32; 3]) -> ThreadActivity {
        let before = ThreadUse { at: Instant::now(), processor: 7 * MS, queue: 9 * MS };
        let now = ThreadUse {
            at: before.at + time * MS,
            processor: before.processor + processor * MS,
            queue: before.queue + queue * MS,
        };
        now.mostly_since(before)
    }

    fn said(call: Option<&str>, state: Option<char>, span: Option<[u32; 3]>) -> String {
        let runs = || span.map_or(ThreadActivity::Runs, mostly);
        let name = |number| match number {
            0 => Some(("read", true)),
            202 => Some(("futex", false)),
            _ => None,
        };
        let file = |descriptor| (descriptor == 9).then(|| "/data/x".to_owned());
        judge(call, state, runs, name, file).to_string()
    }

    #[test]
    fn what_a_thread_does_follows_from_its_files() {
        let rows = [
            (
                Some("0 0x9 0x7ffe 0x10 0x0 0x0 0x0 0x7ffe 0x7f12"),
                'S',
                None,
                "in the system call read(fd 9 → /data/x)",
            ),
            (
                Some("0 0xffffffff00000009 0x7ffe"),
                'S',
                None,
                "in the system call read(fd 9 → /data/x)",
            ),
            (Some("0 0x4 0x7ffe 0x10"), 'S', None, "in the system call read(fd 4)"),
            (Some("0 what"), 'S', None, "in the system call read"),
            (Some("0"), 'S', None, "in the system call read"),
            (Some("202 0x9 0x80"), 'S', None, "in the system call futex (a lock or a condition)"),
            (Some("999 0x9"), 'S', None, "in system call 999"),
            (Some("running\n"), 'R', None, "runs"),
            (Some("running\n"), 'R', Some([45, 3, 50]), "computes"),
            (Some("running\n"), 'R', Some([15, 33, 50]), "waits for a processor"),
            (Some("-1 0x7ffe 0x7f12"), 'D', None, "waits in the kernel"),
            (None, 'D', None, "waits in the kernel"),
            (None, 'R', Some([45, 3, 50]), "computes"),
            (None, 'Z', None, "what its thread does is not known"),
            (Some("in a form of later days"), 'S', None, "what its thread does is not known"),
        ];
        for (call, state, span, expected) in rows {
            assert_eq!(said(call, Some(state), span), expected, "{call:?} {state} {span:?}");
        }
        assert_eq!(said(None, None, None), "what its thread does is not known");
    }

    #[test]
    fn what_a_thread_does_mostly_is_said_only_if_it_is_known() {
        use ThreadActivity::{Computes, Runs, WaitsForProcessor};
        let rows = [
            ([25, 0, 50], Computes),
            ([24, 23, 50], Runs),
            ([24, 25, 50], WaitsForProcessor),
            // It waits since before the last count, or it was in a call until now.
            ([0, 0, 50], Runs),
            ([8, 1, 50], Runs),
            // What the system has counted may be of a time before.
            ([39, 0, 39], Runs),
            ([0, 39, 39], Runs),
            ([40, 0, 40], Computes),
            ([0, 20, 40], WaitsForProcessor),
        ];
        for (span, expected) in rows {
            assert_eq!(mostly(span), expected, "{span:?}");
        }
    }
}
