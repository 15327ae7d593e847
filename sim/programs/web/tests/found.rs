//! Crashes, partitions and loss: no answer is wrong, and after the faults every client comes to its end.

#[path = "found/faults.rs"]
mod faults;

use std::thread::sleep;
use std::time::Duration;

use faults::{lose, part, part_one_way, wait};
use liten_sim::{Check, Sim};
use web::Mistake;

fn scenario(sim: Sim, mistake: Mistake) {
    sim.host("store", web::store);
    sim.host("server", move || web::server(mistake));
    sleep(Duration::from_millis(20));
    for key in ["one", "two", "three"] {
        sim.client(key, move || web::user(key, 20));
    }
    sim.set_loss(0.01);
    for _ in 0..3 {
        wait(sim, 60);
        match sim.random_below(3) {
            0 => lose(sim, "server"),
            1 => part_one_way(sim, &[("server", "store"), ("store", "server")]),
            _ => part(sim, "one", "server"),
        }
    }
    sim.settle(Duration::from_secs(120));
}

fn seeds(seeds: u64, mistake: Mistake) {
    Check::new().seeds(seeds).cpus(3).run(move |sim| scenario(sim, mistake));
}

#[test]
fn every_answer_is_right_and_every_client_comes_to_its_end() {
    seeds(1_000, Mistake::None);
}

#[test]
#[should_panic(expected = "was written")]
fn a_connection_that_owes_an_answer_is_found() {
    seeds(100, Mistake::AnswerLeft);
}

#[test]
#[should_panic(expected = "was written")]
fn an_answer_that_comes_too_early_is_found() {
    seeds(100, Mistake::EarlyAnswer);
}
