//! `block_on`: the root runs here, its tasks run there, and both at once.

use crate::support::guard::{guarded, named, until, workers};
use crate::support::probe::{Bell, Count, OnDrop, Report};
use futures_util::FutureExt;
use liten::runtime::{Builder, Handle, Runtime};
use liten::sync;
use liten::task::{LocalExecutor, block_in_place, may_block, spawn_pinned};
use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::mpsc;
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

#[test]
fn the_root_may_borrow_and_need_not_be_send() {
    guarded(|| {
        let runtime = workers(2);
        let shared = Rc::new(RefCell::new(Vec::new()));
        let mut count = 0;
        let words = [String::from("one"), String::from("two")];
        let longest = runtime.block_on(async {
            for word in &words {
                count += liten::spawn({
                    let word = word.clone();
                    async move { word.len() }
                })
                .await
                .unwrap();
                shared.borrow_mut().push(word.as_str());
                liten::time::sleep(Duration::from_millis(1)).await;
            }
            &words[0]
        });
        assert_eq!((longest.as_str(), count), ("one", 6));
        assert_eq!(*shared.borrow(), ["one", "two"]);
    });
}

#[test]
fn the_root_stays_on_its_thread_and_tasks_stay_off_it() {
    guarded(|| {
        let runtime = named(2, "rootw");
        let here = thread::current().id();
        runtime.block_on(async {
            for _ in 0..100 {
                assert_eq!(thread::current().id(), here);
                let task = liten::spawn(async {
                    let thread = thread::current();
                    (thread.id(), thread.name().unwrap().to_owned())
                });
                let (there, name) = task.await.unwrap();
                assert_ne!(there, here);
                assert!(["rootw-0", "rootw-1"].contains(&name.as_str()), "{name}");
                liten::task::yield_now().await;
            }
        });
    });
}

/// The root does not give its thread back, and nothing tells the runtime that it will not.
#[test]
fn tasks_run_although_the_root_blocks_its_thread() {
    guarded(|| {
        for count in [1, 2] {
            let runtime = workers(count);
            for tasks in [1, 2, 100] {
                runtime.block_on(async {
                    let (sender, receiver) = mpsc::channel();
                    for i in 0..tasks {
                        let sender = sender.clone();
                        drop(liten::spawn(async move {
                            // Each spawns another one from the worker.
                            liten::spawn(async move { sender.send(i).unwrap() }).await.unwrap();
                        }));
                    }
                    let mut received: Vec<_> =
                        (0..tasks).map(|_| receiver.recv().unwrap()).collect();
                    received.sort_unstable();
                    assert_eq!(received, (0..tasks).collect::<Vec<_>>());
                });
            }
        }
    });
}

#[test]
fn it_returns_with_the_root_and_its_tasks_run_on() {
    guarded(|| {
        let (runtime, bell, dropped) = (workers(2), Bell::default(), Count::default());
        let waits = bell.clone();
        let guard = OnDrop(dropped.clone());
        let mut task = None;
        runtime.block_on(async {
            drop(liten::spawn(async move {
                let _guard = guard;
                std::future::pending::<()>().await;
            }));
            task = Some(liten::spawn(async move {
                waits.wait().await;
                liten::spawn(async { 42 }).await.unwrap()
            }));
        });
        let task = task.unwrap();
        // Between two calls the workers are on their own.
        bell.ring();
        until(|| task.is_finished());
        assert_eq!(runtime.block_on(task).unwrap(), 42);
        assert_eq!(dropped.get(), 0);
        drop(runtime);
        assert_eq!(dropped.get(), 1);
    });
}

#[test]
fn the_root_is_polled_once_per_wake() {
    guarded(|| {
        let (runtime, report) = (workers(1), Report::default());
        let theirs = report.clone();
        let here = thread::current();
        let waking = thread::spawn(move || {
            until(|| theirs.polls() == 1);
            let waker = theirs.waker().unwrap();
            for wakes in 1..=200 {
                // A token of std's own parking is not a wake.
                here.unpark();
                waker.wake_by_ref();
                until(|| theirs.polls() == 1 + wakes);
            }
            theirs.end();
            waker.wake();
        });
        assert_eq!(runtime.block_on(report.spy()), 202);
        waking.join().unwrap();
    });
}

