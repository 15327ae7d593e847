//! tokio's name for a local executor: what its users do with it.

use crate::support::guard::guarded;
use crate::support::probe::{Bell, Count, OnDrop};
use liten::runtime::{Builder, LocalRuntime, Runtime};
use liten::task::{JoinHandle, JoinSet, LocalExecutor, LocalSet, spawn_local, yield_now};
use std::cell::{Cell, RefCell};
use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::thread;

#[test]
fn tasks_run_while_a_future_runs_and_those_left_run_on() {
    guarded(|| {
        for mut builder in [Builder::new_multi_thread(), Builder::new_current_thread()] {
            let runtime = builder.build().unwrap();
            let (set, log) = (LocalSet::new(), Rc::new(RefCell::new(Vec::new())));
            let (here, theirs) = (thread::current().id(), log.clone());
            let left = set.block_on(&runtime, async {
                let task = spawn_local(async move {
                    theirs.borrow_mut().push("spawned");
                    let nested = spawn_local(async move { theirs.borrow_mut().push("nested") });
                    nested.await.unwrap();
                });
                let left = spawn_local(async move {
                    liten::spawn(yield_now()).await.unwrap();
                    assert_eq!(thread::current().id(), here);
                });
                task.await.unwrap();
                Some(left)
            });
            assert_eq!(*log.borrow(), ["spawned", "nested"]);
            assert_eq!(runtime.block_on(set.run_until(async { 1 })), 1);
            runtime.block_on(set);
            assert!(left.unwrap().is_finished());
        }
    });
}

/// It is ready when no task is alive, may be given up in between, and may be polled again with new tasks.
#[test]
fn a_set_is_a_future() {
    guarded(|| {
        let (mut set, bell) = (LocalSet::new(), Bell::default());
        let waits = bell.clone();
        let first = set.spawn_local(async move {
            spawn_local(async move { waits.wait().await }).await.unwrap();
        });
        let mut cx = Context::from_waker(Waker::noop());
        assert_eq!(Pin::new(&mut set).poll(&mut cx), Poll::Pending);
        bell.ring();
        smol::block_on(&mut set);
        assert!(first.is_finished());
        let second = set.spawn_local(async { 2 });
        assert_eq!(smol::block_on(set.run_until(second)).unwrap(), 2);
        let third = set.spawn_local(async { 3 });
        smol::block_on(set);
        assert!(third.is_finished());
    });
}

/// A set that is polled as a future, and another one inside of it: each task goes to the innermost.
#[test]
fn sets_nest() {
    guarded(|| {
        let (outer, inner) = (LocalSet::new(), LocalSet::new());
        let count = Rc::new(Cell::new(0));
        let counts = |count: &Rc<Cell<i32>>, by| {
            let count = count.clone();
            async move { count.set(count.get() + by) }
        };
        smol::block_on(outer.run_until(async {
            let task = spawn_local(counts(&count, 10));
            inner.run_until(async { drop(spawn_local(counts(&count, 100))) }).await;
            task.await.unwrap();
        }));
        assert_eq!(count.get(), 10, "the inner one has not run it");
        smol::block_on(inner);
        assert_eq!(count.get(), 110);
        smol::block_on(outer);
        assert_eq!(count.get(), 110);
    });
}

#[test]
fn what_is_spawned_in_an_entered_set_waits_for_it() {
    guarded(|| {
        let (first, second) = (LocalSet::new(), LocalSet::new());
        let entered = first.enter();
        let one = spawn_local(async { 1 });
        let inner = second.enter();
        let two = spawn_local(async { 2 });
        drop(inner);
        let three = spawn_local(async { 3 });
        // An executor that runs goes before one that was entered outside.
        let executor = LocalExecutor::new();
        let five = smol::block_on(executor.run(async {
            let four = spawn_local(async { 4 });
            // One that is entered while it runs goes before it.
            let inside = second.enter();
            let five = spawn_local(async { 5 });
            drop(inside);
            assert_eq!(four.await.unwrap(), 4);
            Some(five)
        }));
        drop(entered);
        let of_second = async { two.await.unwrap() + five.unwrap().await.unwrap() };
        assert_eq!(smol::block_on(second.run_until(of_second)), 7);
        let of_first = async { one.await.unwrap() + three.await.unwrap() };
        assert_eq!(smol::block_on(first.run_until(of_first)), 4);
        assert!(catch_unwind(|| drop(spawn_local(async {}))).is_err(), "none is entered any more");
    });
}

