//! What can be seen of a running program: all live tasks, each once, with what is known of them; and which of
//! them holds up its worker, and by what.

#[cfg(target_os = "linux")]
mod activity;
mod await_trees;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod blocked_calls;
mod cold;
mod culprits;
mod deadlock_graphs;
mod deadlocks;
mod dumps;
mod flight_recorder;
#[cfg(unix)]
mod flight_signals;
mod latencies;
mod live;
mod neglected;
mod notable;
mod page;
mod page_variable;
mod queues;
mod requests;
mod slow_polls;
#[cfg(target_os = "linux")]
mod sockets;
mod stuck;
mod tasks;
mod traces;
mod waits;
