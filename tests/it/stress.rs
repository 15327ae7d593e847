//! Very many, and everything at once.

mod everything_at_once;
#[cfg(target_os = "linux")]
mod million_tasks;
mod random_calls;
#[cfg(target_os = "linux")]
mod slow_clients;
mod wake_storm;
