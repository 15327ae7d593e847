//! A server in this process with a load generator beside it, as one lane of a contest.

use super::cpu::{process_time, ticks};
use super::generator::Generator;
use super::load::{Load, Protocol};
use super::server::Server;
use super::wrk;
use crate::contest::Lane;
use std::thread;
use std::time::Duration;

/// After this the kernel has added what a thread has run to its account, also if it ended its work
/// in the last moment.
const SETTLE: Duration = Duration::from_millis(2);
/// Connections that are made for one measurement are warmed up for this part of it.
const WARM_UP: u32 = 4;

/// What one measurement has seen.
pub(crate) struct Sample {
    /// All in nanoseconds; per message but for the last.
    pub(crate) elapsed: f64,
    pub(crate) cpu: f64,
    pub(crate) p99: f64,
}

/// Which of it the contest shows, in the order of its figures.
pub(crate) type Values = fn(&Sample) -> Vec<f64>;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Connections {
    /// From the start of the lane to its end.
    Lasting,
    /// For one measurement: all lanes together would have too many.
    Fresh,
}

pub(crate) struct Loaded<S> {
    // First: the server is dropped when its clients are gone.
    generator: Generator,
    server: S,
    connections: Connections,
    values: Values,
}

impl<S: Server> Loaded<S> {
    pub(crate) fn start(
        server: S,
        protocol: Protocol,
        width: usize,
        connections: Connections,
        values: Values,
    ) -> Self {
        let mut generator = Generator::start(Load { protocol, target: server.address(), width });
        if connections == Connections::Lasting {
            generator.connect();
        }
        Self { generator, server, connections, values }
    }

    fn sample(&mut self, slice: Duration) -> Sample {
        let before = process_time();
        let report = self.generator.run(slice);
        let cpu = cpu_since(before);
        let messages = report.messages as f64;
        Sample {
            elapsed: report.elapsed.as_nanos() as f64 / messages,
            cpu: cpu / messages,
            p99: report.p99.as_nanos() as f64,
        }
    }
}

impl<S: Server> Lane for Loaded<S> {
    fn warm_up(&mut self, slice: Duration) {
        // Fresh connections are warmed up each time.
        if self.connections == Connections::Lasting {
            self.measure(slice);
        }
    }

    fn measure(&mut self, slice: Duration) -> Vec<f64> {
        let sample = match self.connections {
            Connections::Lasting => self.sample(slice),
            Connections::Fresh => {
                self.generator.connect();
                self.generator.run(slice / WARM_UP);
                let sample = self.sample(slice);
                self.generator.close();
                self.server.settle();
                sample
            }
        };
        (self.values)(&sample)
    }
}

/// The same with `wrk`, which connects anew each time.
pub(crate) struct WrkLoaded<S> {
    server: S,
    connections: usize,
    values: Values,
}

impl<S: Server> WrkLoaded<S> {
    pub(crate) fn start(server: S, connections: usize, values: Values) -> Self {
        Self { server, connections, values }
    }

    pub(super) fn server(&self) -> &S {
        &self.server
    }
}

impl<S: Server> Lane for WrkLoaded<S> {
    fn measure(&mut self, slice: Duration) -> Vec<f64> {
        // Seconds are long enough for ticks, which lose nothing when a spare worker or a page ends.
        let before = ticks();
        let requests = wrk::run(self.server.address(), self.connections, slice);
        let cpu = nanoseconds_between(before, ticks());
        self.server.settle();
        (self.values)(&Sample {
            elapsed: 1e9 / requests.per_second,
            cpu: cpu / requests.count,
            p99: f64::NAN,
        })
    }
}

/// Nanoseconds; NaN if the system does not tell.
pub(crate) fn cpu_since(before: Option<Duration>) -> f64 {
    thread::sleep(SETTLE);
    nanoseconds_between(before, process_time())
}

fn nanoseconds_between(before: Option<Duration>, after: Option<Duration>) -> f64 {
    let used = before.zip(after).map(|(before, after)| after.saturating_sub(before));
    used.map_or(f64::NAN, |used| used.as_nanos() as f64)
}
