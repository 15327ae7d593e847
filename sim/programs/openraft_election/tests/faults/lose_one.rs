//! What happens to the nodes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::Duration;

use liten_sim::Sim;

/// Node 1 leads and is held up. Node 3 may try to be elected, and is cut off at any moment of it.
/// Node 1 goes on with node 2 and is lost. Nodes 2 and 3 remain, and shall write again.
pub fn lose_one_of_three(sim: Sim, node: fn(u64), written: &'static AtomicU64) {
    for id in 1..=3 {
        sim.host(&format!("node{id}"), move || node(id));
    }
    sim.set_latency(Duration::from_millis(50), Duration::from_millis(100));
    sleep(Duration::from_secs(1));
    sim.pause("node1");
    sleep(Duration::from_millis(1_200 + sim.random_below(600)));
    sim.partition("node3", "node1");
    sim.partition("node3", "node2");
    sim.resume("node1");
    sleep(Duration::from_secs(1));
    sim.crash("node1");
    let before = written.load(Ordering::SeqCst);
    sim.client("client", move || {
        while written.load(Ordering::SeqCst) == before {
            sleep(Duration::from_millis(100));
        }
    });
    sim.settle(Duration::from_secs(60));
}
