//! Tasks that wait for each other: circles are found, and what is said to be proven is true.

use crate::support::guard::{guarded, until, workers};
use liten::insight::{Dump, Finding, PrimitiveKind, TaskInfo, Wait};
use liten::runtime::Runtime;
use liten::sync::{Mutex, MutexGuard, RwLock, mpsc, oneshot};
use liten::task::{JoinHandle, TaskId};
use liten::time::{Duration, Instant, sleep, timeout};
use std::collections::HashSet;
use std::future::pending;
use std::sync::Arc;

/// What is wrong, but for workers. No task of these tests blocks, and a worker that the system does not let
/// run looks blocked for as long.
pub(super) fn wrong_with_tasks(dump: &Dump) -> Vec<Finding> {
    let is_of_worker = |finding: &Finding| matches!(finding, Finding::BlockedWorker { .. });
    dump.findings().into_iter().filter(|finding| !is_of_worker(finding)).collect()
}

/// All tasks that are proven to wait for ever, and the ids of each circle.
fn found(runtime: &Runtime) -> (HashSet<TaskId>, Vec<Vec<TaskId>>) {
    let dump = runtime.handle().dump();
    let tasks = dump.tasks().iter().filter(|task| task.is_deadlocked()).map(|task| task.id());
    let circles = dump.findings().into_iter().filter_map(|finding| match finding {
        Finding::Deadlock { tasks, .. } => Some(tasks.iter().map(|task| task.id()).collect()),
        _ => None,
    });
    (tasks.collect(), circles.collect())
}

/// Tasks each of which waits for the end of the next one, and the last one for the first; with the line of
/// the spawn.
fn circle_of_joins(runtime: &Runtime, count: usize) -> (Vec<TaskId>, u32) {
    let (mut ids, mut line, mut first, mut before) = (Vec::new(), 0, None, None);
    for _ in 0..count {
        let (give, handle) = oneshot::channel::<JoinHandle<()>>();
        let (task, spawned_at) =
            (runtime.spawn(async { handle.await.unwrap().await.unwrap() }), line!());
        (line, ids) = (spawned_at, [ids, vec![task.id()]].concat());
        match before.replace(give) {
            None => first = Some(task),
            Some(give) => give.send(task).unwrap(),
        }
    }
    before.unwrap().send(first.unwrap()).unwrap();
    (ids, line)
}

#[test]
fn a_circle_of_joins_is_found_with_ids_places_and_what_each_waits_for() {
    guarded(|| {
        let runtime = workers(2);
        let (ids, line) = circle_of_joins(&runtime, 3);
        let mut sorted = ids.clone();
        sorted.sort_unstable();
        until(|| found(&runtime).0.len() == 3);
        let dump = runtime.handle().dump();
        let findings = wrong_with_tasks(&dump);
        let [Finding::Deadlock { tasks, others, .. }] = &findings[..] else { panic!("{dump}") };
        assert_eq!((tasks.len(), *others), (3, 0));
        for (index, task) in tasks.iter().enumerate() {
            assert_eq!((task.spawned_at().file(), task.spawned_at().line()), (file!(), line));
            let Wait::Task { id, .. } = *task.waits_for() else { panic!("{task}") };
            assert_eq!(id, tasks[(index + 1) % 3].id());
        }
        assert_eq!(tasks[0].id(), sorted[0]);
        let text = dump.to_string();
        assert!(text.contains("3 tasks wait for each other: deadlock, proven: task "), "{text}");
        assert!(text.contains(&format!("waits for task {}", sorted[0])), "{text}");
    });
}

