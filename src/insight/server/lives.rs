//! The recordings that go on while the page is looked at.
//!
//! The first request for `/live` begins them, and they end when none has come for [`PATIENCE`]: a page that
//! is closed, or hidden behind another one, costs nothing. Meanwhile the page's thread empties the rings
//! every [`PAUSE`].

use super::observed::Observed;
use super::picture::{Cost, MOST_RUNTIMES};
use crate::engine::sync_shim::clock;
use crate::engine::task::TaskId;
use crate::insight::live::Live;
use crate::insight::live_json::{Shown, live_json};
use crate::observe::thread_activity::time_of_this_thread;
use crate::runtime::Id;
use std::time::{Duration, Instant};

/// A ring has room for what one worker does in this time at some 300,000 events a second.
pub(super) const PAUSE: Duration = Duration::from_millis(100);

const PATIENCE: Duration = Duration::from_secs(5);

pub(super) struct Lives {
    opened: Instant,
    /// The last request.
    asked: Option<Instant>,
    lives: Vec<(Id, Live)>,
    /// How many there have been.
    count: u64,
    /// How many events those have lost that are over.
    lost_before: u64,
}

impl Lives {
    pub(super) fn new() -> Self {
        Self { opened: clock::now(), asked: None, lives: Vec::new(), count: 0, lost_before: 0 }
    }

    /// A request has come. Returns whether [`Lives::go_on`] is to be called from now on.
    pub(super) fn ask(&mut self, observed: &Observed) -> bool {
        let begins = self.asked.replace(clock::now()).is_none();
        let living = observed.living().0;
        self.keep(|id| living.iter().any(|handle| handle.id() == id));
        for handle in living.iter().take(MOST_RUNTIMES) {
            if self.lives.iter().all(|(id, _)| *id != handle.id()) {
                self.count += 1;
                self.lives.extend(Live::of(handle, self.count).map(|live| (handle.id(), live)));
            }
        }
        begins
    }

    /// Empties the rings. Returns whether the page is still looked at; if not, the recordings have ended.
    pub(super) fn go_on(&mut self) -> bool {
        let is_over =
            self.asked.is_none_or(|asked| clock::now().saturating_duration_since(asked) > PATIENCE);
        if is_over {
            self.asked = None;
            self.keep(|_| false);
        }
        self.lives.iter_mut().for_each(|(_, live)| live.read_on());
        !is_over
    }

    /// Ends the recordings of other runtimes.
    fn keep(&mut self, is_kept: impl Fn(Id) -> bool) {
        let over = self.lives.iter().filter(|(id, _)| !is_kept(*id));
        self.lost_before += over.map(|(_, live)| live.lost).sum::<u64>();
        self.lives.retain(|(id, _)| is_kept(*id));
    }

    /// `after` says for each runtime which bins and long events the reader has.
    pub(super) fn json(&mut self, after: impl Fn(Id) -> (u64, u64)) -> String {
        let cost = self.cost();
        let shown = self.lives.iter_mut().map(|(id, live)| {
            live.read_on();
            Shown { id: *id, live, after: after(*id) }
        });
        live_json(shown.collect(), cost)
    }

    /// How often the task was polled at least, since the page draws what is recorded.
    pub(super) fn polls(&self, runtime: Id, task: TaskId) -> Option<u64> {
        let (_, live) = self.lives.iter().find(|(id, _)| *id == runtime)?;
        Some(live.polls(task))
    }

    pub(super) fn cost(&self) -> Cost {
        let lost = self.lives.iter().map(|(_, live)| live.lost).sum::<u64>();
        Cost {
            processor: time_of_this_thread(),
            open_for: clock::now().saturating_duration_since(self.opened),
            lost_events: self.lost_before + lost,
        }
    }
}
