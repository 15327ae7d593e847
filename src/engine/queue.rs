//! Which queue is for what.
//!
//! | queue | pushed by | taken by | order |
//! |---|---|---|---|
//! | [`local::Local`] | its owner | its owner, thieves in batches | FIFO |
//! | [`local::Injector`] | any thread | workers, in batches | FIFO |
//! | [`wake_channel`] | any thread but its scheduler's workers | mostly its worker: all at once | FIFO |
//! | [`local::NextSlot`] | its owner | its owner, thieves if that is stuck | it has room for one task |
//!
//! The three queues are FIFO: a runtime whose queues are fair needs no argument why a task is not forgotten
//! at the bottom of one, and a FIFO deque gives a whole batch to a thief for one compare-and-swap where a
//! LIFO one pays for each item.

#[cfg(not(target_family = "wasm"))]
pub(crate) mod local;
pub(crate) mod wake_channel;
