//! What a scenario does to the clocks of a host.

use super::Sim;
use crate::world::lock;

impl Sim {
    /// Sets the wall clock of a host: so many seconds ahead of the run's, or behind it if negative.
    /// Without this call the seed decides: less than a second, and nothing in some seeds.
    ///
    /// Clocks that only count on, such as `std::time::Instant`, stay as they are.
    ///
    /// # Panics
    ///
    /// When there is no host of this name.
    #[track_caller]
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
    #[track_caller]
    pub fn set_clock_drift(self, name: &str, ppm: i32) {
        let mut world = lock();
        let host = world.find(name);
        if world.fault(format!("clock of {name} {ppm:+} ppm fast")) {
            world.set_drift(host, ppm);
        }
    }
}