#[test]
fn a_guard_may_outlive_its_set() {
    guarded(|| {
        let set = LocalSet::new();
        let entered = set.enter();
        let dropped = Count::default();
        let guard = OnDrop(dropped.clone());
        let task = spawn_local(async move {
            let _guard = guard;
            pending::<()>().await;
        });
        drop(set);
        assert_eq!(dropped.get(), 1, "the guard does not keep the tasks");
        assert!(smol::block_on(task).unwrap_err().is_cancelled());
        assert!(catch_unwind(AssertUnwindSafe(|| drop(spawn_local(async {})))).is_err());
        drop(entered);
    });
}

/// Also one that has been polled as a future, which keeps half of its work in there.
#[test]
fn a_dropped_set_drops_its_tasks() {
    guarded(|| {
        for polled in [false, true] {
            let (mut set, dropped) = (LocalSet::new(), Count::default());
            let guard = OnDrop(dropped.clone());
            let task = set.spawn_local(async move {
                let _guard = guard;
                pending::<()>().await;
            });
            if polled {
                let mut cx = Context::from_waker(Waker::noop());
                assert_eq!(pin!(&mut set).poll(&mut cx), Poll::Pending);
            }
            drop(set);
            assert_eq!(dropped.get(), 1);
            assert!(smol::block_on(task).unwrap_err().is_cancelled());
        }
    });
}

#[test]
fn tasks_of_a_set_are_joined_in_another_kind_of_set() {
    guarded(|| {
        let (local, mut tasks) = (LocalSet::new(), JoinSet::new());
        for number in 0..10 {
            let number = Rc::new(number);
            tasks.spawn_local_on(async move { *number }, &local);
        }
        let runtime = Runtime::new().unwrap();
        let sum = local.block_on(&runtime, async {
            let mut sum = 0;
            while let Some(number) = tasks.join_next().await {
                sum += number.unwrap();
            }
            sum
        });
        assert_eq!(sum, 45);
    });
}

/// The tasks of the runtime and those of the set take turns.
#[test]
fn a_set_goes_before_the_local_runtime_around_it() {
    guarded(|| {
        let runtime = LocalRuntime::new().unwrap();
        let metrics = runtime.metrics();
        runtime.block_on(async {
            let set = LocalSet::new();
            let inside = set.run_until(async {
                let task = spawn_local(yield_now());
                assert_eq!(metrics.num_alive_tasks(), 0, "the task is the set's");
                task.await.unwrap();
            });
            inside.await;
            let task = spawn_local(yield_now());
            assert_eq!(metrics.num_alive_tasks(), 1);
            task.await.unwrap();
        });
    });
}

/// As in tokio. A panic would come in the middle of a destructor.
#[test]
fn what_the_destructor_of_a_task_spawns_into_a_dropped_set_is_cancelled() {
    struct Spawns(Rc<RefCell<Vec<JoinHandle<()>>>>, Count);

    impl Drop for Spawns {
        fn drop(&mut self) {
            let inside = OnDrop(self.1.clone());
            self.0.borrow_mut().push(spawn_local(async move { drop(inside) }));
        }
    }

    guarded(|| {
        let (set, spawned, dropped) = (LocalSet::new(), Rc::default(), Count::default());
        let last = Spawns(Rc::clone(&spawned), dropped.clone());
        drop(set.spawn_local(async move {
            let _last = last;
            pending::<()>().await;
        }));
        drop(set);
        assert_eq!(dropped.get(), 1, "the set drops what is spawned while it ends");
        let task = spawned.take().pop().expect("the destructor ran");
        assert!(liten::block_on(task).unwrap_err().is_cancelled());
    });
}
