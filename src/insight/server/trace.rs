//! The trace that a request has asked for. One at a time: it may take tens of megabytes, and its reader may
//! never read it.

use super::answer::Answer;
use super::made::made;
use super::place::Taken;
use crate::insight::{Recording, Trace, chrome};
use crate::time::{Duration, sleep};

/// The most bytes of a trace: twice what a runtime with four workers has by default. Of one that would be
/// larger the older half is left out, as often as needed, and counted as lost.
const LARGEST: usize = 64 * 1024 * 1024;

/// The answer, when `time` has passed. It has the place with it, until it is sent or given up.
pub(super) async fn answer(recordings: Vec<Recording>, time: Duration, place: Taken) -> Answer {
    sleep(time).await;
    // The thread that serves the page answers others meanwhile. The place goes along: while the trace is
    // being made, there is no other one, even if the connection has ended.
    made(move || {
        let traces = recordings.into_iter().map(Recording::stop).collect();
        Answer::ok("application/json", json(traces, LARGEST)).keeping(place)
    })
    .await
}

/// What is there of `traces`, or as much of its end as fits in `most` bytes.
fn json(mut traces: Vec<Trace>, most: usize) -> String {
    loop {
        let all: Vec<&Trace> = traces.iter().collect();
        // Without events it is some names of threads, which is little.
        let most = if all.iter().all(|trace| trace.is_empty()) { usize::MAX } else { most };
        if let Some(json) = chrome::json(&all, most) {
            return json;
        }
        traces = traces.into_iter().map(|all| all.newer_half().unwrap_or(all)).collect();
    }
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::json;
    use crate::runtime::Builder;
    use crate::task::yield_now;

    #[test]
    fn of_a_trace_that_is_too_large_the_end_is_left() {
        let runtime = Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let recording = runtime.handle().record().unwrap();
        let yields = async {
            for _ in 0..1_000 {
                yield_now().await;
            }
        };
        runtime.block_on(runtime.spawn(yields)).unwrap();
        let whole = json(vec![recording.snapshot()], usize::MAX);
        let most = whole.len() / 3;
        let part = json(vec![recording.snapshot(), recording.snapshot()], most);
        assert!(part.len() <= most && part.len() > most / 10, "{} of {most} bytes", part.len());
        assert!(whole.contains("\"lost\":0") && !part.contains("\"lost\":0"));
        assert!(json(vec![recording.snapshot()], 1).contains("worker 0"), "names are always there");
    }
}
