//! A request and the close of an idle connection meet on their way.

use idle::OnClose;
use liten_sim::Check;

fn sweep(seeds: u64, on_close: OnClose) {
    Check::new().seeds(seeds).run(|sim| {
        sim.host("server", idle::server);
        sim.client("client", move || idle::client(on_close));
    });
}

#[test]
#[should_panic(expected = "a request failed: client error")]
fn a_request_on_a_connection_that_is_closed_fails() {
    sweep(100, OnClose::Fail);
}

#[test]
fn a_request_that_is_sent_again_does_not_fail() {
    sweep(1_000, OnClose::SendAgain);
}
