//! Ending without losing anything.
//!
//! When the root returns, the runtime is dropped: tasks stop where they wait, their destructors run,
//! threads end. That is right for most programs, and wrong for one that is in the middle of an answer.
//!
//! # Stop taking, finish what is there, end
//!
//! ```
//! # fn main() -> std::io::Result<()> {
//! # liten::block_on(async {
//! use liten::task::JoinSet;
//! use liten::time::{Duration, timeout};
//!
//! let listener = liten::net::TcpListener::bind("127.0.0.1:0").await?;
//! // In a program: `liten::signal::ctrl_c()`, with the feature `signal`.
//! liten::pin! {
//!     let stop = liten::time::sleep(Duration::from_millis(2));
//! }
//! let mut conversations = JoinSet::new();
//! loop {
//!     liten::select! {
//!         connection = listener.accept() => {
//!             let (stream, _peer) = connection?;
//!             conversations.spawn(async move { drop(stream) });
//!         }
//!         _ = &mut stop => break,
//!     }
//! }
//! // New clients go elsewhere.
//! drop(listener);
//! // Clients that are here may finish, within reason. The drop stops what is left then.
//! let _ = timeout(Duration::from_secs(30), async {
//!     while conversations.join_next().await.is_some() {}
//! })
//! .await;
//! # Ok(())
//! # })
//! # }
//! ```
//!
//! # Which tasks are still running?
//!
//! [`Runtime::shutdown_timeout`](crate::runtime::Runtime::shutdown_timeout) waits for so long and returns
//! the tasks that are still in a poll, with the place in the source that spawned them.
//!
//! ```
//! use std::time::Duration;
//!
//! let runtime = liten::runtime::Runtime::new().unwrap();
//! runtime.spawn(std::future::pending::<()>());
//! let stuck = runtime.shutdown_timeout(Duration::from_secs(1));
//! // A task that waits is stopped at once; only one that never lets go would be here.
//! assert!(stuck.is_empty());
//! ```
//!
//! # What waits for what
//!
//! | | ends |
//! |---|---|
//! | a task that waits | at once |
//! | a task in a poll | after that poll |
//! | blocking work that has begun | when it is done; the runtime waits |
//! | blocking work that a free or a new thread comes for | is done; the runtime waits |
//! | other blocking work | is cancelled by the next thread of the pool that is free; the runtime waits |
//! | the same, if blocking work drops the runtime | is cancelled by that drop, which waits for nothing |
//! | sockets and timers that are held elsewhere | return errors from then on |
