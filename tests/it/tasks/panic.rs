//! Panics: whatever panics, the worker lives on, and the handle tells.

use crate::support::guard::{guarded, named, until, workers};
use crate::support::probe::{Bell, Count, OnDrop};
use liten::runtime::{LocalRuntime, Runtime};
use liten::time::{Duration, Instant};
use std::collections::HashSet;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, ThreadId};

/// The threads of all `count` workers: each has to come to the barrier.
pub(crate) fn worker_ids(runtime: &Runtime, count: usize) -> HashSet<ThreadId> {
    let barrier = Arc::new(Barrier::new(count));
    let tasks: Vec<_> = (0..count)
        .map(|_| {
            let barrier = Arc::clone(&barrier);
            runtime.spawn(async move {
                barrier.wait();
                thread::current().id()
            })
        })
        .collect();
    let ids: HashSet<_> = runtime.block_on(async {
        let mut ids = HashSet::new();
        for task in tasks {
            ids.insert(task.await.unwrap());
        }
        ids
    });
    assert_eq!(ids.len(), count);
    ids
}

/// Panics when it is dropped.
pub(crate) struct PanicsOnDrop;

impl Drop for PanicsOnDrop {
    fn drop(&mut self) {
        resume_unwind(Box::new("in a destructor"));
    }
}

#[test]
fn a_thousand_panics_cost_no_worker() {
    guarded(|| {
        let runtime = named(4, "panicw");
        let before = worker_ids(&runtime, 4);
        let tasks: Vec<_> = (0..1_000_usize)
            .map(|i| {
                runtime.spawn(async move {
                    if i % 2 == 0 {
                        liten::task::yield_now().await;
                    }
                    // As a panic, without a thousand messages.
                    resume_unwind(Box::new(i));
                })
            })
            .collect();
        runtime.block_on(async {
            for (i, task) in tasks.into_iter().enumerate() {
                let error = task.await.unwrap_err();
                assert!(error.is_panic() && !error.is_cancelled());
                assert_eq!(error.into_panic().downcast_ref(), Some(&i));
            }
        });
        assert_eq!(worker_ids(&runtime, 4), before);
    });
}

#[test]
fn the_payload_reaches_the_handle() {
    guarded(|| {
        let runtime = workers(1);
        runtime.block_on(async {
            let error = liten::spawn(async { panic!("plain") }).await.unwrap_err();
            assert!(error.to_string().ends_with("panicked: plain"), "{error}");
            assert_eq!(error.into_panic().downcast_ref(), Some(&"plain"));

            let number = 7;
            let task = liten::spawn(async move { panic!("number {number}") });
            let id = task.id();
            let error = task.await.unwrap_err();
            assert_eq!(error.id(), id);
            let payload = error.try_into_panic().unwrap();
            assert_eq!(payload.downcast_ref::<String>().unwrap(), "number 7");

            let error = liten::spawn(async { panic_any(vec![1, 2, 3]) }).await.unwrap_err();
            let panics = catch_unwind(AssertUnwindSafe(|| resume_unwind(error.into_panic())));
            assert_eq!(panics.unwrap_err().downcast_ref(), Some(&vec![1, 2, 3]));
        });
    });
}

#[test]
fn the_future_of_a_task_that_panicked_is_dropped() {
    guarded(|| {
        let (runtime, dropped) = (workers(1), Count::default());
        let guard = OnDrop(dropped.clone());
        let task = runtime.spawn(poll_fn(move |_| -> Poll<()> {
            let _kept = &guard;
            resume_unwind(Box::new("in poll"));
        }));
        assert!(runtime.block_on(task).unwrap_err().is_panic());
        assert_eq!(dropped.get(), 1);
    });
}

