//! What a scenario is written with: hosts, and what happens to them.

use std::process::{ExitCode, Termination};
use std::sync::Arc;
use std::time::Duration;

use crate::choices::{Chance, Kind, entity};
#[cfg(feature = "history")]
use crate::history::{History, Model};
use crate::network::Nanos;
use crate::properties;
use crate::run::start_host;
use crate::world::actor::Waits;
use crate::world::invariants::Invariant;
use crate::world::signals::name_of;
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

    /// Ends a host as a killed process ends: no destructor runs, and the system closes its sockets.
    ///
    /// A static of the program is as the host left it. A lock in one that the host held stays
    /// locked.
    ///
    /// # Panics
    ///
    /// When there is no host of this name, or it is the caller's own.
    pub fn crash(self, name: &str) {
        let mut world = lock();
        let host = world.find(name);
        assert!(
            host != world.running_host(),
            "liten-sim: `{name}` cannot crash itself; it may call `exit`"
        );
        if world.fault(format!("crash {name}")) {
            world.crash(host);
            turn::let_doomed_end(world);
        }
    }

    /// Calls the main function of a host again, which has crashed, lost its power or ended. Nothing
    /// happens to one that still runs.
    ///
    /// # Panics
    ///
    /// When there is no host of this name.
    pub fn restart(self, name: &str) {
        let host = {
            let mut world = lock();
            let host = world.find(name);
            // The crash before it may have been left out, to find out whether the failure needs it.
            if !world.hosts[host].has_ended {
                return;
            }
            world.record(format!("restart {name}"));
            world.power_on(host);
            host
        };
        start_host(host);
    }

    /// Ends a host as a loss of power does: its peers are told nothing.
    ///
    /// # Panics
    ///
    /// As [`crash`](Self::crash).
    pub fn power_off(self, name: &str) {
        let mut world = lock();
        let host = world.find(name);
        assert!(host != world.running_host(), "liten-sim: `{name}` cannot turn its own power off");
        if world.fault(format!("power off {name}")) {
            world.power_off(host);
            turn::let_doomed_end(world);
        }
    }

    /// Sends a signal to a host, such as `libc::SIGTERM`.
    ///
    /// If the host has a handler, one of its threads runs it soon. What it waits for goes on
    /// afterwards. Without a handler the host ends as by [`crash`](Self::crash), or the signal is
    /// ignored, stops the host or lets it go on, as the signal says. Nothing happens to a host that
    /// has ended.
    ///
    /// Handlers outlive a crash, because the statics do in which programs note that they have one.
    /// liten and tokio have a registry in a static: a host that has no handler of its own has that
    /// of another one. liten tells signals to different hosts apart. tokio hands a signal on to
    /// every host that listens for it.
    ///
    /// # Panics
    ///
    /// When there is no host of this name, or the signal ends the caller's own.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use std::thread::sleep;
    /// use std::time::Duration;
    ///
    /// liten_sim::check(100, |sim| {
    ///     sim.host("server", || serve_until_sigterm());
    ///     sim.client("client", || client());
    ///     sleep(Duration::from_millis(sim.random_below(500)));
    ///     sim.signal("server", 15);
    /// });
    /// # fn serve_until_sigterm() {}
    /// # fn client() {}
    /// ```
    pub fn signal(self, name: &str, signum: i32) {
        let mut world = lock();
        let host = world.find(name);
        let is_own = host == world.running_host();
        assert!(
            !is_own || !world.ends_by(host, signum),
            "liten-sim: `{name}` cannot end itself by a signal; it may call `exit`"
        );
        if !world.hosts[host].has_ended && world.fault(format!("{} to {name}", name_of(signum))) {
            world.deliver(host, signum);
            turn::let_doomed_end(world);
        }
    }

    /// Stops all threads of a host where they are, as a suspended machine does. Time goes on
    /// without them.
    ///
    /// # Panics
    ///
    /// When there is no host of this name, or it is the caller's own.
    pub fn pause(self, name: &str) {
        let mut world = lock();
        let host = world.find(name);
        assert!(host != world.running_host(), "liten-sim: `{name}` cannot pause itself");
        if world.fault(format!("pause {name}")) {
            world.hosts[host].is_paused = true;
        }
    }

    /// Lets the threads of a paused host go on.
    ///
    /// # Panics
    ///
    /// When there is no host of this name.
    pub fn resume(self, name: &str) {
        let mut world = lock();
        let host = world.find(name);
        world.record(format!("resume {name}"));
        world.hosts[host].is_paused = false;
    }

    /// Loses every packet between two hosts, until [`heal`](Self::heal).
    ///
    /// # Panics
    ///
    /// When there is no host of one of the names.
    pub fn partition(self, one: &str, other: &str) {
        self.partition_one_way(one, other);
        self.partition_one_way(other, one);
    }

    /// Loses every packet on the way from one host to another.
    ///
    /// # Panics
    ///
    /// As [`partition`](Self::partition).
    pub fn partition_one_way(self, from: &str, to: &str) {
        let mut world = lock();
        if world.fault(format!("partition {from} → {to}")) {
            world.link(from, to, |link| link.partitioned = true);
        }
    }

    /// Ends what [`partition`](Self::partition) did, in both directions.
    ///
    /// # Panics
    ///
    /// As [`partition`](Self::partition).
    pub fn heal(self, one: &str, other: &str) {
        let mut world = lock();
        world.record(format!("heal {one} ↔ {other}"));
        world.link(one, other, |link| link.partitioned = false);
        world.link(other, one, |link| link.partitioned = false);
    }

    /// Loses about so many packets of each link: 0.01 is one in a hundred.
    ///
    /// # Panics
    ///
    /// When `share` is not between 0 and 1.
    pub fn set_loss(self, share: f64) {
        let chance = chance_of(share);
        let mut world = lock();
        world.record(format!("loss {share}"));
        world.network.change_links(|link| link.loss = chance);
    }

    /// Delivers about so many datagrams of each link twice. TCP never shows such a copy to a
    /// program.
    ///
    /// # Panics
    ///
    /// When `share` is not between 0 and 1.
    pub fn set_duplicates(self, share: f64) {
        let chance = chance_of(share);
        let mut world = lock();
        world.record(format!("duplicates {share}"));
        world.network.change_links(|link| link.duplicate = chance);
    }

    /// Lets each link carry so many bytes in a second, in each direction.
    pub fn set_bandwidth(self, bytes_per_second: u64) {
        let mut world = lock();
        world.record(format!("bandwidth {bytes_per_second} bytes/s"));
        world.network.change_links(|link| link.bytes_per_second = Some(bytes_per_second));
    }

    /// Keeps the packets back that one host sends to another, until [`release`](Self::release).
    /// None is lost.
    ///
    /// # Panics
    ///
    /// As [`partition`](Self::partition).
    pub fn hold(self, from: &str, to: &str) {
        let mut world = lock();
        if world.fault(format!("hold {from} → {to}")) {
            world.link(from, to, |link| link.held = true);
        }
    }

    /// Lets the packets go that [`hold`](Self::hold) has kept back.
    ///
    /// # Panics
    ///
    /// As [`partition`](Self::partition).
    pub fn release(self, from: &str, to: &str) {
        let mut world = lock();
        world.record(format!("release {from} → {to}"));
        world.link(from, to, |link| link.held = false);
    }

    /// Lets each packet travel for at least `least`, and now and then for up to `most`.
    ///
    /// # Panics
    ///
    /// When `most` is less than `least`.
    pub fn set_latency(self, least: Duration, most: Duration) {
        assert!(least <= most, "liten-sim: the longest latency is less than the shortest");
        let mut world = lock();
        world.record(format!("latency {least:?} to {most:?}"));
        let (least, jitter) = (nanos(least), nanos(most - least));
        world.network.change_links(|link| {
            link.latency = least;
            link.jitter = jitter;
        });
    }

    /// Sets the wall clock of a host: so many seconds ahead of the run's, or behind it if negative.
    /// Without this call the seed decides: less than a second, and nothing in some seeds.
    ///
    /// Clocks that only count on, such as `std::time::Instant`, stay as they are.
    ///
    /// # Panics
    ///
    /// When there is no host of this name.
    pub fn set_clock_ahead(self, name: &str, seconds: i64) {
        let mut world = lock();
        let host = world.find(name);
        if world.fault(format!("clock of {name} {seconds} s ahead")) {
            let gained = world.hosts[host].clock.shows(world.now) as i64 - world.now as i64;
            let ahead = seconds.saturating_mul(1_000_000_000);
            world.hosts[host].clock_ahead = ahead.saturating_sub(gained);
        }
    }

    /// Lets all clocks of a host gain so many parts of a million, or lose them if negative. Without
    /// this call the seed decides: up to 200 in either direction, and none in some seeds.
    ///
    /// What the host waits for by its clocks, a sleep or a timeout, comes by the same measure: a
    /// sleep of 10 ms ends when 10 ms have gone by on its own clock. TCP's timers keep the run's.
    ///
    /// # Panics
    ///
    /// When there is no host of this name, or the clock would not go on: at −1,000,000 and below.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use std::thread::sleep;
    /// use std::time::{Duration, Instant};
    ///
    /// liten_sim::check(10, |sim| {
    ///     sim.client("slow", || {
    ///         let begun = Instant::now();
    ///         sleep(Duration::from_secs(9));
    ///         assert!(begun.elapsed() >= Duration::from_secs(9));
    ///     });
    ///     // The sleep takes ten seconds of the run.
    ///     sim.set_clock_drift("slow", -100_000);
    /// });
    /// ```
    pub fn set_clock_drift(self, name: &str, ppm: i32) {
        let mut world = lock();
        let host = world.find(name);
        if world.fault(format!("clock of {name} {ppm:+} ppm fast")) {
            world.set_drift(host, ppm);
        }
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
            self.faults.push((self.now, text));
        }
        happens
    }

    /// What ends a fault, or is none, is never left out.
    fn record(&mut self, text: String) {
        self.choices.note(entity(&text));
        self.faults.push((self.now, text));
    }

    fn link(&mut self, from: &str, to: &str, change: impl FnOnce(&mut crate::network::Link)) {
        let (from, to) = (self.find(from), self.find(to));
        let (from, to) = (self.hosts[from].network, self.hosts[to].network);
        change(self.network.link_mut(from, to));
    }
}

/// A share of all as a chance. One that is not zero stays so.
///
/// # Panics
///
/// When it is no share.
fn chance_of(share: f64) -> Chance {
    assert!((0.0..=1.0).contains(&share), "liten-sim: a share is between 0 and 1");
    Chance((share * f64::from(Chance::ALWAYS.0)).ceil() as u32)
}

pub(crate) fn nanos(time: Duration) -> Nanos {
    Nanos::try_from(time.as_nanos()).unwrap_or(Nanos::MAX)
}
