//! In some seeds two of three nodes never have a leader again.

#[path = "faults/lose_one.rs"]
mod faults;

use liten_sim::Check;
use openraft_election::{WRITTEN, node};

#[test]
#[should_panic(expected = "not at rest")]
fn some_seed_of_50_has_no_leader() {
    Check::new().seeds(50).run(|sim| faults::lose_one_of_three(sim, node, &WRITTEN));
}
