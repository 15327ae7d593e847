//! Time that stands still: it moves by hand, or by itself when nothing else is left to do.

mod on_workers;

use crate::support::guard::guarded;
use crate::support::loopback::poll_once;
use liten::join;
use liten::runtime::{Builder, LocalRuntime};
use liten::task::{spawn_blocking, spawn_local, yield_now};
use liten::time::{
    self, Duration, Instant, MissedTickBehavior, interval, sleep, sleep_until, timeout,
};
use std::cell::{Cell, RefCell};
use std::future::{Future, pending};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::mpsc;
use std::thread;

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3_600);
const YEAR: Duration = Duration::from_secs(365 * 86_400);
/// What is left of an hour when the clock goes on.
const SOON: Duration = Duration::from_millis(30);

fn paused() -> LocalRuntime {
    Builder::new_current_thread().start_paused(true).build_local().unwrap()
}

/// Runs `test` in a runtime whose clock stands still.
fn still<F: Future>(test: F) -> F::Output {
    guarded(|| paused().block_on(test))
}

/// The join takes as long as one of its sleeps, exactly; one after the other they take as long as both.
#[test]
fn joined_sleeps_overlap() {
    still(async {
        let (start, each) = (Instant::now(), Duration::from_millis(50));
        // Begins when it is polled, not when the join is made.
        let half = || async move { sleep(each).await };
        join!(half(), half());
        assert_eq!(start.elapsed(), each);
        half().await;
        half().await;
        assert_eq!(start.elapsed(), 3 * each);
        let (one, other) = (spawn_local(half()), spawn_local(half()));
        one.await.unwrap();
        other.await.unwrap();
        assert_eq!(start.elapsed(), 4 * each);
    });
}

fn panic_of(f: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(f)).expect_err("no panic");
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => (*payload.downcast_ref::<&str>().unwrap()).to_owned(),
    }
}

#[test]
fn a_year_of_sleep_is_over_at_once_and_is_a_year() {
    still(async {
        let start = Instant::now();
        sleep(YEAR).await;
        assert_eq!(start.elapsed(), YEAR);
        spawn_local(sleep(YEAR)).await.unwrap();
        assert_eq!(start.elapsed(), 2 * YEAR);
        sleep(Duration::from_nanos(1)).await;
        assert_eq!(start.elapsed(), 2 * YEAR + Duration::from_nanos(1));
        // As far as there is time.
        sleep(Duration::MAX).await;
        assert!(start.elapsed() > 31 * YEAR);
    });
}

/// Lets the driver sleep for a while until the deadlines there are.
async fn nap() {
    spawn_blocking(|| thread::sleep(Duration::from_millis(20))).await.unwrap();
}

/// The driver's clock was set for the hour before the pause, and the hour ends much sooner.
#[test]
fn a_timer_that_was_slept_for_before_a_pause_comes_in_time_after_it() {
    guarded(|| {
        LocalRuntime::new().unwrap().block_on(async {
            let start = Instant::now();
            let hour = spawn_local(sleep(HOUR));
            for by_hand in [true, false] {
                nap().await;
                time::pause();
                let most = (start + HOUR - SOON).saturating_duration_since(Instant::now());
                match by_hand {
                    true => time::advance(most / 2).await,
                    // The clock jumps there.
                    false => sleep(most).await,
                }
                time::resume();
            }
            hour.await.unwrap();
            assert!(start.elapsed() >= HOUR);
        });
    });
}

