//! The programs on liten, and bare threads, under liten-sim. `run` calls it.

#[path = "../beat.rs"]
mod beat;
#[path = "../echo.rs"]
mod echo;
#[path = "../numbers.rs"]
mod numbers;
#[path = "../turns.rs"]
mod turns;

mod rt {
    use std::net::SocketAddr;

    pub use liten::io::{AsyncReadExt, AsyncWriteExt};
    pub use liten::net::{TcpListener, TcpStream, UdpSocket};
    pub use liten::spawn;
    pub use liten::time::{interval, sleep};

    pub async fn lookup(name: &str, port: u16) -> SocketAddr {
        liten::net::lookup_host((name, port)).await.unwrap().next().unwrap()
    }
}

use std::time::{Duration, Instant};

use liten_sim::{Check, Sim};

#[liten::main]
async fn beat_main(me: usize, hosts: usize, peers: usize, beats: u64) {
    beat::run(me, hosts, peers, beats).await;
}

#[liten::main]
async fn echo_main(me: usize, hosts: usize, rounds: u64) {
    echo::run(me, hosts, rounds).await;
}

fn scenario(sim: Sim, case: &str, numbers: &[u64]) {
    match (case, numbers) {
        ("beat", &[_, hosts, peers, beats]) => {
            let (hosts, peers) = (hosts as usize, peers as usize);
            for me in 0..hosts {
                let main = move || beat_main(me, hosts, peers, beats);
                sim.client(&format!("host{me}"), main);
            }
        }
        ("echo", &[_, hosts, rounds]) => {
            let hosts = hosts as usize;
            for me in 0..hosts {
                sim.client(&format!("host{me}"), move || echo_main(me, hosts, rounds));
            }
        }
        ("lock", &[_, threads, turns]) => {
            sim.client("host", move || turns::by_lock(threads as usize, turns));
        }
        ("channel", &[_, threads, turns]) => {
            sim.client("host", move || turns::by_channel(threads as usize, turns));
        }
        _ => panic!("on_liten: what is `{case}` with {numbers:?}?"),
    }
}

/// Prints what was done in how many real seconds. The first number is how many processors each host
/// sees.
fn main() {
    let (case, numbers) = (numbers::case(), numbers::numbers());
    let cpus = numbers.first().map_or(1, |cpus| *cpus as usize);
    let began = Instant::now();
    Check::new()
        .limit(Duration::from_secs(48 * 3_600))
        .real_limit(Duration::from_secs(3_600))
        .cpus(cpus)
        .program(&case, std::env::args().skip(1).collect())
        .run(|sim| scenario(sim, &case, &numbers));
    let done = match numbers[..] {
        [_, _, _, beats] => beats / 10,
        [_, hosts, rounds] if case == "echo" => echo::messages(hosts as usize, rounds),
        [_, _, turns] => turns,
        _ => 0,
    };
    println!("{done} {:.4}", began.elapsed().as_secs_f64());
}
