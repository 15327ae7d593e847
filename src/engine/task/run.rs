//! One poll of a task, and what follows from it.

use super::header::{Hot, Runner};
use super::state::{Pending, Polled, Start};
use super::traced;
use crate::engine::sync_shim::atomic::Ordering;

impl Hot {
    /// Polls the task once, and does what the outcome asks for. Returns how the poll ended; `Ready` also if
    /// the task was cancelled.
    #[inline]
    pub(crate) fn run(mut self, runner: &impl Runner) -> Polled {
        let header = self.header();
        // Ordering: Relaxed, see `home`.
        if header.home.load(Ordering::Relaxed) != runner.home_worker() {
            header.home.store(runner.home_worker(), Ordering::Relaxed);
        }
        header.link.set_note(None);
        let polled = match header.state.start() {
            Start::Poll => self.poll(),
            Start::Trace => {
                let (data, future) = (self.0.as_ptr().cast_const().cast(), header.vtable.type_name);
                traced::poll(header.id, data, future(), &mut || self.poll_traced())
            }
            Start::Cancel => {
                self.cancel(runner);
                return Polled::Ready;
            }
        };
        match polled {
            Polled::Ready => {
                self.complete(runner);
                return polled;
            }
            // Still SCHEDULED: a wake that came meanwhile has set WOKEN, which the next `start` takes as
            // answered.
            Polled::Yielded => {
                runner.yielded(self);
                return polled;
            }
            Polled::Pending => {}
        }
        self.ensure_registered(runner);
        match self.header().state.pending() {
            // Another thread may own the task from here on, so `self` must not be used any more.
            Pending::Cold => {}
            Pending::Requeue => runner.requeue(self),
            Pending::Cancel => {
                self.cancel(runner);
                return Polled::Ready;
            }
        }
        polled
    }
}
