//! Some seeds end where the client waits for trailers that have come.

use liten_sim::Check;

#[test]
#[should_panic(expected = "stuck")]
fn some_seed_of_50_is_stuck() {
    Check::new().seeds(50).run(|sim| {
        sim.host("server", h2_trailers::server);
        sim.client("client", h2_trailers::client);
    });
}
