//! With h2 0.4.5 all connections end.

use liten_sim::Check;

#[test]
fn all_200_seeds_end() {
    Check::new().seeds(200).run(|sim| {
        sim.host("server", h2_flush_mended::server);
        sim.client("client", h2_flush_mended::client);
    });
}
