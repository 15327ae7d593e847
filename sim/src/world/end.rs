//! How a run ends: its report is written, and the process with all its threads is gone at once.
//!
//! No destructor runs. The threads stand in the middle of their work, and to let them end in order
//! would be further work of the program, which belongs to no test.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::World;
use super::actor::{ActorId, State, Waits};
use crate::choices::{Key, entity};
use crate::network::{SECOND, link_entity};
use crate::runner::report::{ChildReport, Outcome};
use crate::timeline::{self, seconds};

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

    /// The program does not come to its end, as `message` says.
    pub(crate) fn end_stuck(&mut self, message: String) -> ! {
        self.finish(Outcome::Stuck, message, 0)
    }

    /// The program takes longer than it may.
    pub(crate) fn end_at_limit(&mut self) -> ! {
        let message = format!("not at its end after {} s of virtual time", self.limit / SECOND);
        self.finish(Outcome::Limit, message, 0)
    }

    /// Writes the report and ends the process.
    fn finish(&mut self, outcome: Outcome, message: String, host: usize) -> ! {
        if let Some(stopped) = self.stopped.take() {
            super::watch::leave(&stopped);
        }
        // What threads wait for explains a run that does not go on, and nothing else.
        let explains = matches!(outcome, Outcome::Stuck | Outcome::Limit);
        let waits = if explains {
            // Threads answer on their own kernel threads, of which the caller may be using one.
            self.actors[self.running.0].baton.go_home();
            let mut waits = self.waits();
            waits.extend(self.rest());
            waits
        } else {
            Vec::new()
        };
        // What ran last has no part in a run that does not go on.
        let (host, thread) = match outcome {
            Outcome::Stuck | Outcome::Limit => (None, None),
            _ => (self.hosts.get(host), self.actors.get(self.running.0)),
        };
        // Disturbances explain a failure, and nothing else. There may be millions.
        let fails = outcome != Outcome::Passed;
        let happened = if fails { self.choices.happened() } else { &[] };
        let report = ChildReport {
            host: host.map(|host| host.name.clone()).unwrap_or_default(),
            thread: thread.map(|actor| actor.name.clone()).unwrap_or_default(),
            prefixes: std::mem::take(&mut self.prefixes),
            happened: happened.iter().map(|(key, _)| *key).collect(),
            told: if fails { self.told() } else { Vec::new() },
            sometimes: self.sometimes.clone().into_iter().collect(),
            look: self.worth_a_look(&outcome),
            events: timeline::events(),
            waits,
            ..self.report(outcome, message)
        };
        super::watch::leave(&report)
    }

    /// What is left in the network, and when a task was polled last.
    fn rest(&self) -> Vec<String> {
        let mut lines = self.network.under_way();
        if lines.is_empty() {
            lines
                .push("no packet is under way, and programs have read all that arrived".to_owned());
        }
        lines.extend(self.network.transferred());
        lines.extend(self.last_poll.map(|(time, decision)| {
            let time = seconds(time);
            format!("the last poll of a task or of a block_on began at {time}, decision {decision}")
        }));
        lines
    }

    /// The decision at which a stop of this run shows most.
    fn worth_a_look(&self, outcome: &Outcome) -> u64 {
        match (outcome, self.last_poll) {
            (Outcome::Stuck | Outcome::Limit, Some((_, decision))) => decision,
            _ if self.choices.before_last() > 0 => self.choices.before_last(),
            _ => self.choices.decisions().saturating_sub(10),
        }
        .max(1)
    }

    /// A report with what can be said of a run at any time.
    pub(crate) fn report(&self, outcome: Outcome, message: String) -> ChildReport {
        ChildReport {
            message,
            time: self.now,
            decisions: self.choices.decisions(),
            choices: self.choices_made,
            switches: self.switches,
            hash: self.choices.hash(),
            faults: self.faults.clone(),
            drawn: self.plan.to_string(),
            ..ChildReport::new(outcome)
        }
    }

    /// A line for each thread that is there, with what it waits for and where.
    pub(crate) fn waits(&self) -> Vec<String> {
        let mut answers = true;
        let mut lines = Vec::new();
        for id in (0..self.actors.len()).map(ActorId) {
            let Some(mut line) = self.wait_of(id) else { continue };
            let actor = &self.actors[id.0];
            // The running thread is the caller, or is not to be disturbed.
            if answers && matches!(actor.state, State::Blocked(_)) && id != self.running {
                let place = actor.baton.ask();
                // What keeps one from an answer may keep them all.
                answers = place.is_some();
                if let Some(place) = place.filter(|place| !place.is_empty()) {
                    line = format!("{line}, in {place}");
                }
            }
            lines.push(line);
        }
        lines
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
            Waits::Pause | Waits::Late => line.push_str("held up by the simulation"),
            Waits::Futex(_) => line.push_str("waits for a lock, a condition or to be unparked"),
            Waits::Join(other) => {
                let _ = write!(line, "waits for the end of {}", self.actors[other.0].name);
            }
            Waits::Objects(objects) => {
                let names: Vec<String> =
                    objects.iter().map(|object| self.describe(*object)).collect();
                let _ = write!(line, "waits for {}", names.join(", "));
            }
            Waits::Clients => line.push_str("the scenario, waits for the clients"),
        }
        Some(line)
    }

    /// What each disturbance was about, and when it happened.
    fn told(&self) -> Vec<(Key, String)> {
        let names = self.names_of_entities();
        let told = self.choices.happened().iter().map(|(key, time)| {
            let name = names.get(&key.entity).map_or("", String::as_str);
            let about = timeline::about(*key).map_or(String::new(), |about| format!(": {about}"));
            (*key, format!("{name}, {}{about}", seconds(*time)))
        });
        told.collect()
    }

    /// The threads, tasks, clocks, links, faults and places of the run by their entities.
    fn names_of_entities(&self) -> HashMap<u64, String> {
        let named = self.names.iter().map(|(entity, name)| (*entity, name.clone()));
        let hosts = || self.hosts.iter().map(|host| host.name.as_str());
        let links = hosts().flat_map(|from| {
            hosts().map(move |to| (link_entity(from, to), format!("{from} → {to}")))
        });
        let faults = self.faults.iter().map(|(_, text)| (entity(text), text.clone()));
        let places = self.places.names();
        named.chain(self.tasks.names()).chain(links).chain(faults).chain(places).collect()
    }
}
