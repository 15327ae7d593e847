//! Locks, channels and combinators: made elsewhere, but they have to work here.

use crate::support::guard::{exactly, guarded, until, workers};
use crate::support::probe::{Count, OnDrop, Report};
use liten::runtime::LocalRuntime;
use liten::sync::{Barrier, Mutex, OnceCell, RwLock, Semaphore, broadcast, oneshot};
use liten::task::{LocalKey, block_in_place, yield_now};
use liten::time::{Duration, Instant, sleep};
use liten::{join, try_join};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

#[test]
fn eight_tasks_count_to_eighty_thousand_under_a_lock() {
    guarded(|| {
        let runtime = workers(4);
        let sum = runtime.block_on(async {
            let counter = Arc::new(Mutex::new(0));
            let tasks = (0..8).map(|_| {
                let counter = Arc::clone(&counter);
                liten::spawn(async move {
                    for i in 0..10_000 {
                        let mut guard = counter.lock().await;
                        let read = *guard;
                        if i % 100 == 0 {
                            // The guard is held across an await.
                            yield_now().await;
                        }
                        *guard = read + 1;
                    }
                })
            });
            for task in tasks.collect::<Vec<_>>() {
                task.await.unwrap();
            }
            *counter.lock().await
        });
        assert_eq!(sum, 80_000);
    });
}

/// A task that has waited gets the lock before those that come later.
#[test]
fn the_lock_is_given_in_the_order_of_waiting() {
    guarded(|| {
        let runtime = workers(2);
        let lock = Arc::new(Mutex::new(VecDeque::new()));
        runtime.block_on(async {
            let guard = lock.lock().await;
            let mut tasks = Vec::new();
            for i in 0..50 {
                let (lock, report) = (Arc::clone(&lock), Report::default());
                let spy = report.clone();
                tasks.push(liten::spawn(async move {
                    let mut locking = std::pin::pin!(lock.lock());
                    std::future::poll_fn(|cx| {
                        let polled = locking.as_mut().poll(cx);
                        // Tells that it stands in the queue.
                        let _ = std::pin::pin!(spy.spy()).poll(cx);
                        polled
                    })
                    .await
                    .push_back(i);
                }));
                while report.polls() == 0 {
                    yield_now().await;
                }
            }
            drop(guard);
            for task in tasks {
                task.await.unwrap();
            }
        });
        assert_eq!(*lock.try_lock().unwrap(), (0..50).collect::<VecDeque<_>>());
    });
}

#[test]
fn the_loser_of_a_select_is_dropped() {
    guarded(|| {
        let (runtime, dropped) = (workers(1), Count::default());
        let guard = OnDrop(dropped.clone());
        runtime.block_on(async {
            let winner = {
                let slow = async move {
                    let _guard = guard;
                    sleep(Duration::MAX).await;
                };
                liten::select! {
                    () = slow => "slow",
                    () = sleep(Duration::from_millis(1)) => "quick",
                }
            };
            assert_eq!((winner, dropped.get()), ("quick", 1));
        });
    });
}

#[test]
fn joined_sleeps_take_as_long_as_one() {
    guarded(|| {
        let each = Duration::from_millis(50);
        let joined = async || {
            let start = Instant::now();
            join!(sleep(each), sleep(each));
            start.elapsed()
        };
        // A clock that stands still jumps from deadline to deadline; that of the system shows more.
        let paused = exactly(1).start_paused(true).build().unwrap();
        assert_eq!(paused.block_on(joined()), each);
        workers(1).block_on(async {
            assert!(joined().await >= each);
            let failing = async {
                sleep(Duration::from_millis(1)).await;
                Err::<(), _>("failed")
            };
            let endless = async {
                sleep(Duration::MAX).await;
                Ok::<(), &str>(())
            };
            assert_eq!(try_join!(failing, endless), Err("failed"));
        });
    });
}

#[test]
fn the_other_primitives_work() {
    guarded(|| {
        let runtime = workers(2);
        runtime.block_on(async {
            let (semaphore, inside) = (Arc::new(Semaphore::new(3)), Count::default());
            let left = Count::default();
            let barrier = Arc::new(Barrier::new(20));
            let cell = Arc::new(OnceCell::new());
            let shared = Arc::new(RwLock::new(0));
            let made = Count::default();
            let tasks = (0..20).map(|_| {
                let (semaphore, barrier) = (Arc::clone(&semaphore), Arc::clone(&barrier));
                let (cell, shared, made) = (Arc::clone(&cell), Arc::clone(&shared), made.clone());
                let (inside, left) = (inside.clone(), left.clone());
                liten::spawn(async move {
                    barrier.wait().await;
                    let permit = semaphore.acquire().await.unwrap();
                    let entered = inside.add();
                    assert!(entered <= left.get() + 3, "more than three hold a permit");
                    yield_now().await;
                    left.add();
                    drop(permit);
                    let id = cell.get_or_init(|| async { made.add() }).await;
                    *shared.write().await += id;
                    yield_now().await;
                    assert!(*shared.read().await > 0);
                })
            });
            for task in tasks.collect::<Vec<_>>() {
                task.await.unwrap();
            }
            assert_eq!((made.get(), *shared.read().await), (1, 20));
            let (sender, receiver) = oneshot::channel();
            drop(liten::spawn(async move { sender.send(7) }));
            assert_eq!(receiver.await, Ok(7));
            let (sender, receiver) = oneshot::channel::<()>();
            drop(sender);
            assert!(receiver.await.is_err());
        });
    });
}

