//! The driver's clock, and what can be done while it stands still; see the header of driver.rs.

use super::Driver;
use super::clock::{Clock, WrongState};
use std::task::Waker;
use std::time::Instant;

impl Driver {
    #[inline]
    pub(crate) fn clock(&self) -> &Clock {
        self.timers.clock()
    }

    /// Lets the clock stand still, and a thread that sleeps until a deadline look around.
    pub(crate) fn stop_clock(&self) -> Result<(), WrongState> {
        self.clock().stop()?;
        self.wake();
        Ok(())
    }

    /// Lets the clock go on, and lets a sleeping thread look for the deadlines again. No thread looks for
    /// quiescent points any more, so the wakers of all futures that wait for one go into `wakes`; the caller
    /// calls them.
    pub(crate) fn resume_clock(&self, wakes: &mut Vec<Waker>) -> Result<(), WrongState> {
        self.clock().resume()?;
        self.quiescent_points.begin(wakes);
        self.wake();
        Ok(())
    }

    /// Moves a clock that stands still to what `to` says, given where it stands; and the wakers of what is
    /// due then into `wakes`, in the order of deadlines.
    pub(crate) fn advance_clock(
        &self,
        to: impl FnOnce(Instant) -> Instant,
        wakes: &mut Vec<Waker>,
    ) -> Result<(), WrongState> {
        self.clock().advance(to)?;
        self.timers.expire_due(wakes);
        Ok(())
    }

    /// Called by a thread that runs or wakes the tasks, while the clock stands still and every task waits:
    /// collects the wakers of the futures that wait for such a point. If there are none, and `may_jump`,
    /// brings the clock to the next deadline. The caller calls `wakes`, as after a turn; if there are none,
    /// only an event can make a task ready.
    pub(crate) fn begin_quiescent_point(&self, may_jump: bool, wakes: &mut Vec<Waker>) {
        self.quiescent_points.begin(wakes);
        if wakes.is_empty() && may_jump {
            self.timers.jump(wakes);
        }
    }
}
