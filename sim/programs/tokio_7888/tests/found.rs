//! Some seeds fail and some pass.

use liten_sim::Check;

#[test]
#[should_panic(expected = "left: 1")]
fn some_seed_of_64_fails() {
    Check::new().seeds(64).run(|sim| sim.client("program", tokio_7888::main));
}
