//! With h2 0.4.16 the client gets all trailers.

use liten_sim::Check;

#[test]
fn all_500_seeds_end() {
    Check::new().seeds(500).run(|sim| {
        sim.host("server", h2_trailers_mended::server);
        sim.client("client", h2_trailers_mended::client);
    });
}
