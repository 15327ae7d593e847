use super::Suspects;
use crate::engine::task::TaskId;
use crate::insight::{PrimitiveKind, Wait};
use crate::runtime::{Builder, Runtime};
use crate::sync::{Mutex, oneshot};
use crate::task::yield_now;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Runs all tasks as far as they go.
fn go_on(runtime: &Runtime) {
    runtime.block_on(async {
        for _ in 0..100 {
            yield_now().await;
        }
    });
}

/// Adds one task to the suspects, as a walk does that comes to it now.
fn meet(suspects: &mut Suspects, runtime: &Runtime, task: TaskId) {
    go_on(runtime);
    let mut task = suspects.walk(runtime.handle()).find(|seen| seen.id() == task).unwrap();
    assert!(task.only_wait().is_some(), "{task} is no suspect");
    suspects.meet(&mut task);
}

/// Two tasks whose turns of waiting for a lock of the other one never meet. During a walk that comes to each
/// in its turn, other threads look at all tasks.
#[test]
fn the_looks_of_others_prove_nothing() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let (left, right) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
    let (release, released) = oneshot::channel::<()>();
    let (give_up, given_up) = oneshot::channel::<()>();
    let (first, second) = {
        let of_first = (left.clone(), right.clone());
        let of_second = (left.clone(), right.clone());
        let second = runtime.spawn(async move {
            let (left, right) = of_second;
            let guard = left.lock().await;
            _ = released.await;
            drop(guard);
            let guard = left.lock().await;
            // The first task has this one.
            drop(right.lock().await);
            drop(guard);
            drop(right.lock().await);
        });
        let first = runtime.spawn(async move {
            let (left, right) = of_first;
            // The second task has this one.
            drop(left.lock().await);
            let guard = right.lock().await;
            _ = given_up.await;
            drop(guard);
            drop(left.lock().await);
        });
        (first.id(), second.id())
    };
    let keep = |lock: Arc<Mutex<()>>| {
        let (end, ended) = oneshot::channel::<()>();
        runtime.spawn(async move {
            let _guard = lock.lock().await;
            _ = ended.await;
        });
        end
    };
    let mut suspects = Suspects::new(runtime.handle().id());
    meet(&mut suspects, &runtime, first);
    release.send(()).unwrap();
    meet(&mut suspects, &runtime, second);
    let _ends = [keep(left), keep(right)];
    go_on(&runtime);
    let blocked = suspects.ask_holders();
    assert_eq!(blocked.blockers, HashMap::from([(first, second), (second, first)]));
    give_up.send(()).unwrap();
    go_on(&runtime);
    // The look of another thread.
    let held = |wait: &Wait| matches!(wait, Wait::Primitive { kind: PrimitiveKind::Mutex, .. });
    let looks = runtime.handle().tasks();
    assert_eq!(looks.filter(|task| task.waits_only_for().is_some_and(held)).count(), 2);
    assert_eq!(blocked.prove(runtime.handle()).tasks, HashSet::new());
}
