//! The files of a thread under `/proc/self/task`.

use super::judgement::{ThreadActivity, ThreadUse, judge};
use super::system_call;
use crate::engine::sync_shim::clock;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::str;
use std::time::{Duration, Instant};

fn read(thread: u32, file: &str) -> Option<String> {
    fs::read_to_string(format!("/proc/self/task/{thread}/{file}")).ok()
}

/// What the thread does. `before`: what it had used some time ago, if that is known.
pub(in crate::runtime) fn look(thread: u32, before: Option<ThreadUse>) -> ThreadActivity {
    let call = read(thread, "syscall");
    // Only asked for where the other file says nothing.
    let state = match &call {
        Some(call) if !call.trim_ascii().is_empty() => None,
        _ => read(thread, "stat").as_deref().and_then(state),
    };
    let runs = || {
        let both = before.zip(used(thread));
        both.map_or(ThreadActivity::Runs, |(before, now)| now.mostly_since(before))
    };
    judge(call.as_deref(), state, runs, system_call::name, |descriptor| {
        let target = fs::read_link(format!("/proc/self/fd/{descriptor}")).ok()?;
        Some(target.display().to_string())
    })
}

/// What the thread has used since it began. Without an allocation: the driver thread asks for it where the
/// program may have stopped to allocate.
pub(in crate::runtime) fn used(thread: u32) -> Option<ThreadUse> {
    let (mut path, mut content) = ([0; 64], [0; 128]);
    let mut writer = &mut path[..];
    write!(writer, "/proc/self/task/{thread}/schedstat").ok()?;
    let left = writer.len();
    let length = path.len() - left;
    let path = str::from_utf8(&path[..length]).ok()?;
    let length = File::open(path).ok()?.read(&mut content).ok()?;
    parse_use(str::from_utf8(&content[..length]).ok()?, clock::now())
}

/// What the calling thread has used of a processor since it began.
pub(crate) fn time_of_this_thread() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
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

    #[test]
    fn of_a_thread_that_there_is_not_nothing_is_known() {
        assert_eq!(look(u32::MAX, None), ThreadActivity::Unknown);
        assert_eq!(super::used(u32::MAX), None);
    }
}
