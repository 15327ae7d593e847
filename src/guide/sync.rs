//! Which channel or lock to use for which purpose.
//!
//! All of them have tokio's names and semantics. The last section lists everything that differs from tokio's.
//!
//! # Sending something
//!
//! | from → to | what arrives | take |
//! |---|---|---|
//! | one → one | one value | [`oneshot`](crate::sync::oneshot) |
//! | many → one | every value | [`mpsc`](crate::sync::mpsc) |
//! | many → many | every value, to each receiver | [`broadcast`](crate::sync::broadcast) |
//! | many → many | the newest value, to each receiver | [`watch`](crate::sync::watch) |
//! | many → many | a signal without a value | [`Notify`](crate::sync::Notify) |
//! | one → many | "stop" | [`CancellationToken`](crate::task::CancellationToken) |
//!
//! There is no channel with many receivers of which only one gets each value. The crate `async-channel` has
//! one, which works on any runtime.
//!
//! ## An actor
//!
//! A task owns the state, and other tasks send it messages. A message that asks for an answer contains the
//! sender of a `oneshot` channel. The state needs no lock, and the bound of the channel makes senders wait
//! that are too fast.
//!
//! ```
//! use liten::sync::{mpsc, oneshot};
//!
//! enum Message {
//!     Add(u64),
//!     Read(oneshot::Sender<u64>),
//! }
//!
//! async fn counter(mut messages: mpsc::Receiver<Message>) {
//!     let mut sum = 0;
//!     while let Some(message) = messages.recv().await {
//!         match message {
//!             Message::Add(number) => sum += number,
//!             // `send` fails if the task that asked has ended meanwhile.
//!             Message::Read(answer) => drop(answer.send(sum)),
//!         }
//!     }
//! }
//!
//! # liten::block_on(async {
//! let (counts, messages) = mpsc::channel(16);
//! let task = liten::spawn(counter(messages));
//! for number in 1..=10 {
//!     counts.send(Message::Add(number)).await.expect("it runs");
//! }
//! let (asks, answer) = oneshot::channel();
//! counts.send(Message::Read(asks)).await.expect("it runs");
//! assert_eq!(answer.await, Ok(55));
//! // The loop of the task ends when the last sender is dropped.
//! drop(counts);
//! task.await.expect("it did not panic");
//! # });
//! ```
//!
//! ## A configuration that changes
//!
//! Each task reads the newest value whenever it needs it, and may wait for the next one.
//!
//! ```
//! use liten::sync::watch;
//!
//! # liten::block_on(async {
//! let (sets, mut limit) = watch::channel(10);
//! let follows = liten::spawn(async move {
//!     let mut seen = vec![*limit.borrow()];
//!     while limit.changed().await.is_ok() {
//!         seen.push(*limit.borrow_and_update());
//!     }
//!     seen
//! });
//! sets.send(20).expect("it is followed");
//! drop(sets);
//! let seen = follows.await.expect("it did not panic");
//! assert_eq!(seen.last(), Some(&20));
//! # });
//! ```
//!
//! ## An event for all
//!
//! Each receiver gets each event. The channel keeps as many events as its capacity says. A receiver that is
//! slower than that is told how many it has missed, and goes on with the oldest event that is left.
//!
//! ```
//! use liten::sync::broadcast::{self, error::RecvError};
//!
//! async fn listen(mut events: broadcast::Receiver<u32>) -> (u32, u64) {
//!     let (mut sum, mut missed) = (0, 0);
//!     loop {
//!         match events.recv().await {
//!             Ok(event) => sum += event,
//!             Err(RecvError::Lagged(count)) => missed += count,
//!             Err(RecvError::Closed) => return (sum, missed),
//!         }
//!     }
//! }
//!
//! # liten::block_on(async {
//! let (sends, _) = broadcast::channel(16);
//! let listeners: Vec<_> = (0..3).map(|_| liten::spawn(listen(sends.subscribe()))).collect();
//! for event in 1..=10 {
//!     sends.send(event).expect("three listen");
//! }
//! drop(sends);
//! for listener in listeners {
//!     assert_eq!(listener.await.expect("it did not panic"), (55, 0));
//! }
//! # });
//! ```
//!
//! ## The end of a program
//!
//! A token tells any number of tasks to stop, and each task decides where it stops. A tracker waits for those
//! that have not ended yet.
//!
//! ```
//! use liten::sync::mpsc;
//! use liten::task::{CancellationToken, TaskTracker};
//!
//! async fn work(mut jobs: mpsc::Receiver<u32>, stop: CancellationToken) -> u32 {
//!     let mut done = 0;
//!     loop {
//!         liten::select! {
//!             // The stop is looked at first. A job that has begun is finished.
//!             biased;
//!             () = stop.cancelled() => return done,
//!             Some(job) = jobs.recv() => done += job,
//!             else => return done,
//!         }
//!     }
//! }
//!
//! # liten::block_on(async {
//! let (stop, tracker) = (CancellationToken::new(), TaskTracker::new());
//! let (sends, jobs) = mpsc::channel(16);
//! let worker = tracker.spawn(work(jobs, stop.clone()));
//! // A server stops for a signal: `liten::signal::ctrl_c().await`.
//! stop.cancel();
//! tracker.close();
//! tracker.wait().await;
//! assert_eq!(worker.await.expect("it did not panic"), 0);
//! assert!(sends.is_closed());
//! # });
//! ```
//!
//! # Sharing something
//!
//! | what | take |
//! |---|---|
//! | a value that is changed without waiting in between | `std::sync::Mutex`, or an atomic |
//! | a value that is held over an `await` | [`Mutex`](crate::sync::Mutex), [`RwLock`](crate::sync::RwLock) |
//! | a value that is made once, by the first task that needs it | [`OnceCell`](crate::sync::OnceCell) |
//! | a value that one task sets once, and others wait for | [`SetOnce`](crate::sync::SetOnce) |
//! | a limit on how many tasks do something at a time | [`Semaphore`](crate::sync::Semaphore) |
//! | a point at which tasks wait until all have reached it | [`Barrier`](crate::sync::Barrier) |
//!
//! A lock of `std` is faster, and the compiler refuses a task in which a guard of it is held over an `await`.
//! It blocks the thread while it waits, so it is for sections that are short. The locks of this crate let
//! other tasks run while one waits. They are given to the tasks in the order in which these asked for them,
//! and they may be held over an `await`, for example for a connection that several tasks use. An actor is
//! often simpler.
//!
//! ## A limit
//!
//! A server that answers two requests at a time; the other requests wait. With a permit for each connection,
//! taken before `accept`, it is a limit on the connections: see [`Semaphore`](crate::sync::Semaphore).
//!
//! ```
//! use liten::sync::Semaphore;
//! use std::sync::Arc;
//!
//! # liten::block_on(async {
//! let limit = Arc::new(Semaphore::new(2));
//! let mut answers = liten::task::JoinSet::new();
//! for request in 0..10 {
//!     let permit = limit.clone().acquire_owned().await.expect("it is never closed");
//!     answers.spawn(async move {
//!         liten::task::yield_now().await;
//!         drop(permit);
//!         request
//!     });
//! }
//! assert_eq!(answers.join_all().await.len(), 10);
//! # });
//! ```
//!
//! # What a task that uses them can rely on
//!
//! * They work in every runtime, between runtimes, and outside of one: only
//!   [`send_timeout`](crate::sync::mpsc::Sender::send_timeout) needs liten's timers.
//! * Receiving from a channel, waiting for a lock, a permit or a barrier, and waiting for a change of a
//!   `watch` count against the [budget](crate::task::coop) of the task. So a loop over a channel that is
//!   never empty lets other tasks run. As in tokio, waiting for a `Notify` or a `SetOnce` does not count.
//! * A future that is dropped while it waits leaves the list of waiting futures. A permit or a notification
//!   that it had been given goes to the next future, so none is lost. The section "Cancel safety" of each
//!   method says what else is to be known.
//! * The blocking methods (`blocking_recv`, `blocking_lock`, …) panic inside async code. The message of the
//!   panic says what to do instead.
//! * When a task panics, the guards that it holds are released. A lock is never poisoned.
//!
//! # What differs from tokio's
//!
//! * Under tokio's runtime they do not count against tokio's budget, the blocking methods do not notice that
//!   they are called in async code, and `send_timeout` finds no timer of liten's.
//! * A panic of a waker does not reach the caller that has called the waker, except in
//!   [`mpsc`](crate::sync::mpsc). In tokio most primitives pass such a panic on to the caller. All other
//!   waiting tasks are woken in both.
//! * A message that a permit of a bounded channel sends after the receiver was dropped is dropped at once. In
//!   tokio it is dropped with the last sender.
//! * A [`SetOnce`](crate::sync::SetOnce) is up to 8 bytes larger.
