//! Blocking with notice: the others take over at once, and the task goes on where it was.

use crate::scheduler::spare_workers::with_spares;
use crate::scheduler::steal::occupy;
use crate::support::guard::{guarded, until, workers};
use crate::support::probe::{Bell, Count};
use crate::support::process::alone_with;
use liten::runtime::{Builder, Handle, LocalRuntime, Runtime};
use liten::task::block_in_place;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;

/// A waker that says on which thread it is, and keeps it.
struct Keeper {
    arrived: Mutex<mpsc::Sender<String>>,
    released: Mutex<mpsc::Receiver<()>>,
}

impl Wake for Keeper {
    fn wake(self: Arc<Self>) {
        let name = thread::current().name().unwrap_or_default().to_owned();
        self.arrived.lock().unwrap().send(name).unwrap();
        let _ = self.released.lock().unwrap().recv();
    }
}

/// Calls `test` while the watchdog is stuck in a waker of ours, so that whatever happens happens without it.
fn without_watchdog(workers: usize, spares: usize, test: impl FnOnce(&Runtime)) {
    guarded(|| {
        loop {
            let runtime = with_spares(workers, spares);
            let (arrived, arrival) = mpsc::channel();
            let (release, released) = mpsc::channel();
            // While all workers are blocked, timers are the watchdog's.
            let blocked = occupy(&runtime, workers);
            let keeper = Keeper { arrived: Mutex::new(arrived), released: Mutex::new(released) };
            let waker = Waker::from(Arc::new(keeper));
            let entered = runtime.enter();
            let mut timer = pin!(liten::time::sleep(Duration::from_millis(1)));
            if timer.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
                // The system kept this thread from the processor for that time. Once more.
                continue;
            }
            let name = arrival.recv().unwrap();
            let count = runtime.metrics().num_spare_workers();
            drop((blocked, entered));
            // A worker that the system does not let run counts as blocked. If a spare has come, once more.
            if name.ends_with("driver") && count == 0 {
                runtime.block_until_completion();
                test(&runtime);
                return drop(release);
            }
            drop(release);
        }
    });
}

#[test]
fn it_returns_what_the_function_returns_and_the_task_goes_on() {
    guarded(|| {
        let runtime = with_spares(1, 1);
        let task = runtime.spawn(async {
            let (mut words, here) = (vec!["one"], thread::current().id());
            let there = block_in_place(|| {
                words.push("two");
                thread::current().id()
            });
            assert_eq!(here, there);
            liten::task::yield_now().await;
            liten::time::sleep(Duration::from_millis(1)).await;
            words.len() + block_in_place(|| words.len())
        });
        assert_eq!(runtime.block_on(task).unwrap(), 4);
    });
}

/// In the deque, in the next slot, in the wake channel: all of it runs while the only worker blocks.
#[test]
fn what_is_queued_here_is_run_by_others_at_once() {
    without_watchdog(1, 1, |runtime| {
        let (woken, outside) = (Bell::default(), Bell::default());
        let (told, tell) = mpsc::channel();
        for (bell, what) in [(&woken, "next slot"), (&outside, "wake channel")] {
            let (bell, told) = (bell.clone(), told.clone());
            drop(runtime.spawn(async move {
                bell.wait().await;
                told.send(what).unwrap();
            }));
        }
        until(|| woken.waiting() == 1 && outside.waiting() == 1);
        let blocker = runtime.spawn(async move {
            drop(liten::spawn(async move { told.send("deque").unwrap() }));
            woken.ring();
            let ringing = thread::spawn(move || outside.ring());
            ringing.join().unwrap();
            let mut ran =
                block_in_place(|| (0..3).map(|_| tell.recv().unwrap()).collect::<Vec<_>>());
            ran.sort_unstable();
            assert_eq!(ran, ["deque", "next slot", "wake channel"]);
        });
        runtime.block_on(blocker).unwrap();
        runtime.block_until_completion();
    });
}

