//! Echo and HTTP servers under load.
//!
//! The load comes from a process of its own, and the lanes of a row live side by side in this one:
//! those that are not measured wait in the kernel and cost nothing. The fourth lane, `epoll`, is the
//! same server by hand on one thread: the limit of what this kind of I/O can give.

#[path = "network/alarm.rs"]
mod alarm;
#[path = "network/bulk.rs"]
mod bulk;
#[path = "network/cpu.rs"]
pub(crate) mod cpu;
#[path = "network/datagrams.rs"]
mod datagrams;
#[path = "network/descriptors.rs"]
pub(crate) mod descriptors;
#[path = "network/generator.rs"]
pub(crate) mod generator;
#[path = "network/histogram.rs"]
mod histogram;
#[path = "network/http.rs"]
mod http;
#[path = "network/lane.rs"]
pub(crate) mod lane;
#[path = "network/load.rs"]
pub(crate) mod load;
#[path = "network/paced.rs"]
mod paced;
#[path = "network/page.rs"]
mod page;
#[path = "network/poller.rs"]
mod poller;
#[path = "network/relay.rs"]
mod relay;
#[path = "network/server.rs"]
pub(crate) mod server;
#[path = "network/streams.rs"]
pub(crate) mod streams;
#[path = "network/wrk.rs"]
mod wrk;

use crate::contest::{Contest, Figure, Start, boxed, lane};
use crate::runtimes::{Liten, Smol, Tokio};
use crate::sockets::{Sockets, echo};
use http::{Http, HttpTimer};
use lane::{Connections, Loaded, WrkLoaded};
use load::Protocol;
use page::Watched;
use server::{Server, TcpServer, UdpServer};
use std::time::Duration;

const SLICE: Duration = Duration::from_millis(150);
const ROUNDS: usize = 15;
/// With so many connections a measurement takes longer, and connects anew.
const MANY: usize = 1000;
const LONG_SLICE: Duration = Duration::from_millis(400);
const FEW_ROUNDS: usize = 5;
/// Each measurement by wrk takes a second at least.
const WRK_ROUNDS: usize = 11;
/// Long enough that the page asks three times.
const PAGE_SLICE: Duration = Duration::from_secs(3);
/// An open page may cost 3 % of the requests.
const TIME_WITH_PAGE: Figure = Figure { suffix: "", unit: "ns", goal: Some(1.0 / 0.97) };
const CPU_WITH_PAGE: Figure = Figure { suffix: "cpu", unit: "ns", goal: Some(1.05) };
/// Files beside the connections: listeners, pollers, pipes.
const SPARE: usize = 100;
const EPOLL: &str = "epoll";

/// 5 % more messages in the same time.
const TIME: Figure = Figure { suffix: "", unit: "ns", goal: Some(1.0 / 1.05) };
const CPU: Figure = Figure { suffix: "cpu", unit: "ns", goal: Some(0.90) };
/// What wrk says: the cost of a request, turned over.
const PER_SECOND: Figure = Figure { suffix: "requests/s", unit: "1/s", goal: None };
const P99: Figure = Figure { suffix: "p99", unit: "ns", goal: Some(0.95) };

pub(crate) fn contests(workers: usize) -> Vec<Contest> {
    let mut contests = Vec::new();
    contests.extend([1, 8, 64, 500, 5000].map(|connections| tcp_echo(workers, connections)));
    contests.extend([1, 16].map(|datagrams| udp_echo(workers, datagrams)));
    contests.extend(relay::contests(workers));
    contests.extend(bulk::contests(workers));
    contests.extend([64, 500].map(|connections| http(workers, connections)));
    if wrk::is_there() {
        contests.extend([64, 500].map(|connections| wrk(workers, connections)));
        contests.extend([64, 500].map(|connections| page(workers, connections)));
    }
    contests
}

/// Does the work of a load generator, if this process is one.
pub(crate) fn child() -> bool {
    let Ok(load) = std::env::var(load::VARIABLE) else { return false };
    let load = load.parse().expect("the parent says what to load");
    load::generate(load).expect("the server answers until the end");
    true
}

fn tcp_echo(workers: usize, connections: usize) -> Contest {
    let many = connections >= MANY;
    Contest {
        name: format!("tcp_echo_{connections}"),
        figures: vec![TIME, CPU, P99],
        lanes: vec![
            tcp_lane::<Liten>(workers, connections),
            tcp_lane::<Tokio>(workers, connections),
            tcp_lane::<Smol>(workers, connections),
            (EPOLL, boxed(move || loaded_tcp(poller::serve_streams, connections))),
        ],
        slice: if many { LONG_SLICE } else { SLICE },
        rounds: if many { FEW_ROUNDS } else { ROUNDS },
    }
}

