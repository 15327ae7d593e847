//! How tasks, handles and runtimes end when the end is not the usual one.

use crate::support::guard::{guarded, until, workers};
use liten::runtime::{Builder, LocalRuntime};
use liten::task::{LocalExecutor, yield_now};
use std::future::{Future, pending};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker};
use std::thread;
use std::time::Duration;

/// A task that blocks its worker until the sender goes away; returns once it has begun.
fn stuck_worker(runtime: &liten::runtime::Runtime) -> mpsc::Sender<()> {
    let (release, held) = mpsc::channel::<()>();
    let (begun, begin) = mpsc::channel();
    runtime.spawn(async move {
        begun.send(()).unwrap();
        let _ = held.recv();
    });
    begin.recv().unwrap();
    release
}

#[test]
fn a_bounded_shutdown_leaves_a_stuck_worker_behind() {
    guarded(|| {
        for timeout in [Duration::ZERO, Duration::from_millis(30)] {
            let runtime = workers(1);
            let release = stuck_worker(&runtime);
            runtime.shutdown_timeout(timeout);
            // Only now: a shutdown that waited for the task would hang above.
            drop(release);
        }
    });
}

/// Destructors that wake the next task of a long chain do not recurse, also on a thread that is no worker.
#[test]
fn a_long_chain_of_joins_is_dropped_without_recursion() {
    guarded(|| {
        let runtime = workers(1);
        let last = runtime.block_on(async {
            let mut previous = liten::spawn(pending::<()>());
            for _ in 0..50_000 {
                previous = liten::spawn(async move {
                    let _ = previous.await;
                });
            }
            yield_until_cold(50_001).await;
            Some(previous)
        });
        let last = last.expect("just made");
        let release = stuck_worker(&runtime);
        runtime.shutdown_background();
        drop(release);
        until(|| last.is_finished());
    });
}

async fn yield_until_cold(tasks: usize) {
    let metrics = liten::runtime::Handle::current().metrics();
    while metrics.num_cold_tasks() < tasks {
        yield_now().await;
    }
}

/// A complete task keeps no waker of its joiner; a kept handle therefore keeps one task and not the
/// whole chain.
#[test]
fn a_kept_abort_handle_does_not_keep_the_chain_behind_it() {
    guarded(|| {
        let runtime = workers(2);
        runtime.block_on(async {
            let mut previous = liten::spawn(yield_now());
            let kept = previous.abort_handle();
            for _ in 0..100_000 {
                previous = liten::spawn(async move { previous.await.unwrap() });
            }
            previous.await.unwrap();
            drop(kept);
        });
    });
}

#[test]
fn a_joined_task_lets_go_of_a_foreign_waker() {
    guarded(|| {
        let runtime = workers(1);
        let waker = Arc::new(Silent);
        let mut join = runtime.spawn(yield_now());
        let kept = join.abort_handle();
        {
            let waker = Waker::from(waker.clone());
            let mut cx = Context::from_waker(&waker);
            while Pin::new(&mut join).poll(&mut cx).is_pending() {
                thread::yield_now();
            }
        }
        drop(join);
        until(|| Arc::strong_count(&waker) == 1);
        drop(kept);
    });
}

struct Silent;

impl Wake for Silent {
    fn wake(self: Arc<Self>) {}
}

#[test]
fn a_local_runtime_may_live_in_a_thread_local() {
    thread_local! {
        static RUNTIME: LocalRuntime = LocalRuntime::new().unwrap();
    }
    guarded(|| {
        let answer = thread::spawn(|| {
            RUNTIME.with(|runtime| {
                runtime.spawn_local(pending::<()>());
                runtime.block_on(async { liten::task::spawn_local(async { 42 }).await.unwrap() })
            })
        });
        assert_eq!(answer.join().unwrap(), 42);
    });
}

