//! One poll that holds up its worker is told of, whatever the other workers do.

use crate::support::guard::{exactly, guarded, until};
use liten::runtime::{Builder, Handle, Runtime, SlowPoll};
use liten::task;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);

fn telling(count: usize, threshold: Duration) -> (Runtime, Receiver<SlowPoll>) {
    let (sender, told) = mpsc::channel();
    let runtime = exactly(count)
        .slow_poll_threshold(threshold)
        .on_slow_poll(move |slow| drop(sender.send(slow.clone())))
        .build()
        .unwrap();
    (runtime, told)
}

#[test]
fn a_slow_poll_is_told_of_once_while_another_worker_is_idle() {
    guarded(|| {
        let (runtime, told) = telling(2, 50 * MS);
        let (release, held) = mpsc::channel::<()>();
        let (task, line) = (runtime.spawn(async move { _ = held.recv() }), line!());
        let slow = told.recv().unwrap();
        let seen = slow.task().unwrap();
        assert_eq!((seen.id(), seen.spawned_at().line()), (task.id(), line));
        assert!(slow.duration() >= 50 * MS && slow.worker() < 2, "{slow}");
        assert_eq!(runtime.metrics().slow_poll_count(), 1);
        let text = slow.to_string();
        assert!(text.contains(&format!("{}:{line}:", file!())), "{text}");
        assert!(text.contains("has held up worker "), "{text}");
        thread::sleep(150 * MS);
        assert!(told.try_recv().is_err(), "once");
        drop(release);
        runtime.block_on(task).unwrap();
        assert_eq!(runtime.metrics().slow_poll_count(), 1);
    });
}

/// Makes 20 blocks, and again until half of them are named, five times at the most. Returns how many were
/// named in each round before that.
pub(super) fn rounds_until_half(mut is_named: impl FnMut() -> bool) -> Vec<usize> {
    let rounds = (0..5).map(|_| (0..20).filter(|_| is_named()).count());
    rounds.take_while(|&named| named < 10).collect()
}

/// Once, with the settings of a runtime that says nothing of slow polls. On a machine that is busy with
/// something else, the look may come too late, or find a thread that runs: so half of them are enough, and if
/// fewer are named, all are made once more.
#[cfg(target_os = "linux")]
#[test]
fn blocks_of_200_ms_are_named_with_their_place_and_call() {
    guarded(|| {
        let (sender, told) = mpsc::channel();
        let tell = move |slow: &SlowPoll| drop(sender.send(slow.clone()));
        let runtime = exactly(2).on_slow_poll(tell).build().unwrap();
        let line = line!() + 1;
        let block = || runtime.spawn(async { thread::sleep(200 * MS) });
        let place = format!("{}:{line}:", file!());
        let mut seen = Vec::new();
        let is_named = || {
            let task = block();
            let id = task.id();
            runtime.block_on(task).unwrap();
            // Those of earlier ones may have come late.
            let of_task = |slow: &SlowPoll| slow.task().is_some_and(|task| task.id() == id);
            let Some(slow) = told.try_iter().find(of_task) else { return false };
            let text = slow.to_string();
            assert!(slow.duration() >= 100 * MS && text.contains(&place), "{text}");
            let is_named = text.contains("nanosleep");
            seen.push(text);
            is_named
        };
        let named = rounds_until_half(is_named);
        assert!(named.len() < 5, "{named:?} of 20 each: {seen:?}");
    });
}

/// Each is shorter, and so is the time between two looks.
#[test]
fn polls_that_follow_each_other_are_not_one_slow_poll() {
    guarded(|| {
        let (runtime, told) = telling(1, 500 * MS);
        let task = runtime.spawn(async {
            let begin = Instant::now();
            while begin.elapsed() < 1_000 * MS {
                thread::sleep(MS);
                liten::task::yield_now().await;
            }
        });
        runtime.block_on(task).unwrap();
        assert!(told.try_recv().is_err());
        assert_eq!(runtime.metrics().slow_poll_count(), 0);
    });
}

