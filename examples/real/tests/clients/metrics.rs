//! The metrics of insight's page, read by the parser of Prometheus's own client library for Python.

use crate::process::LIMIT;
use crate::sick_cases::{BLOCKED_WORKER, SPAWN_LEAK};
use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Checks what the parser leaves to its caller, too: counts that go up, and that nothing comes twice. Prints
/// the name and the type of each family, and then the samples of findings.
const READ: &str = r#"
import sys
from prometheus_client.parser import text_string_to_metric_families

seen = set()
for family in text_string_to_metric_families(sys.stdin.read()):
    assert family.documentation and family.type != "unknown", family
    print(family.name, family.type)
    buckets = {}
    for sample in family.samples:
        key = (sample.name, *sorted(sample.labels.items()))
        assert key not in seen, key
        seen.add(key)
        labels = dict(sample.labels)
        bound = labels.pop("le", None)
        series = tuple(sorted(labels.items()))
        if bound is not None:
            buckets.setdefault(series, []).append((float(bound), sample.value))
        if family.type == "counter":
            assert sample.name.endswith("_total") and sample.value >= 0, sample
        if sample.name.endswith("_count"):
            assert buckets[series] == sorted(buckets[series]), series
            counts = [count for _, count in buckets[series]]
            assert counts == sorted(counts), series
            assert buckets[series][-1] == (float("inf"), sample.value), series
        if sample.name == "liten_findings":
            print("finding", sample.labels["kind"], int(sample.value))
"#;

/// What the parser prints.
fn read(metrics: &str) -> Vec<String> {
    // That of Debian, which has the library; another one may come first in the path.
    let mut python = Command::new("/usr/bin/python3");
    python.args(["-c", READ]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut python = python.spawn().unwrap();
    python.stdin.take().unwrap().write_all(metrics.as_bytes()).unwrap();
    let output = python.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}\n{metrics}");
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn prometheus_reads_the_metrics() {
    let patients = [BLOCKED_WORKER.start(), SPAWN_LEAK.start()];
    for (patient, kind) in patients.iter().zip([BLOCKED_WORKER.kind, SPAWN_LEAK.kind]) {
        let deadline = Instant::now() + LIMIT;
        let finding = format!("finding {kind} 1");
        let said = loop {
            let said = read(&patient.get("/metrics"));
            if said.contains(&finding) {
                break said;
            }
            assert!(Instant::now() < deadline, "no {finding:?}: {said:#?}");
            thread::sleep(Duration::from_millis(50));
        };
        for family in ["liten_alive_tasks gauge", "liten_worker_polls counter"] {
            assert!(said.iter().any(|line| line == family), "no {family:?}: {said:#?}");
        }
        assert!(said.iter().any(|line| line.ends_with(" histogram")), "{said:#?}");
    }
}
