//! The end of a runtime, step by step; see the header of runtime.rs.

use super::block_on;
use super::handle::{Flavor, Handle};
use crate::wakers;
use std::time::{Duration, Instant};

impl Handle {
    /// Ends the runtime; waits for its threads, for `timeout` at most. A second call finds nothing to do.
    ///
    /// On one of the runtime's own threads nothing is waited for.
    pub(super) fn shutdown(&self, timeout: Option<Duration>) {
        let inner = &*self.inner;
        // A deadline beyond the clock's range is none.
        let deadline = timeout.map(|timeout| Instant::now().checked_add(timeout));
        let deadline = deadline.flatten().or(timeout.map(far));
        let may_wait = !block_on::is_own_thread(self) && timeout != Some(Duration::ZERO);
        inner.blocking.close();
        let mut ended = true;
        if let Flavor::MultiThread { scheduler, .. } = &inner.flavor {
            scheduler.close();
            ended = may_wait && scheduler.wait(deadline);
        }
        // Sources and timers held outside the runtime's tasks: whoever waits for them learns that it is
        // in vain.
        let mut wakes = Vec::new();
        inner.driver.close(&mut wakes);
        wakers::wake_all(&mut wakes);
        if ended && may_wait {
            inner.blocking.wait(deadline);
        }
    }
}

/// Thirty years from now, for timeouts that overflow the clock.
fn far(_: Duration) -> Instant {
    Instant::now() + Duration::from_secs(60 * 60 * 24 * 365 * 30)
}