/// The destructor of a future panics after it was ready, after it was aborted, and after its poll has
/// panicked already.
/// As the variables of an `async` block are: a guard among them poisons its lock.
#[test]
fn the_future_of_a_task_that_panics_is_dropped_in_the_panic() {
    struct Panics(Arc<AtomicBool>);

    impl Future for Panics {
        type Output = ();

        fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
            resume_unwind(Box::new("the poll"));
        }
    }

    impl Drop for Panics {
        fn drop(&mut self) {
            self.0.store(thread::panicking(), Ordering::Relaxed);
        }
    }

    guarded(|| {
        let seen = Arc::new(AtomicBool::new(false));
        let runtime = workers(1);
        let error = runtime.block_on(runtime.spawn(Panics(seen.clone()))).unwrap_err();
        assert_eq!(error.into_panic().downcast_ref(), Some(&"the poll"));
        assert!(seen.swap(false, Ordering::Relaxed), "on a worker");
        let runtime = LocalRuntime::new().unwrap();
        let error = runtime.block_on(runtime.spawn_local(Panics(seen.clone()))).unwrap_err();
        assert_eq!(error.into_panic().downcast_ref(), Some(&"the poll"));
        assert!(seen.load(Ordering::Relaxed), "on the thread of a `LocalRuntime`");
    });
}

#[test]
fn a_panic_in_the_destructor_of_a_future_reaches_the_handle() {
    guarded(|| {
        let runtime = named(2, "panicd");
        let before = worker_ids(&runtime, 2);
        for _ in 0..50 {
            let panics_on_drop = PanicsOnDrop;
            let ready = runtime.spawn(poll_fn(move |_| {
                let _kept = &panics_on_drop;
                Poll::Ready(())
            }));
            assert!(runtime.block_on(ready).unwrap_err().is_panic());

            let panics_on_drop = PanicsOnDrop;
            let waits = runtime.spawn(poll_fn(move |_| {
                let _kept = &panics_on_drop;
                Poll::<()>::Pending
            }));
            waits.abort();
            assert!(runtime.block_on(waits).unwrap_err().is_panic());

            let panics_on_drop = PanicsOnDrop;
            let panics = runtime.spawn(poll_fn(move |_| -> Poll<()> {
                let _kept = &panics_on_drop;
                resume_unwind(Box::new("in poll"));
            }));
            assert!(runtime.block_on(panics).unwrap_err().is_panic());
        }
        assert_eq!(worker_ids(&runtime, 2), before);
        // And once more by the end of the runtime.
        let panics_on_drop = PanicsOnDrop;
        let polled = Count::default();
        let polls = polled.clone();
        let cold = runtime.spawn(poll_fn(move |_| {
            let _kept = &panics_on_drop;
            polls.add();
            Poll::<()>::Pending
        }));
        until(|| polled.get() == 1);
        drop(runtime);
        assert!(smol::block_on(cold).unwrap_err().is_panic());
    });
}

#[test]
fn a_panic_in_the_destructor_of_an_unwanted_output_is_swallowed() {
    guarded(|| {
        let runtime = named(2, "panico");
        let before = worker_ids(&runtime, 2);
        for _ in 0..50 {
            // Dropped by the worker.
            let bell = Bell::default();
            let waits = bell.clone();
            drop(runtime.spawn(async move {
                waits.wait().await;
                PanicsOnDrop
            }));
            bell.ring();
            // Dropped by the handle.
            let task = runtime.spawn(async { PanicsOnDrop });
            until(|| task.is_finished());
            drop(task);
            // A panic's payload that panics in turn.
            drop(runtime.spawn(async { panic_any(PanicsOnDrop) }));
        }
        runtime.block_until_completion();
        assert_eq!(worker_ids(&runtime, 2), before);
    });
}

/// A waker that panics when it is called.
struct Wrath(Count);

impl Wake for Wrath {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.add();
        resume_unwind(Box::new("a waker"));
    }
}

impl Wrath {
    fn waker() -> (Count, Waker) {
        let calls = Count::default();
        (calls.clone(), Waker::from(Arc::new(Self(calls))))
    }
}

#[test]
fn a_waker_of_a_handle_that_panics_costs_no_worker() {
    guarded(|| {
        let runtime = named(2, "panick");
        let before = worker_ids(&runtime, 2);
        for round in 1..=50 {
            let bell = Bell::default();
            let waits = bell.clone();
            let mut task = runtime.spawn(async move { waits.wait().await });
            let (calls, waker) = Wrath::waker();
            assert!(Pin::new(&mut task).poll(&mut Context::from_waker(&waker)).is_pending());
            bell.ring();
            until(|| calls.get() == 1);
            assert!(runtime.block_on(task).is_ok(), "round {round}");
        }
        assert_eq!(worker_ids(&runtime, 2), before);
    });
}

