//! How a run ends: its report is written, and the process with all its threads is gone at once.
//!
//! No destructor runs. The threads stand in the middle of their work, and to let them end in order would be further
//! work of the program, of which nobody wants to know.

use std::fmt::Write as _;

use super::World;
use super::actor::{ActorId, State, Waits};
use crate::choices::Kind;
use crate::runner::report::{ChildReport, Outcome};

impl World {
    /// The program did what it should.
    pub(crate) fn end_passed(&mut self) -> ! {
        self.finish(Outcome::Passed, String::new(), 0)
    }

    /// The program is wrong, as `message` says.
    pub(crate) fn end_failed(&mut self, message: String) -> ! {
        let host = self.running_host();
        self.finish(Outcome::Failed, message, host)
    }

    /// The program asks for something that a run cannot give.
    pub(crate) fn end_refused(&mut self, message: String) -> ! {
        let host = self.running_host();
        self.finish(Outcome::Refused, message, host)
    }

    /// Nobody can run and nothing will happen.
    pub(crate) fn end_stuck(&mut self) -> ! {
        let message = "no thread can run, and no timer or packet is under way".to_owned();
        self.finish(Outcome::Stuck, message, 0)
    }

    /// The program takes longer than it may.
    pub(crate) fn end_at_limit(&mut self) -> ! {
        let message = format!("not at its end after {} s of virtual time", self.limit / 1_000_000_000);
        self.finish(Outcome::Limit, message, 0)
    }

    /// Writes the report and ends the process.
    fn finish(&mut self, outcome: Outcome, message: String, host: usize) -> ! {
        let waits = if outcome == Outcome::Passed { Vec::new() } else { self.waits() };
        let report = ChildReport {
            outcome,
            message,
            host: self.hosts.get(host).map(|host| host.name.clone()).unwrap_or_default(),
            thread: self.actors.get(self.running.0).map(|actor| actor.name.clone()).unwrap_or_default(),
            time: self.now,
            decisions: self.choices.decisions(),
            choices: self.choices_made,
            switches: self.switches,
            hash: self.choices.hash(),
            prefixes: std::mem::take(&mut self.prefixes),
            happened: self.choices.happened().to_vec(),
            told: self.told(),
            faults: std::mem::take(&mut self.faults),
            sometimes: self.sometimes.clone().into_iter().collect(),
            drawn: self.plan.to_string(),
            waits,
            leaks: std::mem::take(&mut self.leaks),
        };
        super::watch::leave(&report)
    }

    /// A line for each thread that is there, with what it waits for.
    pub(crate) fn waits(&self) -> Vec<String> {
        (0..self.actors.len()).filter_map(|id| self.wait_of(ActorId(id))).collect()
    }

    fn wait_of(&self, id: ActorId) -> Option<String> {
        let actor = &self.actors[id.0];
        let mut line = format!("{}: ", actor.name);
        let State::Blocked(waits) = &actor.state else {
            return match actor.state {
                State::Ready => Some(line + "ready"),
                State::Running => Some(line + "running"),
                _ => None,
            };
        };
        match waits {
            Waits::Sleep => line.push_str("sleeps"),
            Waits::Pause => line.push_str("held up by the simulation"),
            Waits::Futex(_) => line.push_str("waits for a lock, a condition or to be unparked"),
            Waits::Join(other) => {
                let _ = write!(line, "waits for the end of {}", self.actors[other.0].name);
            }
            Waits::Objects(objects) => {
                let names: Vec<String> = objects.iter().map(|object| self.describe(*object)).collect();
                let _ = write!(line, "waits for {}", names.join(", "));
            }
            Waits::Clients => line.push_str("the scenario, waits for the clients"),
        }
        Some(line)
    }

    /// The names of the actors that disturbances are about.
    fn told(&self) -> Vec<(crate::choices::Key, String)> {
        let name = |entity: u64| self.actors.iter().find(|actor| actor.entity == entity).map(|a| &a.name);
        let happened = self.choices.happened().iter();
        happened
            .filter(|key| matches!(key.kind, Kind::Pause | Kind::Overtake))
            .filter_map(|key| Some((*key, name(key.entity)?.clone())))
            .collect()
    }
}
