//! What a thread does, judged by what the system says of it. Pure.

use std::fmt;
use std::time::Duration;

/// What a thread does, as the operating system sees it. Known on Linux.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ThreadActivity {
    /// It is on a processor, or ready to be; it is not known since when.
    Runs,
    /// It has been on a processor for most of the time.
    Computes,
    /// It is ready to run, and has waited for a processor for most of the time: other threads, of this
    /// process or of others, have them.
    WaitsForProcessor,
    /// It is in a system call.
    Calls(SystemCall),
    /// It waits in the kernel, but not in a system call that is known: mostly for memory that comes from a
    /// file.
    Sleeps,
    /// The system does not say.
    Unknown,
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
            Self::Unknown => f.write_str("the system does not say what it does"),
        }
    }
}

impl fmt::Display for SystemCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name {
            // Locks of std and of other crates, and condition variables.
            Some("futex") => f.write_str("futex (a lock or a condition)")?,
            Some(name) => f.write_str(name)?,
            None => write!(f, "system call {}", self.number)?,
        }
        match &self.file {
            Some((descriptor, Some(file))) => {
                // A name of a file may have any characters, and the text is for terminals.
                write!(f, "(fd {descriptor} → {})", file.escape_debug())
            }
            Some((descriptor, None)) => write!(f, "(fd {descriptor})"),
            None => Ok(()),
        }
    }
}

/// How long a thread has been on a processor, and how long it has waited for one, since it began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::runtime) struct ThreadUse {
    pub(in crate::runtime) processor: Duration,
    pub(in crate::runtime) queue: Duration,
}

/// What a thread has used during a time of which the end is now.
#[derive(Debug, Clone, Copy)]
pub(in crate::runtime) struct Span {
    pub(in crate::runtime) used: ThreadUse,
    pub(in crate::runtime) time: Duration,
}

impl Span {
    /// The system counts the time on a processor some hundred times a second. A thread that has waited since
    /// the last count has not been counted as waiting either: so little of both also means that it waits.
    fn waits(self) -> bool {
        self.used.queue > self.used.processor || self.used.processor < self.time / 10
    }
}

/// What the files of a thread say.
///
/// `call`: the content of `syscall`, if it could be read; `state`: the letter in `stat`; `span`: what the
/// thread has used lately, if that is known. `name` and `file` find the name of a system call, with whether
/// its first argument is a descriptor, and what a descriptor refers to.
pub(super) fn judge(
    call: Option<&str>,
    state: Option<char>,
    span: Option<Span>,
    name: impl Fn(u64) -> Option<(&'static str, bool)>,
    file: impl Fn(u32) -> Option<String>,
) -> ThreadActivity {
    let runs = || match span {
        None => ThreadActivity::Runs,
        Some(span) if span.waits() => ThreadActivity::WaitsForProcessor,
        Some(_) => ThreadActivity::Computes,
    };
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
                // As the kernel takes it: the lower half of the register.
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

    fn said(call: Option<&str>, state: Option<char>, span: Option<[u32; 3]>) -> String {
        let span = span.map(|[processor, queue, time]| Span {
            used: ThreadUse { processor: processor * MS, queue: queue * MS },
            time: time * MS,
        });
        let name = |number| match number {
            0 => Some(("read", true)),
            202 => Some(("futex", false)),
            _ => None,
        };
        let file = |descriptor| (descriptor == 9).then(|| "/data/x".to_owned());
        judge(call, state, span, name, file).to_string()
    }

    #[test]
    fn what_a_thread_does_follows_from_its_files() {
        let rows = [
            (
                Some("0 0x9 0x7ffe 0x10 0x0 0x0 0x0 0x7ffe 0x7f12"),
                'S',
                None,
                "in read(fd 9 → /data/x)",
            ),
            (Some("0 0xffffffff00000009 0x7ffe"), 'S', None, "in read(fd 9 → /data/x)"),
            (Some("0 0x4 0x7ffe 0x10"), 'S', None, "in read(fd 4)"),
            (Some("0 what"), 'S', None, "in read"),
            (Some("0"), 'S', None, "in read"),
            (Some("202 0x9 0x80"), 'S', None, "in futex (a lock or a condition)"),
            (Some("999 0x9"), 'S', None, "in system call 999"),
            (Some("running\n"), 'R', None, "runs"),
            (Some("running\n"), 'R', Some([45, 3, 50]), "computes"),
            (Some("running\n"), 'R', Some([15, 33, 50]), "waits for a processor"),
            // It waits since before the last count.
            (Some("running\n"), 'R', Some([0, 0, 50]), "waits for a processor"),
            // It waited in a call before: most of the time it did neither.
            (Some("running\n"), 'R', Some([8, 1, 50]), "computes"),
            (Some("-1 0x7ffe 0x7f12"), 'D', None, "waits in the kernel"),
            (None, 'D', None, "waits in the kernel"),
            (None, 'R', Some([45, 3, 50]), "computes"),
            (None, 'Z', None, "the system does not say what it does"),
            (Some("in a form of later days"), 'S', None, "the system does not say what it does"),
        ];
        for (call, state, span, expected) in rows {
            assert_eq!(said(call, Some(state), span), expected, "{call:?} {state} {span:?}");
        }
        assert_eq!(said(None, None, None), "the system does not say what it does");
    }
}
