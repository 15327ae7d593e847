use super::*;
use crate::primitive_kind::PrimitiveKind;
use crate::runtime::gauges::follow_gauges;
use crate::runtime::{Builder, Runtime};
use crate::sync::{Mutex, mpsc};
use crate::task::{JoinSet, yield_now};
use std::future::pending;
use std::panic::Location;
use std::sync::Arc;

const SECOND: Duration = Duration::from_secs(1);

/// The seconds in which something is told of a place that has so many thousand values in each second.
fn told(patience: Duration, thousands: impl IntoIterator<Item = usize>) -> Vec<usize> {
    seconds(true, patience, thousands)
}

/// The seconds in which it grows, and has done so for long, or has not.
fn seconds(
    for_long: bool,
    patience: Duration,
    thousands: impl IntoIterator<Item = usize>,
) -> Vec<usize> {
    let (mut queues, begin) = (GrowingQueues::default(), Instant::now());
    let key = (Measured::Unbounded, Location::caller());
    let tell = |(second, thousands)| {
        queues.see(begin + SECOND * second as u32, &[(key, thousands * LEAST, patience)]);
        queues.growing().iter().any(|(_, has_lasted)| *has_lasted == for_long).then_some(second)
    };
    thousands.into_iter().enumerate().filter_map(tell).collect()
}

#[test]
fn only_what_grows_for_long_is_told() {
    for patience in [LONG, LATER, PERIODS] {
        let seconds = told(patience, 0..150);
        assert_eq!(seconds.first(), Some(&(patience.as_secs() as usize)));
        assert_eq!(seconds.len(), 150 - seconds[0]);
    }
    // Until then it is worth a look.
    assert_eq!(seconds(false, LATER, 0..150), Vec::from_iter(30..60));
    assert_eq!(seconds(false, LONG, (0..200).map(|second| 20 + second % 7)), []);
    // In steps.
    assert_eq!(told(LONG, (0..60).map(|second| second / 5)).last(), Some(&59));
    // It has come to an end soon, and later: then it is no longer told.
    assert_eq!(told(LONG, (0..100).map(|second| second.min(25))), []);
    assert!(told(LONG, (0..100).map(|second| second.min(40))).iter().all(|&second| second < 55));
    // It is long and stays so, but for a burst.
    assert_eq!(told(LONG, (0..200).map(|second| 50 + second.clamp(100, 115))), []);
    // It is full of what comes and goes.
    assert_eq!(told(LONG, (0..200).map(|second| 20 + second % 7)), []);
}

#[test]
fn what_was_emptied_before_may_grow_twice_as_long() {
    // It is emptied at once, or little by little: only the first rise looks like one without an end.
    assert_eq!(told(LONG, (0..300).map(|second| second % 30)), []);
    let at_once = |second| second % 45;
    let slowly = |second: usize| (second % 90).min(90 - second % 90);
    for thousands in [at_once, slowly] {
        let seconds = told(LONG, (0..400).map(thousands));
        assert!(seconds.iter().all(|&second| second < 55) && !seconds.is_empty(), "{seconds:?}");
    }
    // Then it is no longer.
    let stuck = (0..400).map(|second| if second < 180 { at_once(second) } else { second });
    let seconds = told(LONG, stuck);
    let later = seconds.iter().find(|&&second| second > 55);
    assert!(later.is_some_and(|second| (200..300).contains(second)), "{seconds:?}");
    // A short burst before it does not hide that it is stuck.
    assert!(!told(LONG, [0, 50, 2, 0].into_iter().chain(0..60)).is_empty());
}

#[test]
fn sets_that_are_gone_are_remembered_for_those_that_follow_them() {
    // Every 50 seconds there is a new set, which is there for 45.
    let (mut queues, begin) = (GrowingQueues::default(), Instant::now());
    for second in 0..200 {
        let set = ((Measured::JoinSet, Location::caller()), second as usize % 50 * LEAST, LONG);
        let seen = [set].into_iter().filter(|_| second % 50 < 45);
        queues.see(begin + SECOND * second, &seen.collect::<Vec<_>>());
        assert!(
            second < 50 || queues.growing().iter().all(|(_, has_lasted)| !has_lasted),
            "{second}"
        );
    }
}

/// What is told of a runtime after so many seconds, in each of which `fill` is done.
fn told_after(seconds: u32, runtime: &Runtime, mut fill: impl AsyncFnMut()) -> Vec<String> {
    let (mut queues, begin) = (GrowingQueues::default(), Instant::now());
    for second in 0..=seconds {
        runtime.block_on(fill());
        queues.look(begin + SECOND * second, &runtime.handle().dump());
    }
    let found = queues.told(&runtime.handle().dump(), &HashMap::new()).0;
    found.iter().map(Finding::to_string).collect()
}

fn followed_runtime() -> Runtime {
    follow_gauges();
    Builder::new_multi_thread().worker_threads(1).build().unwrap()
}

#[test]
fn channels_of_one_place_are_one_and_what_receives_is_named() {
    let runtime = followed_runtime();
    let lock = Arc::new(Mutex::new(()));
    let guard = runtime.block_on(lock.clone().lock_owned());
    let channels = || {
        let (sender, mut receiver) = mpsc::unbounded_channel::<u64>();
        let lock = lock.clone();
        drop(runtime.spawn(async move {
            while receiver.recv().await.is_some() {
                drop(lock.lock().await);
            }
        }));
        sender
    };
    let senders: Vec<_> = (0..10).map(|_| channels()).collect();
    // All have waited for a message, and then for the lock, before the first look.
    let all_wait = |which| {
        let is_it = |wait: &Wait| matches!(wait, Wait::Primitive { kind, .. } if *kind == which);
        let waits = |task: &&TaskInfo| task.waits().iter().any(is_it);
        while runtime.handle().dump().tasks().iter().filter(waits).count() < senders.len() {
            std::thread::yield_now();
        }
    };
    all_wait(PrimitiveKind::Receiver);
    senders.iter().for_each(|sender| sender.send(0).unwrap());
    all_wait(PrimitiveKind::Mutex);
    let fill = async || {
        for sender in &senders {
            (0..50).for_each(|number| sender.send(number).unwrap());
        }
    };
    let told = told_after(40, &runtime, fill);
    let [told] = &told[..] else { panic!("{told:?}") };
    assert!(
        told.starts_with("more and more messages lie in 10 unbounded mpsc channels made at "),
        "{told}"
    );
    assert!(told.contains(", received from the longest last, and waits for a Mutex (#"), "{told}");
    drop(guard);
}

async fn ends(soon: bool) {
    if !soon {
        pending().await
    }
}

/// What is told of a set into which a hundred tasks are put in each second, which end or live on.
fn told_of_set(tasks_end: bool) -> Vec<String> {
    let runtime = followed_runtime();
    let mut set = runtime.block_on(async { JoinSet::new() });
    let fill = async || {
        let spawned: Vec<_> = (0..100).map(|_| set.spawn(ends(tasks_end))).collect();
        while tasks_end && !spawned.iter().all(|task| task.is_finished()) {
            yield_now().await;
        }
    };
    told_after(80, &runtime, fill)
}

#[test]
fn a_set_that_keeps_what_has_ended_is_told_and_one_whose_tasks_live_is_not() {
    let told = told_of_set(true);
    let [told] = &told[..] else { panic!("{told:?}") };
    assert!(told.starts_with("more and more tasks lie in 1 JoinSet made at "), "{told}");
    assert!(
        told.contains("at most are alive in this runtime; no task is known that has joined one: "),
        "{told}"
    );
    assert_eq!(told_of_set(false), [""; 0]);
}
