//! A multithreaded work-stealing async runtime, small enough to read in an evening.
//!
//! ```
//! #[liten::main]
//! async fn main() {
//!     let task = liten::spawn(async { 6 * 7 });
//!     assert_eq!(task.await.unwrap(), 42);
//! }
//! ```
//!
//! # A tour
//!
//! * [`#[liten::main]`](macro@main), [`block_on`] and [`runtime`]: making a runtime and running a future
//!   in it.
//! * [`spawn`], [`spawn_blocking`] and [`task`]: tasks, their handles, sets of tasks, task locals, tasks on
//!   one thread, tasks that borrow, cancellation.
//! * [`net`]: TCP, UDP and Unix sockets; [`io`]: any other pollable source, and the I/O extension methods.
//! * [`time`]: sleeping, deadlines, intervals.
//! * `process`: child processes; `signal`: ctrl-c and signals.
//! * [`sync`] and [`future`]: locks, channels, `join!` and `select!`, re-exported from crates that work on
//!   any runtime.
//! * `fs`, `process`, `signal` and `hyper`, with the features of those names: files, child processes,
//!   signals, and what hyper asks of a runtime.
//! * [`guide`]: which of all this to take for what, page by page.
//!
//! Names and semantics are tokio's where the thing is the same.
//!
//! # How it works
//!
//! One worker per CPU, each with a FIFO deque; idle workers steal. A task is *hot* (in one queue, or
//! running) or *cold* (waiting; only its wakers know it). An idle worker sits in the I/O driver's seat
//! and runs what its events wake without a change of thread; a driver thread watches and takes over when
//! all workers are busy. The modules below stand in reading order; their headers hold the protocols and
//! the proofs.
//!
//! # Cancel safety
//!
//! A future may be dropped at any await, for instance by `select!`. Each asynchronous method says under
//! "Cancel safety" what that loses.
//!
//! # Features
//!
//! Each one adds something and changes nothing else. `full` is all of them but `tokio-context` and `tracing`.
//!
//! * `macros` (default): the attributes [`main`](macro@main) and [`test`](macro@test).
//! * `net` (default): [`net`]; costs the crate socket2.
//! * `futures-io` (default): the I/O traits of futures-io on everything that reads and writes, and the
//!   extension methods and adapters in [`io`].
//! * `tokio-io`: tokio's I/O traits on the same types.
//! * `hyper`: hyper's executor, timer and I/O traits, in `hyper`.
//! * `fs`, `process`, `signal`: the modules of those names.
//! * `tokio-context`: crates that know tokio only run unmodified ([how](runtime#crates-that-need-tokio)).
//! * `process`: child processes; includes `signal`, and costs the crate rustix on Linux.
//! * `signal`: ctrl-c and signals; costs the crate signal-hook-registry.
//! * `tracing`: a warning, through the crate of that name, for each poll that blocks the last free worker.
#![cfg_attr(docsrs, feature(doc_cfg))]
// What only a face uses that is switched off stays in and is dropped by the linker: a condition at each such
// function would have to name every face that may come to use it. The default build has none of them off.
#![cfg_attr(not(all(feature = "net", feature = "futures-io")), allow(dead_code, unused_imports))]

pub mod task;

mod scheduler;

mod park;
mod queue;

mod driver;

mod blocking;

pub mod runtime;

#[cfg(feature = "fs")]
#[cfg_attr(docsrs, doc(cfg(feature = "fs")))]
pub mod fs;
pub mod future;
#[cfg(feature = "hyper")]
#[cfg_attr(docsrs, doc(cfg(feature = "hyper")))]
pub mod hyper;
pub mod io;
#[cfg(feature = "net")]
#[cfg_attr(docsrs, doc(cfg(feature = "net")))]
pub mod net;
#[cfg(feature = "process")]
#[cfg_attr(docsrs, doc(cfg(feature = "process")))]
pub mod process;
#[cfg(feature = "signal")]
#[cfg_attr(docsrs, doc(cfg(feature = "signal")))]
pub mod signal;
pub mod sync;
pub mod time;

pub mod guide;

mod recycler;
mod rng;
mod scoped;
mod slab;
mod sync_shim;
mod wakers;

pub use runtime::block_on::block_on;
pub use task::{spawn, spawn_blocking};

/// Runs an async `main` on a runtime that the attribute builds.
///
/// ```
/// #[liten::main]
/// async fn main() -> std::io::Result<()> {
///     println!("on {:?}", std::thread::current().id());
///     Ok(())
/// }
/// ```
///
/// All on one thread, where tasks may be `!Send`:
///
/// ```
/// #[liten::main(flavor = "current_thread")]
/// async fn main() {
///     let greeting = std::rc::Rc::new("hello");
///     let task = liten::task::spawn_local(async move { println!("{greeting}") });
///     task.await.expect("the task ends");
/// }
/// ```
///
/// Any other async function becomes a blocking one, arguments included:
///
/// ```
/// #[liten::main(worker_threads = 2, name = "sum")]
/// async fn sum(numbers: &[u64]) -> u64 {
///     numbers.iter().sum()
/// }
///
/// assert_eq!(sum(&[1, 2, 3]), 6);
/// ```
///
/// A crate that depends on liten under another name, or hands it on, says where it is:
///
/// ```
/// use liten as engine;
///
/// #[engine::main(crate = "engine")]
/// async fn main() {}
/// ```
#[cfg(feature = "macros")]
#[cfg_attr(docsrs, doc(cfg(feature = "macros")))]
#[doc(inline)]
pub use liten_macros::main;

/// Runs an async test on a runtime of its own.
///
/// ```no_run
/// #[liten::test]
/// async fn adds_up() {
///     assert_eq!(liten::task::spawn_local(async { 1 + 1 }).await.expect("the task ends"), 2);
/// }
///
/// #[liten::test(flavor = "multi_thread", worker_threads = 2)]
/// async fn parses() -> Result<(), std::num::ParseIntError> {
///     let number: u8 = liten::spawn(async { "7".parse() }).await.expect("the task ends")?;
///     assert_eq!(number, 7);
///     Ok(())
/// }
/// ```
#[cfg(feature = "macros")]
#[cfg_attr(docsrs, doc(cfg(feature = "macros")))]
#[doc(inline)]
pub use liten_macros::test;

#[cfg(all(doctest, feature = "macros"))]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