/// What comes in only while the worker is away: spawned by the function, from outside, and woken.
#[test]
fn what_comes_meanwhile_is_run_by_others() {
    without_watchdog(1, 1, |runtime| {
        let (bell, handle) = (Bell::default(), runtime.handle().clone());
        let waits = bell.clone();
        let sleeper = runtime.spawn(async move { waits.wait().await });
        until(|| bell.waiting() == 1);
        let task = runtime.spawn(async move {
            block_in_place(|| {
                for _ in 0..100 {
                    let (sender, receiver) = mpsc::channel();
                    drop(liten::spawn(async move { sender.send(()).unwrap() }));
                    receiver.recv().unwrap();
                }
                let (sender, receiver) = mpsc::channel();
                drop(thread::spawn(move || handle.spawn(async move { sender.send(()).unwrap() })));
                receiver.recv().unwrap();
                bell.ring();
                Handle::current().block_on(sleeper).unwrap();
            });
        });
        runtime.block_on(task).unwrap();
    });
}

/// With as many spares as workers, twice as many tasks are inside at a time; all wait for all of them.
#[test]
fn so_many_may_block_in_place_as_there_are_workers_and_spares() {
    for count in [1, 2, 4] {
        without_watchdog(count, count, |runtime| {
            let told = runtime.metrics().blocked_poll_count();
            for _ in 0..20 {
                let barrier = Arc::new(Barrier::new(2 * count));
                for _ in 0..2 * count {
                    let barrier = barrier.clone();
                    drop(runtime.spawn(async move {
                        block_in_place(|| barrier.wait());
                    }));
                }
                runtime.block_until_completion();
            }
            assert_eq!(runtime.metrics().blocked_poll_count(), told, "they have said so");
        });
    }
}

#[test]
fn by_default_each_worker_that_blocks_in_place_has_a_spare() {
    guarded(a_hundred_wait_for_tasks_in_place);
}

#[test]
fn each_has_a_spare_beside_the_number_that_the_variable_sets() {
    let test =
        "blocking::block_in_place::each_has_a_spare_beside_the_number_that_the_variable_sets";
    guarded(|| {
        alone_with(test, &[("LITEN_MAX_SPARE_WORKERS", "8")], a_hundred_wait_for_tasks_in_place);
    });
}

/// Each waits for a task that no worker could run if the bound were that of spares for tasks which block
/// without a word. Programs call `block_on` in as many tasks as there are requests.
fn a_hundred_wait_for_tasks_in_place() {
    const TASKS: usize = 100;
    let runtime = Builder::new_multi_thread().worker_threads(2).build().unwrap();
    for _ in 0..3 {
        let barrier = Arc::new(Barrier::new(TASKS));
        let tasks: Vec<_> = (0..TASKS)
            .map(|_| {
                let barrier = barrier.clone();
                runtime.spawn(async move {
                    block_in_place(|| {
                        barrier.wait();
                        let other = liten::spawn(async {});
                        Handle::current().block_on(other).unwrap();
                    });
                })
            })
            .collect();
        for task in tasks {
            runtime.block_on(task).unwrap();
        }
    }
    until(|| runtime.metrics().num_spare_workers() == 0);
}

#[test]
fn at_the_bound_the_function_runs_all_the_same() {
    guarded(|| {
        let runtime = workers(1);
        let ran = Count::default();
        let tasks: Vec<_> = (0..10)
            .map(|_| {
                let ran = ran.clone();
                runtime.spawn(async move { block_in_place(|| ran.add()) })
            })
            .collect();
        let mut counts: Vec<_> =
            tasks.into_iter().map(|task| runtime.block_on(task).unwrap()).collect();
        counts.sort_unstable();
        assert!(counts.into_iter().eq(1..=10));
        assert_eq!(runtime.metrics().num_spare_workers(), 0);
    });
}

#[test]
fn spares_leave_when_no_worker_is_blocked_any_more() {
    guarded(|| {
        let runtime = with_spares(1, 4);
        let (release, released) = mpsc::channel::<()>();
        let blocked = runtime.spawn(async move { block_in_place(|| released.recv().is_err()) });
        runtime.block_on(runtime.spawn(async {})).unwrap();
        // A spare that the system does not let run gets help.
        assert!((1..=4).contains(&runtime.metrics().num_spare_workers()));
        drop(release);
        assert!(runtime.block_on(blocked).unwrap());
        until(|| runtime.metrics().num_spare_workers() == 0);
    });
}