/// One dump is enough, however early it is made: the proof needs no time. And from the spawns to the proof it
/// is less than two seconds, but on a machine that is busy with something else: then all of it once more.
#[test]
fn the_first_dump_after_the_last_join_proves_a_circle() {
    guarded(|| {
        let is_soon = |_| {
            let (begun, runtime) = (Instant::now(), workers(2));
            let (ids, _) = circle_of_joins(&runtime, 2);
            let joins = |task: &TaskInfo| matches!(task.waits(), [Wait::Task { .. }]);
            until(|| runtime.handle().tasks().filter(joins).count() == 2);
            assert_eq!(found(&runtime).0, HashSet::from_iter(ids));
            begun.elapsed() < Duration::from_secs(2)
        };
        assert!((0..10).any(is_soon));
    });
}

#[test]
fn what_waits_for_a_circle_waits_for_ever_too() {
    guarded(|| {
        let runtime = workers(1);
        let (ids, _) = circle_of_joins(&runtime, 2);
        let stuck = runtime.spawn(pending::<()>());
        let waits = runtime.spawn(async { stuck.await.unwrap() });
        let expected = HashSet::from([ids[0], ids[1], waits.id()]);
        until(|| found(&runtime).0 == expected);
        assert_eq!(found(&runtime).1.len(), 1, "a task without a waker is no circle");
    });
}

#[test]
fn a_task_that_waits_for_its_own_lock_is_found() {
    guarded(|| {
        let runtime = workers(1);
        let lock = Arc::new(Mutex::new(()));
        let task = runtime.spawn(async move {
            let _guard = lock.lock().await;
            drop(lock.lock().await);
        });
        until(|| found(&runtime).1 == [vec![task.id()]]);
        let text = runtime.handle().dump().to_string();
        assert!(text.contains("a task waits for itself: deadlock, proven"), "{text}");
        assert!(text.contains(&format!("held by task {}", task.id())), "{text}");
    });
}

/// Two tasks that lock `first` and `second` in different orders, each when the other has its first lock.
macro_rules! crossed {
    ($runtime:expr, $lock:ident, $first:expr, $second:expr) => {{
        let (locks, meeting) = (($first, $second), Arc::new(liten::sync::Barrier::new(2)));
        let (one, other) = ((locks.clone(), meeting.clone()), (locks, meeting));
        let one = $runtime.spawn(async move {
            let ((first, second), meeting) = one;
            let _first = first.$lock().await;
            meeting.wait().await;
            let _second = second.$lock().await;
        });
        let other = $runtime.spawn(async move {
            let ((first, second), meeting) = other;
            let _second = second.$lock().await;
            meeting.wait().await;
            let _first = first.$lock().await;
        });
        [one.id(), other.id()]
    }};
}

#[test]
fn two_locks_in_different_orders_are_found() {
    guarded(|| {
        let runtime = workers(2);
        let lock = || Arc::new(Mutex::new(()));
        let mut mutexes = crossed!(runtime, lock, lock(), lock());
        mutexes.sort_unstable();
        until(|| found(&runtime).1 == [mutexes.to_vec()]);
        let lock = || Arc::new(RwLock::new(()));
        let mut locks = crossed!(runtime, write, lock(), lock());
        locks.sort_unstable();
        until(|| found(&runtime).1.len() == 2);
        let dump = runtime.handle().dump();
        for finding in wrong_with_tasks(&dump) {
            let text = finding.to_string();
            assert!(
                text.contains("proven unless a guard was given to another task: task"),
                "{text}"
            );
            let Finding::Deadlock { tasks, .. } = finding else { panic!("{dump}") };
            let is_mutex = tasks[0].id() == mutexes[0];
            let expected = if is_mutex { PrimitiveKind::Mutex } else { PrimitiveKind::RwLockWrite };
            for (task, next) in [(&tasks[0], &tasks[1]), (&tasks[1], &tasks[0])] {
                let Wait::Primitive { kind, holder, .. } = *task.waits_for() else {
                    panic!("{task}")
                };
                assert_eq!((kind, holder), (expected, Some(next.id())));
            }
        }
    });
}

