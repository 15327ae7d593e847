//! The clock that ends a sleep in the poller at a deadline, to the microsecond where the system can do that.
//!
//! A poller takes a timeout, but epoll's counts whole milliseconds, and mio rounds it up: a sleep of 500 µs
//! would be over after 1 ms, one of 1 ms after 2. On Linux the driver therefore has a timer of the kernel
//! among its sources (`timerfd`) and sleeps without a timeout. The other systems keep the timeout
//! (`timeout`): kqueue's is exact, and Windows has nothing better to offer. So do the models, in which a
//! limit means that a sleep may end by itself.

#[cfg(any(not(target_os = "linux"), all(test, any(liten_loom, liten_shuttle))))]
mod timeout;
#[cfg(all(target_os = "linux", not(all(test, any(liten_loom, liten_shuttle)))))]
mod timerfd;

#[cfg(any(not(target_os = "linux"), all(test, any(liten_loom, liten_shuttle))))]
pub(super) use timeout::AlarmClock;
#[cfg(all(target_os = "linux", not(all(test, any(liten_loom, liten_shuttle)))))]
pub(super) use timerfd::AlarmClock;

use std::time::Duration;

use mio::Token;

/// The token of the clock. No source has it: a [`Key`](crate::engine::slab::Key) is never as large.
pub(super) const CLOCK: Token = Token(usize::MAX - 1);

/// Longest sleep. mio before 1.2.1 hands epoll a timeout of more than 24.8 days as a negative
/// number, that is as "no end"; a sleep cut short is merely a turn in which nothing happens.
pub(super) const LONGEST_SLEEP: Duration = Duration::from_secs(24 * 86_400);

/// From `now` to `deadline`, as a timeout. The poller rounds it up to what it can do, so the sleep never ends
/// before its deadline by itself.
fn until(now: u64, deadline: u64) -> Duration {
    Duration::from_nanos(deadline.saturating_sub(now)).min(LONGEST_SLEEP)
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;
