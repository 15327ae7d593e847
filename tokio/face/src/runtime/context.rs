//! Which runtime the calling thread is in.

use super::Handle;
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

/// Returns a random number below `n`.
pub(crate) fn thread_rng_n(n: u32) -> u32 {
    liten::combinators::start_branch(n as usize) as u32
}
