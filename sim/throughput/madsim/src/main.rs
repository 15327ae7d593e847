//! The heartbeats on madsim. `../run` calls it.

#[path = "../../src/beat.rs"]
mod beat;
#[path = "../../src/numbers.rs"]
mod numbers;

mod rt {
    use std::net::{Ipv4Addr, SocketAddr};

    pub use madsim::net::UdpSocket;
    pub use madsim::task::spawn;
    pub use madsim::time::{interval, sleep};

    /// It has no names, so the number in the name tells the address.
    pub async fn lookup(name: &str, port: u16) -> SocketAddr {
        let number: u8 = name.trim_start_matches("host").parse().unwrap();
        (address(number), port).into()
    }

    pub fn address(number: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, 0, 0, number + 1)
    }
}

use std::time::Instant;

/// Prints what was done in how many real seconds.
fn main() {
    let (case, numbers) = (numbers::case(), numbers::numbers());
    let ("beat", &[_, hosts, peers, beats]) = (case.as_str(), &numbers[..]) else {
        panic!("on_madsim: what is `{case}` with {numbers:?}?")
    };
    let began = Instant::now();
    let runtime = madsim::runtime::Runtime::with_seed_and_config(1, madsim::Config::default());
    let handle = runtime.handle().clone();
    runtime.block_on(async move {
        let mut all = Vec::new();
        for me in 0..hosts {
            let ip = rt::address(me as u8).into();
            let node = handle.create_node().name(format!("host{me}")).ip(ip).build();
            let (me, hosts, peers) = (me as usize, hosts as usize, peers as usize);
            all.push(node.spawn(beat::run(me, hosts, peers, beats)));
        }
        for host in all {
            host.await.unwrap();
        }
    });
    println!("{} {:.4}", beats / 10, began.elapsed().as_secs_f64());
}
