//! Programs under simulation: what they see of threads, time, descriptors and the network.

mod bad_input;
mod buggify;
mod carrier;
mod clocks;
mod descriptors;
mod faults;
mod fifos;
mod history;
mod invariants;
mod machine;
mod reports;
mod runtimes;
mod signals;
mod sockets;
mod threads;
