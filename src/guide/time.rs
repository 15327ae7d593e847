//! Waiting for time.
//!
//! ```
//! # liten::block_on(async {
//! use liten::time::{Duration, sleep, timeout};
//!
//! sleep(Duration::from_millis(1)).await;
//! let late = timeout(Duration::from_millis(1), sleep(Duration::from_secs(60))).await;
//! assert!(late.is_err());
//! # });
//! ```
//!
//! A timer never fires early. It costs no allocation, so setting one per request and dropping it is fine.
//!
//! # At a period
//!
//! [`interval`](crate::time::interval) ticks at once and then at each period. When the program is late,
//! [`MissedTickBehavior`](crate::time::MissedTickBehavior) says what becomes of the ticks it missed: all
//! of them at once (`Burst`, the default), the rest moved back (`Delay`), or left out (`Skip`).
//!
//! ```
//! # liten::block_on(async {
//! use liten::time::{Duration, MissedTickBehavior, interval};
//!
//! let mut ticks = interval(Duration::from_millis(1));
//! ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
//! for _ in 0..3 {
//!     ticks.tick().await;
//! }
//! # });
//! ```
//!
//! # A deadline that moves
//!
//! An idle timeout is one [`Sleep`](crate::time::Sleep) that is [reset](crate::time::Sleep::reset) with
//! each message:
//!
//! ```
//! # liten::block_on(async {
//! use liten::time::{Duration, Instant, sleep};
//!
//! let (sender, mut receiver) = liten::sync::mpsc::channel(1);
//! liten::spawn(async move {
//!     for n in 0..3 {
//!         let _ = sender.send(n).await;
//!     }
//!     // Still there, and silent.
//!     std::future::pending::<()>().await;
//! });
//! let idle = Duration::from_millis(5);
//! liten::pin! {
//!     let deadline = sleep(idle);
//! }
//! let mut received = 0;
//! loop {
//!     liten::select! {
//!         message = receiver.recv() => {
//!             message.expect("the sender is there");
//!             received += 1;
//!             deadline.as_mut().reset(Instant::now() + idle);
//!         }
//!         _ = &mut deadline => break,
//!     }
//! }
//! assert!(received <= 3);
//! # });
//! ```
//!
//! # In tests
//!
//! A test need not wait. When time is [paused](crate::time::pause), it jumps to the next deadline as soon as
//! everything waits, and [`advance`](crate::time::advance) moves it by hand.
//!
//! ```
//! use liten::time::{Duration, Instant, sleep};
//!
//! // In a test: #[liten::test(start_paused = true)]
//! #[liten::main(flavor = "current_thread", start_paused = true)]
//! async fn main() {
//!     let start = Instant::now();
//!     sleep(Duration::from_secs(86_400)).await;
//!     assert_eq!(start.elapsed(), Duration::from_secs(86_400));
//! }
//! ```
//!
//! A paused clock leaves the order of tasks on several workers to chance. The package `liten-sim`, in the
//! folder `sim`, decides it by a seed, and with it the time, the network and its faults:
//! `#[liten::test(sim, seeds = 200)]`.
