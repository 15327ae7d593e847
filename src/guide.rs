//! A guide: how to do things with liten, from the first program to moving a service over.
//!
//! The other modules say what each item does; these pages say which item to take, and one of them how it all
//! works. Each can be read on its own.
//!
//! | page | question that it answers |
//! |---|---|
//! | [`start`] | how do I run something? |
//! | [`tasks`] | how do I run many things, wait for them, and stop them? |
//! | [`io`] | how do I read and write? |
//! | [`sync`] | how do tasks talk, and share? |
//! | [`time`] | how do I wait, and how do I test code that waits? |
//! | [`shutdown`] | how does a program end without losing anything? |
//! | [`blocking`] | what about code that blocks or computes? |
//! | [`migrating`] | I have a program for tokio; what changes? |
//! | `diagnosis` | what is wrong with my service? |
//! | [`features`] | what can be switched on, what does it cost, and where does it run? |
//! | [`container`] | what about a container, and its CPU quota? |
//! | [`tuning`] | how do I make it faster, and see what it does? |
//! | [`inside`] | how does it work, and why this way? |
//! | `wasi` | how do I write a component for WASI 0.2? |

pub mod blocking;
pub mod container;
#[cfg(feature = "insight")]
#[cfg_attr(docsrs, doc(cfg(feature = "insight")))]
pub mod diagnosis;
pub mod features;
pub mod inside;
pub mod io;
pub mod migrating;
pub mod shutdown;
pub mod start;
pub mod sync;
pub mod tasks;
pub mod time;
pub mod tuning;
#[cfg(any(target_family = "wasm", feature = "wasi"))]
#[cfg_attr(docsrs, doc(cfg(feature = "wasi")))]
pub mod wasi;