#[test]
fn a_lock_that_passes_from_task_to_task_is_held_by_the_last() {
    guarded(|| {
        let runtime = workers(2);
        let (one, other) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
        let held = one.clone().try_lock_owned().unwrap();
        // Three tasks wait in this line; the last of them waits for ever, for the second.
        let spawn = |waits_again: bool| {
            let (one, other) = (one.clone(), other.clone());
            let task = runtime.spawn(async move {
                let _one = one.lock().await;
                if waits_again {
                    let _other = other.lock().await;
                    drop(one.lock().await);
                }
            });
            until(|| {
                let dump = runtime.handle().dump();
                dump.tasks().iter().any(|seen| seen.id() == task.id() && !seen.waits().is_empty())
            });
            task
        };
        let tasks = [spawn(false), spawn(true), spawn(false)];
        assert_eq!(found(&runtime), Default::default());
        drop(held);
        until(|| found(&runtime).0 == HashSet::from([tasks[1].id(), tasks[2].id()]));
        assert_eq!(found(&runtime).1, [vec![tasks[1].id()]]);
    });
}

/// The ids of each circle that is suspected, and its sentence.
fn suspected(runtime: &Runtime) -> Vec<(Vec<TaskId>, String)> {
    let findings = runtime.handle().dump().findings();
    let circles = findings.iter().filter_map(|finding| match finding {
        Finding::SuspectedDeadlock { tasks, .. } => {
            Some((tasks.iter().map(|task| task.id()).collect(), finding.to_string()))
        }
        _ => None,
    });
    circles.collect()
}

#[test]
fn crossed_owned_guards_are_suspected() {
    guarded(|| {
        let runtime = workers(2);
        let lock = || Arc::new(Mutex::new(()));
        let mut ids = crossed!(runtime, lock_owned, lock(), lock());
        ids.sort_unstable();
        until(|| !suspected(&runtime).is_empty());
        let circles = suspected(&runtime);
        let [(circle, sentence)] = &circles[..] else { panic!("{circles:?}") };
        assert_eq!(circle[..], ids);
        let expected = "2 tasks wait for each other: suspected deadlock, not proven because a guard \
                        that owns its lock may have been given to another task: task ";
        assert!(sentence.starts_with(expected), "{sentence}");
        assert!(sentence.contains(&format!("held by task {}", ids[1])), "{sentence}");
        assert_eq!(found(&runtime), Default::default(), "nothing is proven");
        assert!(runtime.handle().dump().to_string().contains(sentence.as_str()));
    });
}

/// One task of two that seem to wait for each other has given its guard to a third.
#[test]
fn a_suspicion_ends_when_the_guard_that_was_given_away_is_released() {
    guarded(|| {
        let runtime = workers(2);
        let (left, right) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
        let (give, given) = oneshot::channel();
        let (release, released) = oneshot::channel::<()>();
        runtime.spawn(async {
            let _guard = given.await;
            _ = released.await;
        });
        let meeting = Arc::new(liten::sync::Barrier::new(2));
        let of_first = (left.clone(), right.clone(), meeting.clone());
        let first = runtime.spawn(async move {
            let (left, right, meeting) = of_first;
            _ = give.send(left.lock_owned().await);
            meeting.wait().await;
            drop(right.lock_owned().await);
        });
        let second = runtime.spawn(async move {
            let _guard = right.lock_owned().await;
            meeting.wait().await;
            drop(left.lock_owned().await);
        });
        until(|| suspected(&runtime).len() == 1);
        release.send(()).unwrap();
        runtime.block_on(async { (first.await.unwrap(), second.await.unwrap()) });
        assert_eq!(suspected(&runtime), []);
    });
}

