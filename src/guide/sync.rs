//! Which channel or lock for what.
//!
//! Everything here has tokio's names and semantics, and nothing differs from tokio's but what the last
//! section says.
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
//! A channel whose receivers share the values, one each, is not among them: take the crate `async-channel`,
//! which works on any runtime.
//!
//! ## An actor
//!
//! A task owns the state, and others send it messages; an answer comes back by a `oneshot` in the message.
//! There is no lock, and the bound of the channel holds back senders that are too fast.
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
//!             // The asker may have gone.
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
//! // Its loop ends with the last sender.
//! drop(counts);
//! task.await.expect("it did not panic");
//! # });
//! ```
//!
//! ## A configuration that changes
//!
//! Each task looks at the newest value when it likes, and may wait for the next one.
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
//! # Sharing something
//!
//! | what | take |
//! |---|---|
//! | a value that is changed without waiting in between | `std::sync::Mutex`, or an atomic |
//! | a value that is held over an `await` | [`Mutex`](crate::sync::Mutex), [`RwLock`](crate::sync::RwLock) |
//! | a value that is made once, by whoever comes first | [`OnceCell`](crate::sync::OnceCell) |
//! | a value that is set once and awaited | [`SetOnce`](crate::sync::SetOnce) |
//! | so many at a time | [`Semaphore`](crate::sync::Semaphore) |
//! | all wait until all have come | [`Barrier`](crate::sync::Barrier) |
//!
//! A lock of `std` is faster, and the compiler refuses a guard of it that is held over an `await` in a
//! spawned task. It blocks the thread, so it is for sections that are short. The locks here let other tasks
//! run, serve in the order in which they were asked, and may be held over an `await`: for a connection that
//! several tasks use, for example. An actor is often the better answer.
//!
//! ## So many at a time
//!
//! A server that answers no more than two at once; the others wait their turn.
//!
//! ```
//! use liten::sync::Semaphore;
//! use std::sync::Arc;
//!
//! # liten::block_on(async {
//! let places = Arc::new(Semaphore::new(2));
//! let mut served = liten::task::JoinSet::new();
//! for guest in 0..10 {
//!     let place = places.clone().acquire_owned().await.expect("it is never closed");
//!     served.spawn(async move {
//!         liten::task::yield_now().await;
//!         drop(place);
//!         guest
//!     });
//! }
//! assert_eq!(served.join_all().await.len(), 10);
//! # });
//! ```
//!
//! # What a task that uses them can rely on
//!
//! * They work in every runtime, between runtimes, and outside of one: only
//!   [`send_timeout`](crate::sync::mpsc::Sender::send_timeout) needs liten's timers.
//! * Each operation that is ready counts against the [budget](crate::task::coop) of the task, so a loop over
//!   a channel that is never empty lets other tasks run.
//! * A future that is dropped while it waits gives its place in the line to the next one. What it had been
//!   given is passed on: no permit and no message is lost. Each method says under "Cancel safety" what else
//!   to know.
//! * Their blocking halves (`blocking_recv`, `blocking_lock`, …) panic inside async code, and say what to do.
//! * A task that panics with a guard in its hands releases it; there is no poison.
//!
//! # What differs from tokio's
//!
//! * Under tokio's runtime they do not count against tokio's budget, the blocking halves do not know that
//!   they are in async code, and `send_timeout` finds no timer of liten's.
//! * A waker that panics when it is called keeps no other task from being woken. tokio's primitives pass most
//!   of these panics on to the caller, which wakes the rest first; here only
//!   [`mpsc`](crate::sync::mpsc) does.
//! * A future that was handed its permits before a semaphore was closed has them; tokio's fails if it has not
//!   been polled since.
//! * A [`SetOnce`](crate::sync::SetOnce) is up to 8 bytes larger.
