//! In some seeds the leader commits what no quorum has.

use std::thread::sleep;
use std::time::Duration;

use liten_sim::Check;

#[test]
#[should_panic(expected = "no quorum has entry")]
fn some_seed_of_50_commits_without_a_quorum() {
    Check::new().seeds(50).run(|sim| {
        for id in 1..=openraft_quorum::NODES {
            sim.host(&format!("node{id}"), move || openraft_quorum::node(id));
        }
        sleep(Duration::from_millis(500));
    });
}