/// A guard that borrows a lock of the whole program can be given away: the first task has locked, and the
/// third has the guard. That cannot be seen, so the condition stands wherever something is said to be proven.
#[test]
fn what_is_proven_of_locks_is_never_said_without_its_condition() {
    static LEFT: Mutex<()> = Mutex::const_new(());
    static RIGHT: Mutex<()> = Mutex::const_new(());
    guarded(|| {
        let runtime = workers(2);
        let (give, given) = oneshot::channel::<MutexGuard<'static, ()>>();
        let (release, released) = oneshot::channel::<()>();
        runtime.spawn(async {
            let _guard = given.await;
            _ = released.await;
        });
        let meeting = Arc::new(liten::sync::Barrier::new(2));
        let meets = meeting.clone();
        let first = runtime.spawn(async move {
            _ = give.send(LEFT.lock().await);
            meets.wait().await;
            drop(RIGHT.lock().await);
        });
        let second = runtime.spawn(async move {
            let _guard = RIGHT.lock().await;
            meeting.wait().await;
            drop(LEFT.lock().await);
        });
        let waits = runtime.spawn(first);
        let expected = HashSet::from([waits.id(), second.id()]);
        until(|| found(&runtime).0.is_superset(&expected) && found(&runtime).0.len() == 3);
        let condition = "unless a guard was given to another task";
        let dump = runtime.handle().dump();
        let [finding] = &wrong_with_tasks(&dump)[..] else { panic!("{dump}") };
        let proven = format!("2 tasks wait for each other: deadlock, proven {condition}: task ");
        assert!(finding.to_string().starts_with(&proven), "{finding}");
        let text = dump.to_string();
        let is_bold = |line: &&str| line.contains(", proven") || line.contains(" for ever");
        let bold: Vec<_> = text.lines().filter(is_bold).collect();
        assert_eq!(bold.len(), 1 + 3, "the sentence and the tasks: {text}");
        assert!(bold.iter().all(|line| line.contains(condition)), "{text}");
        release.send(()).unwrap();
        runtime.block_on(async { (waits.await.unwrap().unwrap(), second.await.unwrap()) });
        assert_eq!((suspected(&runtime), found(&runtime)), Default::default());
    });
}

/// As a server does that lets no more than one request be worked on.
#[test]
fn a_task_that_locks_again_what_it_has_given_away_is_not_suspected() {
    guarded(|| {
        let runtime = workers(2);
        let lock = Arc::new(Mutex::new(()));
        let (release, released) = oneshot::channel::<()>();
        let task = runtime.spawn(async move {
            let guard = lock.clone().lock_owned().await;
            liten::spawn(async move {
                _ = released.await;
                drop(guard);
            });
            drop(lock.lock_owned().await);
        });
        let id = task.id();
        let held_by_itself = |wait: &Wait| match wait {
            Wait::Primitive { holder, .. } => *holder == Some(id),
            _ => false,
        };
        let seems_to_wait_for_itself = |runtime: &Runtime| {
            let dump = runtime.handle().dump();
            let mut seen = dump.tasks().iter().filter(|seen| seen.id() == id);
            seen.any(|seen| seen.waits().iter().any(held_by_itself))
        };
        until(|| seems_to_wait_for_itself(&runtime));
        for _ in 0..100 {
            assert_eq!((suspected(&runtime), found(&runtime)), Default::default());
        }
        release.send(()).unwrap();
        runtime.block_on(task).unwrap();
    });
}

