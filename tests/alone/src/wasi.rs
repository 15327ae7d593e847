//! The half for components, on the host that runs anywhere.

use liten::wasi::{Host, block_on};
use std::time::{Duration, Instant};

#[test]
fn a_clock_of_the_host_is_waited_for() {
    let start = Instant::now();
    let limit = Duration::from_millis(2);
    block_on(|reactor| async move { reactor.wait_for(reactor.host().clock(limit)).await });
    assert!(start.elapsed() >= limit);
}
