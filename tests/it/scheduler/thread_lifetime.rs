//! What a task does to its thread lasts: a thread that runs tasks stays until the runtime ends, whether it is
//! a worker's, a spare's, or that of a worker that `set_worker_threads` has sent away.

#![allow(unsafe_code)]

use crate::scheduler::spare_workers::with_spares;
use crate::scheduler::steal::occupy;
use crate::support::guard::{guarded, named, until};
use crate::support::probe::{Count, OnDrop};
use liten::insight::WorkerState;
use liten::runtime::{self, Builder, Runtime};
use liten::task::{JoinHandle, block_in_place};
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::sync::mpsc::{self, Sender, TryRecvError};
use std::sync::{Arc, Barrier};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// Time in which a thread would end that no longer stays.
const WHILE: Duration = Duration::from_millis(200);

thread_local! {
    static KEPT: RefCell<Option<OnDrop>> = const { RefCell::new(None) };
}

/// Runs a task that leaves something in its thread; returns which thread that was.
fn leave_something(runtime: &Runtime, dropped: &Count) -> ThreadId {
    let dropped = dropped.clone();
    let task = runtime.spawn(async move {
        KEPT.set(Some(OnDrop(dropped)));
        thread::current().id()
    });
    runtime.block_on(task).unwrap()
}

/// How a task keeps its worker from other tasks until it is released.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Blocks {
    OnePoll,
    Place,
    LongPolls,
}

/// Blocks the only worker until the sender is dropped.
///
/// If the system does not let the worker run for long, a spare takes its task. Then once more, when there is
/// no spare.
fn block_worker(runtime: &Runtime, how: Blocks) -> (Sender<()>, JoinHandle<()>) {
    loop {
        until_no_spare(runtime);
        let (release, released) = mpsc::channel::<()>();
        let (tell, told) = mpsc::channel();
        let blocker = runtime.spawn(async move {
            tell.send(runtime::worker_index()).unwrap();
            match how {
                Blocks::OnePoll => drop(released.recv()),
                Blocks::Place => drop(block_in_place(|| released.recv())),
                Blocks::LongPolls => {
                    while released.try_recv() == Err(TryRecvError::Empty) {
                        thread::sleep(Duration::from_millis(50));
                        liten::task::yield_now().await;
                    }
                }
            }
        });
        if told.recv().unwrap() == Some(0) {
            return (release, blocker);
        }
        drop(release);
        runtime.block_on(blocker).unwrap();
    }
}

fn until_no_spare(runtime: &Runtime) {
    until(|| runtime.metrics().num_spare_workers() == 0);
}

#[test]
fn thread_locals_of_a_spare_live_until_the_runtime_ends() {
    guarded(|| {
        let (runtime, dropped) = (with_spares(1, 1), Count::default());
        for (replaced, how) in [Blocks::OnePoll, Blocks::Place].into_iter().enumerate() {
            let (release, _) = block_worker(&runtime, how);
            leave_something(&runtime, &dropped);
            drop(release);
            until_no_spare(&runtime);
            thread::sleep(WHILE);
            // The second task has replaced what the first one left in the same thread.
            assert_eq!(dropped.get(), replaced);
        }
        drop(runtime);
        assert_eq!(dropped.get(), 2);
    });
}

#[test]
fn thread_locals_of_a_worker_that_was_sent_away_live_until_the_runtime_ends() {
    guarded(|| {
        let (runtime, dropped) = (named(4, "lasts"), Count::default());
        let everywhere = |count: usize| -> HashSet<ThreadId> {
            let barrier = Arc::new(Barrier::new(count));
            let tasks: Vec<_> = (0..count)
                .map(|_| {
                    let (dropped, barrier) = (dropped.clone(), barrier.clone());
                    runtime.spawn(async move {
                        barrier.wait();
                        KEPT.with_borrow_mut(|kept| {
                            kept.get_or_insert_with(|| OnDrop(dropped));
                        });
                        thread::current().id()
                    })
                })
                .collect();
            tasks.into_iter().map(|task| runtime.block_on(task).unwrap()).collect()
        };
        let threads = everywhere(4);
        for _ in 0..5 {
            runtime.handle().set_worker_threads(1).unwrap();
            assert!(everywhere(1).is_subset(&threads));
            thread::sleep(WHILE / 10);
            runtime.handle().set_worker_threads(4).unwrap();
            assert_eq!(everywhere(4), threads);
        }
        assert_eq!(dropped.get(), 0);
        drop(runtime);
        assert_eq!(dropped.get(), 4);
    });
}

