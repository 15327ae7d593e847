//! One worker as the monitor sees it from look to look. Pure: the time is passed in.

use std::time::{Duration, Instant};

/// What the monitor remembers of one worker.
#[derive(Debug)]
pub(super) struct Pulse {
    progress: u64,
    /// The last look that saw it move, or saw it at work after a rest; it has stood still since then at the
    /// earliest. Not the last look that saw it at rest: the monitor may have slept since.
    moved: Instant,
    at_rest: bool,
    /// This standstill has been reported.
    reported: bool,
}

impl Pulse {
    pub(super) fn new(now: Instant) -> Self {
        Self { progress: 0, moved: now, at_rest: true, reported: false }
    }

    /// One look: `progress` is a number that moves whenever the worker does. Returns how long the worker
    /// has stood still at least; `None`: it has moved since the last look, or has or had nothing to do.
    pub(super) fn look(&mut self, progress: u64, at_rest: bool, now: Instant) -> Option<Duration> {
        let moved = std::mem::replace(&mut self.progress, progress) != progress;
        let rested = std::mem::replace(&mut self.at_rest, at_rest);
        if moved || at_rest || rested {
            self.moved = now;
            self.reported = false;
            return None;
        }
        Some(self.still(now))
    }

    /// How long it has stood still at least.
    pub(super) fn still(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.moved)
    }

    /// `true` once per standstill.
    pub(super) fn report(&mut self) -> bool {
        !std::mem::replace(&mut self.reported, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Duration = Duration::from_millis(4);

    #[test]
    fn a_standstill_counts_from_the_last_movement_that_was_seen() {
        let start = Instant::now();
        let mut pulse = Pulse::new(start);
        assert_eq!(pulse.look(1, false, start + TICK), None, "it has moved");
        assert_eq!(pulse.look(1, false, start + 2 * TICK), Some(TICK));
        assert_eq!(pulse.look(1, false, start + 3 * TICK), Some(2 * TICK));
        assert_eq!(pulse.look(2, false, start + 4 * TICK), None);
        assert_eq!(pulse.look(2, false, start + 5 * TICK), Some(TICK));
    }

    #[test]
    fn a_worker_at_rest_does_not_stand_still() {
        let start = Instant::now();
        let mut pulse = Pulse::new(start);
        assert_eq!(pulse.look(0, true, start + TICK), None);
        assert_eq!(pulse.look(0, true, start + 9 * TICK), None);
        assert_eq!(pulse.look(0, false, start + 99 * TICK), None, "it may have begun just now");
        assert_eq!(pulse.look(0, false, start + 100 * TICK), Some(TICK));
    }

    #[test]
    fn each_standstill_is_reported_once() {
        let start = Instant::now();
        let mut pulse = Pulse::new(start);
        for progress in [1, 2] {
            assert_eq!(pulse.look(progress, false, start), None);
            assert!(pulse.look(progress, false, start + TICK).is_some());
            assert_eq!([pulse.report(), pulse.report()], [true, false]);
            assert!(pulse.look(progress, false, start + TICK).is_some());
            assert!(!pulse.report());
        }
    }
}
