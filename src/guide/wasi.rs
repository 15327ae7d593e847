//! Components: programs for WASI 0.2.
//!
//! A component has one thread, and waits by handing the host a list of *pollables*. Built for
//! `wasm32-wasip2`, liten runs on that. Elsewhere the feature `wasi` puts a host made of a condition
//! variable underneath, so that the same program can be run, tested and debugged without a component host.
//! What is on this page runs on both.
//!
//! ```
//! use liten::wasi::{Host, block_on};
//! use std::time::Duration;
//!
//! let names = vec!["one", "two"];
//! let count = block_on(|reactor| async move {
//!     reactor.wait_for(reactor.host().clock(Duration::from_millis(1))).await;
//!     names.len()
//! });
//! assert_eq!(count, 2);
//! ```
//!
//! [`block_on`](crate::wasi::block_on) hands the [`Reactor`](crate::wasi::Reactor) to a closure, so that a
//! signature shows which functions wait for the host. Where an argument is in the way,
//! [`Reactor::current`](crate::wasi::Reactor::current) finds the same one. The future may borrow and need
//! not be `Send`.
//!
//! # Many things at once
//!
//! There is no need for tasks. Joins, races and groups of any crate run futures side by side, and these may
//! borrow from each other's surroundings; dropping one drops what it waits for. Ten sleeps that are joined
//! are one list for the host, and of the ten only the one that is ready is polled, if the join gives its
//! children wakers of their own, as futures-concurrency's does.
//!
//! ```
//! use liten::join;
//! use liten::wasi::{Host, block_on};
//! use std::cell::RefCell;
//! use std::time::Duration;
//!
//! let log = RefCell::new(Vec::new());
//! block_on(|reactor| {
//!     let log = &log;
//!     async move {
//!         let after = async |ms| {
//!             reactor.wait_for(reactor.host().clock(Duration::from_millis(ms))).await;
//!             log.borrow_mut().push(ms);
//!         };
//!         join!(after(20), after(1));
//!     }
//! });
//! assert_eq!(log.into_inner(), [1, 20]);
//! ```
//!
//! # Waiting for anything
//!
//! Whatever in WASI can be waited for has a method `subscribe`, which returns a pollable. So every wrapper
//! is the same three lines: subscribe, wait, ask for the result.
//!
//! | operation | its pollable | then |
//! |---|---|---|
//! | a clock | `subscribe_duration(ns)` | – |
//! | an input stream | `stream.subscribe()` | `stream.read(n)` |
//! | an output stream | `stream.subscribe()` | `stream.check_write()`, `stream.write(bytes)` |
//! | a socket | `socket.subscribe()` | `socket.finish_connect()`, `socket.accept()` |
//! | an HTTP request | `response.subscribe()` | `response.get()` |
//!
//! The result must be asked for in a loop, as a pollable may be ready although there is nothing yet:
//!
//! ```
//! use liten::wasi::{Event, NativeHost, NativePollable, Reactor};
//!
//! // What a wrapper of an operation of the host looks like; here the operation is an event of a thread.
//! struct Operation(Event);
//!
//! impl Operation {
//!     fn get(&self) -> Option<&'static str> {
//!         self.0.is_set().then_some("done")
//!     }
//! }
//!
//! async fn finish(
//!     operation: &Operation,
//!     pollable: NativePollable,
//!     reactor: &Reactor,
//! ) -> &'static str {
//!     let ready = reactor.register(pollable);
//!     loop {
//!         if let Some(result) = operation.get() {
//!             return result;
//!         }
//!         ready.wait().await;
//!     }
//! }
//!
//! let reactor = Reactor::with_host(NativeHost::new());
//! let (pollable, event) = reactor.host().event();
//! let thread = std::thread::spawn({
//!     let event = event.clone();
//!     move || event.set()
//! });
//! let result = reactor.block_on(finish(&Operation(event), pollable, &reactor));
//! assert_eq!(result, "done");
//! thread.join().unwrap();
//! ```
//!
//! [`Reactor::register`](crate::wasi::Reactor::register) keeps a pollable for several waits, or for several
//! waiting tasks. A pollable must not outlive what it was made from, or the host traps: keep the
//! [`Registration`](crate::wasi::Registration) in the same struct, in a field *before* it, as fields are
//! dropped in order.
//!
//! # Under another executor
//!
//! Any executor may poll the futures of the reactor. An executor calls
//! [`Reactor::turn`](crate::wasi::Reactor::turn) when it has nothing to do, and is woken in there:
//!
//! ```
//! use liten::wasi::{Host, Reactor};
//! use std::pin::pin;
//! use std::task::{Context, Poll, Waker};
//! use std::time::Duration;
//!
//! let reactor = Reactor::new();
//! let mut future = pin!(async {
//!     reactor.wait_for(reactor.host().clock(Duration::from_millis(1))).await;
//!     7
//! });
//! let mut cx = Context::from_waker(Waker::noop());
//! let output = loop {
//!     match future.as_mut().poll(&mut cx) {
//!         Poll::Ready(output) => break output,
//!         Poll::Pending => reactor.turn(None),
//!     };
//! };
//! assert_eq!(output, 7);
//! ```
//!
//! # When it stands still
//!
//! A future that waits although nothing can wake it makes `block_on` panic with a message that begins with
//! "deadlock". Usually it waits for something that is not the host's, such as a channel whose sender waits
//! for the same future.
//!
//! Tests need no component host either: a [`Host`](crate::wasi::Host) is four functions, and one whose clock
//! jumps is written in a hundred lines (`examples/wasi/src/scripted.rs`).