/// Burst after burst, each with a spare, that is let go at once or when the workers have been free for a
/// while.
#[test]
fn spares_are_used_again_before_a_new_thread_is_started() {
    guarded(|| {
        let (started, stopped) = (Count::default(), Count::default());
        let (starts, stops) = (started.clone(), stopped.clone());
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .max_spare_workers(2)
            .on_thread_start(move || assert!(starts.add() > 0))
            .on_thread_stop(move || assert!(stops.add() > 0))
            .build()
            .unwrap();
        let mut threads = HashSet::<ThreadId>::new();
        for burst in 0..50 {
            let blocked = occupy(&runtime, 1 + burst % 3);
            threads.extend(blocked.keys());
            drop(blocked);
            if burst % 10 != 0 {
                // As many as before: this is how spares leave at once.
                runtime.handle().set_worker_threads(1).unwrap();
            }
            until_no_spare(&runtime);
        }
        assert_eq!(threads.len(), 3, "the worker and two spares");
        assert_eq!((started.get(), stopped.get()), (3, 0));
        drop(runtime);
        assert_eq!((started.get(), stopped.get()), (3, 3));
    });
}

/// Blocks all of the runtime's workers and `spares` more, in place, and lets them go when all of them run.
fn burst_in_place(runtime: &Runtime, spares: usize) {
    let count = runtime.metrics().num_workers() + spares;
    let barrier = Arc::new(Barrier::new(count));
    let tasks: Vec<_> = (0..count)
        .map(|_| {
            let barrier = barrier.clone();
            runtime.spawn(async move { block_in_place(|| barrier.wait()) })
        })
        .collect();
    for task in tasks {
        runtime.block_on(task).unwrap();
    }
}

#[test]
fn a_thread_that_rests_is_counted_and_shown() {
    guarded(|| {
        let runtime = with_spares(2, 2);
        burst_in_place(&runtime, 2);
        until(|| runtime.metrics().num_resting_workers() == 2);
        let metrics = runtime.metrics();
        assert_eq!((metrics.num_workers(), metrics.num_spare_workers()), (2, 0));
        let dump = runtime.handle().dump();
        let rests = dump.workers().iter().filter(|it| it.state() == WorkerState::Resting).count();
        assert_eq!(rests, 2, "{dump}");
        assert!(dump.to_string().contains("worker 3: resting, "), "{dump}");
        // A thread that the system does not let run may be taken for one that is held up.
        until(|| runtime.handle().dump().findings().is_empty());
        runtime.handle().set_worker_threads(4).unwrap();
        until(|| runtime.metrics().num_resting_workers() == 0);
        let handle = runtime.handle().clone();
        drop(runtime);
        assert_eq!(handle.metrics().num_resting_workers(), 0);
    });
}

/// A thread that rests is no worker, and its hooks are called as for any other sleep.
#[test]
fn hooks_are_called_in_pairs_around_a_rest() {
    guarded(|| {
        thread_local!(static DEPTH: Cell<i32> = const { Cell::new(0) });
        let (wrong, ran) = (Count::default(), Count::default());
        let (unpaired, unequal, spawned) = (wrong.clone(), wrong.clone(), ran.clone());
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .max_spare_workers(2)
            .on_thread_park(move || {
                DEPTH.set(DEPTH.get() + 1);
                if DEPTH.get() != 1 {
                    unpaired.add();
                }
                if runtime::worker_index().is_none() {
                    // It rests from now on; a worker runs this.
                    let ran = spawned.clone();
                    drop(liten::spawn(async move { ran.add() }));
                }
            })
            .on_thread_unpark(move || {
                DEPTH.set(DEPTH.get() - 1);
                if DEPTH.get() != 0 {
                    unequal.add();
                }
            })
            .build()
            .unwrap();
        for burst in 1..=5 {
            burst_in_place(&runtime, 2);
            runtime.handle().set_worker_threads(1).unwrap();
            until(|| ran.get() >= burst);
        }
        drop(runtime);
        assert_eq!(wrong.get(), 0);
    });
}

#[test]
fn a_clock_that_stands_still_does_not_wait_for_threads_that_rest() {
    guarded(|| {
        let mut builder = Builder::new_multi_thread();
        let runtime =
            builder.worker_threads(2).max_spare_workers(2).start_paused(true).build().unwrap();
        for _ in 0..3 {
            burst_in_place(&runtime, 2);
            runtime.handle().set_worker_threads(2).unwrap();
            until(|| runtime.metrics().num_resting_workers() == 2);
            let sleep = async { liten::time::sleep(Duration::from_secs(100_000)).await };
            runtime.block_on(runtime.spawn(sleep)).unwrap();
        }
    });
}

/// However a runtime ends, its threads that rest end with it, and so do those that are about to rest or are
/// called back at that moment.
#[cfg(target_os = "linux")]
#[test]
fn runtimes_with_threads_that_rest_leave_no_thread() {
    let test = "scheduler::thread_lifetime::runtimes_with_threads_that_rest_leave_no_thread";
    let body = || {
        let before = crate::support::process::threads("").len();
        for round in 0..300 {
            let runtime = with_spares(1 + round % 2, 2);
            burst_in_place(&runtime, 2);
            let count = runtime.metrics().num_workers();
            for _ in 0..round % 4 {
                runtime.handle().set_worker_threads(count).unwrap();
                if round % 8 > 4 {
                    drop(runtime.spawn(async { block_in_place(|| ()) }));
                }
            }
            match round % 4 {
                0 => drop(runtime),
                1 => drop(runtime.shutdown_timeout(Duration::from_secs(100))),
                2 => runtime.shutdown_background(),
                _ => liten::block_on(async { drop(runtime) }),
            }
        }
        crate::support::process::until_threads_are("", before);
    };
    guarded(|| crate::support::process::alone(test, body));
}

