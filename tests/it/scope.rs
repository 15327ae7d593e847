//! Tasks that borrow from a caller who waits for them, whatever happens.

use crate::guard::{guarded, until, workers};
use crate::probe::{Bell, Count, OnDrop};
use crate::steal::occupy;
use liten::runtime::{Builder, Handle, LocalRuntime};
use liten::task::{JoinError, ScopedJoinHandle, block_in_place, scope, yield_now};
use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::Duration;

/// What a panic said.
fn message(result: thread::Result<()>) -> String {
    let payload = result.unwrap_err();
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => (*payload.downcast::<&str>().unwrap()).to_owned(),
    }
}

#[test]
fn functions_and_futures_borrow_and_give_their_results_back() {
    guarded(|| {
        let runtime = workers(2);
        let _entered = runtime.enter();
        let mut numbers: Vec<usize> = (0..1_000).collect();
        let words = [String::from("one"), String::from("three")];
        let (mut longest, sum) = ("", AtomicUsize::new(0));
        let count = scope(|s| {
            for chunk in numbers.chunks_mut(100) {
                let sum = &sum;
                s.spawn_blocking(move || {
                    for number in chunk {
                        *number *= 2;
                        sum.fetch_add(*number, Ordering::Relaxed);
                    }
                });
            }
            let length = s.spawn(async {
                yield_now().await;
                longest = &words[1];
                liten::time::sleep(Duration::from_millis(1)).await;
                liten::spawn(async { 1 }).await.unwrap() + words.len()
            });
            length.join().unwrap()
        });
        assert_eq!((count, longest), (3, "three"));
        assert_eq!(sum.into_inner(), 999_000);
        assert!(numbers.into_iter().eq((0..1_000).map(|number| number * 2)));
    });
}

/// From a root, from a task, from blocking work, from a pinned task, from a LocalRuntime.
#[test]
fn it_can_be_called_wherever_there_is_a_runtime() {
    fn sum(numbers: &[u32]) -> u32 {
        scope(|s| {
            let (left, right) = numbers.split_at(numbers.len() / 2);
            let left = s.spawn_blocking(|| left.iter().sum::<u32>());
            let right = s.spawn_blocking(|| right.iter().sum::<u32>());
            right.join().unwrap() + left.join().unwrap()
        })
    }
    guarded(|| {
        let runtime = workers(1);
        let numbers: Vec<u32> = (0..100).collect();
        assert_eq!(runtime.block_on(async { sum(&numbers) }), 4_950);
        let theirs = numbers.clone();
        let task = runtime.spawn(async move {
            let first = sum(&theirs);
            yield_now().await;
            first + sum(&theirs)
        });
        assert_eq!(runtime.block_on(task).unwrap(), 9_900);
        let theirs = numbers.clone();
        assert_eq!(runtime.block_on(runtime.spawn_blocking(move || sum(&theirs))).unwrap(), 4_950);
        let theirs = numbers.clone();
        let task = runtime.spawn_pinned(|| async move {
            let futures = scope(|s| s.spawn(async { theirs.len() }).join().unwrap());
            sum(&theirs) + futures as u32
        });
        assert_eq!(runtime.block_on(task).unwrap(), 5_050);
        let local = LocalRuntime::new().unwrap();
        assert_eq!(local.block_on(async { sum(&numbers) }), 4_950);
        let refused = AssertUnwindSafe(|| {
            local.block_on(async { scope(|s| drop(s.spawn(async {}))) });
        });
        assert!(message(catch_unwind(refused)).contains("LocalRuntime"));
        let outside = catch_unwind(|| scope(|_| ()));
        assert!(message(outside).contains("outside a runtime"));
    });
}

