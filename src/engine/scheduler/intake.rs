//! Decides when a worker that has tasks of its own looks at the queues outside, and how many tasks it brings
//! in from there. Pure: the worker says what happened, and no queue is read here.
//!
//! After a look, the worker runs as many tasks as the look brought before it looks again: the *pause*. All
//! looks of one *pass* bring in [`INTAKE`] tasks from the injector at the most. A pass begins with a look
//! that brings something, and lasts until what was in the deque then has been popped.

use super::pace::FAIR_INTERVAL;
use std::cell::Cell;

/// The most tasks that one pass brings in from the injector, so that a backlog outside does not pile up in
/// front of the tasks that are here. More means fewer looks, and a longer wait for a task
/// that always has work.
pub(super) const INTAKE: usize = 512;

/// What is true between any two calls: without a pass there is room for [`INTAKE`] tasks.
#[derive(Debug)]
pub(super) struct Intake {
    /// Ticks until the next look, if anything waits outside.
    pause: Cell<u32>,
    /// How many tasks may still be brought in during this pass.
    room: Cell<usize>,
    /// Pops until the end of this pass; 0: none has begun.
    pass: Cell<usize>,
}

impl Intake {
    pub(super) fn new() -> Self {
        Self { pause: Cell::new(0), room: Cell::new(INTAKE), pass: Cell::new(0) }
    }

    /// One tick: whether the worker does not look outside in it.
    #[inline]
    pub(super) fn pauses(&self) -> bool {
        let pause = self.pause.get();
        if pause != 0 {
            self.pause.set(pause - 1);
        }
        pause != 0
    }

    /// Whether the worker looks outside now, though no hint says that something waits there. `queued` tasks
    /// are in the deque: thieves may have taken what the last look brought.
    pub(super) fn is_due(&self, queued: usize) -> bool {
        self.pause.set(self.pause.get().min(queued as u32));
        self.pause.get() == 0
    }

    /// The deque was popped, and a task was `found` or not. One that found nothing ends the pass.
    #[inline]
    pub(super) fn popped(&self, found: bool) {
        let pass = self.pass.get();
        if pass != 0 {
            self.end_pass_after(if found { pass - 1 } else { 0 });
        }
    }

    #[inline]
    fn end_pass_after(&self, pops: usize) {
        self.pass.set(pops);
        if pops == 0 {
            self.room.set(INTAKE);
        }
    }

    /// The worker looks outside, with `queued` tasks in the deque. Returns how many it may bring in; 0: until
    /// the pass ends, only its channel is worth a look.
    pub(super) fn begin_look(&self, queued: usize) -> usize {
        if self.pass.get() > queued {
            // Thieves have taken from what the pass was to last for.
            self.end_pass_after(queued);
        }
        self.room.get()
    }

    /// A look at the injector has `brought` in tasks, of the `room` that there was for them. With these,
    /// `queued` tasks are in the deque.
    pub(super) fn brought(&self, room: usize, brought: usize, queued: usize) {
        // A small remainder is not worth a look: what it brings would lengthen the queue by little, and cost
        // the next look a whole round of the worker's own tasks.
        let left = room.saturating_sub(brought);
        self.room.set(if left < INTAKE / 2 { 0 } else { left });
        if brought != 0 && self.pass.get() == 0 {
            self.pass.set(queued);
        }
    }

    /// The look is over: there was `room` for that many tasks, `brought` is the number of those that came
    /// from the injector, and `added` counts those from the channel, too.
    pub(super) fn end_look(&self, room: usize, brought: usize, added: usize) {
        let pause = match room {
            0 => self.pass.get().min(FAIR_INTERVAL as usize) - 1,
            _ => brought,
        };
        self.pause.set(pause.max(added) as u32);
    }
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;
