//! Shows a program on [`liten`] in [tokio-console](https://github.com/tokio-rs/console), by that tool's own
//! protocol.
//!
//! ```
//! # fn main() -> std::io::Result<()> { liten::block_on(async {
//! // 6669 is the port that `tokio-console` asks for by itself; 0 takes a free one.
//! let console = liten_console::serve("127.0.0.1:0")?;
//! println!("tokio-console http://{}", console.local_addr());
//! // The program; the console is there for as long as the value lives.
//! # Ok(())
//! # }) }
//! ```
//!
//! The program needs no flags and no `tracing`. While no client is connected, the server's thread sleeps and
//! nothing is recorded. With a client the runtime is recorded, which costs each poll two readings of the clock
//! (see [`Handle::record`]). Other recordings of the runtime, such as those of insight's page, may go on
//! beside it.
//!
//! # What is shown
//!
//! | in the console | what it is |
//! |---|---|
//! | tasks | those that [`Handle::tasks`] lists, and those that the recording has met; 10,000 at the most |
//! | name, size, type | as [`TaskInfo`] has them; those of tasks that had not waited when they were shown first are not known |
//! | total, created at | since the spawn; of tasks that are older than the recording, since its begin |
//! | polls, busy, scheduled | what was recorded. An older task that has waited has one poll more, which is known of it |
//! | wakes | those that made the task ready, and one for each yield; not those of a task that was ready |
//! | self-wakes | 0: it is not known which thread has called the waker |
//! | wakers | one, or none if the task is proven to be stuck ([`TaskInfo::is_stuck`]). So the warning "lost its waker" is a proof |
//! | histograms | of the task since the recording began; each time within 7 % |
//! | resources, async ops | nothing |
//!
//! Tasks of runtimes without workers, and pinned ones, are listed without polls. Events that were lost, and
//! those of tasks that have no room, are in the console's count of dropped events.
//!
//! # Access
//!
//! The protocol knows no secret: every program on the machine may connect, and see names, places and types, but
//! nothing of the memory of the tasks. The address must be on this machine, unless [`Builder::allow_remote`] is
//! called. The server speaks HTTP/2 without TLS and nothing else, which no browser does, so the scripts of
//! sites cannot ask it. A client can pause the console, and change nothing in the program.
//!
//! [`Handle::record`]: liten::runtime::Handle::record
//! [`Handle::tasks`]: liten::runtime::Handle::tasks
//! [`TaskInfo`]: liten::insight::TaskInfo
//! [`TaskInfo::is_stuck`]: liten::insight::TaskInfo::is_stuck

#![forbid(unsafe_code)]

mod durations;
mod follower;
mod hub;
mod listener;
mod observed;
mod pace;
mod server;
mod service;
mod task;
mod tasks;
mod wall_clock;

pub use server::{Builder, Server, serve};

/// The README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
