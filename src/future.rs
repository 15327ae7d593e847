//! Waiting for many futures at once, re-exported from [`futures-util`](https://docs.rs/futures-util).
//!
//! The crate is kept by the people who keep the `Future` trait's ecosystem, works on any runtime, and is
//! in most dependency trees already. Groups and races of the `futures-concurrency` crate work on liten
//! unmodified too. For a few futures that are known when the program is written there are the macros at the
//! root: [`join!`](crate::join!), [`try_join!`](crate::try_join!) and [`select!`](crate::select!).
//!
//! [`join!`](crate::join!) and [`join_all`] poll *all* their children when one is woken (`join_all` only
//! while it has few of them); [`FuturesUnordered`] polls only the woken one; a [spawned](crate::spawn) task
//! is a poll unit of its own.
//!
//! # Examples
//!
//! ```
//! use liten::future::{FuturesUnordered, StreamExt, join_all};
//! use liten::time::{Duration, sleep};
//!
//! async fn after(milliseconds: u64) -> u64 {
//!     sleep(Duration::from_millis(milliseconds)).await;
//!     milliseconds
//! }
//!
//! # liten::block_on(async {
//! assert_eq!(join_all([2, 1].map(after)).await, [2, 1]);
//!
//! let mut unordered: FuturesUnordered<_> = [60_000, 1].map(after).into_iter().collect();
//! assert_eq!(unordered.next().await, Some(1));
//! # });
//! ```

pub use futures_util::future::{
    Either, FutureExt, TryFutureExt, join_all, select, select_all, select_ok, try_join_all,
    try_select,
};
pub use futures_util::stream::{FuturesOrdered, FuturesUnordered, Stream, StreamExt, TryStreamExt};