#[test]
fn it_returns_only_when_all_tasks_have_ended() {
    guarded(|| {
        let runtime = workers(2);
        let _entered = runtime.enter();
        for _ in 0..50 {
            let (ended, dropped) = (Count::default(), Count::default());
            scope(|s| {
                for number in 0..10 {
                    let (ended, guard) = (&ended, OnDrop(dropped.clone()));
                    // The handles are dropped, and one is lost: nobody waits by them.
                    let task = s.spawn(async move {
                        let _guard = guard;
                        for _ in 0..number {
                            yield_now().await;
                        }
                        liten::time::sleep(Duration::from_micros(50)).await;
                        ended.add();
                        OnDrop(ended.clone())
                    });
                    if number == 0 {
                        drop(task.join());
                    } else if number == 1 {
                        std::mem::forget(task);
                    }
                    s.spawn_blocking(|| ended.add());
                }
            });
            // Each task counts, and so does each output but the one that was lost with its handle.
            assert_eq!((ended.get(), dropped.get()), (29, 10));
        }
    });
}

#[test]
fn tasks_start_tasks() {
    guarded(|| {
        let runtime = workers(2);
        let _entered = runtime.enter();
        let count = AtomicUsize::new(0);
        scope(|s| {
            for _ in 0..5 {
                s.spawn_blocking(|| {
                    count.fetch_add(1, Ordering::Relaxed);
                    s.spawn(async {
                        yield_now().await;
                        s.spawn_blocking(|| count.fetch_add(1, Ordering::Relaxed)).await.unwrap();
                        s.spawn(async { count.fetch_add(1, Ordering::Relaxed) });
                    });
                });
            }
        });
        assert_eq!(count.into_inner(), 15);
    });
}

#[test]
fn scopes_stand_in_scopes() {
    fn fib(n: u64) -> u64 {
        if n < 2 {
            return n;
        }
        scope(|s| {
            let left = s.spawn_blocking(move || fib(n - 1));
            let right = fib(n - 2);
            left.join().unwrap() + right
        })
    }
    guarded(|| {
        // So many scopes wait for each other that the pool, which has two threads, cannot hold them.
        let mut builder = Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).max_blocking_threads(2).build().unwrap();
        assert_eq!(runtime.block_on(runtime.spawn(async { fib(14) })).unwrap(), 377);
        let nested = runtime.spawn(async {
            let word = String::from("word");
            scope(|s| {
                let outer = s.spawn(async { scope(|s| s.spawn(async { word.len() }).join()) });
                outer.join().unwrap().unwrap()
            })
        });
        assert_eq!(runtime.block_on(nested).unwrap(), 4);
    });
}

/// The pool has no thread for it, and no worker is free: the caller does it all.
#[test]
fn it_ends_without_any_help() {
    guarded(|| {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(1).max_blocking_threads(1).max_spare_workers(0);
        let runtime = builder.build().unwrap();
        let (release, released) = mpsc::channel::<()>();
        let job = runtime.spawn_blocking(move || released.recv().is_err());
        let blocked = occupy(&runtime, 1);
        let _entered = runtime.enter();
        let bell = Bell::default();
        let sum = scope(|s| {
            let first = s.spawn_blocking(|| 1);
            let waits = s.spawn(async {
                bell.wait().await;
                10
            });
            let second = s.spawn_blocking(|| {
                bell.ring();
                100
            });
            // In the order that needs the one that has been begun last.
            second.join().unwrap() + waits.join().unwrap() + first.join().unwrap()
        });
        assert_eq!(sum, 111);
        drop((release, blocked));
        assert!(runtime.block_on(job).unwrap());
    });
}

/// Who joins must not begin a function that waits for what he does afterwards.
#[test]
fn joining_one_function_does_not_begin_another() {
    guarded(|| {
        let runtime = workers(1);
        let _entered = runtime.enter();
        for _ in 0..200 {
            let (sender, receiver) = mpsc::channel();
            scope(|s| {
                let waits = s.spawn_blocking(move || receiver.recv().unwrap());
                assert_eq!(s.spawn_blocking(|| 1).join().unwrap(), 1);
                sender.send(2).unwrap();
                assert_eq!(waits.join().unwrap(), 2);
            });
        }
    });
}