#[test]
fn inside_the_function_the_runtime_can_be_used() {
    guarded(|| {
        let runtime = with_spares(1, 1);
        let task = runtime.spawn(async {
            let outer = liten::task::id();
            block_in_place(|| {
                assert_eq!(liten::task::id(), outer);
                assert!(Handle::try_current().is_ok());
                let handle = Handle::current();
                handle.block_on(async {
                    liten::time::sleep(Duration::from_millis(2)).await;
                    // In the root of a `block_on` in a task: there is no worker to replace.
                    block_in_place(|| liten::spawn(async { 7 })).await.unwrap()
                }) + block_in_place(|| handle.block_on(handle.spawn_blocking(|| 3)).unwrap())
            })
        });
        assert_eq!(runtime.block_on(task).unwrap(), 10);
    });
}

#[test]
fn waiting_there_for_all_tasks_is_refused() {
    guarded(|| {
        let runtime = Arc::new(with_spares(1, 1));
        let inner = Arc::downgrade(&runtime);
        let task = runtime.spawn(async move {
            block_in_place(|| {
                let runtime = inner.upgrade().unwrap();
                let waiting = AssertUnwindSafe(|| runtime.block_until_completion());
                *catch_unwind(waiting).unwrap_err().downcast::<&str>().unwrap()
            })
        });
        let message = runtime.block_on(task).unwrap();
        assert!(message.contains("would wait for itself"), "{message}");
    });
}

#[test]
fn a_panic_of_the_function_is_the_tasks_and_the_worker_is_back() {
    guarded(|| {
        let runtime = workers(1);
        let task = runtime.spawn(async { block_in_place(|| panic!("inside")) });
        let error: liten::task::JoinError = runtime.block_on(task).unwrap_err();
        assert_eq!(error.into_panic().downcast_ref(), Some(&"inside"));
        let caught = runtime.spawn(async {
            let panicking = AssertUnwindSafe(|| block_in_place(|| panic!("inside")));
            assert!(catch_unwind(panicking).is_err());
            liten::spawn(async { 5 }).await.unwrap()
        });
        assert_eq!(runtime.block_on(caught).unwrap(), 5);
    });
}

#[test]
fn where_no_worker_has_to_be_replaced_it_just_calls_the_function() {
    guarded(|| {
        assert_eq!(block_in_place(|| 1), 1, "outside a runtime");
        let runtime = workers(1);
        runtime.block_on(async {
            assert_eq!(block_in_place(|| 2), 2, "in a root");
            let job = liten::spawn_blocking(|| block_in_place(|| 3));
            assert_eq!(job.await.unwrap(), 3, "in blocking work");
        });
    });
}

#[test]
fn on_a_thread_with_tasks_of_its_own_it_is_refused() {
    guarded(|| {
        let message = |panic: Box<dyn std::any::Any + Send>| *panic.downcast::<String>().unwrap();
        let runtime = LocalRuntime::new().unwrap();
        let root = AssertUnwindSafe(|| runtime.block_on(async { block_in_place(|| ()) }));
        let text = message(catch_unwind(root).unwrap_err());
        assert!(text.contains("use spawn_blocking"), "{text}");
        let task = runtime.spawn_local(async { block_in_place(|| ()) });
        assert!(runtime.block_on(task).unwrap_err().is_panic());
        let job = runtime.handle().spawn_blocking(|| block_in_place(|| 4));
        assert_eq!(runtime.block_on(job).unwrap(), 4);
    });
}