/// Calls that never spawn leave no wakers behind.
#[test]
fn many_calls_of_run_leave_nothing_behind() {
    guarded(|| {
        let executor = LocalExecutor::new();
        let waker = Arc::new(Silent);
        for _ in 0..100 {
            let mut run = pin!(executor.run(pending::<()>()));
            let waker = Waker::from(waker.clone());
            assert!(run.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        }
        assert_eq!(Arc::strong_count(&waker), 1);
    });
}

/// A late spawn from another thread, whose destructor waits for the executor's end, does not hold that
/// end up.
#[test]
fn a_late_spawn_does_not_hold_up_the_end_of_a_local_runtime() {
    struct OnDrop<F: FnOnce()>(Option<F>);
    impl<F: FnOnce()> Drop for OnDrop<F> {
        fn drop(&mut self) {
            self.0.take().unwrap()();
        }
    }
    guarded(|| {
        let runtime = LocalRuntime::new().unwrap();
        let handle = runtime.handle().clone();
        let (ended, end) = mpsc::channel::<()>();
        let dropping = Arc::new(AtomicBool::new(false));
        let destroying = Arc::new(AtomicBool::new(false));
        let foreign = {
            let (dropping, destroying) = (dropping.clone(), destroying.clone());
            thread::spawn(move || {
                until(|| dropping.load(Ordering::Acquire));
                let late = OnDrop(Some(move || {
                    destroying.store(true, Ordering::Release);
                    let _ = end.recv();
                }));
                handle.spawn(async move { drop(late) });
            })
        };
        let early = OnDrop(Some(move || {
            dropping.store(true, Ordering::Release);
            until(|| destroying.load(Ordering::Acquire));
        }));
        runtime.spawn_local(async move {
            pending::<()>().await;
            drop(early);
        });
        drop(runtime);
        drop(ended);
        foreign.join().unwrap();
    });
}

#[test]
fn completion_includes_the_destructor_of_a_detached_output() {
    struct Slow(Arc<AtomicBool>);
    impl Drop for Slow {
        fn drop(&mut self) {
            thread::sleep(Duration::from_millis(50));
            self.0.store(true, Ordering::Release);
        }
    }
    guarded(|| {
        let runtime = workers(2);
        let dropped = Arc::new(AtomicBool::new(false));
        let output = Slow(dropped.clone());
        drop(runtime.spawn(async move {
            yield_now().await;
            output
        }));
        runtime.block_until_completion();
        assert!(dropped.load(Ordering::Acquire));
    });
}

/// A waker whose clone wakes a task of the very executor that clones it.
#[test]
fn wakers_may_do_anything_when_they_are_cloned() {
    static CLONES: AtomicUsize = AtomicUsize::new(0);
    static TASK: std::sync::Mutex<Option<Waker>> = std::sync::Mutex::new(None);
    static TABLE: RawWakerVTable = RawWakerVTable::new(
        |data| {
            CLONES.fetch_add(1, Ordering::Relaxed);
            let task = TASK.lock().unwrap().take();
            if let Some(task) = task {
                task.wake();
            }
            RawWaker::new(data, &TABLE)
        },
        |_| {},
        |_| {},
        |_| {},
    );
    guarded(|| {
        let polls = std::cell::Cell::new(0);
        let executor = LocalExecutor::new();
        let task = executor.spawn(std::future::poll_fn(|cx| {
            polls.set(polls.get() + 1);
            *TASK.lock().unwrap() = Some(cx.waker().clone());
            if polls.get() == 3 { Poll::Ready(()) } else { Poll::Pending }
        }));
        let mut run = pin!(executor.run(task));
        #[allow(unsafe_code)]
        // SAFETY: the table's functions do nothing with the data and wakers of it are interchangeable.
        let waker = unsafe { Waker::from_raw(RawWaker::new(std::ptr::null(), &TABLE)) };
        for _ in 0..10 {
            if run.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
                assert!(CLONES.load(Ordering::Relaxed) > 0);
                return;
            }
            let task = TASK.lock().unwrap().take();
            if let Some(task) = task {
                task.wake();
            }
        }
        panic!("the task was woken often enough");
    });
}

/// Waits, on a thread that is no worker of it, until `handle`'s runtime takes no more tasks.
fn until_closed(handle: &liten::runtime::Handle) {
    until(|| {
        let probe = handle.spawn(pending::<()>());
        let closed = probe.is_finished();
        probe.abort();
        closed
    });
}

