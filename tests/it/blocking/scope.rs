//! Functions that borrow from a caller that waits for them, whatever happens.

use crate::scheduler::steal::occupy;
use crate::support::guard::{guarded, until, workers};
use crate::support::probe::{Count, OnDrop};
use liten::runtime::{Builder, Handle, LocalRuntime};
use liten::task::{Scope, scope, yield_now};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
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

fn sum(numbers: &[u32]) -> u32 {
    scope(|s| {
        let (left, right) = numbers.split_at(numbers.len() / 2);
        let left = s.spawn_blocking(|| left.iter().sum::<u32>());
        let right = s.spawn_blocking(|| right.iter().sum::<u32>());
        right.join().unwrap() + left.join().unwrap()
    })
}

#[test]
fn functions_borrow_and_give_their_results_back() {
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
            let length = s.spawn_blocking(|| {
                longest = &words[1];
                // It is in the runtime.
                Handle::current().block_on(async { liten::spawn(async { 1 }).await.unwrap() })
                    + words.len()
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
        let task = runtime.spawn_pinned(|| async move { sum(&theirs) });
        assert_eq!(runtime.block_on(task).unwrap(), 4_950);
        let local = LocalRuntime::new().unwrap();
        assert_eq!(local.block_on(async { sum(&numbers) }), 4_950);
        let outside = catch_unwind(|| scope(|_| ()));
        assert!(message(outside).contains("outside a runtime"));
    });
}

/// Whichever thread calls it: not one on which blocking is refused.
#[test]
fn a_function_may_block_on_a_future_wherever_the_scope_was_opened() {
    fn asks() -> u32 {
        scope(|s| s.spawn_blocking(|| liten::block_on(async { 1 })).join().unwrap())
    }
    guarded(|| {
        let local = LocalRuntime::new().unwrap();
        let runtime = workers(2);
        for _ in 0..100 {
            assert_eq!(local.block_on(async { asks() }), 1);
            assert_eq!(runtime.block_on(async { asks() }), 1);
            assert_eq!(runtime.block_on(runtime.spawn(async { asks() })).unwrap(), 1);
            assert_eq!(runtime.block_on(runtime.spawn_pinned(|| async { asks() })).unwrap(), 1);
        }
    });
}

#[test]
fn it_returns_only_when_all_functions_have_ended() {
    guarded(|| {
        let runtime = workers(2);
        let _entered = runtime.enter();
        for _ in 0..50 {
            let (ended, dropped) = (Count::default(), Count::default());
            scope(|s| {
                for number in 0..10 {
                    let (ended, guard) = (&ended, OnDrop(dropped.clone()));
                    // The handles are dropped: no task waits by them.
                    let handle = s.spawn_blocking(move || {
                        let _guard = guard;
                        thread::sleep(Duration::from_micros(50 * number));
                        ended.add();
                        OnDrop(ended.clone())
                    });
                    if number == 0 {
                        drop(handle.join());
                    }
                }
            });
            // Each function counts, and so does each result.
            assert_eq!((ended.get(), dropped.get()), (20, 10));
        }
    });
}

#[test]
fn a_leaked_handle_holds_nothing_up() {
    guarded(|| {
        let runtime = workers(2);
        let _entered = runtime.enter();
        for _ in 0..50 {
            let (ended, dropped) = (Count::default(), Count::default());
            scope(|s| {
                let (ended, guard) = (&ended, OnDrop(dropped.clone()));
                std::mem::forget(s.spawn_blocking(move || {
                    let _guard = guard;
                    ended.add();
                    OnDrop(ended.clone())
                }));
            });
            assert_eq!((ended.get(), dropped.get()), (1, 1));
        }
    });
}

#[test]
fn functions_start_functions() {
    guarded(|| {
        let runtime = workers(2);
        let _entered = runtime.enter();
        let count = AtomicUsize::new(0);
        let add = || count.fetch_add(1, Ordering::Relaxed);
        scope(|s| {
            for _ in 0..5 {
                s.spawn_blocking(|| {
                    add();
                    s.spawn_blocking(|| {
                        s.spawn_blocking(add).join().unwrap();
                        s.spawn_blocking(add);
                    });
                });
            }
        });
        assert_eq!(count.into_inner(), 15);
    });
}

