//! Every worker is blocked: a spare one works, for as long as it is needed, and the program is told what
//! blocks.

use crate::scheduler::fairness::{Stop, StopOnDrop, yields};
use crate::scheduler::steal::occupy;
use crate::support::guard::{guarded, until, workers};
use crate::support::loopback::tcp_pair;
use crate::support::probe::{Bell, Count};
use liten::io::{AsyncReadExt, AsyncWriteExt};
use liten::runtime::{Builder, Runtime};
use std::sync::mpsc;
use std::time::Duration;

/// A runtime that may have so many spares.
pub(crate) fn with_spares(workers: usize, spares: usize) -> Runtime {
    Builder::new_multi_thread().worker_threads(workers).max_spare_workers(spares).build().unwrap()
}

/// What is queued or waits anywhere when the last worker gets stuck: in its deque, in its next slot, in its
/// wake channel, at a timer, at a socket, in the injector.
#[test]
fn a_spare_serves_everything_while_all_workers_are_blocked() {
    guarded(|| {
        // Once more each time that a spare was there before the last worker was blocked, because the system
        // did not let that one run for long.
        assert!((0..20).any(|_| is_served_while_all_workers_are_blocked()));
    });
}

/// Blocks both workers, one of them with something in each place where tasks and events wait. Returns whether
/// it was a worker that the second task has blocked.
fn is_served_while_all_workers_are_blocked() -> bool {
    let runtime = Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let other = occupy(&runtime, 1);
    let (woken, outside) = (Bell::default(), Bell::default());
    let (told, tell) = mpsc::channel();
    let arrived = |what: &'static str| {
        let told = told.clone();
        move || told.send(what).unwrap()
    };
    let (waits, slot) = (woken.clone(), arrived("next slot"));
    drop(runtime.spawn(async move {
        waits.wait().await;
        slot();
    }));
    let (waits, channel) = (outside.clone(), arrived("wake channel"));
    drop(runtime.spawn(async move {
        waits.wait().await;
        channel();
    }));
    until(|| woken.waiting() == 1 && outside.waiting() == 1);
    let (mut client, mut server) = runtime.block_on(tcp_pair());
    let (timer, socket) = (arrived("timer"), arrived("socket"));
    drop(runtime.spawn(async move {
        liten::time::sleep(Duration::from_millis(5)).await;
        timer();
    }));
    drop(runtime.spawn(async move {
        server.read_exact(&mut [0; 5]).await.unwrap();
        socket();
    }));
    // The last free worker.
    let (deque, (release, released)) = (arrived("deque"), mpsc::channel::<()>());
    let (stuck, is_stuck) = mpsc::channel();
    let blocker = runtime.spawn(async move {
        drop(liten::spawn(async move { deque() }));
        woken.ring();
        stuck.send(liten::runtime::worker_index().unwrap() < 2).unwrap();
        let _ = released.recv();
    });
    let is_a_worker = is_stuck.recv().unwrap();
    outside.ring();
    let injector = arrived("injector");
    drop(runtime.spawn(async move { injector() }));
    runtime.block_on(client.write_all(b"hello")).unwrap();
    let mut arrived: Vec<_> = (0..6).map(|_| tell.recv().unwrap()).collect();
    arrived.sort_unstable();
    assert_eq!(arrived, ["deque", "injector", "next slot", "socket", "timer", "wake channel"]);
    assert!(runtime.metrics().num_spare_workers() >= 1);
    assert_eq!(runtime.metrics().num_workers(), 2, "a spare is none of those asked for");
    if is_a_worker {
        until(|| runtime.metrics().blocked_poll_count() >= 2);
    }
    drop((release, other));
    runtime.block_on(blocker).unwrap();
    runtime.block_until_completion();
    is_a_worker
}

#[test]
fn spares_leave_when_the_workers_return() {
    guarded(|| {
        let runtime = with_spares(2, 2);
        let mut all = Vec::new();
        // Once more each time that the system did not let the first spare run for long: then a second comes.
        while all.last() != Some(&1) {
            assert!(all.len() < 100, "more spares than are needed: {all:?}");
            let blocked = occupy(&runtime, 2);
            runtime.block_on(runtime.spawn(async {})).unwrap();
            let spares = runtime.metrics().num_spare_workers();
            assert!((1..=2).contains(&spares), "{spares}");
            all.push(spares);
            drop(blocked);
            until(|| runtime.metrics().num_spare_workers() == 0);
        }
    });
}

/// Each task that blocks a spare gets another one, up to the bound.
#[test]
fn spares_that_are_blocked_too_are_followed_by_others_up_to_the_bound() {
    guarded(|| {
        let runtime = with_spares(1, 2);
        let blocked = occupy(&runtime, 3);
        let ran = Count::default();
        let counted = ran.clone();
        let waits = runtime.spawn(async move { counted.add() });
        // All three polls are told of: so the fourth task waits, and no worker comes for it.
        until(|| runtime.metrics().blocked_poll_count() >= 3);
        assert_eq!(runtime.metrics().num_spare_workers(), 2);
        assert_eq!(ran.get(), 0);
        drop(blocked);
        assert_eq!(runtime.block_on(waits).unwrap(), 1);
    });
}

