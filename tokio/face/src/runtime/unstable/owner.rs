//! Whose a task of `spawn_local` is: that of the set that the thread polls or has entered, or of its runtime.
//! liten decides that, and is asked.

use super::extras::Extras;
use liten::task::{local_executor, LocalSet};
use std::cell::RefCell;
use std::sync::Arc;

thread_local! {
    /// The sets of this thread that end when a task panics. The others have nothing that a task would need.
    static SETS: RefCell<Vec<(usize, Arc<Extras>)>> = const { RefCell::new(Vec::new()) };
}

/// What a call of `spawn_local` on this thread has to know now.
pub(crate) fn of_spawn_local() -> Option<Arc<Extras>> {
    let Some(executor) = local_executor() else { return Extras::rare_current() };
    // A thread that is ending has none.
    let found = SETS.try_with(|sets| {
        let sets = sets.borrow();
        sets.iter().find(|(of, _)| *of == executor).map(|(_, extras)| extras.clone())
    });
    found.ok().flatten()
}

/// Keeps a set in the list.
pub(crate) struct Owner(Arc<Extras>);

impl Owner {
    pub(crate) fn new(set: &LocalSet) -> Self {
        let executor = {
            let _entered = set.enter();
            local_executor()
        };
        let extras = Extras::of_local_set();
        if let Some(executor) = executor {
            _ = SETS.try_with(|sets| sets.borrow_mut().push((executor, extras.clone())));
        }
        Self(extras)
    }

    pub(crate) fn extras(&self) -> Arc<Extras> {
        self.0.clone()
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let is_another = |extras: &Arc<Extras>| !Arc::ptr_eq(extras, &self.0);
        _ = SETS.try_with(|sets| sets.borrow_mut().retain(|(_, extras)| is_another(extras)));
    }
}