#[test]
fn what_may_go_on_is_not_said_to_be_proven() {
    guarded(|| {
        let runtime = workers(2);
        let lock = || Arc::new(Mutex::new(()));
        // By guards that own their locks.
        crossed!(runtime, lock_owned, lock(), lock());
        // With a timer beside one of the waits.
        let (give, handle) = oneshot::channel::<JoinHandle<()>>();
        let other = runtime.spawn(async { handle.await.unwrap().await.unwrap() });
        let timed = runtime.spawn(async {
            _ = timeout(Duration::from_secs(3600), other).await;
        });
        give.send(timed).unwrap();
        // With an AbortHandle.
        let (give, handle) = oneshot::channel::<JoinHandle<()>>();
        let one = runtime.spawn(async { handle.await.unwrap().await.unwrap() });
        let abort = one.abort_handle();
        give.send(runtime.spawn(async { one.await.unwrap() })).unwrap();
        // A lock whose holder sleeps.
        let held = lock();
        let sleeps = held.clone();
        runtime.spawn(async move {
            let _guard = sleeps.lock().await;
            sleep(Duration::from_secs(3600)).await;
        });
        until(|| held.try_lock().is_err());
        runtime.spawn(async move { drop(held.lock().await) });
        until(|| {
            let dump = runtime.handle().dump();
            dump.tasks().len() == 8
                && dump
                    .tasks()
                    .iter()
                    .all(|task| task.state().to_string() == "waiting" && !task.waits().is_empty())
        });
        for _ in 0..100 {
            assert_eq!(found(&runtime), Default::default());
        }
        drop(abort);
        assert_eq!(found(&runtime).1.len(), 1);
    });
}

/// Two actors, each of which has waited for a message once, and then sends to the other until there is no
/// room.
fn full_of_each_other(runtime: &Runtime, capacity: usize) -> Vec<TaskId> {
    let actor = |mut inbox: mpsc::Receiver<()>, peer: mpsc::Sender<()>| async move {
        assert!(inbox.recv().await.is_some());
        while peer.send(()).await.is_ok() {}
    };
    let ((left, of_left), (right, of_right)) = (mpsc::channel(capacity), mpsc::channel(capacity));
    let starts = [left.clone(), right.clone()];
    let tasks = [(of_left, right), (of_right, left)];
    let tasks = tasks.map(|(inbox, peer)| runtime.spawn(actor(inbox, peer)).id());
    until(|| runtime.handle().tasks().filter(|task| !task.waits().is_empty()).count() == 2);
    // If there is no room, the other one has begun already.
    starts.iter().for_each(|start| _ = start.try_send(()));
    tasks.into()
}

#[test]
fn actors_that_wait_for_room_with_each_other_are_suspected() {
    guarded(|| {
        let runtime = workers(2);
        let ids = full_of_each_other(&runtime, 3);
        until(|| suspected(&runtime).len() == 1);
        let dump = runtime.handle().dump();
        let circles = suspected(&runtime);
        let [(circle, sentence)] = &circles[..] else { panic!("{dump}") };
        assert_eq!(HashSet::<&TaskId>::from_iter(circle), HashSet::from_iter(&ids));
        let expected = "2 tasks wait for each other: suspected deadlock, not proven because a receiver \
                        may have been given to another task, or another sender may give room back: task ";
        assert!(sentence.starts_with(expected), "{sentence}");
        for id in ids {
            let receives = format!(", from which task {id} received last");
            assert!(sentence.contains(&receives), "{sentence}");
        }
        assert_eq!(found(&runtime), Default::default(), "nothing is proven");
    });
}

/// The task that has waited for a message has given the receiver away, and waits for the sender meanwhile.
#[test]
fn a_suspicion_ends_when_the_receiver_that_was_given_away_receives() {
    guarded(|| {
        let runtime = workers(2);
        let (sender, mut receiver) = mpsc::channel(1);
        let (give, given) = oneshot::channel::<mpsc::Receiver<()>>();
        let (release, released) = oneshot::channel::<()>();
        let (begin, begun) = oneshot::channel::<()>();
        let (join, joined) = oneshot::channel::<JoinHandle<()>>();
        let third = runtime.spawn(async move {
            let mut receiver = given.await.unwrap();
            released.await.unwrap();
            while receiver.recv().await.is_some() {}
        });
        let first = runtime.spawn(async move {
            let wait = timeout(Duration::from_millis(1), receiver.recv());
            assert!(wait.await.is_err(), "it has waited for a message");
            give.send(receiver).unwrap();
            begin.send(()).unwrap();
            joined.await.unwrap().await.unwrap();
        });
        let second = runtime.spawn(async move {
            begun.await.unwrap();
            for _ in 0..3 {
                sender.send(()).await.unwrap();
            }
        });
        join.send(second).unwrap();
        until(|| suspected(&runtime).len() == 1);
        assert_eq!(found(&runtime), Default::default());
        release.send(()).unwrap();
        runtime.block_on(async { (first.await.unwrap(), third.await.unwrap()) });
        assert_eq!(suspected(&runtime), []);
    });
}

