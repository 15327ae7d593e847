//! The connection does not end.

use liten_sim::Check;

#[test]
#[should_panic(expected = "stuck")]
fn some_seed_of_20_is_stuck() {
    Check::new().seeds(20).run(|sim| {
        sim.host("server", h2_flush::server);
        sim.client("client", h2_flush::client);
    });
}
