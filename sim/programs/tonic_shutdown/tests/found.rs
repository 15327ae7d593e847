//! The server does not end while a client is silent.

use liten_sim::Check;

#[test]
#[should_panic(expected = "stuck")]
fn a_silent_client_keeps_the_server() {
    Check::new().seeds(20).run(|sim| {
        sim.client("server", || tonic_shutdown::server());
        sim.host("client", tonic_shutdown::silent_client);
    });
}

#[test]
fn a_client_that_greets_does_not() {
    Check::new().seeds(200).run(|sim| {
        sim.client("server", || tonic_shutdown::server());
        sim.host("client", tonic_shutdown::greeting_client);
    });
}
