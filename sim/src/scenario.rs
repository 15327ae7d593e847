//! What a scenario is written with: hosts, and what happens to them.

mod clocks;
mod hosts;
mod links;

use std::process::{ExitCode, Termination};
use std::sync::Arc;
use std::time::Duration;

use crate::choices::{Chance, Kind, entity};
#[cfg(feature = "history")]
use crate::history::{History, Model};
use crate::network::Nanos;
use crate::properties;
use crate::run::start_host;
use crate::timeline;
use crate::world::actor::Waits;
use crate::world::invariants::Invariant;
use crate::world::{World, lock, turn};

/// The run that the calling code is part of.
///
/// The scenario gets it. It can be copied, and used on every thread of the run.
#[derive(Clone, Copy, Debug)]
pub struct Sim(());

impl Sim {
    pub(crate) fn new() -> Self {
        Sim(())
    }

    /// Starts a host that may run as long as the others do, such as a server.
    ///
    /// `main` is an ordinary main function; it may build a runtime, as `#[tokio::main]` does. A
    /// host whose main function returns has ended, with all its threads. An error that it returns
    /// fails the run.
    ///
    /// # Panics
    ///
    /// When there is a host of this name.
    pub fn host<R: Termination>(self, name: &str, main: impl Fn() -> R + Send + Sync + 'static) {
        self.add(name, main, false);
    }

    /// Starts a host for whose end the run waits.
    ///
    /// # Panics
    ///
    /// When there is a host of this name.
    pub fn client<R: Termination>(self, name: &str, main: impl Fn() -> R + Send + Sync + 'static) {
        self.add(name, main, true);
    }

    fn add<R: Termination>(
        self,
        name: &str,
        main: impl Fn() -> R + Send + Sync + 'static,
        is_client: bool,
    ) {
        // An error is printed by `report`, as at the end of a process.
        let main = Arc::new(move || main().report() == ExitCode::SUCCESS);
        let host = {
            let mut world = lock();
            let cpus = world.plan.cpus;
            world.add_host(name, Some(main), is_client, cpus)
        };
        start_host(host);
    }

    /// Ends disturbances, and fails the run if a client has not ended within this time.
    ///
    /// Links are healed, released and lose nothing, paused hosts go on, and no thread is held up
    /// any more. Hosts that have crashed stay down, and clocks and latencies stay as they are.
    ///
    /// Call it at the end of a scenario to find programs that do no harm but never recover.
    pub fn settle(self, within: Duration) {
        let mut world = lock();
        world.record("settle".to_owned());
        world.be_calm();
        world.network.change_links(|link| {
            link.partitioned = false;
            link.held = false;
            link.loss = Chance::NEVER;
        });
        world.hosts.iter_mut().for_each(|host| host.is_paused = false);
        let deadline = world.now.saturating_add(nanos(within));
        while !world.clients_ended() && world.now < deadline {
            let me = world.running;
            (world, _) = turn::sleep(world, me, Waits::Clients, Some(deadline));
        }
        if !world.clients_ended() {
            let left = world.hosts.iter().filter(|host| host.is_client && !host.has_ended);
            let left: Vec<&str> = left.map(|host| host.name.as_str()).collect();
            let message =
                format!("not at rest {within:?} after all disturbances ended: {}", left.join(", "));
            world.end_stuck(message);
        }
    }

    /// Makes a history of an object that is `initial` at first. The run fails at its end if no
    /// single object could have given the answers.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use liten_sim::Model;
    ///
    /// #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    /// struct Lock(bool);
    ///
    /// impl Model for Lock {
    ///     /// Whether it is to be locked.
    ///     type Operation = bool;
    ///     /// Whether that was done.
    ///     type Output = bool;
    ///
    ///     fn apply(&mut self, locked: &bool) -> bool {
    ///         std::mem::replace(&mut self.0, *locked) != *locked
    ///     }
    /// }
    ///
    /// liten_sim::check(100, |sim| {
    ///     sim.host("server", || server());
    ///     let history = sim.history("lock", Lock(false));
    ///     for client in ["one", "two"] {
    ///         let history = history.clone();
    ///         sim.client(client, move || {
    ///             let asked = history.call(client, true);
    ///             // After a timeout it is not known, and `asked` is dropped.
    ///             if let Ok(got) = ask_server(true) {
    ///                 asked.returned(got);
    ///             }
    ///         });
    ///     }
    /// });
    /// # fn server() {}
    /// # fn ask_server(_: bool) -> Result<bool, ()> { Err(()) }
    /// ```
    #[cfg(feature = "history")]
    pub fn history<M>(self, name: &str, initial: M) -> History<M>
    where
        M: Model<Operation: Send, Output: Send> + Send + Sync + 'static,
    {
        let history = History::new(name, initial);
        let last = history.clone();
        let check = move || last.check().err().map(|error| error.to_string());
        lock().last_checks.push(Box::new(check));
        history
    }

