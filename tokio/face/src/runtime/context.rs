//! Which runtime the calling thread is in.

use super::{disabled, Handle};
use crate::util::error::CONTEXT_MISSING_ERROR;
use crate::LITEN;

/// Panics at the caller if the thread is in no runtime.
#[track_caller]
#[inline]
pub(crate) fn assert_inside() {
    if !liten::runtime::is_inside() {
        outside();
    }
}

#[track_caller]
#[cold]
pub(crate) fn outside() -> ! {
    panic!("{CONTEXT_MISSING_ERROR} ({LITEN})")
}

/// Panics at the caller if the thread is in no runtime, or in one without I/O.
#[track_caller]
pub(crate) fn assert_io() {
    disabled::assert_io(&Handle::current());
}

/// Panics at the caller if the thread is in no runtime, or in one without timers.
#[track_caller]
#[inline]
pub(crate) fn assert_timers() {
    assert_inside();
    disabled::assert_timers();
}

/// Panics at the caller if the runtime of `handle` was built without I/O.
#[track_caller]
pub(crate) fn assert_io_of(handle: &Handle) {
    disabled::assert_io(handle);
}

/// Panics at the caller if the thread runs async code, which would stand still.
#[track_caller]
pub(crate) fn assert_may_block() {
    if !liten::task::may_block() {
        panic!(
            "Cannot start a runtime from within a runtime. This happens because a function (like `block_on`) \
             attempted to block the current thread while the thread is being used to drive asynchronous \
             tasks. If you are in an async function, use `.await` on the future instead of blocking on it. \
             ({LITEN})"
        );
    }
}

/// Returns a random number below `n`.
pub(crate) fn thread_rng_n(n: u32) -> u32 {
    #[cfg(all(tokio_unstable, feature = "rt"))]
    if let Some(number) = super::unstable::below(n) {
        return number;
    }
    liten::combinators::start_branch(n as usize) as u32
}

cfg_taskdump! {
    use super::task::trace;

    thread_local! {
        static TRACE: trace::Context = const { trace::Context::new() };
    }

    /// Calls `f` with what this thread knows of traces, unless the thread is ending.
    ///
    /// # Safety
    ///
    /// `f` leaves the frames in it a list of frames that are there.
    pub(crate) unsafe fn with_trace<R>(f: impl FnOnce(&trace::Context) -> R) -> Option<R> {
        TRACE.try_with(f).ok()
    }
}
