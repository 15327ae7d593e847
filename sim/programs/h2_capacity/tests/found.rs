//! Some seeds end where all streams wait for a window.

use liten_sim::Check;

#[test]
#[should_panic(expected = "stuck")]
fn some_seed_of_200_is_stuck() {
    Check::new().seeds(200).run(|sim| {
        sim.host("server", h2_capacity::server);
        sim.client("client", h2_capacity::client);
    });
}
