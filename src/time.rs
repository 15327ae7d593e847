//! Waiting for time: sleep, deadlines on other futures, and regular ticks.
//!
//! - [`sleep()`] and [`sleep_until`] wait for a moment; [`Sleep::reset`] moves the moment.
//! - [`timeout()`] and [`timeout_at`] give another future a deadline.
//! - [`interval()`] and [`interval_at`] tick at a period; [`MissedTickBehavior`] says what happens to late
//!   ticks.
//! - [`pause()`], [`advance`] and [`resume`] stop and move the clock, for tests.
//!
//! A timer belongs to the runtime in which it is made, whose driver fires it; it may be moved and polled
//! anywhere. One that is made outside belongs to the runtime in which it is first polled. A timer is cheap:
//! no allocation of its own, nothing registered before the first poll, and nothing left when it is dropped.
//!
//! # What is promised
//!
//! - **Never early.** What waits for a deadline is not ready before [`Instant::now`] has reached it.
//! - **Not exactly on time.** Deadlines are rounded up, at the time of writing to 65.5 µs, and by 0.4 ms more
//!   where many timers are so close together that they would wake a processor for each of them; on Windows
//!   the system's poller rounds up further (to a millisecond at least), and the task must be scheduled.
//! - **Any duration is fine.** Zero is ready at the first poll; [`Duration::MAX`], like every moment that
//!   an [`Instant`] cannot say, means about 30 years.
//! - **One clock.** The clock is the monotonic one of [`std::time`], unless a test has stopped it; whether it
//!   goes on while the machine is suspended is the system's choice.
//!
//! When the runtime is shut down, a timer whose deadline has passed is still ready when polled. Polling one
//! whose deadline lies ahead panics, because nothing would ever wake the task.
//!
//! # Testing with paused time
//!
//! A test of an hour's timeout need not take an hour. In a runtime whose clock stands still, timers fire as
//! soon as there is nothing else to do, in their order and each at its own moment:
//!
//! ```
//! use liten::time::{Duration, Instant, sleep, timeout};
//!
//! // Or #[liten::test(start_paused = true)].
//! #[liten::main(flavor = "current_thread", start_paused = true)]
//! async fn main() {
//!     let start = Instant::now();
//!     let answer = timeout(Duration::from_secs(3_600), async {
//!         sleep(Duration::from_secs(86_400)).await;
//!     });
//!     assert!(answer.await.is_err());
//!     assert_eq!(start.elapsed(), Duration::from_secs(3_600));
//! }
//! ```
//!
//! [`pause()`] stops the clock later, [`advance`] moves it by hand, and [`resume`] lets it go on.
//!
//! - The clock *jumps* to the earliest deadline when every task and the future in `block_on` wait, no work of
//!   `spawn_blocking` is queued or running, and no event has come for a socket. Events that may still come
//!   do not hold it up, nor do threads of the program's own: a timeout on a read from a peer in another
//!   process strikes at once. Do not mix paused time with peers that take real time.
//! - [`Instant::now`] and all timers follow it, to the nanosecond; [`std::time`] and the wall clock do not.
//! - A multithreaded runtime has to be built with
//!   [`start_paused`](crate::runtime::Builder::start_paused); one without workers may pause later, too.
//! - Each runtime has a clock of its own. A timer goes by the clock of the runtime in which it was made.
//!
//! # Examples
//!
//! ```
//! use liten::time::{self, Duration};
//!
//! # let runtime = liten::runtime::Runtime::new()?;
//! # runtime.block_on(async {
//! let answer = time::timeout(Duration::from_secs(5), async {
//!     time::sleep(Duration::from_millis(1)).await;
//!     42
//! });
//! assert_eq!(answer.await, Ok(42));
//! # });
//! # Ok::<(), std::io::Error>(())
//! ```

mod instant;
mod interval;
mod pause;
mod sleep;
mod timeout;
mod timer;

/// What can go wrong with time.
pub mod error {
    pub use super::timeout::Elapsed;
}

pub use instant::Instant;
pub use interval::{Interval, MissedTickBehavior, interval, interval_at};
pub use pause::{advance, pause, resume};
pub use sleep::{Sleep, sleep, sleep_until};
pub use std::time::Duration;
pub use timeout::{Elapsed, Timeout, timeout, timeout_at};

/// What stands for a duration that leads beyond the last moment an [`Instant`] can say: 30 years of 365 days.
///
/// Long enough to be "for ever" to a program, short enough to be added to any `Instant` the system gives out.
const FAR: Duration = Duration::from_secs(30 * 365 * 86_400);

/// `start + delay`, or about 30 years after `start` if there is no such moment.
///
/// A delay of more than 30 years that can be said is kept: it must not end early.
fn after(start: Instant, delay: Duration) -> Instant {
    // The second fallback is for a `start` that lies within 30 years of the last moment there is, and so
    // for ever away.
    let far = || start.checked_add(FAR).unwrap_or(start);
    start.checked_add(delay).unwrap_or_else(far)
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;
