//! Several threads in `block_on` of one runtime: one of them drives, and another one takes over.

use super::{MS, current_thread, panic_of, thread_after};
use crate::support::guard::{guarded, until};
use crate::support::loopback::tcp_pair;
use crate::support::probe::{Bell, Count};
use liten::io::{AsyncReadExt, AsyncWriteExt};
use liten::task::yield_now;
use liten::time::sleep;
use std::collections::HashSet;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::Poll;
use std::thread;

/// Each root is polled by its own thread, and each task by one of those that are in `block_on`.
#[test]
fn several_threads_block_on_it_at_once() {
    guarded(|| {
        let (runtime, rounds) = (current_thread(), Count::default());
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let here = thread::current().id();
                    for round in 0..100 {
                        let polled_by = runtime.block_on(async {
                            let task = liten::spawn(thread_after(yield_now()));
                            if round % 10 == 0 {
                                sleep(MS).await;
                            }
                            assert_eq!(thread::current().id(), here);
                            let polled_by = task.await.unwrap();
                            assert_eq!(thread::current().id(), here);
                            polled_by
                        });
                        let _ = polled_by;
                        rounds.add();
                    }
                });
            }
        });
        assert_eq!(rounds.get(), 400);
        assert_eq!(runtime.metrics().num_alive_tasks(), 0);
    });
}

/// The first thread drives; the second one has a root that waits for a timer, a socket and a task, and goes
/// on when the first one is done.
#[test]
fn a_thread_that_waits_takes_the_driving_over() {
    guarded(|| {
        let (runtime, first_ends) = (&current_thread(), &Bell::default());
        let (waits, waiting) = mpsc::channel();
        thread::scope(|scope| {
            let first = scope.spawn(move || {
                runtime.block_on(async {
                    waits.send(thread::current().id()).unwrap();
                    first_ends.wait().await;
                });
            });
            let driver = waiting.recv().unwrap();
            let second = scope.spawn(move || {
                let here = thread::current().id();
                runtime.block_on(async {
                    let task = liten::spawn(thread_after(sleep(MS)));
                    assert_eq!(task.await.unwrap(), driver, "the first one drives");
                    first_ends.ring();
                    // Which thread runs the next one is not known: the first one is about to stop.
                    until(|| first.is_finished());
                    let task = liten::spawn(thread_after(sleep(MS)));
                    assert_eq!(task.await.unwrap(), here);
                    let (mut client, mut server) = tcp_pair().await;
                    client.write_all(b"x").await.unwrap();
                    server.read_exact(&mut [0; 1]).await.unwrap();
                });
            });
            second.join().unwrap();
        });
    });
}

/// The thread that was told to drive is done itself: the next one in line drives.
#[test]
fn the_driving_goes_past_threads_that_are_done() {
    guarded(|| {
        for round in 0..300 {
            let (runtime, bell) = (current_thread(), Bell::default());
            let drives = Arc::new(AtomicBool::new(false));
            thread::scope(|scope| {
                scope.spawn(|| {
                    runtime.block_on(async {
                        drives.store(true, Ordering::SeqCst);
                        bell.wait().await;
                    });
                });
                until(|| drives.load(Ordering::SeqCst));
                // Two more roots that end with the first, and one that needs a thread that drives.
                for _ in 0..2 {
                    scope.spawn(|| runtime.block_on(bell.wait()));
                }
                let last = scope.spawn(|| runtime.block_on(sleep(MS * 3)));
                if round % 2 == 0 {
                    until(|| bell.waiting() == 3);
                }
                bell.ring();
                last.join().unwrap();
            });
        }
    });
}

