use super::{Cause, Trace, Track, has_end};
use crate::engine::task::{Polled, RunningTask, TaskId};
use crate::observe::{Event, Record};
use crate::runtime;
use std::collections::HashSet;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

fn poll(at: u64, duration: u64, task: RunningTask) -> Record {
    Record { at, event: Event::Poll { task, duration, outcome: Polled::Pending } }
}

fn wake(at: u64, task: RunningTask) -> Record {
    Record { at, event: Event::Wake(task) }
}

fn task() -> RunningTask {
    RunningTask::new(TaskId::next(), Location::caller())
}

/// When what led to polls happened, and when those began.
fn causes(workers: Vec<Track>, others: Vec<Record>) -> Vec<(u64, u64)> {
    let runtime = runtime::Builder::new_current_thread().build().unwrap();
    let trace = Trace {
        runtime: runtime.handle().id(),
        name: None,
        workers,
        others: Track { records: others, ..Track::default() },
        under_way: Vec::new(),
        begin: Instant::now(),
        end: 1_000,
        mark: None,
    };
    trace.causes().iter().map(|&Cause { at, polled_at, .. }| (at, polled_at)).collect()
}

#[test]
fn a_wake_leads_to_the_poll_that_follows() {
    let task = task();
    let worker = Track { records: vec![poll(20, 5, task), poll(40, 5, task)], ..Track::default() };
    assert_eq!(causes(vec![worker], vec![wake(10, task), wake(30, task)]), [(10, 15), (30, 35)]);
}

/// A worker that had not begun to record has run it.
#[test]
fn a_wake_whose_poll_was_not_recorded_does_not_lead_to_that_of_the_next_wake() {
    let task = task();
    let worker = Track { records: vec![poll(40, 5, task)], ..Track::default() };
    assert_eq!(causes(vec![worker], vec![wake(10, task), wake(30, task)]), [(30, 35)]);
}

/// The poll at 40 may have followed one that yielded and was lost.
#[test]
fn a_wake_from_before_a_loss_leads_nowhere() {
    let (task, other) = (task(), task());
    let records = vec![poll(20, 1, other), poll(40, 5, task), poll(60, 5, task)];
    let worker = Track { records, lost: 1, ..Track::default() };
    assert_eq!(causes(vec![worker], vec![wake(10, task), wake(50, task)]), [(50, 55)]);
}

/// The worker has recorded a poll, and has not said yet that it is over.
#[test]
fn the_record_of_a_poll_tells_that_it_has_ended() {
    let (of_task, before) = (task(), task());
    let ready =
        |at, task| Record { at, event: Event::Poll { task, duration: 5, outcome: Polled::Ready } };
    let ends = |records| has_end(&Track { records, ..Track::default() }, of_task, 50);
    assert!(
        ends(vec![poll(20, 5, before), ready(40, of_task), wake(45, before)]),
        "a task that has ended"
    );
    assert!(ends(vec![poll(60, 5, of_task)]), "it was under way at 50");
    assert!(!ends(vec![poll(40, 5, of_task)]), "that may be the poll before");
    assert!(
        !ends(vec![poll(60, 5, of_task), poll(70, 5, before)]) && !ends(vec![wake(60, of_task)])
    );
}

/// Tasks that are polled once, and recordings that end while they are.
#[test]
fn a_poll_that_has_ended_is_not_under_way() {
    let runtime = runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .max_spare_workers(0)
        .build()
        .unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                runtime.block_on(runtime.spawn(async {})).unwrap();
            }
        });
        for _ in 0..200 {
            let recording = runtime.handle().record().unwrap();
            runtime.block_on(runtime.spawn(async {})).unwrap();
            let trace = recording.stop();
            let ended = trace.records().filter_map(|(_, record)| match record.event {
                Event::Poll { task, outcome: Polled::Ready, .. } => Some(task.id()),
                _ => None,
            });
            let ended: HashSet<_> = ended.collect();
            let both = trace.under_way.iter().find(|(_, task, _)| ended.contains(&task.id()));
            if both.is_some() {
                is_over.store(true, Ordering::Relaxed);
            }
            assert!(both.is_none(), "{both:?}");
        }
        is_over.store(true, Ordering::Relaxed);
    });
}