/// A result whose destructor starts a function.
struct Starts<'scope, 'env: 'scope>(&'scope Scope<'scope, 'env>, &'env Count);

impl Drop for Starts<'_, '_> {
    fn drop(&mut self) {
        let started = self.1;
        self.0.spawn_blocking(move || started.add());
    }
}

/// On whichever thread the result is dropped, the last one too, the scope waits for what that starts.
#[test]
fn a_result_may_start_functions_when_it_is_dropped() {
    guarded(|| {
        let runtime = workers(2);
        let _entered = runtime.enter();
        for _ in 0..50 {
            let started = Count::default();
            scope(|s| {
                for _ in 0..4 {
                    drop(s.spawn_blocking(|| Starts(s, &started)));
                }
                drop(s.spawn_blocking(|| Starts(s, &started)).join());
            });
            assert_eq!(started.get(), 5);
        }
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
        let rest = AtomicUsize::new(0);
        let sum = scope(|s| {
            let first = s.spawn_blocking(|| 1);
            let second = s.spawn_blocking(|| 10);
            for _ in 0..3 {
                s.spawn_blocking(|| rest.fetch_add(1, Ordering::Relaxed));
            }
            second.join().unwrap() + first.join().unwrap()
        });
        assert_eq!((sum, rest.into_inner()), (11, 3));
        drop((release, blocked));
        assert!(runtime.block_on(job).unwrap());
    });
}

/// The pool has one thread, which waits for what it has started itself.
#[test]
fn a_function_that_joins_another_calls_it_wherever_the_scope_was_opened() {
    fn nested() -> u32 {
        scope(|s| {
            let outer = s.spawn_blocking(|| s.spawn_blocking(|| 1).join().unwrap() + 1);
            outer.join().unwrap()
        })
    }
    guarded(|| {
        let local = Builder::new_current_thread().max_blocking_threads(1).build_local().unwrap();
        let mut builder = Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).max_blocking_threads(1).build().unwrap();
        assert_eq!(runtime.block_on(async { nested() }), 2);
        assert_eq!(local.block_on(async { nested() }), 2);
        assert_eq!(runtime.block_on(runtime.spawn_pinned(|| async { nested() })).unwrap(), 2);
    });
}

/// A thread that joins must not begin a function that waits for what that thread does afterwards.
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

