//! Waking: early, late, twice, from anywhere; and how often a task is polled for it.

use crate::scheduler::steal::occupy;
use crate::support::guard::{guarded, until, workers};
use crate::support::probe::{Count, OnDrop, Report, wake_by_value};
use liten::runtime::Runtime;
use std::collections::HashSet;
use std::future::{Future, poll_fn};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// Lets every worker that has nothing else to do pass through its queues a few times.
fn stir(runtime: &Runtime) {
    for _ in 0..20 {
        let tasks: Vec<_> = (0..20).map(|_| runtime.spawn(liten::task::yield_now())).collect();
        runtime.block_on(async {
            for task in tasks {
                task.await.unwrap();
            }
        });
    }
}

#[test]
fn each_wake_leads_to_one_poll() {
    guarded(|| {
        for count in [1, 3] {
            let (runtime, report) = (workers(count), Report::default());
            let task = runtime.spawn(report.spy());
            until(|| report.polls() == 1);
            let waker = report.waker().unwrap();
            for wakes in 1..=1_000 {
                match wakes % 2 {
                    0 => waker.wake_by_ref(),
                    _ => wake_by_value(&waker),
                }
                until_spinning(|| report.polls() == 1 + wakes);
            }
            stir(&runtime);
            assert_eq!(report.polls(), 1_001, "no poll without a wake");
            report.end();
            waker.wake();
            assert_eq!(runtime.block_on(task).unwrap(), 1_002);
        }
    });
}

/// For what comes within microseconds.
fn until_spinning(mut condition: impl FnMut() -> bool) {
    while !condition() {
        thread::yield_now();
    }
}

#[test]
fn wakes_before_the_poll_are_one() {
    guarded(|| {
        let (runtime, report) = (workers(1), Report::default());
        let task = runtime.spawn(report.spy());
        until(|| report.polls() == 1);
        let (begun, has_begun) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        let blocker = runtime.spawn(async move {
            begun.send(()).unwrap();
            released.recv().unwrap();
        });
        has_begun.recv().unwrap();
        let waker = report.waker().unwrap();
        for _ in 0..100 {
            waker.wake_by_ref();
            wake_by_value(&waker);
        }
        release.send(()).unwrap();
        runtime.block_on(blocker).unwrap();
        until(|| report.polls() == 2);
        stir(&runtime);
        assert_eq!(report.polls(), 2);
        report.end();
        waker.wake();
        runtime.block_on(task).unwrap();
    });
}

#[test]
fn a_wake_during_the_poll_leads_to_one_more() {
    guarded(|| {
        for count in [1, 2] {
            let (runtime, polls) = (workers(count), Count::default());
            let counted = polls.clone();
            drop(runtime.spawn(poll_fn(move |cx| {
                if counted.add() == 1 {
                    cx.waker().wake_by_ref();
                    wake_by_value(cx.waker());
                    let waker = cx.waker().clone();
                    thread::spawn(move || waker.wake()).join().unwrap();
                }
                Poll::<()>::Pending
            })));
            until(|| polls.get() == 2);
            stir(&runtime);
            assert_eq!(polls.get(), 2);
        }
    });
}

#[test]
fn a_task_that_wakes_itself_and_ends_is_not_polled_again() {
    guarded(|| {
        let runtime = workers(2);
        for _ in 0..1_000 {
            let mut ended = false;
            let task = runtime.spawn(poll_fn(move |cx| {
                assert!(!std::mem::replace(&mut ended, true), "polled after it was ready");
                cx.waker().wake_by_ref();
                wake_by_value(cx.waker());
                Poll::Ready(())
            }));
            runtime.block_on(task).unwrap();
        }
        stir(&runtime);
    });
}

