//! Runtimes: how they are made, run, watched and resized, how they end, and what is refused.

mod block_on;
mod completion;
mod current_thread;
#[cfg(target_os = "linux")]
mod filtered_calls;
#[cfg(unix)]
mod fork;
#[cfg(feature = "hyper")]
mod histograms;
mod metrics;
mod names_and_hooks;
mod resize;
mod shutdown;
mod shutdown_of_stuck_workers;
mod shutdown_report;
#[cfg(target_os = "linux")]
pub(crate) mod system_limits;
mod unusual_ends;
mod wrong_use;