    /// Whether the main function of a host has returned, or the host has crashed or lost its power.
    ///
    /// # Panics
    ///
    /// When there is no host of this name.
    #[track_caller]
    pub fn has_ended(self, name: &str) -> bool {
        let world = lock();
        world.hosts[world.find(name)].has_ended
    }

    /// Checks from now on that something always holds, also between two steps of a task.
    ///
    /// `check` is called each time a thread gives its turn away, and at the end of the run. When it
    /// returns `false` or panics, the run has failed. The report names the invariant, the virtual
    /// time and the thread that ran just before.
    ///
    /// `check` disturbs nothing: the run is the same with it as without. It may read atomics and
    /// call `try_lock` of a [`std::sync::Mutex`]. A lock that it does not get belongs to a thread
    /// in the middle of its work, so let it return `true` then. Of a [`Sim`] it may call
    /// [`now`](Sim::now), [`has_ended`](Sim::has_ended) and [`fail`](Sim::fail). `always!`,
    /// `sometimes!` and `buggify!` do nothing in it.
    ///
    /// It must not wait for anything. It must not take a lock whose release wakes threads that
    /// queued earlier, such as a `RwLock` or the locks of parking_lot and tokio: those threads
    /// would sleep on.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// #[test]
    /// fn there_is_never_more_than_one_leader() {
    ///     liten_sim::check(100, |sim| {
    ///         let leaders = Arc::new(AtomicU32::new(0));
    ///         let seen = leaders.clone();
    ///         sim.invariant("one leader", move || seen.load(Ordering::Relaxed) <= 1);
    ///         for name in ["one", "two", "three"] {
    ///             let leaders = leaders.clone();
    ///             sim.client(name, move || node(&leaders));
    ///         }
    ///     });
    /// }
    /// # fn node(_: &AtomicU32) {}
    /// ```
    pub fn invariant(self, name: &str, check: impl Fn() -> bool + Send + 'static) {
        let invariant = Invariant::new(name, check);
        lock().invariants.push(invariant);
    }

    /// Ends the run, which has failed. The report says `why`.
    pub fn fail(self, why: impl Into<String>) -> ! {
        properties::fail(why.into())
    }

    /// The virtual time since the run began.
    pub fn now(self) -> Duration {
        Duration::from_nanos(lock().now)
    }

    /// A number that the seed decides.
    pub fn random(self) -> u64 {
        lock().draw_for_running(Kind::Program).next()
    }

    /// A number below `bound` that the seed decides.
    ///
    /// # Panics
    ///
    /// When `bound` is 0.
    pub fn random_below(self, bound: u64) -> u64 {
        assert!(bound > 0, "liten-sim: no number is below 0");
        lock().draw_for_running(Kind::Program).below(bound)
    }
}

impl World {
    #[track_caller]
    fn find(&self, name: &str) -> usize {
        match self.host_named(name) {
            Some(host) => host,
            None => panic!("liten-sim: there is no host named `{name}`"),
        }
    }

    /// Whether a fault of the scenario comes into effect: the search for the smallest failure
    /// leaves some out.
    fn fault(&mut self, text: String) -> bool {
        let happens = self.choices.disturbs(Kind::Fault, entity(&text), Chance::ALWAYS).is_some();
        if happens {
            timeline::note(self.now, || text.clone());
            self.faults.push((self.now, text));
        }
        happens
    }

    /// What ends a fault, or is none, is never left out.
    fn record(&mut self, text: String) {
        self.choices.note(entity(&text));
        timeline::note(self.now, || text.clone());
        self.faults.push((self.now, text));
    }
}

pub(crate) fn nanos(time: Duration) -> Nanos {
    Nanos::try_from(time.as_nanos()).unwrap_or(Nanos::MAX)
}
