//! Channels with many senders and one receiver.
//!
//! | made by | the sender | the receiver | when it is full |
//! |---|---|---|---|
//! | [`channel`] | [`Sender`] | [`Receiver`] | senders wait, and are served in the order in which they came |
//! | [`unbounded_channel`] | [`UnboundedSender`] | [`UnboundedReceiver`] | it is never full |
//!
//! Messages of one sender are received in the order in which they were sent. A bound makes fast senders wait
//! for a slow receiver. Without a bound the queue grows until the memory is used up.
//!
//! # Actors
//!
//! A task that owns some state and takes requests from a channel (an *actor*) needs no lock. A request that
//! asks for an answer contains the sender of a [`oneshot`](super::oneshot) channel:
//!
//! ```
//! use liten::sync::{mpsc, oneshot};
//!
//! enum Request {
//!     Add(u64),
//!     Total(oneshot::Sender<u64>),
//! }
//!
//! # liten::block_on(async {
//! let (requests, mut inbox) = mpsc::channel(8);
//! let actor = liten::spawn(async move {
//!     let mut total = 0;
//!     while let Some(request) = inbox.recv().await {
//!         match request {
//!             Request::Add(number) => total += number,
//!             // `send` fails if the task that asked has ended meanwhile.
//!             Request::Total(answer) => drop(answer.send(total)),
//!         }
//!     }
//! });
//!
//! requests.send(Request::Add(40)).await.unwrap();
//! requests.send(Request::Add(2)).await.unwrap();
//! let (answer, total) = oneshot::channel();
//! requests.send(Request::Total(answer)).await.unwrap();
//! assert_eq!(total.await, Ok(42));
//!
//! // The loop of the actor ends when the last sender is dropped.
//! drop(requests);
//! actor.await.unwrap();
//! # });
//! ```
//!
//! # The end
//!
//! * When all senders have been dropped, the receiver still gets what was sent, and then `None`. A weak
//!   sender ([`WeakSender`], [`WeakUnboundedSender`]) does not count.
//! * [`Receiver::close`] ends the channel from the other side: sending fails from then on, and the receiver
//!   gets what was sent before, then `None`. Before the `None` it waits for the permits that were given out
//!   before the closing.
//! * When the receiver has been dropped, sending fails, and the messages that it had not received are
//!   dropped.
//!
//! # Reserving
//!
//! [`Sender::reserve`] waits for room before the message exists, and returns a [`Permit`] which then sends
//! without waiting. So no message is made before there is room for it, and none is lost when a `select!`
//! drops the future that waits.
//!
//! # Blocking code
//!
//! Threads outside the runtime use [`Sender::blocking_send`] and [`Receiver::blocking_recv`], also in
//! [`spawn_blocking`](crate::task::spawn_blocking); sending to an unbounded channel never waits.
//!
//! # Budget and runtimes
//!
//! Receiving and waiting for room count against the budget of the task
//! ([`consume_budget`](crate::task::consume_budget)). Channels work without a runtime, and between runtimes.
//!
//! # Compared with tokio's
//!
//! Names, signatures and behaviour are those of `tokio::sync::mpsc`, so a changed `use` is enough. One thing
//! is stricter: a message that a permit sends after the receiver was dropped is dropped at once, and not
//! with the last sender.

#[macro_use]
mod sender;

mod bounded;
pub mod error;
mod permit;
mod queue;
mod receive;
mod receiver;
mod room;
mod shared;
mod unbounded;

pub use self::bounded::{Sender, WeakSender, channel};
pub use self::permit::{OwnedPermit, Permit, PermitIterator};
pub use self::receiver::{Receiver, UnboundedReceiver};
pub use self::unbounded::{UnboundedSender, WeakUnboundedSender, unbounded_channel};

#[cfg(all(test, liten_loom))]
mod loom;
#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;