/// Functions that all wait for each other: each has a thread, the caller is none of them before the end.
#[test]
fn functions_run_at_the_same_time() {
    guarded(|| {
        let runtime = workers(1);
        let _entered = runtime.enter();
        let barrier = std::sync::Barrier::new(9);
        scope(|s| {
            for _ in 0..8 {
                s.spawn_blocking(|| barrier.wait());
            }
            barrier.wait();
        });
    });
}

/// The closure blocks the caller: futures run on the workers meanwhile, as many at a time as there are.
#[test]
fn futures_run_on_the_workers_while_the_closure_runs() {
    guarded(|| {
        let runtime = workers(3);
        let _entered = runtime.enter();
        let barrier = std::sync::Barrier::new(4);
        scope(|s| {
            for _ in 0..3 {
                s.spawn(async { barrier.wait() });
            }
            barrier.wait();
        });
    });
}

/// In a task of the only worker: a spare serves the others.
#[test]
fn a_scope_in_a_task_does_not_stop_the_others() {
    guarded(|| {
        let runtime = Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let task = runtime.spawn(async {
            let (sender, receiver) = mpsc::channel();
            let other = liten::spawn(async move { sender.send(5).unwrap() });
            let got = scope(|s| s.spawn_blocking(move || receiver.recv().unwrap()).join().unwrap());
            other.await.unwrap();
            got
        });
        assert_eq!(runtime.block_on(task).unwrap(), 5);
    });
}

#[test]
fn a_panic_of_the_closure_waits_for_the_tasks() {
    guarded(|| {
        let runtime = workers(2);
        let _entered = runtime.enter();
        for _ in 0..20 {
            let ended = Count::default();
            let panicking = AssertUnwindSafe(|| {
                scope(|s| {
                    for _ in 0..4 {
                        s.spawn(async {
                            liten::time::sleep(Duration::from_micros(100)).await;
                            ended.add();
                        });
                        s.spawn_blocking(|| ended.add());
                    }
                    panic!("in the closure");
                })
            });
            assert_eq!(message(catch_unwind(panicking)), "in the closure");
            assert_eq!(ended.get(), 8);
        }
    });
}

#[test]
fn a_panic_of_a_task_reaches_its_handle_or_the_caller() {
    guarded(|| {
        let runtime = workers(2);
        let _entered = runtime.enter();
        let panicked = |result: Result<(), JoinError>| result.unwrap_err().is_panic();
        scope(|s| {
            assert!(panicked(s.spawn_blocking(|| panic!("on purpose")).join()));
            assert!(panicked(s.spawn(async { panic!("on purpose") }).join()));
            let awaits = s.spawn(async { s.spawn(async { panic!("on purpose") }).await });
            assert!(panicked(awaits.join().unwrap()));
        });
        for forget in [false, true] {
            let ended = Count::default();
            let dropped = AssertUnwindSafe(|| {
                scope(|s| {
                    let task: ScopedJoinHandle<'_, ()> = s.spawn(async { panic!("on purpose") });
                    if forget {
                        std::mem::forget(task);
                    }
                    s.spawn(async {
                        liten::time::sleep(Duration::from_millis(1)).await;
                        ended.add();
                    });
                });
            });
            assert!(message(catch_unwind(dropped)).contains("nobody has taken its result"));
            assert_eq!(ended.get(), 1);
        }
    });
}

/// Its waker goes round on threads that know nothing of the scope, and outlives it.
#[test]
fn wakes_come_from_anywhere_and_late() {
    guarded(|| {
        let runtime = workers(2);
        let _entered = runtime.enter();
        let late = Mutex::new(Vec::new());
        for _ in 0..100 {
            let (bell, data) = (Bell::default(), vec![1, 2, 3]);
            let ringing = bell.clone();
            let foreign = thread::spawn(move || {
                until(|| ringing.waiting() == 1);
                ringing.ring();
            });
            let sum = scope(|s| {
                let task = s.spawn(async {
                    std::future::poll_fn(|cx| {
                        late.lock().unwrap().push(cx.waker().clone());
                        std::task::Poll::Ready(())
                    })
                    .await;
                    bell.wait().await;
                    data.iter().sum::<i32>()
                });
                task.join().unwrap()
            });
            assert_eq!(sum, 6);
            foreign.join().unwrap();
        }
        late.into_inner().unwrap().into_iter().for_each(std::task::Waker::wake);
    });
}

