//! What a running program does: its tasks, from where they come, and what they wait for.
//!
//! The observer pays, not the observed: everything here is read from the outside, out of what the runtime
//! notes anyway. So it costs a program nothing while it is not asked for, and it can be asked for at any time,
//! by any thread that has a [`Handle`](crate::runtime::Handle), also while every worker is blocked.
//!
//! * [`Handle::tasks`](crate::runtime::Handle::tasks): all live tasks, one after the other.

mod task_info;
mod tasks;

pub use task_info::{TaskInfo, TaskState};
pub use tasks::Tasks;
