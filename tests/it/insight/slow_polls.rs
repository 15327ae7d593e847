//! One poll that holds up its worker is told of, whatever the other workers do.

use crate::support::guard::{exactly, guarded, until, within};
use crate::support::waiting::until_waiting;
use liten::runtime::{Builder, Handle, Runtime, SlowPoll};
use liten::sync::oneshot;
use liten::task::{self, TaskId};
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

/// Whether it is a poll of that task. Others are of workers that the system does not let run.
fn is_of(slow: &SlowPoll, id: TaskId) -> bool {
    slow.task().is_some_and(|task| task.id() == id)
}

#[test]
fn a_slow_poll_is_told_of_once_while_another_worker_is_idle() {
    guarded(|| {
        let (runtime, told) = telling(2, 50 * MS);
        let (release, held) = mpsc::channel::<()>();
        let (task, line) = (runtime.spawn(async move { _ = held.recv() }), line!());
        let id = task.id();
        let slow = told.iter().find(|slow| is_of(slow, id)).unwrap();
        assert_eq!(slow.task().unwrap().spawned_at().line(), line);
        assert!(slow.duration() >= 50 * MS && slow.worker() < 2, "{slow}");
        assert!(runtime.metrics().slow_poll_count() >= 1);
        let text = slow.to_string();
        assert!(text.contains(&format!("{}:{line}:", file!())), "{text}");
        assert!(text.contains("has held up worker "), "{text}");
        thread::sleep(150 * MS);
        drop(release);
        runtime.block_on(task).unwrap();
        // The runtime's end drops the function, and with it the sender.
        drop(runtime);
        assert!(!told.iter().any(|slow| is_of(&slow, id)), "once");
    });
}

/// Twice as long as the rounds of [`rounds_until_half`] block.
pub(super) const ALL_ROUNDS: Duration = Duration::from_secs(250);

/// Makes 20 blocks of 200 ms. While fewer than half of them are named, makes 20 that are twice as long, in
/// five rounds at the most. Returns how many were named in each round before that.
pub(super) fn rounds_until_half(mut is_named: impl FnMut(Duration) -> bool) -> Vec<usize> {
    let lengths = (0..5_u32).map(|round| (200_u32 << round) * MS);
    let rounds = lengths.map(|length| (0..20).filter(|_| is_named(length)).count());
    rounds.take_while(|&named| named < 10).collect()
}

/// With the settings of a runtime that says nothing of slow polls. On a machine that is busy with something
/// else, the look may come too late, or find a thread that runs: so half of them are enough, and if fewer are
/// named, they are made longer.
#[cfg(target_os = "linux")]
#[test]
fn blocks_of_200_ms_are_named_with_their_place_and_call() {
    within(ALL_ROUNDS, || {
        let (sender, told) = mpsc::channel();
        let tell = move |slow: &SlowPoll| drop(sender.send(slow.clone()));
        let runtime = exactly(2).on_slow_poll(tell).build().unwrap();
        let line = line!() + 1;
        let block = |length| runtime.spawn(async move { thread::sleep(length) });
        let place = format!("{}:{line}:", file!());
        let mut seen = Vec::new();
        let is_named = |length| {
            let task = block(length);
            let id = task.id();
            runtime.block_on(task).unwrap();
            // Those of earlier ones may have come late.
            let Some(slow) = told.try_iter().find(|slow| is_of(slow, id)) else { return false };
            let text = slow.to_string();
            // However long the block is, the looks have counted 100 ms, and hardly more.
            assert!((100 * MS..200 * MS).contains(&slow.duration()), "{text}");
            assert!(text.contains(&place), "{text}");
            let is_named = text.contains("nanosleep");
            seen.push(text);
            is_named
        };
        let named = rounds_until_half(is_named);
        assert!(named.len() < 5, "{named:?} of 20 each: {seen:?}");
    });
}

/// Each is shorter, and so is the time between two looks. On a machine that is busy with something else, one
/// of them may be long: then all of it once more.
#[test]
fn polls_that_follow_each_other_are_not_one_slow_poll() {
    guarded(|| {
        let is_silent = |_| {
            let (runtime, told) = telling(1, 500 * MS);
            let task = runtime.spawn(async {
                let begin = Instant::now();
                while begin.elapsed() < 1_000 * MS {
                    thread::sleep(MS);
                    liten::task::yield_now().await;
                }
            });
            runtime.block_on(task).unwrap();
            told.try_recv().is_err() && runtime.metrics().slow_poll_count() == 0
        };
        assert!((0..5).any(is_silent));
    });
}

/// On a machine that is busy with something else, the worker may be held up before it says so, or after: then
/// all of it once more.
#[test]
fn a_worker_that_says_that_it_blocks_is_not_slow() {
    guarded(|| {
        let is_silent = |_| {
            let (runtime, told) = telling(1, 200 * MS);
            let task = runtime.spawn(async { task::block_in_place(|| thread::sleep(600 * MS)) });
            runtime.block_on(task).unwrap();
            told.try_recv().is_err()
        };
        assert!((0..5).any(is_silent));
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
        until(|| runtime.metrics().slow_poll_count() >= 1);
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
        let (go, gone) = oneshot::channel::<()>();
        let holds = async move {
            // A name is found after the first wait.
            gone.await.unwrap();
            _ = held.recv();
        };
        let builder = task::Builder::new().name("holds");
        let id = builder.spawn_on(holds, runtime.handle()).unwrap().id();
        until_waiting(&runtime, 1);
        go.send(()).unwrap();
        // On a machine that is busy with something else, the poll before the wait may have been slow, too.
        let is_named = |slow: SlowPoll| slow.to_string().contains(" \"holds\", spawned at");
        assert!(told.iter().any(|slow| is_of(&slow, id) && is_named(slow)));
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