#[test]
fn an_aborted_task_is_dropped_before_the_end() {
    guarded(|| {
        let runtime = workers(2);
        let _entered = runtime.enter();
        let dropped = Count::default();
        let kept = scope(|s| {
            let guard = OnDrop(dropped.clone());
            let task = s.spawn(async {
                let _guard = guard;
                pending::<()>().await;
            });
            let (abort, id) = (task.abort_handle(), task.id());
            assert!(!task.is_finished());
            abort.abort();
            let error = task.join().unwrap_err();
            assert!(error.is_cancelled());
            assert_eq!(error.id(), id);
            let second = s.spawn(pending::<()>());
            second.abort();
            // This one outlives the scope, and its task.
            second.abort_handle()
        });
        assert!(kept.is_finished());
        kept.abort();
        assert_eq!(dropped.get(), 1);
    });
}

/// Futures are cancelled with the runtime's own; functions end by themselves.
#[test]
fn the_end_of_the_runtime_ends_the_futures() {
    guarded(|| {
        let runtime = workers(2);
        let (data, ran) = (vec![1], Count::default());
        let handle = runtime.handle().clone();
        let _entered = handle.enter();
        scope(|s| {
            let waits = s.spawn(async {
                let _data = &data;
                pending::<()>().await;
            });
            drop(runtime);
            assert!(waits.join().unwrap_err().is_cancelled());
            assert!(s.spawn(async { data.len() }).join().unwrap_err().is_cancelled());
            assert_eq!(s.spawn_blocking(|| ran.add()).join().unwrap(), 1);
        });
    });
    guarded(|| {
        let runtime = workers(1);
        let (started, start) = mpsc::channel();
        let task = runtime.spawn(async move {
            let data = [1];
            scope(|s| {
                let _waits = s.spawn(async {
                    started.send(()).unwrap();
                    pending::<()>().await;
                    data.len()
                });
            });
        });
        start.recv().unwrap();
        // It would wait for ever if the scope did.
        drop(runtime);
        assert!(liten::block_on(task).is_ok(), "its only poll was under way");
    });
}

/// A future of the scope is a task like others, whoever polls it.
#[test]
fn inside_a_future_blocking_is_refused_unless_it_is_in_place() {
    guarded(|| {
        for count in [1, 2] {
            let runtime = workers(count);
            let blocked = occupy(&runtime, count - 1);
            let _entered = runtime.enter();
            scope(|s| {
                let tries = s.spawn(async {
                    let blocking = || Handle::current().block_on(async { 1 });
                    let joining = || s.spawn_blocking(|| 2).join().unwrap();
                    assert!(catch_unwind(AssertUnwindSafe(blocking)).is_err());
                    assert!(catch_unwind(AssertUnwindSafe(joining)).is_err());
                    block_in_place(|| blocking() + joining())
                });
                assert_eq!(tries.join().unwrap(), 3);
            });
            drop(blocked);
        }
    });
}

/// Nothing is left of a thousand scopes: neither in the runtime nor in the pool.
#[test]
fn scopes_come_and_go() {
    guarded(|| {
        let runtime = workers(2);
        let entered = runtime.enter();
        let total = AtomicUsize::new(0);
        for number in 0..1_000 {
            scope(|s| {
                for _ in 0..number % 4 {
                    s.spawn(async { total.fetch_add(1, Ordering::Relaxed) });
                    s.spawn_blocking(|| total.fetch_add(1, Ordering::Relaxed));
                }
            });
        }
        assert_eq!(total.into_inner(), 3_000);
        drop(entered);
        runtime.block_until_completion();
        assert_eq!(runtime.metrics().num_alive_tasks(), 0);
    });
}