/// The first in line blocks its thread until a task has run: another one drives.
#[test]
fn the_driving_goes_past_a_thread_that_is_stuck_in_its_poll() {
    guarded(|| {
        let (runtime, bell, last) = (&current_thread(), &Bell::default(), &Bell::default());
        thread::scope(|scope| {
            let driving = scope.spawn(|| runtime.block_on(bell.wait()));
            until(|| bell.waiting() == 1);
            let (release, wait) = mpsc::channel();
            let (blocks, blocked) = mpsc::channel();
            let mut polled = false;
            scope.spawn(move || {
                runtime.block_on(poll_fn(|cx| {
                    if std::mem::replace(&mut polled, true) {
                        blocks.send(None).unwrap();
                        wait.recv().unwrap();
                        return Poll::Ready(());
                    }
                    blocks.send(Some(cx.waker().clone())).unwrap();
                    Poll::Pending
                }));
            });
            // It is in line before its first poll, and woken for its second.
            blocked.recv().unwrap().unwrap().wake();
            assert!(blocked.recv().unwrap().is_none());
            let second = scope.spawn(|| runtime.block_on(last.wait()));
            until(|| last.waiting() == 1);
            bell.ring();
            driving.join().unwrap();
            drop(runtime.spawn({
                let last = last.clone();
                async move {
                    sleep(MS).await;
                    release.send(()).unwrap();
                    last.ring();
                }
            }));
            second.join().unwrap();
        });
    });
}

#[test]
fn a_root_that_panics_hands_the_driving_over() {
    guarded(|| {
        let (runtime, bell) = (current_thread(), Bell::default());
        thread::scope(|scope| {
            let (drives, driving) = mpsc::channel();
            let (runtime, bell) = (&runtime, &bell);
            let panics = scope.spawn(move || {
                panic_of(|| {
                    runtime.block_on(async {
                        drives.send(()).unwrap();
                        bell.wait().await;
                        panic!("the root's own");
                    })
                })
            });
            driving.recv().unwrap();
            let other = scope.spawn(|| {
                runtime.block_on(async {
                    bell.ring();
                    liten::spawn(sleep(MS)).await.unwrap();
                });
            });
            assert_eq!(panics.join().unwrap(), "the root's own");
            other.join().unwrap();
        });
        assert_eq!(runtime.block_on(async { 1 }), 1, "nothing is lost");
    });
}

#[test]
fn a_thread_waits_until_no_task_is_alive_while_another_one_drives() {
    guarded(|| {
        let (runtime, bell) = (current_thread(), Bell::default());
        thread::scope(|scope| {
            let driving = scope.spawn(|| runtime.block_on(bell.wait()));
            until(|| bell.waiting() == 1);
            for pause in [0, 1, 3] {
                let task = runtime.spawn(thread_after(sleep(MS * pause)));
                runtime.block_until_completion();
                assert!(task.is_finished());
                assert_eq!(smol::block_on(task).unwrap(), driving.thread().id());
            }
            bell.ring();
            driving.join().unwrap();
        });
    });
}

/// Threads drive for a moment each, others spawn all the time: each task is run, by a thread in `block_on`.
#[test]
fn nothing_is_lost_while_the_driving_changes_hands() {
    guarded(|| {
        const TASKS: usize = 2_000;
        let (runtime, ended) = (current_thread(), Count::default());
        let (polled_by, drivers) = (Mutex::new(HashSet::new()), Mutex::new(HashSet::new()));
        let note = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for seed in 0..2 {
                let (handle, ended, note) = (runtime.handle().clone(), &ended, &note);
                scope.spawn(move || {
                    for number in 0..TASKS {
                        let ended = ended.clone();
                        let task = handle.spawn(async move {
                            match (number + seed) % 3 {
                                0 => {}
                                1 => yield_now().await,
                                _ => drop(liten::spawn(yield_now()).await),
                            }
                            ended.add();
                            thread::current().id()
                        });
                        note.lock().unwrap().push(task);
                    }
                });
            }
            for thread_number in 0..3 {
                let (runtime, ended, drivers) = (&runtime, &ended, &drivers);
                scope.spawn(move || {
                    drivers.lock().unwrap().insert(thread::current().id());
                    let mut round = thread_number;
                    while ended.get() < 2 * TASKS {
                        round += 1;
                        runtime.block_on(async {
                            for _ in 0..round % 5 {
                                liten::spawn(yield_now()).await.unwrap();
                            }
                        });
                    }
                });
            }
        });
        for task in note.into_inner().unwrap() {
            polled_by.lock().unwrap().insert(smol::block_on(task).unwrap());
        }
        let (polled_by, drivers) = (polled_by.into_inner().unwrap(), drivers.into_inner().unwrap());
        assert!(polled_by.is_subset(&drivers));
        assert_eq!(runtime.metrics().num_alive_tasks(), 0);
    });
}
