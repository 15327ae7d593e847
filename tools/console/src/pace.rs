//! How often the recording is read: so often that little is lost, and no more.

use std::time::Duration;

const SHORTEST: Duration = Duration::from_millis(5);
const LONGEST: Duration = Duration::from_millis(250);
/// A ring keeps 32,768 events on a machine with few processors. From so many on the next look comes sooner, and
/// below so many later.
const MANY: usize = 8_192;
const FEW: usize = 2_048;

pub(crate) struct Pace(Duration);

impl Pace {
    pub(crate) fn new() -> Self {
        Self(LONGEST)
    }

    /// How long to wait before the next look.
    pub(crate) fn pause(&self) -> Duration {
        self.0
    }

    /// A look has found so many new events of the thread that has the most, and so many were lost.
    pub(crate) fn seen(&mut self, events: usize, lost: u64) {
        if lost > 0 || events > MANY {
            self.0 = (self.0 / 2).max(SHORTEST);
        } else if events < FEW {
            self.0 = (self.0 * 2).min(LONGEST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_events_are_looked_at_more_often_and_few_less() {
        let mut pace = Pace::new();
        (0..20).for_each(|_| pace.seen(MANY + 1, 0));
        assert_eq!(pace.pause(), SHORTEST);
        pace.seen(FEW, 0);
        assert_eq!(pace.pause(), SHORTEST);
        (0..20).for_each(|_| pace.seen(0, 0));
        assert_eq!(pace.pause(), LONGEST);
        pace.seen(0, 1);
        assert_eq!(pace.pause(), LONGEST / 2);
    }
}
