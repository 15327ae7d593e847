//! A run that stops at a decision, to be looked at.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::hosts::Look;
use super::{Guard, World, lock};
use crate::network::Nanos;
use crate::runner::report::{ChildReport, Outcome};

/// How many of the things that happen next are told.
const NEXT: usize = 10;

/// Stops the run when the calling thread has come to its next call.
///
/// What threads wait for is noted at once. What runtimes have to show needs their threads, so the
/// run goes on without disturbances until a thread of its own has shown it.
pub(super) fn stop(mut world: Guard) -> Guard {
    world.stop_at = u64::MAX;
    let message = "stopped, as LITEN_SIM_STOP says".to_owned();
    let mut waits = world.waits();
    waits.extend(world.network.under_way());
    waits.extend(world.network.transferred());
    waits.extend(world.next_things());
    world.stopped = Some(ChildReport { waits, ..world.report(Outcome::Stopped, message) });
    world.be_calm();
    let running = world.running;
    world.actors[running.0].next_host = Some(0);
    drop(world);
    let look = std::thread::Builder::new().name("look".to_owned()).spawn(look_at_all);
    look.unwrap_or_else(|error| panic!("liten-sim: start the thread that looks: {error}"));
    lock()
}

/// Prints what the runtimes of all hosts have to show, and ends the run.
fn look_at_all() {
    let hosts = lock().hosts.len();
    for host in 0..hosts {
        let (name, offers) = {
            let world = lock();
            let host = &world.hosts[host];
            let offers = host.offers.iter().map(|offer| (offer.look, offer.subject));
            (host.name.clone(), offers.collect::<Vec<(Look, *const c_void)>>())
        };
        for (look, subject) in offers {
            eprintln!("liten-sim: a runtime of {name}:");
            // SAFETY: the runtime has said that it may be called with this at any time.
            let shown = catch_unwind(AssertUnwindSafe(|| unsafe { look(subject) }));
            if shown.is_err() {
                eprintln!("liten-sim: that runtime cannot be shown");
            }
        }
    }
    lock().end_passed()
}

impl World {
    /// What happens next without any thread, if nothing else does.
    fn next_things(&self) -> Vec<String> {
        let mut timers: Vec<(Nanos, String)> = self
            .timers
            .iter()
            .filter_map(|entry| {
                let (when, _, due) = &entry.0;
                Some((*when, self.thing(due)?))
            })
            .collect();
        timers.sort();
        let line = |(when, what): (Nanos, String)| {
            format!("in {:.6} s: {what}", when.saturating_sub(self.now) as f64 / 1e9)
        };
        timers.into_iter().take(NEXT).map(line).collect()
    }

    /// What a timer does, if it still does something.
    fn thing(&self, due: &super::Due) -> Option<String> {
        match due {
            super::Due::Wait(actor, number) => {
                let actor = &self.actors[actor.0];
                let is_due = actor.waits_number == *number
                    && matches!(actor.state, super::State::Blocked(_));
                is_due.then(|| format!("the time of {} is over", actor.name))
            }
            super::Due::Timer(object, _) => Some(format!("{} expires", self.describe(*object))),
        }
    }
}