#[test]
fn a_foreign_thread_wakes_a_sleeping_root() {
    guarded(|| {
        let runtime = workers(1);
        for round in 0..100 {
            let (sender, receiver) = liten::sync::oneshot::channel();
            let thread = thread::spawn(move || {
                if round % 10 == 0 {
                    thread::sleep(Duration::from_millis(2));
                }
                sender.send(round).unwrap();
            });
            assert_eq!(runtime.block_on(receiver), Ok(round));
            thread.join().unwrap();
        }
    });
}

/// More threads than have a queue of their own in the scheduler.
#[test]
fn many_threads_block_on_one_runtime_at_once() {
    guarded(|| {
        let runtime = workers(2);
        let barrier = std::sync::Barrier::new(20);
        thread::scope(|scope| {
            for thread in 0..20 {
                let (handle, barrier) = (runtime.handle().clone(), &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    let sum = handle.block_on(async {
                        let mut sum = 0;
                        for round in 0..50 {
                            let tasks: Vec<_> =
                                (0..4).map(|i| liten::spawn(async move { i + round })).collect();
                            for task in tasks {
                                sum += task.await.unwrap();
                            }
                        }
                        sum
                    });
                    assert_eq!(sum, 50 * 6 + 4 * (0..50).sum::<usize>(), "thread {thread}");
                });
            }
        });
    });
}

#[test]
fn it_may_be_called_on_the_blocking_pool() {
    guarded(|| {
        let runtime = workers(1);
        let task = runtime.spawn(async {
            liten::spawn_blocking(|| {
                let handle = Handle::current();
                handle.block_on(async { liten::spawn(async { 41 }).await.unwrap() + 1 })
            })
            .await
        });
        assert_eq!(runtime.block_on(task).unwrap().unwrap(), 42);
    });
}

#[test]
fn it_makes_a_runtime_of_its_own_or_uses_the_entered_one() {
    guarded(|| {
        assert!(Handle::try_current().is_err());
        let dropped = Count::default();
        let guard = OnDrop(dropped.clone());
        let answer = liten::block_on(async {
            drop(liten::spawn(async move {
                let _guard = guard;
                std::future::pending::<()>().await;
            }));
            liten::spawn(async { 42 }).await.unwrap()
        });
        assert_eq!(answer, 42);
        assert_eq!(dropped.get(), 1, "its runtime ends with it");
        assert!(Handle::try_current().is_err());

        let runtime = named(1, "entrd");
        let guard = runtime.enter();
        let name = liten::block_on(async {
            liten::spawn(async { thread::current().name().unwrap().to_owned() }).await.unwrap()
        });
        assert_eq!(name, "entrd-0");
        drop(guard);
        assert!(Handle::try_current().is_err());
    });
}

/// As reqwest's blocking client does it: the runtime has ended when the statement has.
#[test]
fn a_guard_may_outlive_its_runtime() {
    guarded(|| {
        let _entered = Builder::new_current_thread().build().unwrap().enter();
        let task = liten::spawn(async { unreachable!("it is spawned after the end") });
        assert!(smol::block_on(task).unwrap_err().is_cancelled());
        let _local = Builder::new_current_thread().build_local().unwrap().enter();
        drop(Runtime::new().unwrap().handle().clone().enter());
    });
}

#[test]
fn async_code_knows_that_it_must_not_block() {
    guarded(|| {
        let (runtime, current) = (workers(1), Builder::new_current_thread().build().unwrap());
        assert!(may_block());
        for runtime in [&runtime, &current] {
            let _entered = runtime.enter();
            assert!(may_block(), "nothing is polled here");
            assert!(!runtime.handle().block_on(async { may_block() }));
            runtime.block_on(async {
                assert!(!may_block());
                assert!(!liten::spawn(async { may_block() }).await.unwrap());
                assert!(!spawn_pinned(|| async { may_block() }).await.unwrap());
                assert!(liten::spawn_blocking(may_block).await.unwrap());
                // Inside of it a root is async code again.
                let root = || Handle::current().block_on(async { may_block() });
                assert!(!liten::spawn_blocking(root).await.unwrap());
            });
        }
        assert!(runtime.block_on(async { block_in_place(may_block) }));
        let task = runtime.spawn(async { block_in_place(may_block) });
        assert!(runtime.block_on(task).unwrap());
        let local = LocalExecutor::new();
        let task = local.spawn(async { may_block() });
        assert!(!smol::block_on(local.run(task)).unwrap(), "on any executor's thread");
        assert!(may_block());
    });
}

