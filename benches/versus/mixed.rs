//! Tasks that wait beside tasks that compute: an echo server, paced connections from another
//! process, and in the same runtime tasks that compute for some time in each poll and then yield.
//!
//! The figures say how long the echo waits for the computing tasks, and what that patience costs them.

#[path = "mixed/burners.rs"]
mod burners;
#[path = "mixed/hosts.rs"]
mod hosts;
#[path = "mixed/lane.rs"]
mod lane;
#[path = "mixed/picture.rs"]
pub(crate) mod picture;
#[path = "mixed/queries.rs"]
mod queries;
#[path = "mixed/quota.rs"]
mod quota;
#[path = "mixed/requests.rs"]
mod requests;
#[path = "mixed/svg.rs"]
mod svg;
#[path = "mixed/threads.rs"]
pub(crate) mod threads;

use crate::contest::{Contest, Figure};
use burners::How;
use lane::Echo;
use requests::Requests;
use std::time::Duration;

const CONNECTIONS: usize = 32;
const BURNERS: usize = 4;
/// Connections whose requests are heavy.
const HEAVY: usize = 4;
/// Tasks that do nothing but yield.
const CROWD: usize = 10_000;
const SHORT: Duration = Duration::from_millis(500);
const SLICE: Duration = Duration::from_secs(1);
/// Some thirty periods of a quota.
const IN_QUOTA: Duration = Duration::from_secs(3);
const LONG: Duration = Duration::from_secs(2);
const ROUNDS: usize = 5;
const FEW_ROUNDS: usize = 3;

/// The highest ratios liten / tokio that we want to see.
#[derive(Clone, Copy, Default)]
struct Goals {
    p50: Option<f64>,
    p99: Option<f64>,
    requests: Option<f64>,
    burners: Option<f64>,
}

/// For tasks that wait for messages instead of yielding.
const MESSAGES: Goals =
    Goals { p50: Some(0.5), p99: Some(0.3), requests: Some(1.0 / 1.2), burners: None };

impl Goals {
    /// `requests`: so many times more in the same time.
    fn new(p50: f64, p99: f64, requests: f64) -> Self {
        let (p50, p99, requests) = (Some(p50), Some(p99), Some(1.0 / requests));
        // The burners may lose a tenth of what they do elsewhere.
        Self { p50, p99, requests, burners: Some(1.0 / 0.9) }
    }
}

pub(crate) fn contests(workers: usize) -> Vec<Contest> {
    let of = |burn| Echo::beside(workers, burn);
    let millis = |millis| of(Duration::from_millis(millis));
    let overload = Echo { connections: 1, burners: CROWD, ..of(Duration::ZERO) };
    let none = Goals::default();
    vec![
        echo("0.2ms", of(Duration::from_micros(200)), SHORT, Goals::new(0.7, 0.8, 1.1)),
        echo("1ms", millis(1), SLICE, Goals::new(0.5, 0.6, 1.6)),
        echo("8ms", millis(8), SLICE, Goals::new(0.02, 0.15, 9.0)),
        echo("50ms", millis(50), SLICE, none),
        echo("500ms", millis(500), LONG, none),
        echo("one_burner", Echo { burners: 1, ..millis(8) }, SLICE, none),
        echo("burner_per_worker", Echo { burners: workers, ..millis(8) }, SLICE, none),
        echo("in_place", Echo { how: How::InPlace, ..millis(8) }, SLICE, none),
        echo("offloaded", Echo { how: How::Offloaded, ..millis(8) }, SLICE, none),
        echo("4_workers", Echo { workers: 4, ..millis(8) }, SLICE, none),
        echo("one_connection", Echo { connections: 1, ..millis(1) }, SLICE, none),
        echo("overload", overload, SLICE, Goals::new(0.5, 0.02, 8.0)),
        echo("messages_1ms", Echo { how: How::Messages, ..millis(1) }, SLICE, MESSAGES),
        echo("messages_8ms", Echo { how: How::Messages, ..millis(8) }, SLICE, MESSAGES),
        echo("spawned_1ms", Echo { how: How::Spawned, ..millis(1) }, SLICE, none),
        echo("spawned_8ms", Echo { how: How::Spawned, ..millis(8) }, SLICE, none),
        echo("spawned_100ms", Echo { how: How::Spawned, ..millis(100) }, SLICE, none),
        echo("declared_8ms", Echo { how: How::Declared, ..millis(8) }, SLICE, none),
        echo("declared_100ms", Echo { how: How::Declared, ..millis(100) }, SLICE, none),
        heavy_requests("mixed_heavy_requests_1ms", workers, Duration::from_millis(1), none),
        heavy_requests(
            "mixed_heavy_requests",
            workers,
            Duration::from_millis(8),
            // The heavy ones stand in the place of the burners.
            Goals::new(0.02, 0.15, 9.0),
        ),
        heavy_requests("mixed_heavy_requests_100ms", workers, Duration::from_millis(100), none),
        with_queries("1ms", Echo { how: How::Declared, ..millis(1) }),
        with_queries("8ms", Echo { how: How::Declared, ..millis(8) }),
        with_quota("0.5_8ms", 50, Echo { connections: 4, ..millis(8) }),
        with_quota("1.0_1ms", 100, millis(1)),
        with_quota("1.0_8ms", 100, millis(8)),
        with_quota("1.0_100ms", 100, millis(100)),
        with_quota("1.5_1ms", 150, millis(1)),
        with_quota("1.5_8ms", 150, millis(8)),
        with_quota("1.5_100ms", 150, millis(100)),
    ]
}

/// The echo in a group that may use so many percent of a processor.
fn with_quota(name: &str, percent: u32, echo: Echo) -> Contest {
    Contest {
        name: format!("mixed_quota_{name}"),
        figures: quota::figures(),
        lanes: quota::lanes(percent, echo),
        slice: IN_QUOTA,
        rounds: ROUNDS,
    }
}

/// The echo beside queries, which are compared with the echo alone: the first goal is for that.
fn with_queries(name: &str, of: Echo) -> Contest {
    let goals = Goals { p99: Some(1.2), ..Goals::default() };
    let lanes = queries::lanes(of);
    Contest { lanes, ..echo(&format!("queries_{name}"), of, SLICE, goals) }
}

/// Requests whose handler computes for `burn`, beside light ones.
fn heavy_requests(name: &str, workers: usize, burn: Duration, goals: Goals) -> Contest {
    let of = Requests { workers, light: CONNECTIONS, heavy: HEAVY, burn };
    let Goals { p50, p99, requests, burners } = goals;
    let figure = |suffix, goal| Figure { suffix, unit: "ns", goal };
    Contest {
        name: name.to_owned(),
        figures: vec![
            figure("p50", p50),
            figure("p99", p99),
            figure("requests", requests),
            figure("heavy", burners),
        ],
        lanes: of.lanes(),
        slice: SLICE,
        rounds: ROUNDS,
    }
}

fn echo(name: &str, echo: Echo, slice: Duration, goals: Goals) -> Contest {
    let figure = |suffix, unit, goal| Figure { suffix, unit, goal };
    Contest {
        name: format!("mixed_{name}"),
        figures: vec![
            figure("p50", "ns", goals.p50),
            figure("p99", "ns", goals.p99),
            figure("requests", "ns", goals.requests),
            figure("burners", "ns", goals.burners),
            figure("work", "ns", None),
            figure("switches", "1/s", None),
            figure("running", "threads", None),
            figure("threads", "threads", None),
        ],
        lanes: echo.lanes(),
        slice,
        rounds: if slice > SLICE { FEW_ROUNDS } else { ROUNDS },
    }
}