#[test]
fn a_worker_that_says_that_it_blocks_is_not_slow() {
    guarded(|| {
        let (runtime, told) = telling(1, 200 * MS);
        let task = runtime.spawn(async { liten::task::block_in_place(|| thread::sleep(600 * MS)) });
        runtime.block_on(task).unwrap();
        assert!(told.try_recv().is_err());
    });
}

#[test]
fn a_panic_of_the_function_is_its_own_affair() {
    guarded(|| {
        let runtime = exactly(1)
            .slow_poll_threshold(20 * MS)
            .on_slow_poll(|_| panic!("on purpose"))
            .build()
            .unwrap();
        let (release, held) = mpsc::channel::<()>();
        let task = runtime.spawn(async move { _ = held.recv() });
        until(|| runtime.metrics().slow_poll_count() == 1);
        drop(release);
        runtime.block_on(task).unwrap();
        runtime.block_on(runtime.spawn(liten::time::sleep(MS))).unwrap();
    });
}

/// While both workers are blocked, the watchdog waits for events, and calls the function. It lets a worker
/// that has become idle wait for them meanwhile.
#[test]
fn a_function_that_takes_long_holds_up_no_timer() {
    guarded(|| {
        let (entered, is_in) = mpsc::channel();
        let (release, held) = mpsc::channel::<()>();
        let held = Mutex::new(held);
        let runtime = exactly(2)
            .slow_poll_threshold(20 * MS)
            .on_slow_poll(move |_| {
                entered.send(()).unwrap();
                _ = held.lock().unwrap().recv();
            })
            .build()
            .unwrap();
        let block = || {
            let (end, rest) = mpsc::channel::<()>();
            (end, runtime.spawn(async move { _ = rest.recv() }))
        };
        let ((end, slow), (free, other)) = (block(), block());
        is_in.recv().unwrap();
        drop(free);
        let (woken, is_woken) = mpsc::channel();
        runtime.spawn(async move {
            liten::time::sleep(10 * MS).await;
            woken.send(()).unwrap();
        });
        let in_time = is_woken.recv_timeout(Duration::from_secs(10));
        drop((release, end));
        in_time.unwrap();
        runtime.block_on(async { (slow.await.unwrap(), other.await.unwrap()) });
    });
}

#[test]
fn a_threshold_of_nothing_is_refused() {
    let error = Builder::new_multi_thread().slow_poll_threshold(Duration::ZERO).build();
    assert!(error.unwrap_err().to_string().contains("slow_poll_threshold"));
    let runtime = exactly(1).slow_poll_threshold(Duration::MAX).build().unwrap();
    runtime.block_on(runtime.spawn(async { thread::sleep(200 * MS) })).unwrap();
    assert_eq!(runtime.metrics().slow_poll_count(), 0);
}

#[test]
fn a_named_task_is_told_of_by_its_name() {
    guarded(|| {
        let (runtime, told) = telling(1, 50 * MS);
        let (release, held) = mpsc::channel::<()>();
        let holds = async move {
            // A name is found after the first wait.
            liten::time::sleep(MS).await;
            _ = held.recv();
        };
        let builder = task::Builder::new().name("holds");
        drop(builder.spawn_on(holds, runtime.handle()).unwrap());
        let slow = told.recv().unwrap();
        assert!(slow.to_string().contains(" \"holds\", spawned at"), "{slow}");
        drop(release);
    });
}

/// Or a runtime and its function would keep each other in memory for ever.
#[test]
fn the_function_is_dropped_when_the_runtime_ends() {
    guarded(|| {
        let handle = Arc::new(OnceLock::<Handle>::new());
        let builder = |mut builder: Builder| {
            let handle = handle.clone();
            builder.worker_threads(1).on_slow_poll(move |_| drop(handle.get().cloned()));
            builder
        };
        let ends: [fn(Runtime); 3] = [
            drop,
            |runtime| drop(runtime.shutdown_timeout(Duration::from_secs(100))),
            |runtime| runtime.shutdown_background(),
        ];
        for end in ends {
            let runtime = builder(Builder::new_multi_thread()).build().unwrap();
            let _ = handle.set(runtime.handle().clone());
            runtime.block_on(runtime.spawn(async {})).unwrap();
            end(runtime);
            assert_eq!(Arc::strong_count(&handle), 1);
        }
    });
}
