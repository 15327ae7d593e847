//! With hyper 1.10.0 both requests end.

use liten_sim::Check;

#[test]
fn all_500_seeds_end() {
    Check::new().seeds(500).run(|sim| {
        sim.host("server", hyper_reserve_mended::server);
        sim.client("client", hyper_reserve_mended::client);
    });
}
