//! What a thread does, as the system sees it.
//!
//! On Linux every process may read this of its own threads, in `/proc/self/task`: no signal, no privilege and
//! no stop of the thread, some microseconds per file. A file that is missing, or that has another form than
//! expected, is no error: the answer is that nothing is known.

#[cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "nothing is said that could be judged")
)]
mod judgement;
#[cfg_attr(target_os = "linux", path = "thread_activity/linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "thread_activity/elsewhere.rs")]
mod system;
#[cfg(target_os = "linux")]
mod system_call;

pub(crate) use judgement::ThreadUse;
pub use judgement::{SystemCall, ThreadActivity};
pub(crate) use system::time_of_this_thread;
pub(crate) use system::{look, used};
