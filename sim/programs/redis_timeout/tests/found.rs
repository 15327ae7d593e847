//! Some seeds give a key the value of another one, with one of the connections only.

use liten_sim::Check;

#[test]
#[should_panic(expected = "the value of key")]
fn some_seed_of_50_reads_another_value() {
    Check::new().seeds(50).run(|sim| {
        sim.host("server", redis_timeout::server);
        sim.client("client", redis_timeout::client);
    });
}

#[test]
fn no_seed_of_500_does_with_the_other_connection() {
    Check::new().seeds(500).run(|sim| {
        sim.host("server", redis_timeout::server);
        sim.client("client", redis_timeout::multiplexed_client);
    });
}
