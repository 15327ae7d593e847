//! Load from `wrk`, the usual one for HTTP, if it is there.

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

/// Nothing that wrk can be told is shorter.
pub(crate) const SHORTEST: Duration = Duration::from_secs(1);

pub(crate) struct Requests {
    pub(crate) count: f64,
    pub(crate) per_second: f64,
}

pub(crate) fn is_there() -> bool {
    Command::new("wrk").arg("--version").output().is_ok()
}

/// Loads the server for `slice`, in whole seconds.
pub(crate) fn run(target: SocketAddr, connections: usize, slice: Duration) -> Requests {
    let seconds = slice.max(SHORTEST).as_millis().div_ceil(1000);
    let mut wrk = Command::new("wrk");
    wrk.arg("-t1").arg(format!("-c{connections}")).arg(format!("-d{seconds}s"));
    let output = wrk.arg(format!("http://{target}/")).output().expect("wrk was there before");
    let report = String::from_utf8_lossy(&output.stdout);
    let parsed = parse(&report);
    parsed.unwrap_or_else(|| {
        panic!("wrk says {report:?} {:?}", String::from_utf8_lossy(&output.stderr))
    })
}

/// Finds the lines `12345 requests in 1.00s, 1.23MB read` and `Requests/sec: 12345.67`.
fn parse(report: &str) -> Option<Requests> {
    let count = report.lines().find_map(|line| line.trim().split_once(" requests in "))?.0;
    let per_second = report.lines().find_map(|line| line.trim().strip_prefix("Requests/sec:"))?;
    Some(Requests { count: count.parse().ok()?, per_second: per_second.trim().parse().ok()? })
}
