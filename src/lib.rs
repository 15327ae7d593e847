//! A multithreaded work-stealing async runtime, under tokio's names, written to be read.
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
//! * [`select!`], [`join!`], [`try_join!`] and [`pin!`]: several futures in one task; [`future`]: many.
//! * [`sync`]: locks and channels.
//! * `fs`, `process`, `signal` and `hyper`, with the features of those names: files, child processes,
//!   signals, and what hyper asks of a runtime.
//! * `wasi`: the runtime for WASI 0.2 components, with the feature of that name also for ordinary programs.
//! * [`insight`]: the live tasks, the workers that are blocked and by what, and what is wrong; also on a page
//!   that the program serves itself.
//! * [`guide`]: which of all this to take for what, page by page.
//!
//! Names and semantics are tokio's where the thing is the same.
//!
//! # How it works
//!
//! One worker per CPU, each with a FIFO deque; idle workers steal. A task is *hot* (in one queue, or
//! running) or *cold* (waiting; only its wakers know it). An idle worker sits in the I/O driver's seat
//! and runs what its events wake without a change of thread; a driver thread watches and takes over when
//! all workers are busy. The page [`guide::inside`] goes through this with drawings. All this is the engine,
//! which has a map (`src/engine.rs`); the headers of its files hold the protocols and the proofs.
//!
//! # Cancel safety
//!
//! A future may be dropped at any await, for instance by [`select!`]. Each asynchronous method says under
//! "Cancel safety" what that loses.
//!
//! # On wasm
//!
//! For `wasm32-wasip2` this is a runtime on the one thread that a component has. What is not about threads is
//! the same code:
//!
//! | part | what is there | what is not |
//! |---|---|---|
//! | `wasi` | poller, reactor, `block_on` | its `NativeHost` |
//! | attributes | `main`, `test` | `worker_threads` is an error of the compiler |
//! | [`task`] | tasks, sets, trackers, tokens, locals, budget | `Builder`, `scope`, all that blocks |
//! | [`time`] | all of it | |
//! | [`runtime`] | `LocalRuntime`, its `Builder` and `Handle` | `Runtime`, metrics, settings of threads |
//! | `select!` …, [`sync`], [`future`] | all of it | |
//! | `net` | `TcpListener`, `TcpStream`, `UdpSocket`, `lookup_host` | Unix sockets, pipes |
//! | [`io`] | traits and adapters of futures-io, `stdin` … | `Async`, `Fd`, traits of tokio and hyper |
//! | `insight`, `fs`, `process`, `signal`, `hyper` | | all of it |
//!
//! Features that are about what is not there do nothing. [`spawn`] and `spawn_pinned` mean the one thread. A
//! panic in a task does not unwind, unless the component is compiled for that: it ends the program, and no
//! [`JoinError`](task::JoinError) tells of it.
//!
//! # Features
//!
//! Each one adds something and changes nothing else. `full` is all of them but `tokio-context`,
//! `tokio-name` and `tracing`.
//!
//! * `macros` (default): the attributes [`main`](macro@main) and [`test`](macro@test).
//! * `net` (default): [`net`]; costs the crates socket2 and memoffset.
//! * `futures-io` (default): the I/O traits of futures-io on everything that reads and writes, and the
//!   extension methods and adapters in [`io`].
//! * `insight` (default): what a running program does, in [`insight`]; costs a few instructions in some
//!   operations while it is not asked (`benches/README.md` has the table), and the crates httparse and
//!   getrandom.
//! * `tokio-io`: tokio's I/O traits on the same types.
//! * `hyper`: hyper's executor, timer and I/O traits, in `hyper`.
//! * `fs`: the module of that name; costs nothing.
//! * `process`: child processes; includes `signal`, and costs nothing more.
//! * `signal`: ctrl-c and signals; costs the crates signal-hook-registry and errno.
//! * `tokio-context`: crates that know tokio only run unmodified ([how](runtime#crates-that-need-tokio)).
//! * `tokio-name`: for the package named `tokio` (the folder of that name), and no other: the words of panics
//!   are tokio's, or say whose this `tokio` is.
//! * `wasi`: the module of that name, on a host made of a condition variable; on wasm it is always there.
//! * `tracing`: a warning, through the crate of that name, for each poll that blocks its worker while no
//!   other is free, or for long.
#![cfg_attr(docsrs, feature(doc_cfg))]
// Some functions are used only by modules that a feature switches off. They are compiled all the same, and
// the linker drops them: a condition at each of them would have to name every module that may come to use
// it. On wasm the same goes for what only threads use. The default build has these modules on, and keeps the
// lints.
#![cfg_attr(
    any(
        target_family = "wasm",
        not(all(feature = "net", feature = "futures-io", feature = "insight"))
    ),
    allow(dead_code, unused_imports)
)]

#[cfg(all(target_family = "wasm", not(all(target_os = "wasi", target_env = "p2"))))]
compile_error!(
    "of the wasm targets liten knows wasm32-wasip2 only: the others cannot wait for anything"
);

pub mod task;

#[cfg(any(target_family = "wasm", feature = "wasi"))]
mod component;
mod engine;
mod impls;
#[cfg(not(target_family = "wasm"))]
mod limits;
#[cfg(not(target_family = "wasm"))]
mod observe;
mod primitive_kind;
mod short;
#[cfg(not(target_family = "wasm"))]
mod start;

#[cfg_attr(target_family = "wasm", path = "runtime/wasm.rs")]
pub mod runtime;

#[doc(hidden)]
pub mod combinators;
#[cfg(all(feature = "fs", not(target_family = "wasm")))]
#[cfg_attr(docsrs, doc(cfg(feature = "fs")))]
pub mod fs;
pub mod future;
#[cfg(all(feature = "hyper", not(target_family = "wasm")))]
#[cfg_attr(docsrs, doc(cfg(feature = "hyper")))]
pub mod hyper;
#[cfg(all(feature = "insight", not(target_family = "wasm")))]
#[cfg_attr(docsrs, doc(cfg(feature = "insight")))]
pub mod insight;
#[cfg_attr(target_family = "wasm", path = "io/wasm.rs")]
pub mod io;
#[cfg(feature = "net")]
#[cfg_attr(docsrs, doc(cfg(feature = "net")))]
#[cfg_attr(target_family = "wasm", path = "net/wasm.rs")]
pub mod net;
#[cfg(all(feature = "process", not(target_family = "wasm")))]
#[cfg_attr(docsrs, doc(cfg(feature = "process")))]
pub mod process;
#[cfg(all(feature = "signal", not(target_family = "wasm")))]
#[cfg_attr(docsrs, doc(cfg(feature = "signal")))]
pub mod signal;
pub mod sync;
pub mod time;
#[cfg(any(target_family = "wasm", feature = "wasi"))]
#[cfg_attr(docsrs, doc(cfg(feature = "wasi")))]
pub mod wasi;

pub mod guide;

#[cfg(target_family = "wasm")]
pub use runtime::block_on::block_on;
#[cfg(not(target_family = "wasm"))]
pub use start::block_on;
pub use task::spawn;
#[cfg(not(target_family = "wasm"))]
pub use task::spawn_blocking;

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
