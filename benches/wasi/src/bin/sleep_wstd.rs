//! The smallest program that waits, with wstd.

use std::time::{Duration, Instant};

fn main() {
    wstd::runtime::block_on(async {
        let begun = Instant::now();
        wstd::task::sleep(Duration::from_millis(20).into()).await;
        println!("slept {:?}", begun.elapsed());
    });
}