#[test]
fn wakes_after_the_end_do_nothing() {
    guarded(|| {
        let (runtime, report, dropped) = (workers(2), Report::default(), Count::default());
        let (spy, guard) = (report.spy(), OnDrop(dropped.clone()));
        let task = runtime.spawn(async move {
            let _guard = guard;
            spy.await
        });
        until(|| report.polls() == 1);
        let waker = report.waker().unwrap();
        report.end();
        waker.wake_by_ref();
        assert_eq!(runtime.block_on(task).unwrap(), 2);
        assert_eq!(dropped.get(), 1);
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let waker = waker.clone();
                thread::spawn(move || (0..1_000).for_each(|_| waker.wake_by_ref()))
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        stir(&runtime);
        assert_eq!((report.polls(), dropped.get()), (2, 1));
        // The waker may outlive the runtime too.
        drop(runtime);
        waker.wake_by_ref();
        wake_by_value(&waker);
        thread::spawn(move || waker.wake()).join().unwrap();
    });
}

/// What a wandering task tells.
#[derive(Default)]
struct Journey {
    first_waker: Option<Waker>,
    polls: usize,
    here: Option<ThreadId>,
    moves: usize,
}

/// A waker that was taken on one worker wakes the task on any other, and is the same waker there.
#[test]
fn the_waker_stays_the_same_across_polls_and_workers() {
    guarded(|| {
        let runtime = workers(2);
        let journey = Arc::new(Mutex::new(Journey::default()));
        let seen = Arc::clone(&journey);
        let task = runtime.spawn(poll_fn(move |cx| {
            let mut journey = seen.lock().unwrap();
            let waker = journey.first_waker.get_or_insert_with(|| cx.waker().clone());
            assert!(waker.will_wake(cx.waker()), "another waker than at the first poll");
            let here = Some(thread::current().id());
            if journey.here.is_some() && journey.here != here {
                journey.moves += 1;
            }
            journey.here = here;
            journey.polls += 1;
            if journey.polls > 1_000 { Poll::Ready(()) } else { Poll::Pending }
        }));
        until(|| journey.lock().unwrap().polls == 1);
        let first = journey.lock().unwrap().first_waker.clone().unwrap();
        for round in 1..=1_000 {
            // With the worker that it was on last stuck, it has to go to the other one.
            let stuck = (round % 50 == 0).then(|| {
                let mut stuck = occupy(&runtime, 2);
                stuck.remove(&journey.lock().unwrap().here.unwrap()).unwrap()
            });
            first.wake_by_ref();
            until_spinning(|| journey.lock().unwrap().polls > round);
            drop(stuck);
        }
        runtime.block_on(task).unwrap();
        assert!(journey.lock().unwrap().moves >= 20);
    });
}

/// One worker, parked; only the wake can bring it back.
#[test]
fn a_thread_that_knows_nothing_of_the_runtime_wakes_a_parked_worker() {
    guarded(|| {
        for count in [1, 2] {
            let (runtime, report) = (workers(count), Report::default());
            let task = runtime.spawn(report.spy());
            let theirs = report.clone();
            let waking = thread::spawn(move || {
                until(|| theirs.polls() == 1);
                let waker = theirs.waker().unwrap();
                for wakes in 1..=300 {
                    if wakes % 3 == 0 {
                        // Long enough for the worker to be asleep, as a rule; either case must work.
                        thread::sleep(std::time::Duration::from_millis(1));
                    }
                    waker.wake_by_ref();
                    until_spinning(|| theirs.polls() == 1 + wakes);
                }
                theirs.end();
                waker.wake();
            });
            assert_eq!(runtime.block_on(task).unwrap(), 302);
            waking.join().unwrap();
        }
    });
}

/// Clones, wakes by value and by reference, and drops, in any order on several threads: the count of the
/// task's references stays exact, so the task goes exactly once.
#[test]
fn wakers_that_are_cloned_and_dropped_everywhere_free_the_task_once() {
    guarded(|| {
        let (runtime, dropped) = (workers(2), Count::default());
        for _ in 0..20 {
            let (report, before) = (Report::default(), dropped.get());
            let (spy, guard) = (report.spy(), OnDrop(dropped.clone()));
            let task = runtime.spawn(async move {
                let _guard = guard;
                spy.await
            });
            until(|| report.polls() >= 1);
            let threads: Vec<_> = (0..4)
                .map(|thread| {
                    let report = report.clone();
                    thread::spawn(move || {
                        let mut clones = vec![report.waker().unwrap()];
                        for step in 0..500 {
                            let clone = clones[(step * 7 + thread) % clones.len()].clone();
                            match (step + thread) % 4 {
                                0 => clones.push(clone),
                                1 => clone.wake(),
                                2 => clone.wake_by_ref(),
                                _ => clones[0] = clone,
                            }
                        }
                    })
                })
                .collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            assert_eq!(dropped.get(), before);
            report.end();
            report.waker().unwrap().wake();
            runtime.block_on(task).unwrap();
            assert_eq!(dropped.get(), before + 1);
        }
    });
}