/// A poll that does not end holds up the end of the runtime, and not that of the threads that rest.
#[test]
fn a_bounded_shutdown_ends_the_threads_that_rest_beside_a_poll_that_goes_on() {
    guarded(|| {
        let (runtime, dropped) = (with_spares(1, 2), Count::default());
        let (release, _) = block_worker(&runtime, Blocks::OnePoll);
        leave_something(&runtime, &dropped);
        drop(release);
        let metrics = runtime.metrics();
        // Once more each time that a spare was called back before the worker was blocked: it would stay.
        let release = loop {
            let (release, _) = block_worker(&runtime, Blocks::OnePoll);
            if metrics.num_spare_workers() == 0 && metrics.num_resting_workers() > 0 {
                break release;
            }
        };
        runtime.shutdown_timeout(Duration::from_millis(20));
        until(|| dropped.get() == 1);
        drop(release);
    });
}

#[cfg(target_os = "linux")]
mod children {
    use super::*;
    use liten::process::{Child, Command};
    use liten::time::timeout;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// A program that does not end by itself, and that the system kills when the thread ends that has started
    /// it.
    fn mortal() -> Child {
        let mut command = Command::new("sleep");
        command.arg("100").kill_on_drop(true);
        // SAFETY: the function makes one system call, which may be made after a fork.
        let command = unsafe {
            command.pre_exec(|| {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                Ok(())
            })
        };
        command.spawn().unwrap()
    }

    /// Starts a child in a task, on a spare.
    fn start_on_a_spare(runtime: &Runtime) -> Child {
        loop {
            let task = runtime.spawn(async { (mortal(), runtime::worker_index()) });
            let (child, starter) = runtime.block_on(task).unwrap();
            if starter != Some(0) {
                return child;
            }
        }
    }

    fn assert_lives(runtime: &Runtime, child: &mut Child) {
        let ended = runtime.block_on(async { timeout(WHILE, child.wait()).await.ok() });
        assert!(ended.is_none(), "the child has ended: {ended:?}");
    }

    #[test]
    fn a_child_lives_when_the_spare_that_has_started_it_is_no_longer_needed() {
        guarded(|| {
            let runtime = with_spares(1, 1);
            for how in [Blocks::OnePoll, Blocks::Place, Blocks::LongPolls] {
                let (release, blocker) = block_worker(&runtime, how);
                let mut child = start_on_a_spare(&runtime);
                drop(release);
                runtime.block_on(blocker).unwrap();
                until_no_spare(&runtime);
                assert_lives(&runtime, &mut child);
            }
        });
    }

    /// No task blocks: six of them compute in polls of some milliseconds, beside tasks that start children.
    #[test]
    fn children_of_a_runtime_that_computes_live() {
        guarded(|| {
            let runtime = with_spares(2, 2);
            let burns = Arc::new(AtomicBool::new(true));
            let burners: Vec<_> = (0..6)
                .map(|_| {
                    let burns = burns.clone();
                    runtime.spawn(async move {
                        while burns.load(Ordering::Relaxed) {
                            let begin = std::time::Instant::now();
                            while begin.elapsed() < Duration::from_millis(3) {
                                std::hint::spin_loop();
                            }
                            liten::task::yield_now().await;
                        }
                    })
                })
                .collect();
            let (mut children, mut by_spares) = (Vec::new(), 0);
            while by_spares < 5 {
                let task = runtime.spawn(async {
                    liten::time::sleep(Duration::from_millis(2)).await;
                    let name = thread::current().name().unwrap().to_owned();
                    (mortal(), name)
                });
                let (child, name) = runtime.block_on(task).unwrap();
                by_spares += usize::from(!name.ends_with("-0") && !name.ends_with("-1"));
                children.push(child);
            }
            burns.store(false, Ordering::Relaxed);
            for burner in burners {
                runtime.block_on(burner).unwrap();
            }
            until_no_spare(&runtime);
            thread::sleep(WHILE);
            let ended = |child: &mut Child| child.try_wait().unwrap();
            let ended: Vec<_> = children.iter_mut().filter_map(ended).collect();
            assert_eq!(ended, [], "of {} children", children.len());
        });
    }

    #[test]
    fn a_child_lives_when_the_worker_that_has_started_it_is_sent_away() {
        guarded(|| {
            let runtime = named(2, "sentaw");
            let both = Arc::new(Barrier::new(2));
            let tasks: Vec<_> = (0..2)
                .map(|_| {
                    let both = both.clone();
                    runtime.spawn(async move {
                        both.wait();
                        mortal()
                    })
                })
                .collect();
            let mut children: Vec<_> =
                tasks.into_iter().map(|task| runtime.block_on(task).unwrap()).collect();
            runtime.handle().set_worker_threads(1).unwrap();
            for child in &mut children {
                assert_lives(&runtime, child);
            }
        });
    }
}
