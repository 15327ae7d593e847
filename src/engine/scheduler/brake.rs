//! The brake: tasks that compute wait, before the process has used up its quota of processor time. Pure: the
//! time, and what has been used, come in.
//!
//! A quota grants a group of processes so much time in each period. When it is used up, the system stops all
//! threads of the group until the period ends, and with them every event, timer and short task, for tens of
//! milliseconds. So the watchdog keeps account at each look: the *balance* grows by a little less than the
//! quota and shrinks by what the process has used. It decides how many workers may run tasks that have
//! yielded, which mostly compute:
//!
//! | balance | workers that may |
//! |---|---|
//! | above zero | all |
//! | below, a small debt | as many as may run all the time: what is granted, rounded down |
//! | a larger debt | none |
//! | the same for a whole period | all: the debt is forgiven, until a worker has polled such a task |
//!
//! The other workers leave such tasks to them, as helpers do, and run ready tasks. So ready tasks find
//! something of the quota at any moment, and not only at a period's beginning. Nothing is starved: after each
//! period in which none may compute, all may until a worker has found that at a fair turn, and has taken such
//! a task before it runs a ready one (`Worker::take_owed_poll`).
//!
//! No one knows when a period begins, and the account does not need to: what is used in *any* stretch as long
//! as a period is the quota at most, but for the credit, and for the length of the polls that are not over
//! when the balance is used up. A poll that is as long as a period, on more workers than the quota has whole
//! processors, is longer than what can be planned.
//!
//! A worker learns of the brake when a task yields to it (`Slot::leaves_yielded`). Rejected: only at a fair
//! turn. A worker whose polls were short until then ran up to six polls of 8 ms before the next one: with a
//! quota of 1.0, nine periods of ten were throttled instead of none.
//!
//! Rejected: to let all compute until four fifths of the quota of a period are gone, and none afterwards. It
//! needs the period's beginning, and the tasks that compute stand still for longer at a time.

use std::time::{Duration, Instant};

/// What the process may use, and what it has used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CpuBudget {
    /// In each period, all threads together may run for so long.
    pub(crate) time: Duration,
    pub(crate) period: Duration,
    /// For how long they have run since the process began.
    pub(crate) used: Duration,
}

/// The time between two looks. One takes some 20 µs.
const LOOK: Duration = Duration::from_millis(1);

/// A smaller part of the looks is not left out, whatever the quota.
const SLOWEST: f64 = 0.02;

/// Of the quota, this part of 100 is kept back: the system hands it out to each processor in pieces, of which
/// a rest stays there unused, and tells what running threads use with a delay.
const KEPT_BACK: u32 = 6;

/// Of the time per period, the 32nd part may be saved up while nothing computes.
const CREDIT: u32 = 32;

/// Of the time per period, the 16th part may be owed before no worker computes.
const DEBT: u32 = 16;

/// What is allowed to all.
pub(super) const ALL: usize = usize::MAX;

/// The account. It begins anew when the quota changes.
#[derive(Debug, Default)]
pub(super) struct Brake {
    account: Option<Account>,
}

#[derive(Debug, Clone, Copy)]
struct Account {
    /// As of the last look.
    budget: CpuBudget,
    looked: Instant,
    /// In nanoseconds of processor time.
    balance: i64,
    /// Since when no worker has been allowed to compute.
    none_since: Option<Instant>,
    /// The debt was forgiven, and no worker has polled a task since that has yielded: one poll is owed.
    owes_poll: bool,
}

impl Brake {
    /// One look: returns how many workers may run tasks that have yielded. `is_paid`: since the last look a
    /// worker has made the poll that was owed, or there is no task for it.
    pub(super) fn look(&mut self, budget: Option<CpuBudget>, now: Instant, is_paid: bool) -> usize {
        let known = self.account.take();
        let Some(budget) = budget else {
            return ALL;
        };
        let is_same =
            |it: &Account| (it.budget.time, it.budget.period) == (budget.time, budget.period);
        let mut account = known
            .filter(is_same)
            .map_or_else(|| Account::new(budget, now), |known| known.advance(budget, now, is_paid));
        let allowed = account.allowed();
        account.none_since = if allowed == 0 { account.none_since.or(Some(now)) } else { None };
        self.account = Some(account);
        allowed
    }

    /// Whether the debt was forgiven, and the poll that is owed then has not been made.
    pub(super) fn owes_poll(&self) -> bool {
        self.account.is_some_and(|account| account.owes_poll)
    }

    /// The longest time to the next look, if there is an account: [`LOOK`] where half a processor or more is
    /// granted, and longer for less, because the looks take some of it.
    pub(super) fn longest_pause(&self) -> Option<Duration> {
        let Account { budget, .. } = self.account?;
        let shorter = 2.0 * budget.time.as_secs_f64() / budget.period.as_secs_f64();
        Some(LOOK.div_f64(shorter.clamp(SLOWEST, 1.0)))
    }
}

impl Account {
    fn new(budget: CpuBudget, now: Instant) -> Self {
        Self { budget, looked: now, balance: 0, none_since: None, owes_poll: false }
    }

    fn advance(self, budget: CpuBudget, now: Instant, is_paid: bool) -> Self {
        // All of it, however long: time used meanwhile counts as well. A clock that jumps is worth no more
        // than the bounds of the balance, in both directions.
        let passed = now.saturating_duration_since(self.looked);
        let used = nanos(budget.used.saturating_sub(self.budget.used));
        // The conversion saturates.
        let granted = (passed.as_nanos() as f64 * self.rate()) as i64;
        let (least, most) = (-nanos(budget.time), nanos(budget.time / CREDIT));
        let balance =
            (self.balance.saturating_add(granted).saturating_sub(used)).clamp(least, most);
        let is_over = |since| now.saturating_duration_since(since) >= budget.period;
        let is_forgiven = self.none_since.is_some_and(is_over);
        Self {
            budget,
            looked: now,
            balance: if is_forgiven { most.max(1) } else { balance },
            none_since: self.none_since.filter(|_| !is_forgiven),
            owes_poll: is_forgiven || self.owes_poll && !is_paid,
        }
    }

    /// What is granted, in processors.
    fn rate(&self) -> f64 {
        let cpus = self.budget.time.as_secs_f64() / self.budget.period.as_secs_f64();
        cpus * f64::from(100 - KEPT_BACK) / 100.0
    }

    fn allowed(&self) -> usize {
        if self.balance >= 0 || self.owes_poll {
            ALL
        } else if self.balance >= -nanos(self.budget.time / DEBT) {
            self.rate() as usize
        } else {
            0
        }
    }
}

fn nanos(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
