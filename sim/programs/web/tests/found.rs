//! Crashes, partitions and loss: no answer is wrong, and after the faults every client comes to its end.

use std::thread::sleep;
use std::time::Duration;

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
        sleep(Duration::from_millis(1 + sim.random_below(60)));
        match sim.random_below(3) {
            0 => {
                sim.crash("server");
                sleep(Duration::from_millis(1 + sim.random_below(2_000)));
                sim.restart("server");
            }
            1 => {
                let (from, to) = if sim.random_below(2) == 0 {
                    ("server", "store")
                } else {
                    ("store", "server")
                };
                sim.partition_one_way(from, to);
                sleep(Duration::from_millis(1 + sim.random_below(6_000)));
                sim.heal(from, to);
            }
            _ => {
                sim.partition("one", "server");
                sleep(Duration::from_millis(1 + sim.random_below(3_000)));
                sim.heal("one", "server");
            }
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
