//! An echo server and burners in one runtime, with paced connections from another process.

use super::burners::{Burners, How};
use super::hosts::Host;
use super::threads::{Threads, Watch};
use super::{BURNERS, CONNECTIONS};
use crate::contest::{Lane, Start, lane};
use crate::network::generator::Generator;
use crate::network::load::{Load, Protocol};
use crate::network::server::{Server, TcpServer};
use crate::runtimes::{Liten, Smol, Tokio};
use crate::sockets::{Sockets, echo};
use std::time::{Duration, Instant};

/// For this part of a measurement the load runs before the counting begins.
pub(super) const RUN_UP: u32 = 8;
/// The warm-up is so much shorter than a measurement.
const WARM_UP: u32 = 4;
/// What burners compute for in tests.
const BURN_IN_TESTS: Duration = Duration::from_millis(1);

/// Which load, on what.
#[derive(Clone, Copy)]
pub(crate) struct Echo {
    pub(crate) workers: usize,
    pub(crate) connections: usize,
    pub(crate) burners: usize,
    /// What a burner computes for in one poll.
    pub(crate) burn: Duration,
    pub(crate) how: How,
    /// Whether the burners have a runtime of their own, with as many workers.
    pub(crate) apart: bool,
}

impl Echo {
    /// As most rows have it: burners that compute for `burn` and yield, in the server's runtime.
    pub(super) fn beside(workers: usize, burn: Duration) -> Self {
        let (connections, burners) = (CONNECTIONS, BURNERS);
        Self { workers, connections, burners, burn, how: How::Yielding, apart: false }
    }

    /// The same load on each runtime.
    pub(super) fn lanes(self) -> Vec<(&'static str, Start)> {
        vec![
            lane::<Liten, _>(move || Mixed::<Liten>::start(self)),
            lane::<Tokio, _>(move || Mixed::<Tokio>::start(self)),
            lane::<Smol, _>(move || Mixed::<Smol>::start(self)),
        ]
    }
}

/// Everything that is measured in such a runtime.
pub(crate) struct Mixed<R: Sockets> {
    // In this order: the server is dropped when its clients are gone, the runtime when its tasks are.
    generator: Generator,
    burners: Burners,
    /// Only held.
    _apart: Option<R>,
    /// Only held.
    _server: TcpServer<R>,
    burn: Duration,
}

impl<R: Host> Mixed<R> {
    pub(crate) fn start(of: Echo) -> Self {
        let session = |stream| async {
            // An error is a client that has gone: all of them go in the end.
            let _ = echo::<R>(stream).await;
        };
        let server = TcpServer::<R>::start(of.workers, session);
        let target = server.address();
        let load = Load { protocol: Protocol::Paced, target, width: of.connections };
        let mut generator = Generator::start(load);
        generator.connect();
        let apart = of.apart.then(|| R::start(of.workers));
        let burners = Burners::start(apart.as_ref().unwrap_or(server.runtime()), of);
        Self { generator, burners, _apart: apart, _server: server, burn: of.burn }
    }

    /// For a run of another shape: lights the burners, and loads the server for so long.
    pub(super) fn begin(&mut self, run_up: Duration) {
        if run_up.is_zero() {
            self.burners.set(self.burn.min(BURN_IN_TESTS));
        }
        self.generator.connect();
        self.burners.light();
        self.generator.run(run_up);
        self.generator.connect();
    }

    /// The median of the latencies, the 99th percentile and the longest; the time per request, and per poll
    /// of a burner.
    pub(super) fn run(&mut self, slice: Duration) -> [f64; 5] {
        let (start, before) = (Instant::now(), self.burners.done());
        let report = self.generator.run(slice);
        let (elapsed, after) = (start.elapsed(), self.burners.done());
        let [p50, p99, max, all] =
            [report.p50, report.p99, report.max, report.elapsed].map(|time| time.as_nanos() as f64);
        let polls = (after.polls - before.polls).max(1) as f64;
        [p50, p99, max, all / report.messages.max(1) as f64, elapsed.as_nanos() as f64 / polls]
    }

    /// The burners stop.
    pub(super) fn end(&self) {
        self.burners.quench();
    }

    fn sample(&mut self, slice: Duration) -> Sample {
        let watch = Watch::start(R::THREADS);
        let (start, before) = (Instant::now(), self.burners.done());
        let report = self.generator.run(slice);
        let (elapsed, after) = (start.elapsed(), self.burners.done());
        let Threads { switches, running, threads } = watch.stop();
        let work = Some(after.work - before.work).filter(|&work| work > 0);
        let work = work.map_or(f64::NAN, |work| work as f64);
        let nanos = |time: Duration| time.as_nanos() as f64;
        let values = vec![
            nanos(report.p50),
            nanos(report.p99),
            // Without any answer it is so much at least.
            nanos(report.elapsed) / report.messages.max(1) as f64,
            nanos(elapsed) / (after.polls - before.polls).max(1) as f64,
            // Not a number where the tasks do nothing but yield.
            nanos(elapsed) / work,
            switches / elapsed.as_secs_f64(),
            running,
            threads,
        ];
        Sample { values, silent: report.lost > 0 }
    }
}

/// What one run has seen.
struct Sample {
    values: Vec<f64>,
    /// Whether answers did not come, and the connections have been closed for that.
    silent: bool,
}

impl<R: Host> Lane for Mixed<R> {
    fn warm_up(&mut self, slice: Duration) {
        self.measure(slice / WARM_UP);
    }

    fn measure(&mut self, slice: Duration) -> Vec<f64> {
        if slice.is_zero() {
            self.burners.set(self.burn.min(BURN_IN_TESTS));
        }
        // They are gone if the last measurement ended in silence.
        self.generator.connect();
        self.burners.light();
        let run_up = (!slice.is_zero()).then(|| self.sample(slice / RUN_UP));
        // A server that is silent already says no more in the measurement.
        let sample = run_up.filter(|run_up| run_up.silent).unwrap_or_else(|| self.sample(slice));
        self.burners.quench();
        sample.values
    }
}
