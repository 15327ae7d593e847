//! Hosts: the processes of the run, each with its own name, addresses, threads and descriptors.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::Arc;

use super::World;
use super::actor::{ActorId, State, Waits, Wake};
use super::clocks::Clock;
use crate::network::HostId;
use crate::real;

/// What a host runs from its start. It is called again after a restart, and returns whether it
/// succeeded.
pub(crate) type Main = Arc<dyn Fn() -> bool + Send + Sync>;

/// Prints what a runtime has to show. It is called with what it was offered with.
pub(crate) type Look = unsafe extern "C" fn(*const c_void);

/// A runtime that can be looked at.
pub(crate) struct Offer {
    pub(crate) look: Look,
    pub(crate) subject: *const c_void,
}

// SAFETY: the pointer is handed back to the runtime, which takes it on any thread, and never read
// here.
unsafe impl Send for Offer {}

pub(crate) struct Host {
    pub(crate) name: String,
    pub(crate) network: HostId,
    pub(crate) main: Option<Main>,
    /// The run ends when all clients have ended.
    pub(crate) is_client: bool,
    pub(crate) has_ended: bool,
    pub(crate) is_paused: bool,
    pub(crate) has_power: bool,
    pub(crate) cpus: usize,
    pub(crate) clock: Clock,
    /// How far its date is ahead of its own clock, in nanoseconds.
    pub(crate) clock_ahead: i64,
    /// How many threads had each name.
    pub(crate) threads_named: BTreeMap<String, u64>,
    /// The runtimes of its present program.
    pub(crate) offers: Vec<Offer>,
}

impl World {
    pub(crate) fn add_host(
        &mut self,
        name: &str,
        main: Option<Main>,
        is_client: bool,
        cpus: usize,
    ) -> usize {
        assert!(self.host_named(name).is_none(), "liten-sim: there are two hosts named `{name}`");
        let network = self.network.add_host(name);
        self.hosts.push(Host {
            name: name.to_owned(),
            network,
            main,
            is_client,
            has_ended: false,
            is_paused: false,
            has_power: true,
            cpus,
            clock: Clock::new(self.now),
            clock_ahead: 0,
            threads_named: BTreeMap::new(),
            offers: Vec::new(),
        });
        let host = self.hosts.len() - 1;
        // The first is the scenario's, by whose clock the run is told what happens when.
        if host > 0 {
            self.draw_clocks(host);
        }
        host
    }

    pub(crate) fn host_named(&self, name: &str) -> Option<usize> {
        self.hosts.iter().position(|host| host.name == name)
    }

    /// The host of the actor that runs.
    pub(crate) fn running_host(&self) -> usize {
        self.actors[self.running.0].host
    }

    /// The host of a thread that the running one is about to create.
    pub(crate) fn host_of_next_thread(&mut self) -> usize {
        let actor = &mut self.actors[self.running.0];
        actor.next_host.take().unwrap_or(actor.host)
    }

    pub(crate) fn clients_ended(&self) -> bool {
        self.hosts.iter().all(|host| host.has_ended || !host.is_client)
    }

    /// Wakes those that wait for the clients, if all have ended.
    fn wake_waiting_for_clients(&mut self) {
        if !self.clients_ended() {
            return;
        }
        for id in (0..self.actors.len()).map(ActorId) {
            if matches!(self.actors[id.0].state, State::Blocked(Waits::Clients)) {
                self.make_ready(id, Wake::Ready);
            }
        }
    }

    /// Ends the threads of `host` where they are, and closes its descriptors as the system does.
    ///
    /// The threads are never joined, so that their stacks stay: statics that all hosts share may
    /// point into them, such as parking_lot's table of waiting threads.
    pub(crate) fn crash(&mut self, host: usize) {
        self.crash_but(host, None);
    }

    /// The machine of `host` is without power from now on, and sends nothing.
    pub(crate) fn power_off(&mut self, host: usize) {
        self.hosts[host].has_power = false;
        self.network.power_off(self.hosts[host].network);
        self.crash(host);
    }

    pub(crate) fn power_on(&mut self, host: usize) {
        self.hosts[host].has_power = true;
        self.network.power_on(self.hosts[host].network);
    }

    /// Files stay open, but their locks are not the host's any more.
    fn unlock_files_of(&mut self, host: usize) {
        self.locked_files.retain(|(owner, fd)| {
            if *owner == host {
                // SAFETY: the call takes no pointers.
                unsafe { real::flock(*fd, libc::LOCK_UN) };
            }
            *owner != host
        });
    }

    /// As [`World::crash`], when the thread that asks for it is one of the host's.
    pub(crate) fn crash_but(&mut self, host: usize, except: Option<ActorId>) {
        let is_concerned = |id: &usize| {
            let actor = &self.actors[*id];
            actor.host == host && actor.is_alive() && except != Some(ActorId(*id))
        };
        let crashed: Vec<usize> = (0..self.actors.len()).filter(is_concerned).collect();
        for id in &crashed {
            let actor = &mut self.actors[*id];
            if actor.may_end {
                actor.state = State::Crashed;
                actor.baton.kill();
            } else {
                actor.is_doomed = true;
                self.make_ready(ActorId(*id), Wake::Ready);
            }
        }
        let actors = &self.actors;
        let is_there = |id: &ActorId| actors[id.0].state != State::Crashed;
        self.ready.retain(is_there);
        for waiting in self.futexes.values_mut() {
            waiting.retain(is_there);
        }
        self.close_all_of(host);
        self.unlock_files_of(host);
        let network = self.hosts[host].network;
        if self.hosts[host].has_power {
            self.with_network(|net, moment| net.crash(moment, network));
        }
        self.hosts[host].has_ended = true;
        self.hosts[host].is_paused = false;
        self.hosts[host].offers.clear();
        self.wake_waiting_for_clients();
    }
}

impl super::actor::Actor {
    pub(crate) fn is_alive(&self) -> bool {
        !matches!(self.state, State::Ended | State::Crashed)
    }
}
