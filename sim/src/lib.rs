#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
compile_error!(
    "liten-sim stands in for functions of glibc: name it for Linux alone, as its README shows"
);

mod asleep;
mod baton;
mod check;
mod choices;
#[cfg(feature = "history")]
mod history;
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
mod timeline;
mod world;

pub use check::{Check, check};
#[cfg(feature = "history")]
pub use history::{History, Model, NotLinearizable, Pending};
pub use preempt::Preempt;
#[doc(hidden)]
pub use program::run_program;
pub use properties::is_running;
#[doc(hidden)]
pub use properties::{fail, function_of, misbehaves, note_sometimes};
pub use scenario::Sim;
