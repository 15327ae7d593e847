//! The same programs on turmoil. `run` calls it.

#[path = "../beat.rs"]
mod beat;
#[path = "../echo.rs"]
mod echo;
#[path = "../numbers.rs"]
mod numbers;

mod rt {
    use std::net::SocketAddr;

    pub use tokio::io::{AsyncReadExt, AsyncWriteExt};
    pub use tokio::spawn;
    pub use tokio::time::{interval, sleep};
    pub use turmoil::net::{TcpListener, TcpStream, UdpSocket};

    pub async fn lookup(name: &str, port: u16) -> SocketAddr {
        (turmoil::lookup(name), port).into()
    }
}

use std::time::{Duration, Instant};

/// Prints what was done in how many real seconds.
fn main() {
    let (case, numbers) = (numbers::case(), numbers::numbers());
    let began = Instant::now();
    // Its other settings are its own: time goes on by a millisecond at a time.
    let mut sim = turmoil::Builder::new()
        .simulation_duration(Duration::from_secs(48 * 3_600))
        .min_message_latency(Duration::from_micros(500))
        .max_message_latency(Duration::from_millis(1))
        .udp_capacity(1_024)
        .tcp_capacity(1_024)
        .rng_seed(1)
        .build();
    let done = match (case.as_str(), &numbers[..]) {
        ("beat", &[_, hosts, peers, beats]) => {
            let (hosts, peers) = (hosts as usize, peers as usize);
            for me in 0..hosts {
                sim.client(format!("host{me}"), async move {
                    beat::run(me, hosts, peers, beats).await;
                    Ok(())
                });
            }
            beats / 10
        }
        ("echo", &[_, hosts, rounds]) => {
            let hosts = hosts as usize;
            for me in 0..hosts {
                sim.client(format!("host{me}"), async move {
                    echo::run(me, hosts, rounds).await;
                    Ok(())
                });
            }
            echo::messages(hosts, rounds)
        }
        _ => panic!("on_turmoil: what is `{case}` with {numbers:?}?"),
    };
    sim.run().unwrap();
    println!("{done} {:.4}", began.elapsed().as_secs_f64());
}
