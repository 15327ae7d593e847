//! The same, with liten's reactor alone.

use liten::wasi::{Host, Reactor};
use std::time::{Duration, Instant};

fn main() {
    let reactor = Reactor::new();
    reactor.block_on(async {
        let begun = Instant::now();
        reactor.wait_for(reactor.host().clock(Duration::from_millis(20))).await;
        println!("slept {:?}", begun.elapsed());
    });
}