/// As on a machine with one processor: synchronous calls that wait for tasks of the same runtime, three at
/// the same time.
#[test]
fn three_tasks_that_block_on_their_own_runtime_do_not_stop_one_worker() {
    guarded(|| {
        let runtime = Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let (sender, mut receiver) = liten::sync::mpsc::channel::<mpsc::Sender<()>>(8);
        drop(runtime.spawn(async move {
            while let Some(answer) = receiver.recv().await {
                liten::time::sleep(Duration::from_millis(1)).await;
                answer.send(()).unwrap();
            }
        }));
        let tasks: Vec<_> = (0..3)
            .map(|_| {
                let sender = sender.clone();
                runtime.spawn(async move {
                    let (answer, answered) = mpsc::channel();
                    let asks = std::thread::spawn(move || sender.blocking_send(answer).unwrap());
                    asks.join().unwrap();
                    answered.recv().unwrap();
                })
            })
            .collect();
        tasks.into_iter().for_each(|task| runtime.block_on(task).unwrap());
    });
}

#[test]
fn when_all_spares_are_blocked_the_dump_names_the_limit_and_what_sets_it() {
    guarded(|| {
        let runtime = with_spares(1, 2);
        let blocked = occupy(&runtime, 3);
        let waits = runtime.spawn(async {});
        let text = || runtime.handle().dump().to_string();
        until(|| text().contains("none of 3 workers is free"));
        let text = text();
        let limit =
            "at most 2 spare workers may run: see max_spare_workers and LITEN_MAX_SPARE_WORKERS";
        assert!(text.contains(limit), "{text}");
        drop(blocked);
        runtime.block_on(waits).unwrap();
    });
}

#[test]
fn without_spares_a_poll_that_blocks_is_told_of_all_the_same() {
    guarded(|| {
        let runtime = with_spares(1, 0);
        let (release, released) = mpsc::channel::<()>();
        let (begin, begun) = mpsc::channel();
        let (line, blocker) = (line!() + 1, {
            runtime.spawn(async move {
                begin.send(()).unwrap();
                released.recv().ok()
            })
        });
        begun.recv().unwrap();
        // None, unless the system did not let the worker run for long.
        let before = runtime.metrics().blocked_poll_count();
        let waits = runtime.spawn(async {});
        until(|| runtime.metrics().blocked_poll_count() > before);
        assert_eq!(runtime.metrics().num_spare_workers(), 0);
        let running = runtime.metrics().running_tasks();
        assert_eq!(running.len(), 1, "{running:?}");
        assert_eq!(running[0].id(), blocker.id());
        assert_eq!(running[0].spawned_at().file(), file!());
        assert_eq!(running[0].spawned_at().line(), line);
        assert!(!waits.is_finished());
        // Time in which it would be told of again.
        std::thread::sleep(Duration::from_millis(30));
        assert_eq!(runtime.metrics().blocked_poll_count(), before + 1, "once per poll");
        drop(release);
        runtime.block_on(waits).unwrap();
    });
}

/// Asked for more workers while a spare runs: it becomes one of them, and stays.
#[test]
fn resizing_takes_a_spare_over() {
    guarded(|| {
        let runtime = with_spares(1, 1);
        let blocked = occupy(&runtime, 1);
        runtime.block_on(runtime.spawn(async {})).unwrap();
        assert_eq!(runtime.metrics().num_spare_workers(), 1);
        runtime.handle().set_worker_threads(2).unwrap();
        let metrics = runtime.metrics();
        assert_eq!((metrics.num_workers(), metrics.num_spare_workers()), (2, 0));
        // Both are blocked, so a third one has to come: the spare does not count against the bound any more.
        let second = occupy(&runtime, 1);
        runtime.block_on(runtime.spawn(async {})).unwrap();
        assert_eq!(metrics.num_spare_workers(), 1);
        runtime.handle().set_worker_threads(1).unwrap();
        drop((blocked, second));
        runtime.block_on(runtime.spawn(async {})).unwrap();
        until(|| metrics.num_spare_workers() == 0);
        runtime.block_until_completion();
    });
}

/// Spares come and go while the runtime ends, again and again.
#[test]
fn a_runtime_with_spares_may_end_at_any_time() {
    guarded(|| {
        for round in 0..20 {
            let runtime = with_spares(1, 2);
            let blocked = occupy(&runtime, 1 + round % 3);
            if round % 2 == 0 {
                runtime.block_on(async { drop(runtime.spawn(async {})) });
            }
            let metrics = runtime.metrics();
            runtime.shutdown_background();
            drop(blocked);
            until(|| metrics.num_alive_tasks() == 0);
        }
    });
}

/// A worker with work of its own never searches; what lies behind its blocked peer is brought to it.
#[test]
fn what_is_queued_behind_a_blocked_worker_runs_although_its_peer_never_rests() {
    guarded(|| {
        for _ in 0..20 {
            let runtime = workers(2);
            let stop = Stop::default();
            let _stopper = StopOnDrop(stop.clone());
            drop(runtime.spawn(yields(stop)));
            let woken = Bell::default();
            let (told, tell) = mpsc::channel();
            let (waits, slot) = (woken.clone(), told.clone());
            drop(runtime.spawn(async move {
                waits.wait().await;
                slot.send("next slot").unwrap();
            }));
            until(|| woken.waiting() == 1);
            let (release, released) = mpsc::channel::<()>();
            let blocker = runtime.spawn(async move {
                drop(liten::spawn(async move { told.send("deque").unwrap() }));
                woken.ring();
                let _ = released.recv();
            });
            let mut arrived = [tell.recv().unwrap(), tell.recv().unwrap()];
            arrived.sort_unstable();
            assert_eq!(arrived, ["deque", "next slot"]);
            drop(release);
            runtime.block_on(blocker).unwrap();
        }
    });
}