/// A root of one runtime may block on another one: they have nothing to do with each other.
#[test]
fn runtimes_nest_on_one_thread() {
    guarded(|| {
        let (outer, inner) = (named(1, "outer"), named(1, "inner"));
        async fn name() -> String {
            liten::spawn(async { thread::current().name().unwrap().to_owned() }).await.unwrap()
        }
        let names = outer.block_on(async {
            let before = name().await;
            let inside = inner.block_on(name());
            let entered = {
                let _entered = inner.enter();
                liten::spawn(async { thread::current().name().unwrap().to_owned() })
            };
            [before, inside, entered.await.unwrap(), name().await]
        });
        assert_eq!(names, ["outer-0", "inner-0", "inner-0", "outer-0"]);
    });
}

#[test]
fn many_runtimes_live_at_the_same_time() {
    guarded(|| {
        let runtimes: Vec<_> = (0..30).map(|_| workers(2)).collect();
        let tasks: Vec<_> = runtimes
            .iter()
            .enumerate()
            .map(|(i, runtime)| {
                let next = runtimes[(i + 1) % 30].handle().clone();
                runtime.spawn(async move {
                    liten::time::sleep(Duration::from_millis(1)).await;
                    next.spawn(async move { i }).await.unwrap()
                })
            })
            .collect();
        for (i, task) in tasks.into_iter().enumerate() {
            assert_eq!(runtimes[i].block_on(task).unwrap(), i);
        }
    });
}

#[test]
fn two_runtimes_live_side_by_side() {
    guarded(|| {
        let (one, two) = (Runtime::new().unwrap(), Runtime::new().unwrap());
        let (ping, mut pinged) = liten::sync::mpsc::channel::<usize>(1);
        let (pong, mut ponged) = liten::sync::mpsc::channel::<usize>(1);
        let task = two.spawn(async move {
            while let Some(i) = pinged.recv().await {
                pong.send(i + 1).await.unwrap();
            }
        });
        one.block_on(async {
            liten::spawn(async move {
                for i in 0..500 {
                    ping.send(i).await.unwrap();
                    assert_eq!(ponged.recv().await, Some(i + 1));
                }
            })
            .await
            .unwrap();
        });
        drop(one);
        two.block_on(task).unwrap();
    });
}

/// A root that has used its budget up, with messages left, which its destructor takes.
struct Drains<'a> {
    messages: sync::mpsc::Receiver<usize>,
    drained: &'a mut Vec<usize>,
}

impl Future for Drains<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            match self.messages.poll_recv(cx) {
                Poll::Ready(message) => {
                    let message = message.expect("there are more");
                    self.drained.push(message);
                }
                Poll::Pending => return Poll::Ready(()),
            }
        }
    }
}

impl Drop for Drains<'_> {
    fn drop(&mut self) {
        while let Some(Some(message)) = self.messages.recv().now_or_never() {
            self.drained.push(message);
        }
    }
}

#[test]
fn the_destructor_of_a_root_is_not_refused_what_the_root_has_spent() {
    const MESSAGES: usize = 1_000;
    guarded(|| {
        let current_thread = Builder::new_current_thread().build().unwrap();
        for runtime in [workers(1), current_thread] {
            let (sender, messages) = sync::mpsc::channel(MESSAGES);
            (0..MESSAGES).for_each(|message| sender.try_send(message).unwrap());
            let mut drained = Vec::new();
            runtime.block_on(Drains { messages, drained: &mut drained });
            assert!(drained.into_iter().eq(0..MESSAGES));
        }
    });
}
