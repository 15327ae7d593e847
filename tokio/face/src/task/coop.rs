//! The budget of a task: liten's.

use std::cell::Cell;
use std::fmt;
use std::task::{Context, Poll};

pub use liten::task::coop::{
    consume_budget, cooperative, has_budget_remaining, unconstrained, Coop, Unconstrained,
};

/// Polls for one unit of the budget of the current task, and takes it.
pub fn poll_proceed(cx: &mut Context<'_>) -> Poll<RestoreOnPending> {
    liten::task::coop::poll_proceed(cx).map(|taken| RestoreOnPending { taken: Cell::new(Some(taken)) })
}

/// Takes one unit of the budget of the current task, once there is one.
pub(crate) async fn charge() {
    std::future::poll_fn(poll_proceed).await.made_progress();
}

/// Polls for a budget of the current task that is not used up, and takes nothing of it.
pub(crate) fn poll_budget_available(cx: &mut Context<'_>) -> Poll<()> {
    liten::combinators::poll_budget(cx)
}

/// Gives a unit of the budget back when it is dropped, unless progress was made with it.
#[must_use]
pub struct RestoreOnPending {
    taken: Cell<Option<liten::task::coop::RestoreOnPending>>,
}

impl RestoreOnPending {
    /// Keeps the unit: something was done.
    pub fn made_progress(&self) {
        if let Some(taken) = self.taken.take() {
            taken.made_progress();
        }
    }
}

impl fmt::Debug for RestoreOnPending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RestoreOnPending").finish_non_exhaustive()
    }
}
