//! Some seeds end where both requests wait for the last byte of the window.

use liten_sim::Check;

#[test]
#[should_panic(expected = "stuck")]
fn some_seed_of_50_is_stuck() {
    Check::new().seeds(50).run(|sim| {
        sim.host("server", hyper_reserve::server);
        sim.client("client", hyper_reserve::client);
    });
}
