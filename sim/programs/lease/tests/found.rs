//! A worker is paused for longer than its lease, at any time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::Duration;

use lease::Storage;
use liten_sim::{Check, Sim};

const WORKERS: [&str; 2] = ["one", "two"];

fn a_worker_is_paused(sim: Sim, storage: Storage) {
    sim.host("lock", lease::lock_service);
    sim.host("storage", move || lease::storage(storage));
    let ended = Arc::new(AtomicUsize::new(0));
    for name in WORKERS {
        let ended = ended.clone();
        sim.client(name, move || {
            lease::worker().unwrap();
            ended.fetch_add(1, Ordering::Relaxed);
        });
    }
    sleep(Duration::from_millis(sim.random_below(1_000)));
    sim.pause("one");
    sleep(Duration::from_millis(sim.random_below(1_000)));
    sim.resume("one");
    while ended.load(Ordering::Relaxed) < WORKERS.len() {
        sleep(Duration::from_millis(10));
    }
    sim.client("auditor", || lease::auditor(WORKERS.len() as u64));
}

fn sweep(seeds: u64, storage: Storage) {
    let check = Check::new().seeds(seeds).limit(Duration::from_secs(60));
    check.run(|sim| a_worker_is_paused(sim, storage));
}

#[test]
#[should_panic(expected = "two had the lock at once")]
fn a_paused_holder_writes_when_it_goes_on() {
    sweep(200, Storage::Unfenced);
}

#[test]
fn a_token_keeps_a_paused_holder_from_writing() {
    sweep(2_000, Storage::Fenced);
}
