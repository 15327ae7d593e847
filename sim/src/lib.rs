//! Runs whole programs under one seed: their threads, their time, their network and its faults.
#![deny(missing_docs)]
#![cfg(target_os = "linux")]

mod baton;
mod check;
mod choices;
mod interpose;
mod network;
mod objects;
mod real;
mod run;
mod runner;
mod scenario;
mod world;

pub use check::{Check, check};
pub use scenario::Sim;
