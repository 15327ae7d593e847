//! Which task runs when, and on which thread: fairness, stealing, spare workers, sleep.

mod classes;
mod computing_tasks;
mod fairness;
mod fairness_bound;
#[cfg(target_os = "linux")]
pub(crate) mod idle;
mod order;
pub(crate) mod spare_workers;
mod stack_frames;
pub(crate) mod steal;
#[cfg(target_os = "linux")]
mod system_calls;
mod thread_lifetime;
mod yielding;
