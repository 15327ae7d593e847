//! What must hold at every moment at which another thread could look.
//!
//! A thread that gives its turn away checks it, before the next one is chosen. Then the thread to
//! blame is the one that runs, and the time is that of its last step.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{Guard, Inside, lock};
use crate::real;
use crate::run::told_by;

/// A condition of the scenario, with its name.
pub(crate) struct Invariant {
    name: String,
    check: Box<dyn Fn() -> bool + Send>,
}

impl Invariant {
    pub(crate) fn new(name: &str, check: impl Fn() -> bool + Send + 'static) -> Self {
        Self { name: name.to_owned(), check: Box::new(check) }
    }

    /// What is wrong, if the condition does not hold.
    fn violation(&self) -> Option<String> {
        let name = &self.name;
        match catch_unwind(AssertUnwindSafe(&self.check)) {
            Ok(true) => None,
            Ok(false) => Some(format!("the invariant `{name}` does not hold")),
            Err(payload) => Some(format!("the invariant `{name}` {}", told_by(&*payload))),
        }
    }
}

/// Checks all invariants, and fails the run if one does not hold. The caller has the turn.
///
/// Nothing can change meanwhile, although the lock is given back: no other thread of the run runs.
pub(crate) fn checked(mut world: Guard) -> Guard {
    if world.invariants.is_empty() {
        return world;
    }
    // A condition may panic, or ask the scenario something. Both take the lock.
    let invariants = mem::take(&mut world.invariants);
    // What it calls is the C library's own: it makes no step, and disturbs nothing.
    let inside = Inside::new();
    drop(world);
    let violation = real::keeping_errno(|| invariants.iter().find_map(Invariant::violation));
    let mut world = lock();
    drop(inside);
    if let Some(violation) = violation {
        let (thread, time) = (&world.actors[world.running.0].name, world.now as f64 / 1e9);
        let message = format!("{violation} at {time:.6} s, after {thread} ran");
        world.end_failed(message);
    }
    world.invariants = invariants;
    world
}
