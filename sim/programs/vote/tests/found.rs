//! Two candidates do not hear each other. The third node, whose vote both need, crashes again and again.

use std::fs;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

use liten_sim::{Check, Sim};
use vote::{NODES, Stores};

/// A folder of this run. Each run is a process of its own.
fn folder() -> PathBuf {
    std::env::temp_dir().join(format!("liten-sim-vote-{}", std::process::id()))
}

fn a_voter_crashes(sim: Sim, stores: Stores) {
    let _ = fs::remove_dir_all(folder());
    sim.host("registry", vote::registry);
    for (i, name) in NODES.into_iter().enumerate() {
        let folder = folder().join(name);
        fs::create_dir_all(&folder).unwrap();
        sim.host(name, move || vote::run(i, folder.clone(), stores));
    }
    sim.partition("one", "two");
    for _ in 0..5 {
        sleep(Duration::from_micros(sim.random_below(200_000)));
        sim.crash("three");
        sleep(Duration::from_micros(sim.random_below(5_000)));
        sim.restart("three");
    }
    sleep(Duration::from_millis(300));
    let _ = fs::remove_dir_all(folder());
}

fn sweep(seeds: u64, stores: Stores) {
    Check::new()
        .seeds(seeds)
        .limit(Duration::from_secs(60))
        .run(|sim| a_voter_crashes(sim, stores));
}

#[test]
#[should_panic(expected = "two nodes lead in term")]
fn a_vote_that_is_stored_after_it_is_given_is_given_twice() {
    sweep(100, Stores::InTwoWrites);
}

#[test]
fn a_vote_that_is_stored_first_is_given_once() {
    sweep(1_000, Stores::InOneWrite);
}
