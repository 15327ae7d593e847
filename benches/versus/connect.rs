//! What a connection costs the side that makes it, on workers.

use crate::contest::{Contest, Figure, ROUNDS, SLICE};
use crate::row::Row;
use crate::rows::of_row;
use crate::runtimes::{Liten, Runtime, Tokio};
use std::future::Future;
use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};

const CONNECTIONS: usize = 50;

pub(crate) fn contests(workers: usize) -> Vec<Contest> {
    vec![Contest {
        name: "connect".to_owned(),
        figures: vec![Figure { suffix: "", unit: "ns", goal: Some(1.0) }],
        lanes: vec![of_row(row::<Liten>(), workers), of_row(row::<Tokio>(), workers)],
        slice: SLICE,
        rounds: ROUNDS,
    }]
}

/// The runtimes' TCP clients.
pub(crate) trait Connect: 'static {
    type Stream: Send;

    fn connect(address: SocketAddr) -> impl Future<Output = Self::Stream> + Send;

    /// Closes the connection so that its port can be used again at once.
    fn reset(stream: Self::Stream);
}

macro_rules! connects {
    ($runtime:ty, $library:ident) => {
        impl $crate::connect::Connect for $runtime {
            type Stream = $library::net::TcpStream;

            async fn connect(address: std::net::SocketAddr) -> Self::Stream {
                $library::net::TcpStream::connect(address).await.expect("there is a listener")
            }

            fn reset(stream: Self::Stream) {
                stream.set_zero_linger().expect("every socket has the option");
            }
        }
    };
}
pub(crate) use connects;

connects!(Liten, liten);
connects!(Tokio, tokio);

fn row<R: Runtime + Connect>() -> Row<R> {
    Row::new("connect", CONNECTIONS, |runtime: &R, iterations| {
        runtime.block_on(runtime.spawn(connections::<R>(iterations as usize * CONNECTIONS)))
    })
}

/// The time that `count` connections take: each is accepted, and closed at both ends, while the clock stands.
pub(crate) async fn connections<C: Connect>(count: usize) -> Duration {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    let mut taken = Duration::ZERO;
    for _ in 0..count {
        let start = Instant::now();
        let connected = C::connect(address).await;
        taken += start.elapsed();
        let accepted = listener.accept().expect("there is a connection");
        C::reset(connected);
        drop(accepted);
    }
    taken
}
