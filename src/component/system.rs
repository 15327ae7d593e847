//! The host that a component runs in: WASI 0.2, without threads.

use super::contract::Host;
use crate::engine::nanos::nanos;
use std::task::Waker;
use std::time::Duration;
use wasip2::clocks::monotonic_clock;
use wasip2::io::poll::{self, Pollable};

/// The host of WASI 0.2: `wasi:io/poll` and the monotonic clock.
#[derive(Debug, Default)]
pub struct WasiHost {
    _private: (),
}

impl WasiHost {
    /// Returns the host.
    pub fn new() -> Self {
        Self { _private: () }
    }
}

impl Host for WasiHost {
    type Pollable = Pollable;

    fn ready(&self, pollable: &Pollable) -> bool {
        pollable.ready()
    }

    fn poll(&self, pollables: &[&Pollable]) -> Vec<u32> {
        poll::poll(pollables)
    }

    fn clock(&self, duration: Duration) -> Pollable {
        monotonic_clock::subscribe_duration(nanos(duration))
    }

    /// `None`: a component has one thread.
    fn interrupter(&self) -> Option<Waker> {
        None
    }
}
