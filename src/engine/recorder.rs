//! What a recording of a runtime is made of: records, and the rings that keep the last of them.
//!
//! Each worker writes to a ring of its own, so writing takes no lock and no RMW, and never waits. The thread
//! that looks pays: it copies a ring while the worker goes on, and throws away what was overwritten
//! meanwhile.

mod record;
mod ring;

pub(crate) use record::{Event, Record};
pub(crate) use ring::Ring;