/// As an actor that waits for room for a bounded time.
#[test]
fn a_task_that_waits_for_room_and_something_else_is_not_suspected() {
    guarded(|| {
        let runtime = workers(2);
        let (sender, mut receiver) = mpsc::channel(1);
        let (other, mut of_other) = mpsc::channel(1);
        let first = runtime.spawn(async move {
            assert!(receiver.recv().await.is_some());
            while timeout(Duration::from_secs(3600), other.send(())).await.unwrap().is_ok() {}
        });
        let second = runtime.spawn(async move {
            // It is known as the one that receives.
            _ = timeout(Duration::from_millis(1), of_other.recv()).await;
            while sender.send(()).await.is_ok() {}
        });
        let room = |task: &TaskInfo| match task.waits() {
            [Wait::Primitive { kind: PrimitiveKind::Sender, holder, .. }, ..] => holder.is_some(),
            _ => false,
        };
        until(|| runtime.handle().tasks().filter(room).count() == 2);
        for _ in 0..100 {
            assert_eq!((suspected(&runtime), found(&runtime)), Default::default());
        }
        first.abort();
        second.abort();
    });
}

/// As many as the table of the channels has places, and more: each is closed while a task waits for room.
#[test]
fn channels_that_were_closed_take_no_place_from_others() {
    guarded(|| {
        let runtime = workers(2);
        let channels: Vec<_> = (0..4_000).map(|_| mpsc::channel(1)).collect();
        // So that no other channel gets the address of one of these.
        let kept: Vec<_> = channels.iter().map(|(sender, _)| sender.downgrade()).collect();
        let senders = channels.into_iter().map(|(sender, receiver)| {
            sender.try_send(()).unwrap();
            (runtime.spawn(async move { sender.send(()).await }), receiver)
        });
        let (waiting, receivers): (Vec<_>, Vec<_>) = senders.unzip();
        let waits = |task: &TaskInfo| !task.waits().is_empty();
        until(|| runtime.handle().tasks().filter(waits).count() == waiting.len());
        drop(receivers);
        for task in waiting {
            assert!(runtime.block_on(task).unwrap().is_err());
        }
        full_of_each_other(&runtime, 1);
        until(|| suspected(&runtime).len() == 1);
        drop(kept);
    });
}

/// While others wait for room that a task has reserved, and does not use.
#[test]
fn a_receiver_that_waits_is_not_said_to_wait_for_itself() {
    guarded(|| {
        let runtime = workers(2);
        let (sender, mut receiver) = mpsc::channel::<()>(1);
        let waits = |runtime: &Runtime, id: TaskId| {
            let dump = runtime.handle().dump();
            let task = dump.tasks().iter().find(|task| task.id() == id).cloned();
            task.and_then(|task| task.waits().first().cloned())
        };
        let receives = runtime.spawn(async move { while receiver.recv().await.is_some() {} });
        until(|| waits(&runtime, receives.id()).is_some());
        let permit = runtime.block_on(sender.clone().reserve_owned()).unwrap();
        let sends = runtime.spawn(async move { sender.send(()).await.unwrap() });
        let holder_of = |id| match waits(&runtime, id) {
            Some(Wait::Primitive { holder, .. }) => Some(holder),
            _ => None,
        };
        until(|| holder_of(sends.id()) == Some(Some(receives.id())));
        assert_eq!(holder_of(receives.id()), Some(None));
        drop(permit);
        runtime.block_on(async { (sends.await.unwrap(), receives.await.unwrap()) });
    });
}
