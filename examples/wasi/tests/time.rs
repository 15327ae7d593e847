//! Time: the same timers on a native `LocalRuntime` and in a component, whose host knows of the next deadline
//! only.

use futures_concurrency::future::Join;
use liten::runtime::LocalRuntime;
use liten::task::{spawn_local, yield_now};
use liten::time::{
    Duration, Instant, MissedTickBehavior, advance, interval, pause, resume, sleep, sleep_until,
    timeout,
};
use std::cell::RefCell;
use std::future::pending;
use std::pin::Pin;
use std::rc::Rc;

const SHORT: Duration = Duration::from_millis(10);
const HOUR: Duration = Duration::from_secs(3_600);

#[liten::test]
async fn a_sleep_is_never_early() {
    for length in [Duration::ZERO, Duration::from_micros(300), SHORT] {
        let start = Instant::now();
        sleep(length).await;
        assert!(start.elapsed() >= length);
    }
}

#[liten::test]
async fn sleeps_end_in_the_order_of_their_deadlines() {
    let log = Rc::new(RefCell::new(Vec::new()));
    // Far enough away for all to wait before the first one is over.
    let start = Instant::now() + 20 * SHORT;
    let tasks: Vec<_> = [3, 1, 2]
        .map(|number| {
            let log = log.clone();
            spawn_local(async move {
                sleep_until(start + number * SHORT).await;
                log.borrow_mut().push(number);
            })
        })
        .into_iter()
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(*log.borrow(), [1, 2, 3]);
}

/// Under a join of another crate, each of them has a waker of its own.
#[liten::test(start_paused = true)]
async fn joined_sleeps_take_as_long_as_the_longest() {
    let start = Instant::now();
    (sleep(SHORT), sleep(3 * SHORT), sleep(2 * SHORT)).join().await;
    assert_eq!(start.elapsed(), 3 * SHORT);
}

#[liten::test]
async fn a_timeout_ends_a_wait_and_lets_the_quick_pass() {
    assert!(timeout(SHORT, pending::<()>()).await.is_err());
    assert_eq!(timeout(HOUR, async { 7 }).await, Ok(7));
    assert_eq!(timeout(Duration::ZERO, async { 7 }).await, Ok(7));
}

#[liten::test]
async fn an_interval_ticks_at_its_period() {
    let mut ticks = interval(SHORT);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let first = ticks.tick().await;
    for number in 1..4 {
        let planned = ticks.tick().await;
        assert!(planned >= first + number * SHORT && Instant::now() >= planned);
    }
}

#[liten::test]
async fn a_reset_moves_a_sleep_that_is_waited_for() {
    let start = Instant::now();
    let mut patience = Box::pin(sleep(HOUR));
    let woken = timeout(SHORT, &mut patience).await;
    assert!(woken.is_err());
    Pin::new(&mut *patience).reset(start + 2 * SHORT);
    patience.await;
    assert!(start.elapsed() >= 2 * SHORT);
}

/// `block_on` must not end at a timer that no task waits for any more, nor sleep until then.
#[liten::test]
async fn a_dropped_sleep_holds_nothing_up() {
    let start = Instant::now();
    let dropped = timeout(SHORT, sleep(HOUR)).await;
    assert!(dropped.is_err());
    sleep(SHORT).await;
    assert!(start.elapsed() < HOUR);
}

#[liten::test(start_paused = true)]
async fn a_clock_that_stands_still_jumps_from_deadline_to_deadline() {
    let start = Instant::now();
    let order = Rc::new(RefCell::new(Vec::new()));
    for hours in [3, 1, 2] {
        let order = order.clone();
        spawn_local(async move {
            sleep(hours * HOUR).await;
            order.borrow_mut().push((hours, Instant::now()));
        });
    }
    sleep(4 * HOUR).await;
    let expected = [1, 2, 3].map(|hours| (hours, start + hours * HOUR));
    assert_eq!(*order.borrow(), expected);
    assert_eq!(start.elapsed(), 4 * HOUR);
}

#[liten::test(start_paused = true)]
async fn advancing_lets_due_tasks_run_and_no_others() {
    let start = Instant::now();
    let soon = spawn_local(sleep(HOUR));
    let late = spawn_local(sleep(HOUR + Duration::from_nanos(1)));
    yield_now().await;
    advance(HOUR).await;
    assert_eq!((soon.is_finished(), late.is_finished()), (true, false));
    assert_eq!(start.elapsed(), HOUR);
}

/// A task that never waits: what advances the clock must come back all the same.
#[liten::test(start_paused = true)]
async fn advancing_does_not_wait_for_a_busy_task() {
    let busy = spawn_local(async {
        loop {
            yield_now().await;
        }
    });
    advance(HOUR).await;
    busy.abort();
}

#[liten::test]
async fn a_clock_can_be_stopped_and_let_go_again() {
    pause();
    let start = Instant::now();
    sleep(HOUR).await;
    resume();
    sleep_until(start + HOUR + SHORT).await;
    assert!(start.elapsed() >= HOUR + SHORT);
}

#[test]
fn a_sleep_made_outside_belongs_to_where_it_is_polled() {
    let slept = sleep(SHORT);
    let runtime = LocalRuntime::new().unwrap();
    runtime.block_on(slept);
}

/// On wasm, where they are one thing, tasks and timers belong to the innermost `block_on`.
#[cfg(target_family = "wasm")]
#[test]
fn a_root_inside_a_root_has_timers_of_its_own() {
    liten::wasi::block_on(|_| async {
        let outer = spawn_local(sleep(SHORT));
        yield_now().await;
        liten::wasi::block_on(|_| async {
            let inner = spawn_local(sleep(2 * SHORT));
            inner.await.unwrap();
        });
        assert!(!outer.is_finished(), "its root is not polled meanwhile");
        outer.await.unwrap();
    });
}

/// What has come already comes before what is due later.
#[cfg(target_family = "wasm")]
#[liten::test(start_paused = true)]
async fn the_clock_does_not_jump_over_what_the_host_has_ready() {
    use liten::wasi::{Host, Reactor};

    let (start, reactor) = (Instant::now(), Reactor::current());
    let ready = reactor.wait_for(reactor.host().clock(Duration::ZERO));
    assert!(timeout(HOUR, ready).await.is_ok());
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[test]
#[should_panic = "outside a runtime"]
fn a_sleep_polled_outside_says_what_to_do() {
    futures_lite::future::block_on(sleep(SHORT));
}

#[test]
#[should_panic = "has been shut down"]
fn a_sleep_does_not_outlive_its_runtime() {
    let runtime = LocalRuntime::new().unwrap();
    let slept = {
        let _entered = runtime.enter();
        sleep(HOUR)
    };
    drop(runtime);
    liten::block_on(slept);
}
