//! One node sends but does not hear, until the end.

use std::thread::sleep;
use std::time::Duration;

use liten_sim::{Check, Sim};
use raft::{Elections, NODES};

/// Calls `main` as a client once a node that the seed decides has become deaf.
fn scenario(sim: Sim, elections: Elections, main: fn(Duration)) {
    for (i, name) in NODES.into_iter().enumerate() {
        sim.host(name, move || raft::run(i, elections));
    }
    sleep(Duration::from_millis(500 + sim.random_below(500)));
    let deaf = NODES[sim.random_below(NODES.len() as u64) as usize];
    for other in NODES.into_iter().filter(|other| *other != deaf) {
        sim.partition_one_way(other, deaf);
    }
    sim.client("client", move || main(Duration::from_secs(20)));
}

fn sweep(seeds: u64, elections: Elections, main: fn(Duration)) {
    Check::new().seeds(seeds).run(|sim| scenario(sim, elections, main));
}

/// A test that looks for a wrong state alone does not find it.
#[test]
fn no_two_nodes_lead_in_one_term() {
    sweep(50, Elections::AtOnce, raft::watcher);
}

#[test]
#[should_panic(expected = "no leader was stable")]
fn a_deaf_node_deposes_every_leader() {
    sweep(50, Elections::AtOnce, raft::client);
}

#[test]
fn a_deaf_node_that_asks_first_deposes_none() {
    sweep(500, Elections::AfterPreVote, raft::client);
}