/// A wake from outside during shutdown only queues: it never runs other tasks' destructors under the
/// waker's locks.
#[test]
fn a_wake_during_shutdown_runs_no_destructor_on_the_waking_thread() {
    type Slot = Arc<std::sync::Mutex<Option<Waker>>>;
    struct Locks(Slot);
    impl Drop for Locks {
        fn drop(&mut self) {
            drop(self.0.lock());
        }
    }
    guarded(|| {
        let runtime = workers(1);
        let slot: Slot = Slot::default();
        let left = slot.clone();
        runtime.spawn(std::future::poll_fn(move |cx| {
            *left.lock().unwrap() = Some(cx.waker().clone());
            Poll::<()>::Pending
        }));
        let locks = Locks(slot.clone());
        runtime.spawn(async move {
            pending::<()>().await;
            drop(locks);
        });
        runtime.block_on(yield_until_cold(2));
        let release = stuck_worker(&runtime);
        let handle = runtime.handle().clone();
        let dropping = thread::spawn(move || drop(runtime));
        until_closed(&handle);
        let mut guard = slot.lock().unwrap();
        if let Some(waker) = guard.take() {
            waker.wake();
        }
        drop(guard);
        drop(release);
        dropping.join().unwrap();
    });
}

/// Destructors that spawn during shutdown do not recurse into each other.
#[test]
fn destructors_may_spawn_during_shutdown() {
    struct Spawns(liten::runtime::Handle);
    impl Drop for Spawns {
        fn drop(&mut self) {
            self.0.spawn(async {});
        }
    }
    guarded(|| {
        let runtime = workers(1);
        let release = stuck_worker(&runtime);
        for _ in 0..50_000 {
            let spawns = Spawns(runtime.handle().clone());
            runtime.spawn(async move { drop(spawns) });
        }
        let handle = runtime.handle().clone();
        let dropping = thread::spawn(move || drop(runtime));
        until_closed(&handle);
        drop(handle.spawn(async {}));
        drop(release);
        dropping.join().unwrap();
    });
}

/// A poll that is under way may wait for a thread that waits for a timer of the same runtime: timers run
/// to the end.
#[test]
fn timers_run_until_the_last_poll_is_over() {
    guarded(|| {
        let runtime = workers(1);
        let handle = runtime.handle().clone();
        let (begun, begin) = mpsc::channel();
        runtime.spawn(async move {
            begun.send(()).unwrap();
            let other = thread::spawn(move || {
                until_closed(&handle);
                handle.block_on(async { liten::time::sleep(Duration::from_millis(20)).await });
            });
            other.join().unwrap();
        });
        begin.recv().unwrap();
        drop(runtime);
    });
}

#[test]
fn waiting_for_nothing_leaves_nothing_behind() {
    guarded(|| {
        let runtime = workers(1);
        for _ in 0..1_000 {
            runtime.block_until_completion();
        }
        // Woken for a later task as if the earlier calls had never been.
        let (release, held) = liten::sync::oneshot::channel::<()>();
        let task = runtime.spawn(held);
        let waiting = {
            let handle = runtime.handle().clone();
            thread::spawn(move || {
                until(|| handle.metrics().num_cold_tasks() == 1);
                release.send(()).unwrap();
            })
        };
        runtime.block_until_completion();
        assert!(task.is_finished());
        waiting.join().unwrap();
    });
}

/// A worker that was started a moment ago and blocks with a task in its queue: a peer comes for that task.
#[test]
fn a_task_behind_a_fresh_worker_that_blocks_is_not_stranded() {
    guarded(|| {
        for _ in 0..200 {
            let runtime = workers(2);
            let (sender, receiver) = mpsc::channel();
            let task = runtime.spawn(async move {
                liten::spawn(async move { sender.send(()).unwrap() });
                receiver.recv().unwrap();
            });
            runtime.block_on(task).unwrap();
        }
    });
}

/// What the program gave to a runtime goes with it, and so do its descriptors.
#[test]
fn nothing_of_a_runtime_outlives_it() {
    guarded(|| {
        for paused in [false, true] {
            let mut multi_thread = Builder::new_multi_thread();
            multi_thread.worker_threads(2);
            for mut builder in [multi_thread, Builder::new_current_thread()] {
                let given = Arc::new(());
                let kept = given.clone();
                builder
                    .start_paused(paused)
                    .on_task_spawn(move |_| assert!(Arc::strong_count(&kept) > 1));
                let runtime = builder.build().unwrap();
                runtime.block_on(async {
                    liten::spawn(async {}).await.unwrap();
                    liten::task::spawn_pinned(|| async {}).await.unwrap();
                    liten::spawn_blocking(|| ()).await.unwrap();
                    liten::time::sleep(Duration::from_millis(1)).await;
                });
                drop((runtime, builder));
                until(|| Arc::strong_count(&given) == 1);
            }
        }
    });
}