/// A closure that has joined one function, and then waits for another one by other means.
#[test]
fn a_function_that_is_started_after_a_join_is_told_to_the_pool() {
    guarded(|| {
        let runtime = workers(2);
        let _entered = runtime.enter();
        for _ in 0..200 {
            scope(|s| {
                let (sender, receiver) = mpsc::channel();
                let inner =
                    s.spawn_blocking(move || s.spawn_blocking(move || sender.send(1).unwrap()));
                drop(inner.join().unwrap());
                assert_eq!(receiver.recv().unwrap(), 1);
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
fn a_panic_of_the_closure_waits_for_the_functions() {
    guarded(|| {
        let runtime = workers(2);
        let _entered = runtime.enter();
        for _ in 0..20 {
            let ended = Count::default();
            let panicking = AssertUnwindSafe(|| {
                scope(|s| {
                    for _ in 0..8 {
                        s.spawn_blocking(|| {
                            thread::sleep(Duration::from_micros(100));
                            ended.add();
                        });
                    }
                    panic!("in the closure");
                })
            });
            assert_eq!(message(catch_unwind(panicking)), "in the closure");
            assert_eq!(ended.get(), 8);
        }
    });
}

/// Panics when it is dropped.
struct PanicsOnDrop;

impl Drop for PanicsOnDrop {
    fn drop(&mut self) {
        panic!("in a destructor");
    }
}

#[test]
fn a_panic_of_a_function_reaches_its_handle_or_the_caller() {
    guarded(|| {
        let runtime = workers(2);
        let _entered = runtime.enter();
        scope(|s| {
            let result = s.spawn_blocking(|| panic!("on purpose")).join();
            assert_eq!(message(result), "on purpose");
            let panics_on_drop = PanicsOnDrop;
            let captured = s.spawn_blocking(move || drop(panics_on_drop));
            assert_eq!(message(captured.join()), "in a destructor");
        });
        for panics_on_drop in [false, true] {
            let ended = Count::default();
            let unnoticed = AssertUnwindSafe(|| {
                scope(|s| {
                    drop(s.spawn_blocking(|| {
                        if panics_on_drop { Some(PanicsOnDrop) } else { panic!("on purpose") }
                    }));
                    s.spawn_blocking(|| ended.add());
                })
            });
            assert!(message(catch_unwind(unnoticed)).contains("its result was not taken"));
            assert_eq!(ended.get(), 1);
        }
    });
}

/// Panics when it is dropped, with something that counts when that is dropped.
struct Loaded(Count);

impl Drop for Loaded {
    fn drop(&mut self) {
        resume_unwind(Box::new(OnDrop(self.0.clone())));
    }
}

#[test]
fn what_a_destructor_panics_with_is_dropped_too() {
    guarded(|| {
        let runtime = workers(2);
        let _entered = runtime.enter();
        let dropped = Count::default();
        let unnoticed =
            AssertUnwindSafe(|| scope(|s| drop(s.spawn_blocking(|| Loaded(dropped.clone())))));
        assert!(message(catch_unwind(unnoticed)).contains("its result was not taken"));
        assert_eq!(dropped.get(), 1);
    });
}

/// The runtime ends while a scope is open: what the pool drops, the caller calls.
#[test]
fn the_end_of_the_runtime_leaves_no_function_uncalled() {
    guarded(|| {
        for pinned in [false, true] {
            let mut builder = Builder::new_multi_thread();
            let runtime = builder.worker_threads(1).max_blocking_threads(1).build().unwrap();
            let (opened, is_open) = mpsc::channel();
            let (end, ended) = mpsc::channel::<()>();
            let open = move || {
                let (order, begun) = (Mutex::new(Vec::new()), Count::default());
                scope(|s| {
                    let theirs = &begun;
                    let first = s.spawn_blocking(move || {
                        theirs.add();
                        ended.recv().is_err()
                    });
                    until(|| begun.get() == 1);
                    s.spawn_blocking(|| order.lock().unwrap().push(2));
                    opened.send(()).unwrap();
                    assert!(first.join().unwrap());
                    // Refused at once.
                    s.spawn_blocking(|| order.lock().unwrap().push(3));
                });
                order.into_inner().unwrap()
            };
            let (result, returned) = mpsc::channel();
            let handle = runtime.handle().clone();
            if pinned {
                drop(handle.spawn_pinned(move || async move { result.send(open()).unwrap() }));
            } else {
                thread::spawn(move || {
                    let _entered = handle.enter();
                    result.send(open()).unwrap();
                });
            }
            is_open.recv().unwrap();
            runtime.shutdown_background();
            drop(end);
            let mut order = returned.recv().unwrap();
            order.sort_unstable();
            assert_eq!(order, [2, 3]);
        }
    });
}

/// Nothing is left of a thousand scopes.
#[test]
fn scopes_come_and_go() {
    guarded(|| {
        let runtime = workers(2);
        let entered = runtime.enter();
        let total = AtomicUsize::new(0);
        for number in 0..1_000 {
            scope(|s| {
                for _ in 0..number % 4 {
                    s.spawn_blocking(|| total.fetch_add(1, Ordering::Relaxed));
                }
            });
        }
        assert_eq!(total.into_inner(), 1_500);
        drop(entered);
        runtime.block_until_completion();
        assert_eq!(runtime.metrics().num_alive_tasks(), 0);
    });
}
