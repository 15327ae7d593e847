//! The rows in which one of the processes is a server. The load comes from a process of its own: wrk for
//! HTTP, where it is installed, and otherwise the load generator of liten's benches.

#[path = "../../../benches/versus/network/alarm.rs"]
mod alarm;
#[path = "../../../benches/versus/network/datagrams.rs"]
mod datagrams;
#[path = "../../../benches/versus/network/generator.rs"]
mod generator;
#[path = "../../../benches/versus/network/histogram.rs"]
mod histogram;
#[path = "../../../benches/versus/network/load.rs"]
mod load;
#[path = "../../../benches/versus/network/paced.rs"]
mod paced;
#[path = "../../../benches/versus/network/streams.rs"]
mod streams;
#[path = "../../../benches/versus/network/wrk.rs"]
mod wrk;

use crate::contestant::Contestant;
use crate::rounds::{self, Cost, Ratios};
use generator::Generator;
use load::{Load, Protocol};
use std::net::SocketAddr;
use std::time::Duration;

const SLICE: Duration = Duration::from_millis(150);
const ROUNDS: usize = 15;
/// Each measurement by wrk takes a second at least.
const WRK_ROUNDS: usize = 9;

pub(crate) struct Row {
    pub(crate) name: &'static str,
    protocol: Protocol,
    connections: usize,
}

pub(crate) const ROWS: [Row; 4] = [
    Row { name: "echo_1", protocol: Protocol::Tcp, connections: 1 },
    Row { name: "echo_64", protocol: Protocol::Tcp, connections: 64 },
    Row { name: "http_64", protocol: Protocol::Http, connections: 64 },
    Row { name: "http_500", protocol: Protocol::Http, connections: 500 },
];

/// Does the work of a load generator, if this process is one.
pub(crate) fn is_load_generator() -> bool {
    let Ok(load) = std::env::var(load::VARIABLE) else { return false };
    let load = load.parse().expect("the parent says what to load");
    load::generate(load).expect("the server answers until the end");
    true
}

pub(crate) fn run(pair: &mut [Contestant; 2], row: &Row) -> Result<Ratios, String> {
    let server = match row.protocol {
        Protocol::Http => "serve http",
        _ => "serve echo",
    };
    let mut addresses = Vec::with_capacity(pair.len());
    for contestant in &mut *pair {
        addresses.push(contestant.ask(server)?);
    }
    match row.protocol {
        Protocol::Http if wrk::is_there() => by_wrk(pair, row, &addresses),
        _ => by_generator(pair, row, &addresses),
    }
}

/// Connections last from the first round to the last one.
fn by_generator(
    pair: &mut [Contestant; 2],
    row: &Row,
    addresses: &[SocketAddr],
) -> Result<Ratios, String> {
    let load = |target: &SocketAddr| Load {
        protocol: row.protocol,
        target: *target,
        width: row.connections,
    };
    let mut generators: Vec<_> =
        addresses.iter().map(|target| Generator::start(load(target))).collect();
    for generator in &mut generators {
        generator.connect();
        generator.run(SLICE);
    }
    let ratios = rounds::play(pair, ROUNDS, |contestant, index| {
        let before = contestant.processor_time()?;
        let report = generators[index].run(SLICE);
        let processor = contestant.processor_time()? - before;
        let messages = report.messages as f64;
        Ok(Cost {
            time: report.elapsed.as_secs_f64() / messages,
            processor: processor.as_secs_f64() / messages,
        })
    });
    for (generator, contestant) in generators.iter_mut().zip(pair) {
        generator.close();
        contestant.settle()?;
    }
    ratios
}

/// wrk connects anew for each turn.
fn by_wrk(
    pair: &mut [Contestant; 2],
    row: &Row,
    addresses: &[SocketAddr],
) -> Result<Ratios, String> {
    rounds::play(pair, WRK_ROUNDS, |contestant, index| {
        let before = contestant.processor_time()?;
        let requests = wrk::run(addresses[index], row.connections, wrk::SHORTEST);
        let processor = contestant.processor_time()? - before;
        contestant.settle()?;
        Ok(Cost {
            time: 1.0 / requests.per_second,
            processor: processor.as_secs_f64() / requests.count,
        })
    })
}
