//! What a thread does, on systems that do not tell it: nothing is known.

use super::judgement::{ThreadActivity, ThreadUse};
use std::time::Duration;

pub(crate) fn look(_: u32, _: Option<ThreadUse>) -> ThreadActivity {
    ThreadActivity::Unknown
}

pub(crate) fn used(_: u32) -> Option<ThreadUse> {
    None
}

pub(crate) fn time_of_this_thread() -> Option<Duration> {
    None
}
