//! Sleeps through the reactor and prints how long that took.

use liten::wasi::{Host, block_on};
use std::time::{Duration, Instant};

const SLEEP: Duration = Duration::from_millis(100);

fn main() {
    let start = Instant::now();
    block_on(|reactor| async move {
        reactor.wait_for(reactor.host().clock(SLEEP)).await;
    });
    println!("slept for {SLEEP:?}, which took {:?}", start.elapsed());
}
