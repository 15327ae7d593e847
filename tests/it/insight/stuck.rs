//! Tasks that nothing will wake: what is said to be proven is true.

use super::deadlocks::wrong_with_tasks;
use crate::support::guard::{guarded, until, workers};
use crate::support::waiting::until_waiting;
use liten::insight::Finding;
use liten::runtime::Runtime;
use liten::task::{TaskId, yield_now};
use liten::time::{Duration, sleep};
use std::collections::HashSet;
use std::future::{pending, poll_fn};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

fn stuck(runtime: &Runtime) -> HashSet<TaskId> {
    runtime.handle().tasks().filter(|task| task.is_stuck()).map(|task| task.id()).collect()
}

#[test]
fn a_task_whose_last_waker_is_dropped_is_found_with_its_place() {
    guarded(|| {
        let runtime = workers(1);
        let slot = Arc::new(Mutex::new(None::<Waker>));
        let kept = slot.clone();
        let leaves_its_waker = poll_fn(move |cx| {
            kept.lock().unwrap().replace(cx.waker().clone());
            Poll::<()>::Pending
        });
        let (task, line) = (runtime.spawn(leaves_its_waker), line!());
        until_waiting(&runtime, 1);
        assert_eq!(stuck(&runtime), HashSet::new());
        assert_eq!(wrong_with_tasks(&runtime.handle().dump()), []);
        drop(slot.lock().unwrap().take());
        assert_eq!(stuck(&runtime), HashSet::from([task.id()]));
        let dump = runtime.handle().dump();
        let [Finding::StuckTasks { spawned_at, tasks, .. }] = wrong_with_tasks(&dump)[..] else {
            panic!("{dump}")
        };
        assert_eq!((spawned_at.file(), spawned_at.line(), tasks), (file!(), line, 1));
        assert!(dump.to_string().contains("waiting for ever, spawned at"), "{dump}");
        task.abort();
        until(|| runtime.metrics().num_alive_tasks() == 0);
    });
}

/// A random tree of tasks, each of which waits for a timer, the next poll, its children or a channel. All of
/// them end, so none may be said to be stuck at any time.
fn grow(seed: u64, depth: u32) -> liten::task::JoinHandle<()> {
    liten::spawn(async move {
        let next = |seed: u64| seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let kind = (seed >> 33) % 4;
        let (sender, receiver) = liten::sync::oneshot::channel();
        let children: Vec<_> = match depth {
            0 => Vec::new(),
            _ => (0..1 + kind).map(|child| grow(next(seed ^ child << 40), depth - 1)).collect(),
        };
        let sends = liten::spawn(async move {
            sleep(Duration::from_micros(seed % 300)).await;
            _ = sender.send(());
        });
        match kind {
            0 => sleep(Duration::from_micros(seed % 500)).await,
            1 => yield_now().await,
            2 => drop(sends),
            _ => sends.await.unwrap(),
        }
        receiver.await.unwrap();
        for child in children {
            child.await.unwrap();
        }
    })
}

#[test]
fn in_random_graphs_of_tasks_none_that_ends_is_said_to_be_stuck() {
    guarded(|| {
        let runtime = workers(2);
        let waits_for_ever = runtime.spawn(pending::<()>()).id();
        let mut looks = 0;
        for seed in 0..60_u64 {
            let root = {
                let _entered = runtime.enter();
                grow(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15), 4)
            };
            while !root.is_finished() {
                let found = stuck(&runtime);
                assert!(
                    found.is_subset(&HashSet::from([waits_for_ever])),
                    "seed {seed}: {found:?}"
                );
                looks += 1;
            }
        }
        assert!(looks > 0);
        until(|| stuck(&runtime) == HashSet::from([waits_for_ever]));
    });
}