/// The driver calls wakers of users too.
#[test]
fn a_waker_of_a_timer_or_socket_that_panics_stops_neither() {
    guarded(|| {
        for count in [1, 2] {
            let runtime = named(count, "panict");
            let before = worker_ids(&runtime, count);
            runtime.block_on(async {
                let (timer_calls, timer_waker) = Wrath::waker();
                let mut sleep = liten::time::sleep(Duration::MAX);
                let polled = Pin::new(&mut sleep).poll(&mut Context::from_waker(&timer_waker));
                assert!(polled.is_pending());
                Pin::new(&mut sleep).reset(Instant::now() + Duration::from_millis(5));

                let (client, server) = crate::support::loopback::tcp_pair().await;
                let (socket_calls, socket_waker) = Wrath::waker();
                let mut cx = Context::from_waker(&socket_waker);
                let mut readable = Box::pin(server.readable());
                // Readiness is a hint: it takes a failed read, sometimes two, to know that there is nothing.
                while readable.as_mut().poll(&mut cx).is_ready() {
                    assert!(server.try_read(&mut [0; 8]).is_err());
                    readable = Box::pin(server.readable());
                }
                client.try_write(b"x").unwrap();

                // Others whose time comes in the same rounds are served all the same.
                let others: Vec<_> = (0..50)
                    .map(|_| liten::spawn(liten::time::sleep(Duration::from_millis(5))))
                    .collect();
                for other in others {
                    other.await.unwrap();
                }
                while timer_calls.get() == 0 || socket_calls.get() == 0 {
                    liten::time::sleep(Duration::from_millis(1)).await;
                }
                assert_eq!((timer_calls.get(), socket_calls.get()), (1, 1));
            });
            assert_eq!(worker_ids(&runtime, count), before);
        }
    });
}

/// The last reference to a task may go with a waker that panics: on a worker, and anywhere else.
#[test]
fn a_waker_that_panics_when_it_is_dropped_costs_nothing() {
    struct Vase;
    impl Wake for Vase {
        fn wake(self: Arc<Self>) {}
    }
    impl Drop for Vase {
        fn drop(&mut self) {
            resume_unwind(Box::new("a vase"));
        }
    }

    guarded(|| {
        let runtime = named(2, "panicv");
        let before = worker_ids(&runtime, 2);
        for _ in 0..50 {
            let bell = Bell::default();
            let waits = bell.clone();
            let mut task = runtime.spawn(async move { waits.wait().await });
            let waker = Waker::from(Arc::new(Vase));
            assert!(Pin::new(&mut task).poll(&mut Context::from_waker(&waker)).is_pending());
            // From here on the handle has the only one.
            let dropped = catch_unwind(AssertUnwindSafe(|| drop(waker)));
            assert!(dropped.is_ok());
            drop(task);
            bell.ring();
        }
        runtime.block_until_completion();
        assert_eq!(worker_ids(&runtime, 2), before);
    });
}

#[test]
fn a_root_that_panics_leaves_the_runtime_in_order() {
    guarded(|| {
        let runtime = workers(1);
        let local = liten::runtime::LocalRuntime::new().unwrap();
        for _ in 0..100 {
            let root = async {
                liten::task::yield_now().await;
                resume_unwind(Box::new("the root"));
            };
            let caught = catch_unwind(AssertUnwindSafe(|| runtime.block_on(root)));
            assert_eq!(caught.unwrap_err().downcast_ref(), Some(&"the root"));
            assert!(liten::runtime::Handle::try_current().is_err(), "the context was left");
            assert_eq!(runtime.block_on(async { liten::spawn(async { 7 }).await.unwrap() }), 7);

            let root = async {
                liten::task::yield_now().await;
                resume_unwind(Box::new("the root"));
            };
            let caught = catch_unwind(AssertUnwindSafe(|| local.block_on(root)));
            assert_eq!(caught.unwrap_err().downcast_ref(), Some(&"the root"));
            assert!(liten::runtime::Handle::try_current().is_err(), "the context was left");
            let task = async { liten::task::spawn_local(async { 7 }).await.unwrap() };
            assert_eq!(local.block_on(task), 7);
        }
    });
}