/// Tasks on several workers wake each other and themselves while threads from outside wake them too.
#[test]
fn tasks_wake_each_other_across_workers() {
    guarded(|| {
        let runtime = workers(4);
        let total = 200;
        let mut tasks = Vec::new();
        for _ in 0..16 {
            let (forth, mut there) = liten::sync::mpsc::channel::<usize>(1);
            let (back, mut here) = liten::sync::mpsc::channel::<usize>(1);
            tasks.push(runtime.spawn(async move {
                for i in 0..total {
                    forth.send(i).await.unwrap();
                    assert_eq!(here.recv().await, Some(i));
                }
            }));
            tasks.push(runtime.spawn(async move {
                while let Some(i) = there.recv().await {
                    back.send(i).await.unwrap();
                }
            }));
        }
        runtime.block_on(async {
            for task in tasks {
                task.await.unwrap();
            }
        });
    });
}

#[test]
fn polls_are_made_by_workers_whichever_thread_wakes() {
    guarded(|| {
        let runtime = crate::support::guard::named(2, "wakew");
        let threads = Arc::new(Mutex::new(HashSet::new()));
        let (seen, polls) = (Arc::clone(&threads), Count::default());
        let (counted, slot) = (polls.clone(), Arc::new(Mutex::new(None)));
        let fill = Arc::clone(&slot);
        let task = runtime.spawn(poll_fn(move |cx| {
            seen.lock().unwrap().insert(thread::current().name().unwrap().to_owned());
            *fill.lock().unwrap() = Some(cx.waker().clone());
            if counted.add() > 100 { Poll::Ready(()) } else { Poll::Pending }
        }));
        until(|| polls.get() == 1);
        let waker = slot.lock().unwrap().clone().unwrap();
        for wakes in 1..=100 {
            waker.wake_by_ref();
            until_spinning(|| polls.get() == 1 + wakes);
        }
        runtime.block_on(task).unwrap();
        let threads = threads.lock().unwrap();
        assert!(threads.iter().all(|name| name.starts_with("wakew-")), "{threads:?}");
        assert!(!threads.contains("wakew-driver"));
    });
}

/// Spawns a task in the runtime of the thread that calls it.
struct Spawner {
    thread: Mutex<Option<String>>,
    ran: Count,
}

impl Wake for Spawner {
    fn wake(self: Arc<Self>) {
        *self.thread.lock().unwrap() = thread::current().name().map(str::to_owned);
        let ran = self.ran.clone();
        drop(liten::spawn(async move {
            ran.add();
        }));
    }
}

/// Whichever thread fires the timer: the driver thread is in the runtime, as the workers are.
#[test]
fn a_foreign_waker_may_spawn_on_the_thread_that_calls_it() {
    guarded(|| {
        let runtime = crate::support::guard::named(1, "wakesp");
        let blocked = crate::scheduler::steal::occupy(&runtime, 1);
        let spawner = Arc::new(Spawner { thread: Mutex::default(), ran: Count::default() });
        let waker = Waker::from(spawner.clone());
        let entered = runtime.enter();
        // On a busy machine a short time may be over before the poll.
        let mut length = Duration::from_millis(1);
        let timer = loop {
            let mut timer = Box::pin(liten::time::sleep(length));
            if timer.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
                break timer;
            }
            length *= 2;
        };
        until(|| spawner.thread.lock().unwrap().is_some());
        drop((blocked, entered, timer));
        until(|| spawner.ran.get() == 1);
        let name = spawner.thread.lock().unwrap().take();
        assert_eq!(name.as_deref(), Some("wakesp-driver"), "the only worker was taken");
    });
}
