//! The same, with `block_on` and a clock of the host's.
use liten::wasi::{Host, block_on};
use std::time::{Duration, Instant};

fn main() {
    block_on(async |reactor: liten::wasi::Reactor| {
        let begun = Instant::now();
        reactor.wait_for(reactor.host().clock(Duration::from_millis(20))).await;
        println!("slept {:?}", begun.elapsed());
    });
}
