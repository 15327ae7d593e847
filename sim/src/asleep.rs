//! The other threads of a process, before its run begins.
//!
//! A thread takes memory while it starts or begins to wait. Where that memory lies, and so where
//! the program's own lies, would depend on whether the run had begun already. So the run begins
//! when the others are at rest.
//!
//! That is not enough where threads share memory to allocate from. The first thread and that of the
//! test run at the same time for a while, and what lies free afterwards depends on which of the two
//! was faster. The C library lets threads share when there are more than eight per processor. So
//! each thread of a run gets an arena of its own.

use std::io::Write as _;

use crate::real;

/// The most arenas. More threads than that share; each arena takes 64 MiB of addresses, and memory
/// as it is used.
#[cfg(target_env = "gnu")]
const ARENAS: i32 = 4096;

/// Lets each thread that is created from now on allocate from memory of its own.
#[cfg(target_env = "gnu")]
pub(crate) fn separate() {
    // SAFETY: the call takes numbers.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, ARENAS) };
}

/// Other C libraries know no arenas.
#[cfg(not(target_env = "gnu"))]
pub(crate) fn separate() {}

/// Waits until each of the threads with these numbers sleeps in the kernel.
///
/// It takes no memory itself: how often it looks differs from run to run.
pub(crate) fn wait_for(threads: &[i32]) {
    for number in threads {
        while !is_asleep(*number) {
            // SAFETY: the call takes no arguments.
            unsafe { real::sched_yield() };
        }
    }
}

/// A thread that is not there is at rest, too.
fn is_asleep(number: i32) -> bool {
    let mut path = [0; 64];
    if write!(&mut path[..63], "/proc/self/task/{number}/stat").is_err() {
        return true;
    }
    let mut text = [0_u8; 256];
    // SAFETY: the path ends with a zero byte, and the buffer has its length.
    let length = unsafe {
        let fd = real::open64(path.as_ptr().cast(), libc::O_RDONLY | libc::O_CLOEXEC, 0);
        if fd < 0 {
            return true;
        }
        let length = real::read(fd, text.as_mut_ptr().cast(), text.len());
        real::close(fd);
        length
    };
    let text = &text[..usize::try_from(length).unwrap_or(0)];
    // The state stands behind the name, which is in brackets and may hold any characters.
    let state = text.iter().rposition(|byte| *byte == b')').and_then(|end| text.get(end + 2));
    matches!(state, Some(b'S') | None)
}
