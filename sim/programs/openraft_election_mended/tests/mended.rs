//! With openraft 0.10.0-alpha.24 the two nodes elect a leader.

#[path = "../../openraft_election/tests/faults/lose_one.rs"]
mod faults;

use liten_sim::Check;
use openraft_election_mended::{WRITTEN, node};

#[test]
fn all_500_seeds_have_one() {
    Check::new().seeds(500).run(|sim| faults::lose_one_of_three(sim, node, &WRITTEN));
}
