//! The files of a thread under `/proc/self/task`.

use super::judgement::{ThreadActivity, ThreadUse, judge};
use super::system_call;
use crate::engine::sync_shim::clock;
use crate::observe::spare_descriptors::{read_file, read_to_string};
use std::fs;
use std::io::{Read, Write};
use std::str;
use std::time::{Duration, Instant};

/// Where the system tells it: here, but for tests.
const PROC: &str = "/proc";

fn read(proc: &str, thread: u32, file: &str) -> Option<String> {
    read_to_string(format!("{proc}/self/task/{thread}/{file}")).ok()
}

/// What the thread does. `before`: what it had used some time ago, if that is known.
pub(crate) fn look(thread: u32, before: Option<ThreadUse>) -> ThreadActivity {
    look_in(PROC, thread, before)
}

fn look_in(proc: &str, thread: u32, before: Option<ThreadUse>) -> ThreadActivity {
    let call = read(proc, thread, "syscall");
    // Only asked for where the other file says nothing.
    let state = match &call {
        Some(call) if !call.trim_ascii().is_empty() => None,
        _ => read(proc, thread, "stat").as_deref().and_then(state),
    };
    let runs = || {
        let both = before.zip(used_in(proc, thread));
        both.map_or(ThreadActivity::Runs, |(before, now)| now.mostly_since(before))
    };
    judge(call.as_deref(), state, runs, system_call::name, |descriptor| {
        let target = fs::read_link(format!("{proc}/self/fd/{descriptor}")).ok()?;
        Some(target.display().to_string())
    })
}

/// What the thread has used since it began. Without an allocation: the driver thread asks for it where the
/// program may have stopped to allocate.
pub(crate) fn used(thread: u32) -> Option<ThreadUse> {
    used_in(PROC, thread)
}

fn used_in(proc: &str, thread: u32) -> Option<ThreadUse> {
    let (mut path, mut content) = ([0; 128], [0; 128]);
    let mut writer = &mut path[..];
    write!(writer, "{proc}/self/task/{thread}/schedstat").ok()?;
    let left = writer.len();
    let length = path.len() - left;
    let path = str::from_utf8(&path[..length]).ok()?;
    let length = read_file(path, |file| file.read(&mut content)).ok()?;
    parse_use(str::from_utf8(&content[..length]).ok()?, clock::now())
}

/// What the calling thread has used of a processor since it began.
pub(crate) fn time_of_this_thread() -> Option<Duration> {
    time_of_this_thread_in(PROC)
}

fn time_of_this_thread_in(proc: &str) -> Option<Duration> {
    let text = read_to_string(format!("{proc}/thread-self/schedstat")).ok()?;
    parse_use(&text, clock::now()).map(|used| used.processor)
}

fn parse_use(schedstat: &str, at: Instant) -> Option<ThreadUse> {
    let mut words = schedstat.split_ascii_whitespace();
    let mut next = || words.next()?.parse().ok().map(Duration::from_nanos);
    let (processor, queue) = (next()?, next()?);
    // Every thread has run: a system that says otherwise does not count.
    (!processor.is_zero()).then_some(ThreadUse { at, processor, queue })
}

/// The letter behind the name, which may have any character in it.
fn state(stat: &str) -> Option<char> {
    stat.rsplit_once(") ")?.1.chars().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_thread_grows() {
        let Some(before) = time_of_this_thread() else { return };
        while time_of_this_thread() == Some(before) {
            std::hint::spin_loop();
        }
        assert!(time_of_this_thread().unwrap() > before);
    }

    #[test]
    fn files_are_read_as_the_kernel_writes_them() {
        assert_eq!(state("812 (a) b) (c) S 1 812"), Some('S'));
        assert_eq!(state("812"), None);
        let (at, ns) = (Instant::now(), Duration::from_nanos);
        let used = ThreadUse { at, processor: ns(7), queue: ns(8) };
        assert_eq!(parse_use("7 8 9\n", at), Some(used));
        assert_eq!(parse_use("7", at), None);
        assert_eq!(parse_use("x y z", at), None);
        assert_eq!(parse_use("0 0 0\n", at), None, "the system does not count");
    }

    /// No such file; a folder in the place of each; files with nothing, and with something else, in them.
    #[test]
    fn where_the_files_cannot_be_read_the_answer_is_that_nothing_is_known() {
        let folder = std::env::temp_dir().join(format!("liten-proc-{}", std::process::id()));
        let thread = 17;
        let files = ["syscall", "stat", "schedstat"].map(|file| format!("self/task/17/{file}"));
        let of_this_thread = "thread-self/schedstat".to_owned();
        for content in [None, Some(""), Some("\n"), Some("\0 what (is) this")] {
            for file in files.iter().chain([&of_this_thread]).map(|file| folder.join(file)) {
                match content {
                    None => fs::create_dir_all(&file).unwrap(),
                    Some(content) => fs::write(&file, content).unwrap(),
                }
            }
            for proc in [folder.to_str().unwrap(), "/there/is/no/such/folder", ""] {
                let before = ThreadUse {
                    at: Instant::now(),
                    processor: Duration::ZERO,
                    queue: Duration::ZERO,
                };
                let found = look_in(proc, thread, Some(before));
                assert_eq!(found, ThreadActivity::Unknown, "{content:?}");
                assert_eq!(found.to_string(), "what its thread does is not known");
                assert_eq!(used_in(proc, thread), None);
                assert_eq!(time_of_this_thread_in(proc), None);
            }
            fs::remove_dir_all(&folder).unwrap();
            fs::create_dir_all(folder.join("self/task/17")).unwrap();
            fs::create_dir_all(folder.join("thread-self")).unwrap();
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn of_a_thread_that_there_is_not_nothing_is_known() {
        assert_eq!(look(u32::MAX, None), ThreadActivity::Unknown);
        assert_eq!(super::used(u32::MAX), None);
    }
}
