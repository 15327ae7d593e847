//! What a scenario does to a host as a whole.

use super::Sim;
use crate::run::start_host;
use crate::world::signals::name_of;
use crate::world::{lock, turn};

impl Sim {
    /// Ends a host as a killed process ends: no destructor runs, and the system closes its sockets.
    ///
    /// A static of the program is as the host left it. A lock in one that the host held stays
    /// locked.
    ///
    /// # Panics
    ///
    /// When there is no host of this name, or it is the caller's own.
    #[track_caller]
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
    #[track_caller]
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
    #[track_caller]
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
    #[track_caller]
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
    #[track_caller]
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
    #[track_caller]
    pub fn resume(self, name: &str) {
        let mut world = lock();
        let host = world.find(name);
        world.record(format!("resume {name}"));
        world.hosts[host].is_paused = false;
    }
}
