//! The leader is lost at any time.

use std::thread::sleep;
use std::time::Duration;

use liten_sim::{Check, Sim};
use log::Acknowledges;

fn the_leader_is_lost(sim: Sim, acknowledges: Acknowledges) {
    sim.host("one", log::leader);
    sim.host("two", move || log::follower(acknowledges));
    sim.host("three", move || log::follower(acknowledges));
    sim.client("client", log::client);
    sleep(Duration::from_millis(50 + sim.random_below(200)));
    sim.crash("one");
}

#[test]
#[should_panic(expected = "entries were acknowledged")]
fn an_entry_that_is_acknowledged_too_early_is_lost() {
    Check::new()
        .limit(Duration::from_secs(10))
        .seeds(100)
        .run(|sim| the_leader_is_lost(sim, Acknowledges::WhenItHasCome));
}

#[test]
fn an_entry_that_is_acknowledged_in_time_is_kept() {
    Check::new()
        .limit(Duration::from_secs(10))
        .seeds(1_000)
        .run(|sim| the_leader_is_lost(sim, Acknowledges::WhenItIsInTheLog));
}
