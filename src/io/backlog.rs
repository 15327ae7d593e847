//! Connecting to a listener whose queue is full.
//!
//! Linux answers `EAGAIN` then, and has no event that tells when there is room: waiting for writability would
//! last for ever. So the attempt is repeated after pauses, which grow from 1 to 32 ms while nothing changes.
//! Nothing but a timer waits in between, so that giving up leaves nothing behind.
//!
//! Rejected: a blocking `connect` on the pool, which the kernel wakes when there is room. It cannot be given
//! up: its thread stays in it as long as the listener takes no connection, a runtime that ends waits for it,
//! and in the end it makes a connection that no caller takes. Rejected too: returning the error. A program
//! that makes many connections at once would have to write this loop itself.
//!
//! Other systems refuse the connection, and the first attempt is the last.

use super::current_driver;
use crate::engine::driver::Driver;
use crate::engine::driver::readiness::shutdown_error;
use crate::engine::driver::timers::TimerEntry;
use crate::engine::sync_shim::Arc;
use crate::engine::task::budget;
use crate::runtime::incidents::connected;
use std::future::Future;
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::time::Duration;

const SHORTEST: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_millis(32);

/// Calls `connect` again and again until it says something else than `WouldBlock`, and returns that.
pub(crate) async fn patiently<S>(
    driver: &Arc<Driver>,
    mut connect: impl FnMut() -> io::Result<S>,
) -> io::Result<S> {
    let mut pause = SHORTEST;
    // As a rule the first attempt makes the connection. A task that makes many yields.
    poll_fn(budget::poll_proceed).await;
    loop {
        match connect() {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            result => {
                connected(&result);
                return result;
            }
        }
        sleep(driver, pause).await?;
        pause = (2 * pause).min(LONGEST);
    }
}

/// The same in the current runtime. Panics outside one.
#[track_caller]
pub fn connect_patiently<S>(
    connect: impl FnMut() -> io::Result<S>,
) -> impl Future<Output = io::Result<S>> {
    let driver = current_driver();
    async move { patiently(&driver, connect).await }
}

async fn sleep(driver: &Arc<Driver>, pause: Duration) -> io::Result<()> {
    // The shard of threads that are no workers: the task may be polled by another worker next time, and this
    // is no path for speed.
    let shard = driver.timers().shard(usize::MAX).clone();
    let deadline = shard.now() + pause;
    let mut timer = TimerEntry::new(shard, deadline);
    let slept = poll_fn(|cx| budget::poll_leaf(cx, |cx| timer.poll(cx))).await;
    slept.map_err(|_closed| shutdown_error())
}
