//! Running many things, waiting for them, stopping them.
//!
//! # A task
//!
//! [`spawn`](crate::spawn) gives a future to the workers. It starts at once, also if no task waits for
//! it.
//!
//! ```
//! # liten::block_on(async {
//! let task = liten::spawn(async { "done" });
//! assert_eq!(task.await.expect("it did not panic"), "done");
//! # });
//! ```
//!
//! The [`JoinHandle`](crate::task::JoinHandle) is a future of the result. Dropping it *detaches* the
//! task, which runs on; [`abort`](crate::task::JoinHandle::abort) stops it where it waits next, and
//! [`AbortOnDropHandle`](crate::task::AbortOnDropHandle) does that when it is dropped. A task that
//! panics does not affect other tasks: its handle returns a [`JoinError`](crate::task::JoinError) with
//! the payload.
//!
//! A task is `'static`: what it uses it owns. Share with `Arc`, or hand over with a channel.
//!
//! # Several at once
//!
//! | to | take |
//! |---|---|
//! | wait for all of a few futures | [`join!`](crate::join!), [`try_join!`](crate::try_join!) |
//! | take the first one | [`select!`](crate::select!) |
//! | wait for as many tasks as there are | [`task::JoinSet`](crate::task::JoinSet) |
//! | run many futures in one task | [`future::FuturesUnordered`](crate::future::FuturesUnordered) |
//!
//! ```
//! # liten::block_on(async {
//! use liten::task::JoinSet;
//!
//! let mut set = JoinSet::new();
//! for n in 1..=10 {
//!     set.spawn(async move { n * n });
//! }
//! let mut sum = 0;
//! while let Some(square) = set.join_next().await {
//!     sum += square.expect("it did not panic");
//! }
//! assert_eq!(sum, 385);
//! # });
//! ```
//!
//! Dropping a set stops all tasks in it: a group that ends with its owner.
//!
//! # Not too many
//!
//! A task costs a few hundred bytes, so a million of them are no problem. What they use is: connections,
//! files, memory. A [`Semaphore`](crate::sync::Semaphore) bounds it.
//!
//! ```
//! # liten::block_on(async {
//! use std::sync::Arc;
//!
//! let permits = Arc::new(liten::sync::Semaphore::new(3));
//! let mut set = liten::task::JoinSet::new();
//! for _ in 0..100 {
//!     let permit = permits.clone().acquire_owned().await.expect("never closed");
//!     set.spawn(async move {
//!         // Three of these at a time.
//!         drop(permit);
//!     });
//! }
//! set.join_all().await;
//! # });
//! ```
//!
//! # Stopping
//!
//! A future stops when it is dropped, which can happen at each `await` and nowhere else. Each method says
//! under "Cancel safety" what is lost then. Inside one task, [`select!`](crate::select!) and
//! [`timeout`](crate::time::timeout) drop the loser. To let a task finish what it is doing, tell it by a
//! channel instead of aborting it: see [`shutdown`](super::shutdown).
//!
//! Many tasks are told at once by a [`CancellationToken`](crate::task::CancellationToken), and waited for by
//! a [`TaskTracker`](crate::task::TaskTracker).
//!
//! # Not `Send`
//!
//! [`spawn_pinned`](crate::task::spawn_pinned) makes a future on one thread and keeps it there: what it uses
//! need not be `Send`.
//!
//! ```
//! # liten::block_on(async {
//! use std::rc::Rc;
//!
//! let task = liten::task::spawn_pinned(|| async {
//!     let shared = Rc::new(42);
//!     liten::task::yield_now().await;
//!     *shared
//! });
//! assert_eq!(task.await.expect("it did not panic"), 42);
//! # });
//! ```
//!
//! # Being fair
//!
//! A task keeps its worker until it waits. Sockets, timers, join handles, channels and locks of liten let go
//! by themselves now and then, even if they are always ready. Cursors and slices do not: a loop over them
//! that never has to wait calls [`consume_budget`](crate::task::consume_budget) in each round. A loop that
//! computes calls [`yield_now`](crate::task::yield_now), or belongs on [another thread](super::blocking).