type BlockingCall = (&'static str, Box<dyn FnOnce() + Send>);

/// What is refused where it would block the thread of tasks, with what would be ready at once.
fn blocking_calls() -> Vec<BlockingCall> {
    let semaphore = Arc::new(Semaphore::new(8));
    let permits = [(); 4].map(|()| semaphore.clone());
    let [one, many, owned, many_owned] = permits;
    let lock = Arc::new(Mutex::new(()));
    let shared = Arc::new(RwLock::new(()));
    let (mutex, owned_mutex, reads, writes) =
        (lock.clone(), lock.clone(), shared.clone(), shared.clone());
    let (sender, receiver) = oneshot::channel();
    sender.send(()).unwrap();
    let (casts, mut hears) = broadcast::channel(1);
    casts.send(()).unwrap();
    // Fails if a call has taken something and not given it back.
    let last = move || {
        assert_eq!(semaphore.available_permits(), 8);
        assert!(lock.try_lock().is_ok() && shared.try_write().is_ok());
        drop(lock.blocking_lock());
    };
    vec![
        ("blocking_acquire", Box::new(move || drop(one.blocking_acquire()))),
        ("blocking_acquire_many", Box::new(move || drop(many.blocking_acquire_many(2)))),
        ("blocking_acquire_owned", Box::new(move || drop(owned.blocking_acquire_owned()))),
        (
            "blocking_acquire_many_owned",
            Box::new(move || drop(many_owned.blocking_acquire_many_owned(2))),
        ),
        ("blocking_lock", Box::new(move || drop(mutex.blocking_lock()))),
        ("blocking_lock_owned", Box::new(move || drop(owned_mutex.blocking_lock_owned()))),
        ("blocking_read", Box::new(move || drop(reads.blocking_read()))),
        ("blocking_write", Box::new(move || drop(writes.blocking_write()))),
        ("blocking_recv", Box::new(move || receiver.blocking_recv().unwrap())),
        ("Receiver::blocking_recv", Box::new(move || hears.blocking_recv().unwrap())),
        ("blocking_lock", Box::new(last)),
    ]
}

#[test]
fn blocking_calls_are_refused_in_tasks_and_roots() {
    fn refused() {
        for (name, call) in blocking_calls() {
            let panic = catch_unwind(AssertUnwindSafe(call)).expect_err(name);
            let said = panic.downcast_ref::<String>().unwrap();
            assert!(said.contains(&format!("{name} called in async code")), "{said}");
        }
    }
    fn allowed() {
        blocking_calls().into_iter().for_each(|(_, call)| call());
    }

    guarded(|| {
        allowed();
        let local = LocalRuntime::new().unwrap();
        local.block_on(async { refused() });
        local.block_on(local.spawn_local(async { refused() })).unwrap();
        let runtime = workers(1);
        runtime.block_on(async { refused() });
        runtime.block_on(runtime.spawn(async { refused() })).unwrap();
        runtime.block_on(runtime.spawn(async { block_in_place(allowed) })).unwrap();
        runtime.block_on(runtime.spawn_blocking(allowed)).unwrap();
    });
}

/// The documentation says so.
#[test]
fn channels_of_tokio_work_too() {
    guarded(|| {
        let runtime = workers(2);
        let sum: usize = runtime.block_on(async {
            let (sender, mut receiver) = tokio::sync::mpsc::channel(4);
            for i in 0..100 {
                let sender = sender.clone();
                drop(liten::spawn(async move { sender.send(i).await }));
            }
            drop(sender);
            let mut sum = 0;
            while let Some(i) = receiver.recv().await {
                sum += i;
            }
            sum
        });
        assert_eq!(sum, 4_950);
    });
}

liten::task_local! {
    static REQUEST: usize;
}

/// A task's own value follows it from worker to worker, and is no other task's.
#[test]
fn task_locals_stay_with_their_task() {
    fn key() -> &'static LocalKey<usize> {
        &REQUEST
    }

    guarded(|| {
        let runtime = workers(4);
        let tasks: Vec<_> = (0..200)
            .map(|i| {
                runtime.spawn(REQUEST.scope(i, async move {
                    for _ in 0..20 {
                        assert_eq!(key().get(), i);
                        yield_now().await;
                    }
                    assert!(liten::spawn(async { REQUEST.try_get() }).await.unwrap().is_err());
                    REQUEST.get()
                }))
            })
            .collect();
        runtime.block_on(async {
            for (i, task) in tasks.into_iter().enumerate() {
                assert_eq!(task.await.unwrap(), i);
            }
        });
        until(|| runtime.metrics().num_alive_tasks() == 0);
    });
}
