//! The first program.
//!
//! ```toml
//! [dependencies]
//! liten = { git = "https://ADDRESS/OF/liten", rev = "COMMIT" }
//! ```
//!
//! The address is the one that the repository is cloned from; liten is not on crates.io.
//!
//! ```
//! #[liten::main]
//! async fn main() {
//!     println!("hello");
//! }
//! ```
//!
//! [`#[liten::main]`](macro@crate::main) makes a [`Runtime`](crate::runtime::Runtime) with one worker
//! thread per CPU, runs the body on the thread of `main`, and ends the runtime when the body returns. The
//! body is the *root*: it runs on its own thread and not on a worker, need not be `Send`, and may borrow.
//!
//! # Without the attribute
//!
//! The attribute writes what you could write yourself:
//!
//! ```
//! fn main() -> std::io::Result<()> {
//!     let runtime = liten::runtime::Builder::new_multi_thread().worker_threads(2).build()?;
//!     let answer = runtime.block_on(async { liten::spawn(async { 42 }).await });
//!     assert_eq!(answer.expect("the task ends"), 42);
//!     Ok(())
//! }
//! ```
//!
//! A runtime is an ordinary value. A library can make its own, a test one per case, and a program two of
//! them, so that the traffic of one does not wait for the other. Dropping it ends its threads.
//!
//! # On one thread
//!
//! A runtime without workers runs its tasks on the thread that calls `block_on`, as long as it is there.
//! [`Builder::new_current_thread`] makes a [`Runtime`], which may be kept in a struct and driven by any
//! thread ([Which kind](crate::runtime#which-kind)):
//!
//! ```
//! struct Client {
//!     runtime: liten::runtime::Runtime,
//! }
//!
//! impl Client {
//!     fn new() -> std::io::Result<Self> {
//!         let runtime = liten::runtime::Builder::new_current_thread().build()?;
//!         Ok(Self { runtime })
//!     }
//!
//!     fn ask(&self) -> u32 {
//!         self.runtime.block_on(async { liten::spawn(async { 42 }).await.expect("the task ends") })
//!     }
//! }
//!
//! # fn main() -> std::io::Result<()> {
//! assert_eq!(Client::new()?.ask(), 42);
//! # Ok(())
//! # }
//! ```
//!
//! If nothing is to leave the thread, a [`LocalRuntime`] takes tasks that are `!Send`. The attribute makes
//! one for `flavor = "current_thread"`:
//!
//! ```
//! use std::rc::Rc;
//!
//! #[liten::main(flavor = "current_thread")]
//! async fn main() {
//!     let name = Rc::new("world");
//!     let task = liten::task::spawn_local(async move { format!("hello {name}") });
//!     assert_eq!(task.await.expect("the task ends"), "hello world");
//! }
//! ```
//!
//! [`Builder::new_current_thread`]: crate::runtime::Builder::new_current_thread
//! [`Runtime`]: crate::runtime::Runtime
//! [`LocalRuntime`]: crate::runtime::LocalRuntime
//!
//! # From code that is not async
//!
//! [`liten::block_on`](crate::block_on) runs one future on a small runtime of its own.
//! [`Handle`](crate::runtime::Handle) is the way in from any thread: keep one, and spawn with it.
//!
//! ```
//! # let runtime = liten::runtime::Runtime::new().unwrap();
//! let handle = runtime.handle().clone();
//! let thread = std::thread::spawn(move || {
//!     let task = handle.spawn(async { 6 * 7 });
//!     handle.block_on(task).expect("the task ends")
//! });
//! assert_eq!(thread.join().unwrap(), 42);
//! ```
//!
//! # In tests
//!
//! ```no_run
//! #[liten::test]
//! async fn adds_up() {
//!     assert_eq!(1 + 1, 2);
//! }
//! ```
