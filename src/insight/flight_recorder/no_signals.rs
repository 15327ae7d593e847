//! Without the feature `signal`, and where there are no signals of Unix.

use std::io;
use std::task::Context;

/// None.
#[derive(Debug, Clone, Default)]
pub(super) struct Kinds;

/// None.
pub(super) struct Signals;

impl Kinds {
    pub(super) fn listen(&self) -> io::Result<Signals> {
        Ok(Signals)
    }
}

impl Signals {
    pub(super) fn poll(&mut self, _: &mut Context<'_>, _: impl FnMut(i32)) {}
}
