//! Crashes, partitions and loss: no answer is wrong, and after the faults every client comes to its
//! end.

#[path = "../../web/tests/found/faults.rs"]
mod faults;

use std::net::TcpListener;
use std::thread::{self, sleep};
use std::time::Duration;

use faults::{lose, part, part_one_way, wait};
use grpc::Mistake;
use liten_sim::{Check, Sim};

const KEYS: [&str; 3] = ["one", "two", "three"];
const WAYS: [(&str, &str); 4] =
    [("front", "shelf"), ("shelf", "front"), ("shelf", "store"), ("store", "shelf")];

fn scenario(sim: Sim, mistake: Mistake) {
    sim.host("store", web::store);
    sim.host("shelf", move || grpc::shelf("0.0.0.0:50051", "store:6379", mistake));
    sim.host("front", move || grpc::front("0.0.0.0:80", "shelf:50051", mistake));
    sleep(Duration::from_millis(20));
    for key in KEYS {
        sim.client(key, move || grpc::user("front", key, 10));
    }
    sim.set_loss(0.01);
    for _ in 0..4 {
        wait(sim, 100);
        match sim.random_below(4) {
            0 => lose(sim, "front"),
            1 => lose(sim, "shelf"),
            2 => part_one_way(sim, &WAYS),
            _ => part(sim, "one", "front"),
        }
    }
    sim.settle(Duration::from_secs(120));
}

/// Each host sees three processors, so its runtime has three workers.
fn seeds(seeds: u64, mistake: Mistake) {
    Check::new().seeds(seeds).cpus(3).run(move |sim| scenario(sim, mistake));
}

#[test]
fn every_answer_is_right_and_every_client_comes_to_its_end() {
    seeds(300, Mistake::None);
}

#[test]
#[should_panic(expected = "which are no value")]
fn an_upload_that_is_kept_although_it_broke_off_is_found() {
    seeds(50, Mistake::EndIsEnough);
}

#[test]
#[should_panic(expected = "which are no value")]
fn a_download_that_is_answered_although_it_broke_off_is_found() {
    seeds(50, Mistake::ErrorIsEnd);
}

/// An address of this machine at which nothing listens.
fn free() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("the machine has a loopback device");
    listener.local_addr().expect("a bound socket has an address").to_string()
}

#[test]
fn the_same_programs_run_on_sockets_of_the_machine() {
    let (store, shelf, front) = (free(), free(), free());
    let (at, of_shelf, of_front) = (store.clone(), shelf.clone(), front.clone());
    thread::spawn(move || web::store_at(&at));
    thread::spawn(move || grpc::shelf(&of_shelf, &store, Mistake::None));
    thread::spawn(move || grpc::front(&of_front, &shelf, Mistake::None));
    let users = KEYS.map(|key| {
        let front = front.clone();
        thread::spawn(move || grpc::user(&front, key, 10))
    });
    for user in users {
        user.join().expect("every answer is right");
    }
}
