//! The least that a component costs: one that sleeps and prints, without a runtime.

use std::thread;
use std::time::{Duration, Instant};

fn main() {
    let begun = Instant::now();
    thread::sleep(Duration::from_millis(20));
    println!("slept {:?}", begun.elapsed());
}
