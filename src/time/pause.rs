//! Stopping the clock of a runtime and moving it by hand.

use super::{Duration, Instant};
use crate::engine::tokio_note::{NOTE, noted};
use crate::engine::wakers;
use crate::runtime::context;

/// What is wrong with a clock that goes.
const GOES: &str =
    "time is not frozen: call time::pause first, or build the runtime with start_paused";

/// What is wrong with a moment that is very far away.
const TOO_FAR: &str =
    "time::advance: a clock goes no further than 500 years from the start of its runtime";

/// What is wrong with a runtime that was not made for it.
const UNFIT: &str = "time::pause: a multithreaded runtime has to be built with start_paused = true (and \
    time::resume lets its clock go), so that it notices when it has nothing to do";

/// Stops the clock of the current runtime, for a test.
///
/// From now on [`Instant::now`] returns the same moment in this runtime, until [`advance`]
/// moves it or the runtime is idle: then the clock jumps to the next deadline. See
/// [Testing with paused time](super#testing-with-paused-time).
///
/// Other runtimes, [`std::time::Instant`] and the wall clock are not touched. A thread that blocks in a
/// task or a root, also in [`block_in_place`](crate::task::block_in_place) or
/// [`scope`](crate::task::scope), is not idle: the clock does not jump until it goes on.
///
/// # Panics
///
/// If time is paused already; on a multithreaded runtime that was not built with
/// [`start_paused`](crate::runtime::Builder::start_paused); outside a runtime.
#[track_caller]
pub fn pause() {
    let handle = context::expect("time::pause");
    assert!(handle.knows_quiescent_points(), "{UNFIT}{NOTE}");
    assert!(handle.driver().stop_clock().is_ok(), noted!("time is already frozen"));
}

/// Lets the clock of the current runtime go on, from the moment at which it stands.
///
/// Timers keep their deadlines: what was due in an hour is due in a real hour from now.
///
/// # Panics
///
/// If time is not paused; outside a runtime.
#[track_caller]
pub fn resume() {
    let handle = context::expect("time::resume");
    let mut wakes = Vec::new();
    assert!(handle.driver().resume_clock(&mut wakes).is_ok(), "{GOES}{NOTE}");
    wakers::wake_all(&mut wakes);
}

/// Moves the paused clock of the current runtime forward, at once, and lets the tasks run that were waiting
/// for a moment up to the new one.
///
/// The clock is moved at the first poll, in one step: a task that is woken sees the new moment, however early
/// its own deadline was. Timers fire in the order of their deadlines. When this returns, the tasks they woke
/// have run, and so have those that these have woken, until each task waits for something again; no further
/// deadline is jumped to meanwhile. A task that never waits is not waited for without end: this returns
/// after some thousand rounds of polls, or on a multithreaded runtime after a tenth of a second (at the time
/// of writing); and at once when the clock is let [go on](resume) meanwhile. To let each deadline pass at its
/// own moment, [`sleep`](super::sleep()) instead.
///
/// With zero it only lets the tasks run. A `duration` that leads beyond what an [`Instant`] can say counts as
/// 30 years.
///
/// # Cancel safety
///
/// If the future is dropped after its first poll the clock has been moved.
///
/// # Panics
///
/// If time is not paused; outside a runtime; and if the clock would be moved further than 500 years from the
/// start of the runtime, near the end of what timers can count.
///
/// # Examples
///
/// ```
/// use liten::time::{self, Duration, Instant};
///
/// #[liten::main(flavor = "current_thread", start_paused = true)]
/// async fn main() {
///     let start = Instant::now();
///     let task = liten::task::spawn_local(time::sleep(Duration::from_secs(5)));
///     liten::task::yield_now().await; // the task begins to sleep
///     time::advance(Duration::from_secs(4)).await;
///     assert!(!task.is_finished());
///     time::advance(Duration::from_secs(1)).await;
///     assert!(task.is_finished());
///     assert_eq!(start.elapsed(), Duration::from_secs(5));
/// }
/// ```
pub async fn advance(duration: Duration) {
    let handle = context::expect("time::advance");
    let driver = handle.driver();
    let seen = driver.quiescent_points().count();
    let mut is_too_far = false;
    let to = |at| {
        let moment = super::after(Instant::from_std(at), duration).into_std();
        is_too_far = !driver.timers().can_count_to(moment);
        if is_too_far { at } else { moment }
    };
    let mut wakes = Vec::new();
    assert!(driver.advance_clock(to, &mut wakes).is_ok(), "{GOES}{NOTE}");
    wakers::wake_all(&mut wakes);
    assert!(!is_too_far, "{TOO_FAR}{NOTE}");
    handle.wait_for_quiescent_point(seen).await;
}
