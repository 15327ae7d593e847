//! The run ends with a report that names the waiting thread. It does not hang.

use dashmap_guard::Guard;
use liten_sim::Check;

#[test]
#[should_panic(expected = "program/main/1: waits for a lock")]
fn a_guard_across_an_await_stops_the_threads() {
    Check::new()
        .seeds(20)
        .run(|sim| sim.client("program", || dashmap_guard::run(Guard::HeldAcrossAwait)));
}

#[test]
fn a_guard_for_the_change_alone_stops_none() {
    Check::new()
        .seeds(200)
        .run(|sim| sim.client("program", || dashmap_guard::run(Guard::HeldForTheChange)));
}
