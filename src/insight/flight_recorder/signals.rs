//! The signals for which a snapshot is made.

use crate::signal::unix::{Signal, SignalKind, signal};
use std::io;
use std::task::{Context, Poll};

#[derive(Debug, Clone, Default)]
pub(super) struct Kinds(Vec<SignalKind>);

pub(super) struct Signals(Vec<(SignalKind, Signal)>);

impl Kinds {
    /// Once, however often it is called.
    pub(super) fn add(&mut self, kind: SignalKind) {
        if !self.0.contains(&kind) {
            self.0.push(kind);
        }
    }

    /// In the current runtime.
    pub(super) fn listen(&self) -> io::Result<Signals> {
        let listeners = self.0.iter().map(|&kind| Ok((kind, signal(kind)?)));
        listeners.collect::<io::Result<_>>().map(Signals)
    }
}

impl Signals {
    /// Calls `received` with the number of each that has come.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, mut received: impl FnMut(i32)) {
        for (kind, signal) in &mut self.0 {
            while let Poll::Ready(Some(())) = signal.poll_recv(cx) {
                received(kind.as_raw_value());
            }
        }
    }
}
