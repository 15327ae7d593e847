//! A timer and the parts of a frame come in any order.

use liten_sim::Check;
use read_exact::Reads;

fn sweep(seeds: u64, reads: Reads) {
    Check::new().seeds(seeds).run(|sim| {
        sim.host("server", read_exact::server);
        sim.client("client", move || read_exact::client(reads));
    });
}

#[test]
#[should_panic(expected = "the stream is out of step")]
fn bytes_in_a_dropped_future_are_lost() {
    sweep(20, Reads::IntoTheFuture);
}

#[test]
fn bytes_in_the_connection_are_kept() {
    sweep(200, Reads::IntoTheConnection);
}
