//! A clock that lags and is cheap to read: on Linux the monotonic clock as the kernel has set it at its last
//! tick, for which no counter of the processor is read. Other systems have none, and no model knows it.
//!
//! The call is made here and not by nix. nix returns the two halves of the time as one word of 16 bytes, and
//! the processor takes some 4 ns to put together what was written as two words of 8. That is as long as the
//! rest of the call.
#![allow(unsafe_code)]

/// A clock that lags behind [`clock::now`](crate::engine::sync_shim::clock::now), by a few milliseconds as a
/// rule, and costs a quarter of it.
#[derive(Clone, Copy)]
pub(crate) struct CoarseClock {
    /// The reading of the monotonic clock at the start, in nanoseconds; `None`: there is no such clock.
    start: Option<u64>,
}

impl CoarseClock {
    /// A clock that shows 0 now.
    pub(crate) fn start() -> Self {
        Self { start: read(false) }
    }

    /// The nanoseconds since the start that have surely passed; 0 until the kernel has set the clock after
    /// the start. `None`: the caller asks a clock that costs more.
    #[inline]
    pub(crate) fn nanos(self) -> Option<u64> {
        Some(read(true)?.saturating_sub(self.start?))
    }
}

#[cfg(all(target_os = "linux", not(all(test, any(liten_loom, liten_shuttle)))))]
#[inline]
fn read(is_coarse: bool) -> Option<u64> {
    use nix::libc::{self, CLOCK_MONOTONIC, CLOCK_MONOTONIC_COARSE};

    let mut time = *nix::sys::time::TimeSpec::new(0, 0).as_ref();
    let clock = if is_coarse { CLOCK_MONOTONIC_COARSE } else { CLOCK_MONOTONIC };
    // SAFETY: the call writes one `timespec`, to a place that outlives it.
    let result = unsafe { libc::clock_gettime(clock, &raw mut time) };
    if result != 0 {
        return None;
    }
    // No overflow: the clock would have to run for 584 years.
    u64::try_from(time.tv_sec).ok()?.checked_mul(1_000_000_000)?.checked_add(time.tv_nsec as u64)
}

#[cfg(not(all(target_os = "linux", not(all(test, any(liten_loom, liten_shuttle))))))]
#[inline]
fn read(_is_coarse: bool) -> Option<u64> {
    None
}

#[cfg(all(test, target_os = "linux", not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    /// A guard against hanging, never the expected time.
    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn it_goes_and_is_never_ahead() {
        let start = Instant::now();
        let coarse = CoarseClock::start();
        let mut first = None;
        loop {
            let shown = coarse.nanos().expect("Linux has it");
            let passed = start.elapsed();
            assert!(Duration::from_nanos(shown) <= passed, "{shown} ns after {passed:?}");
            if shown > *first.get_or_insert(shown) {
                break;
            }
            assert!(passed < LONG, "it stands still");
        }
    }
}
