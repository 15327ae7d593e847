//! Faults of a drawn length: of a host, and of the ways between two.

use std::thread::sleep;
use std::time::Duration;

use liten_sim::Sim;

/// Crashes the host, and starts it again after less than 2 s.
pub fn lose(sim: Sim, host: &str) {
    sim.crash(host);
    wait(sim, 2_000);
    sim.restart(host);
}

/// Loses what one of the pairs sends to the other, for less than 6 s.
pub fn part_one_way(sim: Sim, ways: &[(&str, &str)]) {
    let (from, to) = ways[sim.random_below(ways.len() as u64) as usize];
    sim.partition_one_way(from, to);
    wait(sim, 6_000);
    sim.heal(from, to);
}

/// Loses what two hosts send to each other, for less than 3 s.
pub fn part(sim: Sim, one: &str, other: &str) {
    sim.partition(one, other);
    wait(sim, 3_000);
    sim.heal(one, other);
}

/// Sleeps for a drawn time, of up to so many milliseconds.
pub fn wait(sim: Sim, longest: u64) {
    sleep(Duration::from_millis(1 + sim.random_below(longest)));
}
