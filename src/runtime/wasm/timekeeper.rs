//! What stands between a runtime's future and the host, and knows of timers.
//!
//! While the clock runs, the host blocks until the next deadline. While it is stopped, blocking brings no
//! deadline nearer: when everything waits, which is a *quiescent point*, the clock jumps. Everything waits if
//! the future, which is woken for each task that is woken, has not been polled again, and if the host has
//! reported nothing since its last poll: an event that has come is handled before a deadline that is due
//! later.

use crate::component::Attendant;
use crate::engine::driver::Driver;
use crate::engine::wakers;
use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Waker;
use std::time::Duration;

/// How many turns in a row without a quiescent point are accepted while a quiescent point is waited for,
/// because tasks may never pause.
const TURNS: u32 = 5_000;

/// Fires the timers of one driver.
pub(super) struct Timekeeper<'a> {
    driver: &'a Driver,
    /// The future has been polled since it was last found asleep.
    polled: Cell<bool>,
    patience: Cell<u32>,
    /// Keeps its memory from turn to turn.
    wakes: Cell<Vec<Waker>>,
}

impl<'a> Timekeeper<'a> {
    pub(super) fn new(driver: &'a Driver) -> Self {
        let patience = Cell::new(TURNS);
        Self { driver, polled: Cell::new(false), patience, wakes: Cell::default() }
    }

    /// `future`, of which it notices when it is polled.
    pub(super) async fn observe<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        poll_fn(|cx| {
            self.polled.set(true);
            future.as_mut().poll(cx)
        })
        .await
    }

    /// Calls the wakers that `collect` finds; whether there were any.
    fn wake(&self, collect: impl FnOnce(&mut Vec<Waker>)) -> bool {
        let mut wakes = self.wakes.take();
        collect(&mut wakes);
        let any = !wakes.is_empty();
        wakers::wake_all(&mut wakes);
        self.wakes.set(wakes);
        any
    }

    /// While the clock stands still and the future sleeps.
    #[cold]
    fn limit_out_of_time(&self) -> Option<Duration> {
        if self.polled.take() {
            return Some(Duration::ZERO);
        }
        self.patience.set(TURNS);
        // If no future waits for a quiescent point or a timer, only the host can help.
        self.wake(|wakes| self.driver.begin_quiescent_point(true, wakes)).then_some(Duration::ZERO)
    }

    /// While the clock stands still, after each turn.
    #[cold]
    fn lose_patience(&self) {
        let quiescent_points = self.driver.quiescent_points();
        if !quiescent_points.is_awaited() {
            return;
        }
        self.patience.set(self.patience.get() - 1);
        if self.patience.get() == 0 {
            self.patience.set(TURNS);
            self.wake(|wakes| quiescent_points.begin(wakes));
        }
    }
}

impl Attendant for Timekeeper<'_> {
    fn limit(&self) -> Option<Duration> {
        if self.driver.clock().is_stopped() {
            self.limit_out_of_time()
        } else {
            self.driver.limit()
        }
    }

    fn after_turn(&self) {
        if self.driver.clock().is_stopped() {
            self.lose_patience();
        }
        self.wake(|wakes| self.driver.expire_due(wakes));
    }
}
