#![doc = include_str!("../README.md")]
#![deny(missing_docs)]
#![cfg(target_os = "linux")]

mod asleep;
mod baton;
mod check;
mod choices;
mod interpose;
mod network;
mod objects;
mod place;
mod preempt;
mod program;
mod properties;
mod real;
mod run;
mod runner;
mod scenario;
mod world;

pub use check::{Check, check};
pub use preempt::Preempt;
#[doc(hidden)]
pub use program::run_program;
pub use properties::is_running;
#[doc(hidden)]
pub use properties::{fail, note_sometimes};
pub use scenario::Sim;
