//! The server crashes at any time.

use std::thread::sleep;
use std::time::Duration;

use buffer::{AtTheEnd, Kind};
use liten_sim::Check;

fn sweep(seeds: u64, kind: Kind) {
    Check::new().seeds(seeds).run(|sim| {
        sim.host("server", buffer::server);
        sim.client("client", move || buffer::client(kind));
        sleep(Duration::from_millis(sim.random_below(500)));
        sim.crash("server");
    });
}

#[test]
#[should_panic(expected = "stuck")]
fn a_caller_that_waits_for_room_is_left_waiting() {
    sweep(100, Kind::Own(AtTheEnd::Leave));
}

#[test]
fn a_worker_that_wakes_all_who_wait_leaves_none() {
    sweep(1_000, Kind::Own(AtTheEnd::Wake));
}

#[test]
fn the_release_before_leaves_none() {
    sweep(1_000, Kind::Tower0_3_1);
}

#[test]
fn the_release_after_leaves_none() {
    sweep(1_000, Kind::Tower0_4_0);
}
