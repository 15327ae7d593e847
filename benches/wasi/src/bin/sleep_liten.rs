//! The smallest program that waits, with liten.

use std::time::{Duration, Instant};

fn main() {
    liten::wasi::block_on(|_| async {
        let begun = Instant::now();
        liten::time::sleep(Duration::from_millis(20)).await;
        println!("slept {:?}", begun.elapsed());
    });
}
