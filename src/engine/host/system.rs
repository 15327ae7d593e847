//! The host that a component runs in: WASI 0.2, without threads.

use super::contract::Host;
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
        monotonic_clock::subscribe_duration(nanoseconds(duration))
    }

    /// `None`: a component has one thread.
    fn interrupter(&self) -> Option<Waker> {
        None
    }
}

/// 584 years are as good as never. In 64 bits: a multiplication in 128 is a function of its own here.
fn nanoseconds(duration: Duration) -> u64 {
    const PER_SECOND: u64 = 1_000_000_000;
    if duration.as_secs() < u64::MAX / PER_SECOND {
        duration.as_secs() * PER_SECOND + u64::from(duration.subsec_nanos())
    } else {
        u64::MAX
    }
}
