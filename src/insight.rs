//! What a running program does: its tasks, from where they come, what holds up its workers.
//!
//! * [`Handle::dump`]: a picture of a runtime, which begins with sentences that say what is wrong.
//! * [`Handle::tasks`]: all live tasks, one after the other.
//! * [`Builder::on_slow_poll`]: what to call when one poll holds up its worker.
//!
//! The observer pays, and not the observed: what is shown here is read from the outside, out of what the
//! runtime notes anyway. So a program that is not looked at pays nothing for it, and it can be looked at at
//! any time, by any thread that has a [`Handle`], also while every worker is blocked.
//!
//! ```
//! use liten::runtime::Builder;
//! use std::sync::mpsc;
//! use std::time::Duration;
//!
//! let runtime = Builder::new_multi_thread().worker_threads(2).build().unwrap();
//! let (release, held) = mpsc::channel::<()>();
//! let task = runtime.spawn(async move { _ = held.recv() });
//! // Such as: worker 0 has been in one poll for 104 ms: task 1, spawned at src/main.rs:7:20, in futex (a
//! // lock or a condition); use spawn_blocking, or yield more often
//! while runtime.handle().dump().findings().is_empty() {
//!     std::thread::sleep(Duration::from_millis(10));
//! }
//! println!("{}", runtime.handle().dump());
//! drop(release);
//! ```
//!
//! What is shown are ids, names, places in the source, names of types, and the files that blocked threads are
//! in: no arguments, and nothing of the memory of the tasks.
//!
//! [`Builder::on_slow_poll`]: crate::runtime::Builder::on_slow_poll
//! [`Handle`]: crate::runtime::Handle
//! [`Handle::dump`]: crate::runtime::Handle::dump
//! [`Handle::tasks`]: crate::runtime::Handle::tasks

mod dump;
mod finding;
mod json;
mod pool_info;
mod prometheus;
mod report;
mod server;
mod shown;
mod task_group;
mod task_info;
mod tasks;
mod text;
pub(crate) mod variable;
mod worker_info;

pub use dump::Dump;
pub use finding::Finding;
pub use pool_info::{JobInfo, PoolInfo};
pub use server::{Builder, Server, serve};
pub use task_group::TaskGroup;
pub use task_info::{TaskInfo, TaskState};
pub use tasks::Tasks;
pub use worker_info::{WorkerInfo, WorkerState};
