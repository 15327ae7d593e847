//! Heavy requests beside light ones: a server whose handler computes for some milliseconds when a request
//! asks for it. A few connections ask for that again and again; many others send light requests at a pace.
//! Each kind has a process of its own.
//!
//! Nothing here yields or tells the runtime that it computes: this is what a handler looks like that parses a
//! large document, or hashes a password.

use super::burners::compute;
use super::lane::RUN_UP;
use crate::contest::{Lane, Start, lane};
use crate::network::generator::Generator;
use crate::network::load::{Load, Protocol};
use crate::network::server::{Server, TcpServer};
use crate::network::streams::HEAVY;
use crate::runtimes::{Liten, Smol, Tokio};
use crate::sockets::Sockets;
use std::io;
use std::time::Duration;

/// Which load, on what.
#[derive(Clone, Copy)]
pub(crate) struct Requests {
    pub(crate) workers: usize,
    pub(crate) light: usize,
    pub(crate) heavy: usize,
    /// What the handler of a heavy request computes for.
    pub(crate) burn: Duration,
}

impl Requests {
    /// The same load on each runtime.
    pub(super) fn lanes(self) -> Vec<(&'static str, Start)> {
        vec![
            lane::<Liten, _>(move || Served::<Liten>::start(self)),
            lane::<Tokio, _>(move || Served::<Tokio>::start(self)),
            lane::<Smol, _>(move || Served::<Smol>::start(self)),
        ]
    }
}

/// Everything that is measured in such a runtime.
struct Served<R: Sockets> {
    // In this order: the server is dropped when its clients are gone.
    light: Generator,
    heavy: Generator,
    /// Only held.
    _server: TcpServer<R>,
}

impl<R: Sockets> Served<R> {
    fn start(of: Requests) -> Self {
        let session = move |stream| async move {
            // An error is a client that has gone: all of them go in the end.
            let _ = serve::<R>(stream, of.burn).await;
        };
        let server = TcpServer::<R>::start(of.workers, session);
        let target = server.address();
        let start = |protocol, width| {
            let mut generator = Generator::start(Load { protocol, target, width });
            generator.connect();
            generator
        };
        let light = start(Protocol::Paced, of.light);
        let heavy = start(Protocol::Heavy, of.heavy);
        Self { light, heavy, _server: server }
    }

    fn sample(&mut self, slice: Duration) -> Vec<f64> {
        self.heavy.begin(slice);
        let light = self.light.run(slice);
        let heavy = self.heavy.end();
        let nanos = |time: Duration| time.as_nanos() as f64;
        vec![
            nanos(light.p50),
            nanos(light.p99),
            // Without any answer it is so much at least.
            nanos(light.elapsed) / light.messages.max(1) as f64,
            nanos(heavy.elapsed) / heavy.messages.max(1) as f64,
        ]
    }
}

impl<R: Sockets> Lane for Served<R> {
    fn warm_up(&mut self, slice: Duration) {
        self.sample(slice / RUN_UP);
    }

    fn measure(&mut self, slice: Duration) -> Vec<f64> {
        // They are gone if the last measurement ended in silence.
        self.light.connect();
        self.sample(slice / RUN_UP);
        self.light.connect();
        self.sample(slice)
    }
}

/// Serves one connection until its client closes it.
async fn serve<R: Sockets>(mut stream: R::Stream, burn: Duration) -> io::Result<()> {
    let mut buffer = [0; 1024];
    loop {
        let length = R::read(&mut stream, &mut buffer).await?;
        if length == 0 {
            return Ok(());
        }
        if buffer[0] == HEAVY {
            compute(burn);
        }
        R::write_all(&mut stream, &buffer[..length]).await?;
    }
}