#[test]
fn timers_fire_in_the_order_of_their_deadlines_each_at_its_own_moment() {
    still(async {
        let start = Instant::now();
        let log = Rc::new(RefCell::new(Vec::new()));
        // Some of them closer to each other than a running clock tells apart.
        let delays = [300, 100, 40_000_000, 101, 7_000_000_000, 99, 100, 65_537, 1_000_000];
        let tasks: Vec<_> = delays
            .iter()
            .enumerate()
            .map(|(number, &nanos)| {
                let log = log.clone();
                spawn_local(async move {
                    sleep(Duration::from_nanos(nanos)).await;
                    log.borrow_mut().push((start.elapsed().as_nanos() as u64, number));
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        let mut expected: Vec<_> = delays.iter().copied().zip(0..).collect();
        expected.sort_unstable();
        assert_eq!(*log.borrow(), expected);
    });
}

#[test]
fn a_sleep_that_was_put_off_lets_others_pass() {
    still(async {
        let start = Instant::now();
        let mut put_off = sleep(HOUR);
        assert!(poll_once(&mut put_off).await.is_none());
        Pin::new(&mut put_off).reset(start + 3 * HOUR);
        let passed = |hours| async move {
            sleep_until(start + HOUR * hours).await;
            start.elapsed()
        };
        let (two, four, three) = join!(passed(2), passed(4), async {
            (&mut put_off).await;
            start.elapsed()
        });
        assert_eq!((two, three, four), (2 * HOUR, 3 * HOUR, 4 * HOUR));
        // Brought forward again, to a moment between.
        Pin::new(&mut put_off).reset(start + 5 * HOUR);
        assert!(poll_once(&mut put_off).await.is_none());
        Pin::new(&mut put_off).reset(start + 9 * HOUR);
        time::advance(HOUR + SECOND).await;
        Pin::new(&mut put_off).reset(start + 6 * HOUR);
        assert!(poll_once(&mut put_off).await.is_none());
        put_off.await;
        assert_eq!(start.elapsed(), 6 * HOUR);
    });
}

#[test]
fn an_interval_ticks_exactly() {
    still(async {
        let start = Instant::now();
        let mut interval = interval(HOUR);
        for n in 0..100 {
            assert_eq!(interval.tick().await, start + n * HOUR);
            assert_eq!(start.elapsed(), n * HOUR);
        }
    });
}

#[test]
fn a_busy_task_misses_ticks_by_advancing() {
    still(async {
        let start = Instant::now();
        let mut interval = interval(10 * SECOND);
        interval.set_missed_tick_behavior(MissedTickBehavior::Skip);
        interval.tick().await;
        time::advance(25 * SECOND).await;
        assert_eq!(interval.tick().await, start + 10 * SECOND);
        assert_eq!(start.elapsed(), 25 * SECOND);
        assert_eq!(interval.tick().await, start + 30 * SECOND);
        assert_eq!(start.elapsed(), 30 * SECOND);
    });
}

#[test]
fn a_timeout_strikes_exactly_and_not_before_the_future() {
    still(async {
        let start = Instant::now();
        assert!(timeout(HOUR, pending::<()>()).await.is_err());
        assert_eq!(start.elapsed(), HOUR);
        assert_eq!(timeout(HOUR, async { sleep(SECOND).await }).await, Ok(()));
        assert_eq!(start.elapsed(), HOUR + SECOND);
    });
}

#[test]
fn now_stands_still_and_moves_exactly_by_what_it_is_advanced() {
    still(async {
        let start = Instant::now();
        let system = std::time::Instant::now();
        while system.elapsed() < Duration::from_millis(2) {
            yield_now().await;
        }
        assert_eq!(Instant::now(), start);
        let step = Duration::new(3, 141_592_653);
        for n in 1..10 {
            time::advance(step).await;
            assert_eq!(start.elapsed(), n * step);
        }
        time::advance(Duration::ZERO).await;
        assert_eq!(start.elapsed(), 9 * step);
        time::advance(Duration::MAX).await;
        assert!(start.elapsed() > 30 * YEAR - SECOND);
    });
}

/// Timers cannot count for ever: a clock that stood at their end would never let another sleep pass.
#[test]
fn a_clock_that_would_be_moved_too_far_stays_where_it_is_and_says_so() {
    guarded(|| {
        let runtime = LocalRuntime::new().unwrap();
        runtime.block_on(async { time::pause() });
        let message = panic_of(|| {
            for _ in 0..25 {
                runtime.block_on(time::advance(Duration::MAX));
            }
        });
        assert!(message.contains("500 years"), "{message}");
        runtime.block_on(async {
            for duration in [SECOND, 30 * YEAR] {
                let start = Instant::now();
                sleep(duration).await;
                assert_eq!(start.elapsed(), duration);
            }
        });
    });
}

/// `count` tasks that log their number, each after its time and after one hour more.
fn chains(count: u32, log: &Rc<RefCell<Vec<u32>>>) {
    for n in (0..count).rev() {
        let log = log.clone();
        drop(spawn_local(async move {
            sleep((n + 1) * SECOND).await;
            // What a task wakes in turn is run too: a chain through another task, and yields.
            let relay = spawn_local(async {
                for _ in 0..30 {
                    yield_now().await;
                }
            });
            relay.await.unwrap();
            log.borrow_mut().push(n);
            sleep(HOUR).await;
            log.borrow_mut().push(1_000_000 + n);
        }));
    }
}

#[test]
fn what_advance_wakes_has_run_when_it_returns_in_order() {
    async fn check(count: u32) {
        let log = Rc::new(RefCell::new(Vec::new()));
        chains(count, &log);
        yield_now().await;
        time::advance(Duration::ZERO).await;
        assert!(log.borrow().is_empty());
        time::advance(count * SECOND).await;
        let all: Vec<u32> = (0..count).collect();
        assert_eq!(*log.borrow(), all);
        time::advance(HOUR - SECOND).await;
        // In one step: the second sleeps began at the new moment.
        assert_eq!(*log.borrow(), all[..]);
        time::advance(SECOND).await;
        assert_eq!(log.borrow().len(), 2 * count as usize);
    }
    // From the root and from a task.
    still(check(1_000));
    still(async { spawn_local(check(200)).await.unwrap() });
}

#[test]
fn advance_returns_although_a_task_never_waits() {
    still(async {
        let done = Rc::new(Cell::new(false));
        let seen = done.clone();
        let busy = spawn_local(async move {
            while !seen.get() {
                yield_now().await;
            }
        });
        time::advance(SECOND).await;
        done.set(true);
        busy.await.unwrap();
        // Also if it is the root that never waits.
        let task = spawn_local(time::advance(SECOND));
        while !task.is_finished() {
            yield_now().await;
        }
    });
}

#[test]
fn advance_does_not_jump_further() {
    still(async {
        let start = Instant::now();
        let task = spawn_local(sleep(10 * SECOND));
        yield_now().await;
        time::advance(9 * SECOND).await;
        assert_eq!(start.elapsed(), 9 * SECOND);
        assert!(!task.is_finished());
        time::advance(SECOND).await;
        assert!(task.is_finished());
    });
}

/// There is no moment at which everything waits to be found any more.
#[test]
fn advance_returns_when_a_task_lets_the_clock_go() {
    still(async {
        let start = Instant::now();
        let resumer = spawn_local(async {
            sleep(SECOND).await;
            time::resume();
        });
        yield_now().await;
        time::advance(SECOND).await;
        resumer.await.unwrap();
        assert!((SECOND..HOUR).contains(&start.elapsed()));
        time::pause();
        time::advance(HOUR).await;
    });
}

#[test]
fn a_resumed_clock_goes_on_from_where_it_stood() {
    still(async {
        let start = Instant::now();
        time::advance(HOUR).await;
        time::resume();
        let resumed = std::time::Instant::now();
        let waiting = sleep(Duration::from_millis(20));
        waiting.await;
        assert!(resumed.elapsed() >= Duration::from_millis(20), "the time is real");
        assert!(start.elapsed() >= HOUR + Duration::from_millis(20));
        assert!(start.elapsed() < 2 * HOUR);
        time::pause();
        let stopped = Instant::now();
        sleep(HOUR).await;
        assert_eq!(stopped.elapsed(), HOUR);
        assert!(resumed.elapsed() < HOUR);
    });
}

#[test]
fn pause_stops_a_clock_that_went_and_what_waits_for_it() {
    guarded(|| {
        let runtime = LocalRuntime::new().unwrap();
        runtime.block_on(async {
            let before = Instant::now();
            let early = spawn_local(sleep(HOUR));
            let mut late = sleep(2 * HOUR);
            yield_now().await;
            time::pause();
            let stopped = Instant::now();
            assert!(stopped >= before && stopped < before + HOUR);
            early.await.unwrap();
            (&mut late).await;
            assert_eq!(Instant::now(), late.deadline());
        });
    });
}

/// The runtime's thread sleeps until a deadline when another thread stops the clock.
#[test]
fn a_pause_from_another_thread_is_noticed() {
    guarded(|| {
        let runtime = LocalRuntime::new().unwrap();
        let handle = runtime.handle().clone();
        let (tell, told) = mpsc::channel();
        let other = thread::spawn(move || {
            told.recv().unwrap();
            let _entered = handle.enter();
            time::pause();
        });
        runtime.block_on(async {
            let sleeper = spawn_local(sleep(HOUR));
            yield_now().await;
            tell.send(()).unwrap();
            sleeper.await.unwrap();
        });
        other.join().unwrap();
    });
}

#[test]
fn time_waits_for_tasks_that_run() {
    still(async {
        let start = Instant::now();
        let sleeper = spawn_local(sleep(SECOND));
        for _ in 0..1_000 {
            yield_now().await;
            assert_eq!(start.elapsed(), Duration::ZERO);
            assert!(!sleeper.is_finished());
        }
        sleeper.await.unwrap();
        assert_eq!(start.elapsed(), SECOND);
    });
}

#[test]
fn time_waits_for_blocking_work_and_goes_on_after_it() {
    still(async {
        let start = Instant::now();
        let (tell, told) = mpsc::channel();
        let work = spawn_blocking(move || {
            told.recv().unwrap();
            Instant::now()
        });
        let late = spawn_local(async move {
            sleep(SECOND).await;
            Instant::now()
        });
        // Real time, for a jump that would be wrong.
        let nap = thread::spawn(|| thread::sleep(Duration::from_millis(20)));
        let (woken, wait) = liten::sync::oneshot::channel();
        let waker = thread::spawn(move || {
            nap.join().unwrap();
            woken.send(()).unwrap();
        });
        wait.await.unwrap();
        assert_eq!(start.elapsed(), Duration::ZERO);
        // It does not hold up tests that move the time by hand.
        time::advance(SECOND / 2).await;
        tell.send(()).unwrap();
        // The work's end wakes this task, at the moment at which it ended.
        assert_eq!(work.await.unwrap(), start + SECOND / 2);
        assert_eq!(late.await.unwrap(), start + SECOND);
        waker.join().unwrap();
    });
}

/// No task waits for it, so its end wakes none; time has to go on all the same.
#[test]
fn time_goes_on_after_blocking_work_that_no_task_waits_for() {
    still(async {
        for _ in 0..200 {
            let (tell, told) = mpsc::channel();
            drop(spawn_blocking(move || told.recv().unwrap()));
            drop(spawn_blocking(move || tell.send(()).unwrap()));
            sleep(HOUR).await;
        }
    });
}

/// What has come already is seen to first; what may come does not hold up time.
#[test]
fn time_waits_for_events_that_have_come_and_not_for_those_that_may() {
    use liten::io::{AsyncReadExt, AsyncWriteExt};

    still(async {
        let start = Instant::now();
        let listener = liten::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (mut client, accepted) = {
            let client = std::net::TcpStream::connect(address).unwrap();
            client.set_nonblocking(true).unwrap();
            (liten::net::TcpStream::from_std(client).unwrap(), listener.accept().await)
        };
        let (mut server, _) = accepted.unwrap();
        let mut buffer = [0; 1];
        let silent = timeout(HOUR, server.read(&mut buffer)).await;
        assert!(silent.is_err());
        assert_eq!(start.elapsed(), HOUR);
        let read = spawn_local(async move {
            server.read_exact(&mut buffer).await.unwrap();
        });
        yield_now().await;
        client.write_all(b"x").await.unwrap();
        let read = timeout(SECOND, read).await;
        assert!(read.is_ok(), "the byte was there before the clock was moved");
        assert_eq!(start.elapsed(), HOUR);
    });
}

#[test]
fn misuse_is_explained() {
    guarded(|| {
        for message in [panic_of(time::pause), panic_of(time::resume)] {
            assert!(message.contains("outside a runtime"), "{message}");
        }
        let runtime = LocalRuntime::new().unwrap();
        let _entered = runtime.enter();
        for message in
            [panic_of(time::resume), panic_of(|| runtime.block_on(time::advance(SECOND)))]
        {
            assert!(
                message.contains("not frozen") && message.contains("start_paused"),
                "{message}"
            );
        }
        time::pause();
        let message = panic_of(time::pause);
        assert!(message.contains("already frozen"), "{message}");
        time::resume();
        time::pause();
    });
}

#[test]
fn other_runtimes_and_the_system_have_clocks_of_their_own() {
    guarded(|| {
        let (one, other) = (paused(), LocalRuntime::new().unwrap());
        let before = std::time::Instant::now();
        one.block_on(async { sleep(YEAR).await });
        let on = |runtime: &LocalRuntime| {
            let _entered = runtime.enter();
            Instant::now().into_std()
        };
        assert!(on(&one) > before + YEAR / 2);
        assert!(on(&other) < before + YEAR / 2);
        assert!(Instant::now().into_std() < before + YEAR / 2, "outside of a runtime");
        other.block_on(async {
            let start = std::time::Instant::now();
            sleep(Duration::from_millis(10)).await;
            assert!(start.elapsed() >= Duration::from_millis(10));
        });
        // On threads of its own the runtime's clock is the same.
        let there = one.block_on(async { spawn_blocking(Instant::now).await.unwrap() });
        assert_eq!(there.into_std(), on(&one));
    });
}

/// A sleep goes by the clock of the runtime it was made in, wherever it is polled.
#[test]
fn a_sleep_that_moves_to_another_runtime_keeps_its_clock() {
    guarded(|| {
        let real = LocalRuntime::new().unwrap();
        let (sent, made) = mpsc::channel();
        let (stop, stopped) = liten::sync::oneshot::channel::<()>();
        // This runtime must run for its timers to fire, like any local one.
        let still = thread::spawn(move || {
            paused().block_on(async {
                sent.send((sleep(YEAR), Instant::now())).unwrap();
                stopped.await.unwrap();
                Instant::now()
            })
        });
        let (mut moved, start) = made.recv().unwrap();
        assert!(!moved.is_elapsed());
        real.block_on(&mut moved);
        assert!(moved.is_elapsed());
        stop.send(()).unwrap();
        assert_eq!(still.join().unwrap(), start + YEAR);
    });
}

#[test]
fn the_past_and_the_present_are_ready_at_once() {
    still(async {
        let start = Instant::now();
        time::advance(HOUR).await;
        sleep_until(start).await;
        sleep_until(start + HOUR).await;
        sleep(Duration::ZERO).await;
        assert_eq!(start.elapsed(), HOUR);
        // Put to the past while a task waits for it.
        let mut waiting = std::pin::pin!(sleep(YEAR));
        assert!(poll_once(&mut waiting).await.is_none());
        waiting.as_mut().reset(start);
        waiting.await;
        assert_eq!(start.elapsed(), HOUR);
    });
}

#[test]
fn draining_jumps_too() {
    guarded(|| {
        let runtime = paused();
        let task = runtime.spawn_local(async { sleep(YEAR).await });
        runtime.block_until_completion();
        assert!(task.is_finished());
    });
}