/// Workers come and go, tasks step aside, tasks are woken from outside: each task ends, and so does the
/// runtime.
#[test]
fn nothing_is_lost_while_workers_block_in_place_and_come_and_go() {
    guarded(|| {
        let runtime = with_spares(2, 2);
        let ended = Count::default();
        let (sender, receiver) = smol::channel::unbounded();
        for number in 0..400 {
            let (ended, sender, receiver) = (ended.clone(), sender.clone(), receiver.clone());
            drop(runtime.spawn(async move {
                for round in 0..20 {
                    if (number + round) % 7 == 0 {
                        block_in_place(|| {
                            drop(liten::spawn({
                                let sender = sender.clone();
                                async move { sender.send(()).await.unwrap() }
                            }));
                            thread::yield_now();
                        });
                        receiver.recv().await.unwrap();
                    }
                    liten::task::yield_now().await;
                }
                ended.add();
            }));
            if number % 20 == 0 {
                runtime.handle().set_worker_threads(1 + number / 20 % 3).unwrap();
            }
        }
        runtime.block_until_completion();
        assert_eq!(ended.get(), 400);
    });
}

#[test]
fn a_runtime_may_end_while_workers_are_away() {
    guarded(|| {
        for round in 0..20 {
            let runtime = with_spares(1 + round % 2, round % 3);
            let (release, released) = mpsc::channel::<()>();
            let (inside, is_inside) = mpsc::channel();
            let blocked = runtime.spawn(async move {
                block_in_place(|| {
                    inside.send(()).unwrap();
                    let _ = released.recv();
                    // Too late to run, and no task waits for it for ever.
                    assert!(liten::block_on(liten::spawn(async {})).is_err());
                });
            });
            is_inside.recv().unwrap();
            runtime.shutdown_background();
            drop(release);
            assert!(liten::block_on(blocked).is_ok(), "its poll was under way");
        }
    });
}

/// A task that drops its runtime does not wait for itself.
#[test]
fn the_runtime_may_be_dropped_inside_the_function() {
    guarded(|| {
        let runtime = with_spares(1, 1);
        let handle = runtime.handle().clone();
        let task = handle.spawn(async move { block_in_place(|| drop(runtime)) });
        assert!(liten::block_on(task).is_ok());
    });
}

/// Tasks that wait for what another task holds: the first of them in place, or in its poll, as `wait` says.
fn waits_for_another(runtime: &Runtime, count: usize, wait: fn(mpsc::Receiver<()>)) {
    let (started, start) = mpsc::channel();
    let mut held = Vec::new();
    for _ in 0..count {
        let (hold, held_up) = mpsc::channel::<()>();
        let started = started.clone();
        drop(runtime.spawn(async move {
            started.send(()).unwrap();
            wait(held_up);
        }));
        held.push(hold);
    }
    for _ in 0..count {
        start.recv().unwrap();
    }
    drop(runtime.spawn(async move {
        std::future::pending::<()>().await;
        drop(held);
    }));
}

/// Otherwise the end would wait for a worker, which waits for a task that only the end drops.
#[test]
fn the_end_drops_what_workers_that_block_wait_for() {
    fn until_dropped(held_up: mpsc::Receiver<()>) {
        assert!(held_up.recv().is_err());
    }
    guarded(|| {
        let runtime = with_spares(1, 1);
        waits_for_another(&runtime, 2, |held_up| block_in_place(|| until_dropped(held_up)));
        drop(runtime);
        let runtime = with_spares(2, 0);
        waits_for_another(&runtime, 2, until_dropped);
        drop(runtime);
    });
}

#[test]
fn workers_that_block_in_place_are_reported_when_no_spare_can_come_for_what_waits() {
    guarded(|| {
        let runtime = with_spares(1, 1);
        let (release, released) = mpsc::channel::<()>();
        let released = Arc::new(Mutex::new(released));
        let (inside, is_inside) = mpsc::channel();
        for _ in 0..2 {
            let (inside, released) = (inside.clone(), released.clone());
            drop(runtime.spawn(async move {
                block_in_place(|| {
                    inside.send(()).unwrap();
                    released.lock().unwrap().recv()
                })
            }));
        }
        // A task that is spawned earlier may overtake the second one, which the first worker has taken and
        // gives back when it blocks.
        for _ in 0..2 {
            is_inside.recv().unwrap();
        }
        let waiting = runtime.spawn(async {});
        // A worker that the system has not let run before counts as well.
        until(|| runtime.metrics().blocked_poll_count() >= 2);
        drop(release);
        runtime.block_on(waiting).unwrap();
    });
}
