//! With openraft 0.10.0-alpha.25 a quorum has all that is committed.

use std::thread::sleep;
use std::time::Duration;

use liten_sim::Check;

#[test]
fn all_500_seeds_commit_with_a_quorum() {
    Check::new().seeds(500).run(|sim| {
        for id in 1..=openraft_quorum_mended::NODES {
            sim.host(&format!("node{id}"), move || openraft_quorum_mended::node(id));
        }
        sleep(Duration::from_millis(500));
    });
}
