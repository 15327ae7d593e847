//! Waiting for several futures at once, re-exported from [`futures-util`](https://docs.rs/futures-util).
//!
//! The crate is kept by the people who keep the `Future` trait's ecosystem, works on any runtime, and is
//! in most dependency trees already. Groups and races of the `futures-concurrency` crate work on liten
//! unmodified too.
//!
//! [`join!`] and [`join_all`] poll *all* their children when one is woken; [`FuturesUnordered`] polls
//! only the woken one; a [spawned](crate::spawn) task is a poll unit of its own.
//!
//! # Examples
//!
//! ```
//! use liten::future::{FutureExt, join, select};
//! use liten::time::{Duration, sleep};
//! # liten::block_on(async {
//! let (a, b) = join!(async { 1 }, async { 2 });
//! assert_eq!(a + b, 3);
//!
//! let mut quick = Box::pin(sleep(Duration::from_millis(1)).fuse());
//! let mut slow = Box::pin(sleep(Duration::from_secs(60)).fuse());
//! let first = select! {
//!     _ = quick => "quick",
//!     _ = slow => "slow",
//! };
//! assert_eq!(first, "quick");
//! # });
//! ```

pub use futures_util::future::{
    Either, FutureExt, TryFutureExt, join_all, select, select_all, select_ok, try_join_all,
    try_select,
};
pub use futures_util::stream::{FuturesOrdered, FuturesUnordered, Stream, StreamExt, TryStreamExt};
pub use futures_util::{join, pending, poll, select, select_biased, try_join};
