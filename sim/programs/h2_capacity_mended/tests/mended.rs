//! With h2 0.4.13 all uploads end.

use liten_sim::Check;

#[test]
fn all_2000_seeds_end() {
    Check::new().seeds(2_000).run(|sim| {
        sim.host("server", h2_capacity_mended::server);
        sim.client("client", h2_capacity_mended::client);
    });
}
