//! What a task does, as the documentation has it: no threads, no wakers, no reference counts.

use super::Deed;

/// How a task behaves when it is left alone.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    /// Its last poll comes after so many others; `None`: it never is ready.
    pub(super) wakes: Option<usize>,
    /// The last poll panics.
    pub(super) poll_panics: bool,
    /// The destructor of the future panics.
    pub(super) future_panics: bool,
    /// The destructor of the output panics.
    pub(super) output_panics: bool,
}

/// How a task has ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Ending {
    Value,
    Cancelled,
    Panic(&'static str),
}

pub(super) const IN_POLL: &str = "in the poll";
pub(super) const IN_FUTURE: &str = "in the destructor of the future";
pub(super) const IN_OUTPUT: &str = "in the destructor of the output";

#[derive(Debug, Clone, Copy, PartialEq)]
enum Phase {
    Queued,
    Running { woken: bool },
    Cold,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Join {
    Kept {
        polled: bool,
    },
    /// It has returned the result.
    Spent,
    Dropped,
}

pub(super) struct Model {
    plan: Plan,
    phase: Phase,
    aborted: bool,
    join: Join,
    has_abort_handle: bool,
    leaves_wakers: bool,
    has_waker: bool,
    pub(super) ending: Option<Ending>,
    pub(super) polls: usize,
    pub(super) future_drops: usize,
    pub(super) made: usize,
    pub(super) output_drops: usize,
    /// How often the waker was called that the JoinHandle was polled with.
    pub(super) joiner_woken: usize,
    /// What the JoinHandle returned.
    pub(super) told: Option<Ending>,
}

impl Model {
    pub(super) fn new(plan: Plan, has_abort_handle: bool, leaves_wakers: bool) -> Self {
        Self {
            plan,
            phase: Phase::Queued,
            aborted: false,
            join: Join::Kept { polled: false },
            has_abort_handle,
            leaves_wakers,
            has_waker: false,
            ending: None,
            polls: 0,
            future_drops: 0,
            made: 0,
            output_drops: 0,
            joiner_woken: 0,
            told: None,
        }
    }

    /// As [`super::life::Witness::counts`].
    pub(super) fn counts(&self) -> [usize; 4] {
        [self.polls, self.future_drops, self.made, self.output_drops]
    }

    /// What the handles say, if there is one.
    pub(super) fn is_finished(&self) -> Option<bool> {
        let has_handle = self.has_abort_handle || self.join != Join::Dropped;
        has_handle.then_some(self.ending.is_some())
    }

    /// Until its end, and as long as anything refers to it.
    pub(super) fn has_memory(&self) -> bool {
        self.has_waker || self.is_finished().is_some() || self.ending.is_none()
    }

    pub(super) fn deed(&mut self, deed: Deed) {
        match deed {
            Deed::Wake if self.has_waker => self.wake(),
            Deed::WakeByValue if self.has_waker => {
                self.has_waker = false;
                self.wake();
            }
            Deed::Wake | Deed::WakeByValue => {}
            Deed::DropWaker => self.has_waker = false,
            Deed::Abort if self.is_finished() == Some(false) => {
                self.aborted = true;
                self.wake();
            }
            Deed::Abort => {}
            Deed::PollJoin => self.poll_join(),
            Deed::DropJoin => {
                if matches!(self.join, Join::Kept { .. }) && self.ending == Some(Ending::Value) {
                    self.output_drops += 1;
                }
                self.join = Join::Dropped;
            }
            Deed::DropAbort => self.has_abort_handle = false,
        }
    }

    fn wake(&mut self) {
        match &mut self.phase {
            Phase::Queued => {}
            Phase::Running { woken } => *woken = true,
            Phase::Cold if self.ending.is_some() => {}
            Phase::Cold => self.phase = Phase::Queued,
        }
    }

    fn poll_join(&mut self) {
        match self.join {
            Join::Kept { .. } if self.ending.is_some() => {
                // The thread that asks drops what it gets.
                self.output_drops += usize::from(self.ending == Some(Ending::Value));
                self.told = self.ending;
                self.join = Join::Spent;
            }
            Join::Kept { .. } => self.join = Join::Kept { polled: true },
            Join::Spent | Join::Dropped => {}
        }
    }

    pub(super) fn will_be_polled(&self) -> bool {
        self.phase == Phase::Queued && !self.aborted
    }

    /// Until the task is cold or at its end.
    pub(super) fn run(&mut self, during_the_first_poll: &[Deed]) {
        let mut during = during_the_first_poll;
        while self.phase == Phase::Queued {
            if self.aborted {
                return self.cancel();
            }
            self.phase = Phase::Running { woken: false };
            self.polls += 1;
            self.has_waker = self.leaves_wakers;
            std::mem::take(&mut during).iter().for_each(|deed| self.deed(*deed));
            if self.plan.wakes.is_some_and(|wakes| self.polls > wakes) {
                return self.last_poll();
            }
            if self.aborted {
                return self.cancel();
            }
            let again = self.phase == Phase::Running { woken: true };
            self.phase = if again { Phase::Queued } else { Phase::Cold };
        }
    }

    fn last_poll(&mut self) {
        let has_output = !self.plan.poll_panics;
        self.made += usize::from(has_output);
        self.future_drops += 1;
        let ending = if self.plan.future_panics {
            // The later panic is the one that is told, and an output goes.
            self.output_drops += usize::from(has_output);
            Ending::Panic(IN_FUTURE)
        } else if has_output {
            Ending::Value
        } else {
            Ending::Panic(IN_POLL)
        };
        self.end(ending);
    }

    fn cancel(&mut self) {
        self.future_drops += 1;
        self.end(if self.plan.future_panics {
            Ending::Panic(IN_FUTURE)
        } else {
            Ending::Cancelled
        });
    }

    fn end(&mut self, ending: Ending) {
        self.phase = Phase::Cold;
        self.ending = Some(ending);
        match self.join {
            Join::Kept { polled } => self.joiner_woken += usize::from(polled),
            Join::Dropped => self.output_drops += usize::from(ending == Ending::Value),
            Join::Spent => unreachable!("the task has just ended"),
        }
    }

    /// The executor goes while the task is cold.
    pub(super) fn shut_down(&mut self) {
        assert_eq!(self.phase, Phase::Cold);
        self.cancel();
    }
}