fn tcp_lane<R: Sockets>(workers: usize, connections: usize) -> (&'static str, Start) {
    let session = |stream| async {
        // An error is a client that has gone: all of them go in the end.
        let _ = echo::<R>(stream).await;
    };
    lane::<R, _>(move || loaded_tcp(|| TcpServer::<R>::start(workers, session), connections))
}

fn loaded_tcp<S: Server>(start: impl FnOnce() -> S, width: usize) -> Loaded<S> {
    let connections = connections(width, 4);
    Loaded::start(start(), Protocol::Tcp, width, connections, |sample| {
        vec![sample.elapsed, sample.cpu, sample.p99]
    })
}

fn udp_echo(workers: usize, datagrams: usize) -> Contest {
    Contest {
        name: format!("udp_echo_{datagrams}"),
        figures: vec![TIME],
        lanes: vec![
            lane::<Liten, _>(move || loaded_udp(UdpServer::<Liten>::start(workers), datagrams)),
            lane::<Tokio, _>(move || loaded_udp(UdpServer::<Tokio>::start(workers), datagrams)),
            lane::<Smol, _>(move || loaded_udp(UdpServer::<Smol>::start(workers), datagrams)),
            (EPOLL, boxed(move || loaded_udp(poller::serve_datagrams(), datagrams))),
        ],
        slice: SLICE,
        rounds: ROUNDS,
    }
}

fn loaded_udp<S: Server>(server: S, width: usize) -> Loaded<S> {
    Loaded::start(server, Protocol::Udp, width, Connections::Lasting, |sample| vec![sample.elapsed])
}

fn http(workers: usize, connections: usize) -> Contest {
    Contest {
        name: format!("http_{connections}"),
        figures: vec![TIME, CPU],
        lanes: vec![
            http_lane::<Liten>(workers, connections),
            http_lane::<Tokio>(workers, connections),
            http_lane::<Smol>(workers, connections),
        ],
        slice: SLICE,
        rounds: ROUNDS,
    }
}

fn http_lane<R: Http>(workers: usize, width: usize) -> (&'static str, Start) {
    lane::<R, _>(move || {
        let server = TcpServer::<R>::start(workers, http::hello::<R>);
        let connections = connections(width, 3);
        Loaded::start(server, Protocol::Http, width, connections, |sample| {
            vec![sample.elapsed, sample.cpu]
        })
    })
}

/// The server as it is used, with a timeout for each request, under the load that is usual for it.
fn wrk(workers: usize, connections: usize) -> Contest {
    Contest {
        name: format!("wrk_{connections}"),
        figures: vec![TIME, CPU, PER_SECOND],
        lanes: vec![
            wrk_lane::<Liten>(workers, connections),
            wrk_lane::<Tokio>(workers, connections),
        ],
        slice: wrk::SHORTEST,
        rounds: WRK_ROUNDS,
    }
}

fn wrk_lane<R: HttpTimer>(workers: usize, width: usize) -> (&'static str, Start) {
    lane::<R, _>(move || loaded_by_wrk::<R>(workers, width))
}

/// What insight's page costs while it is open: the same server on liten, with and without it.
fn page(workers: usize, connections: usize) -> Contest {
    let watched = boxed(move || Watched(loaded_by_wrk::<Liten>(workers, connections)));
    let alone = boxed(move || loaded_by_wrk::<Liten>(workers, connections));
    Contest {
        name: format!("page_{connections}"),
        figures: vec![TIME_WITH_PAGE, CPU_WITH_PAGE, PER_SECOND],
        lanes: vec![("liten with the page", watched), ("liten", alone)],
        slice: PAGE_SLICE,
        rounds: WRK_ROUNDS,
    }
}

fn loaded_by_wrk<R: HttpTimer>(workers: usize, width: usize) -> WrkLoaded<TcpServer<R>> {
    // wrk connects anew each time, so that the lanes never have their connections at the same time.
    connections(width, 1);
    let server = TcpServer::<R>::start(workers, http::hello_in_time::<R>);
    WrkLoaded::start(server, width, |sample| vec![sample.elapsed, sample.cpu, 1e9 / sample.elapsed])
}

/// Panics with the reason if the system does not let this process have so many.
fn connections(width: usize, lanes: usize) -> Connections {
    let limit = descriptors::limit();
    assert!(
        width + SPARE <= limit,
        "{width} connections need more than the {limit} open files allowed"
    );
    if width >= MANY || width * lanes + SPARE > limit {
        Connections::Fresh
    } else {
        Connections::Lasting
    }
}
