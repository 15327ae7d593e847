use super::{Interval, MissedTickBehavior, interval, interval_at};
use crate::runtime::Runtime;
use crate::time::{Duration, FAR, Instant, timeout};
use futures_core::Stream;
use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

const MS: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3_600);

fn runtime() -> Runtime {
    Runtime::new().expect("a runtime")
}

#[test]
fn an_interval_ticks_at_once_and_then_on_plan() {
    runtime().block_on(async {
        let before = Instant::now();
        let mut interval = interval(3 * MS);
        assert_eq!(interval.period(), 3 * MS);
        assert_eq!(interval.missed_tick_behavior(), MissedTickBehavior::Burst);
        let first = interval.tick().await;
        assert!((before..=Instant::now()).contains(&first));
        for n in 1..10 {
            let tick = interval.tick().await;
            assert_eq!(tick, first + 3 * MS * n);
            assert!(Instant::now() >= tick);
        }
        let start = Instant::now() + 4 * MS;
        let mut later = interval_at(start, HOUR);
        assert_eq!(later.tick().await, start);
        assert!(Instant::now() >= start);
    });
}

#[test]
fn an_interval_is_a_stream() {
    runtime().block_on(async {
        let mut interval = pin!(interval(MS));
        assert_eq!(interval.size_hint(), (usize::MAX, None));
        let first = poll_fn(|cx| interval.as_mut().poll_next(cx)).await;
        let second = poll_fn(|cx| interval.as_mut().poll_next(cx)).await;
        assert_eq!(second, first.map(|tick| tick + MS));
    });
}

#[test]
fn a_tick_that_is_given_up_is_not_lost() {
    runtime().block_on(async {
        let start = Instant::now() + 10 * MS;
        let mut interval = interval_at(start, HOUR);
        while Instant::now() < start {
            if timeout(MS, interval.tick()).await.is_ok() {
                return;
            }
        }
        assert_eq!(interval.tick().await, start);
    });
}

#[test]
fn late_ticks_follow_the_table() {
    use MissedTickBehavior::{Burst, Delay, Skip};
    let start = Instant::now();
    let at = |ms: u32| start + MS * ms;
    // The table of the type's documentation: when a tick planned for `due` is taken at `now`, which one is
    // next?
    let mut rows = Vec::new();
    for (behavior, ticks) in [
        (Burst, [350, 350, 400, 500, 600]),
        (Delay, [350, 450, 550, 650, 750]),
        (Skip, [350, 400, 500, 600, 700]),
    ] {
        let mut due = at(200);
        for (n, &taken) in ticks.iter().enumerate() {
            assert!(due <= at(taken), "{behavior:?} {n}");
            if due != at(taken) {
                rows.push((behavior, n));
            }
            due = behavior.next(due, at(taken), 100 * MS);
        }
    }
    // Only the late ticks are taken at another time than planned.
    assert_eq!(rows, [(Burst, 0), (Burst, 1), (Delay, 0), (Skip, 0)]);

    for behavior in [Burst, Delay, Skip] {
        // A little late is punctual.
        assert_eq!(behavior.next(at(200), at(205), 100 * MS), at(300));
        assert_eq!(behavior.next(at(200), at(201), MS / 2), at(200) + MS / 2);
        // No overflow, whatever the period.
        assert!(behavior.next(at(200), at(900), Duration::MAX) >= at(200) + FAR);
    }
    // Exactly on a later tick: that one has been missed as well.
    assert_eq!(Skip.next(at(200), at(400), 100 * MS), at(500));
    assert_eq!(Skip.next(at(0), at(86_400_000), 7 * MS), at(86_400_000 - 86_400_000 % 7 + 7));
}

#[test]
fn a_late_interval_does_as_it_is_told() {
    use MissedTickBehavior::{Burst, Delay, Skip};
    let runtime = runtime();
    let _entered = runtime.enter();
    let period = 20 * MS;
    let late_by = 5 * period;
    for behavior in [Burst, Delay, Skip] {
        // The past stands for a task that was busy.
        let start = Instant::now();
        let mut interval = interval_at(start, period);
        interval.set_missed_tick_behavior(behavior);
        assert_eq!(interval.missed_tick_behavior(), behavior);
        while Instant::now() < start + late_by {
            std::thread::yield_now();
        }
        let before = Instant::now();
        assert_eq!(interval.poll_tick(&mut Context::from_waker(Waker::noop())), Poll::Ready(start));
        let next = interval.next.deadline();
        match behavior {
            Burst => assert_eq!(next, start + period),
            Delay => assert!(next >= before + period),
            Skip => {
                assert!(next > before);
                assert_eq!((next - start).as_nanos() % period.as_nanos(), 0);
            }
        }
    }
}

#[test]
fn an_interval_can_be_reset() {
    runtime().block_on(async {
        let mut interval = interval(HOUR);
        interval.tick().await;
        assert!(poll_tick(&mut interval).is_pending());
        interval.reset_immediately();
        let tick = interval.tick().await;
        assert_eq!(interval.next.deadline(), tick + HOUR);
        let start = Instant::now();
        interval.reset_after(5 * MS);
        assert!(interval.tick().await >= start + 5 * MS);
        let moment = Instant::now() + 3 * MS;
        interval.reset_at(moment);
        assert_eq!(interval.tick().await, moment);
        let before = Instant::now();
        interval.reset();
        assert!(interval.next.deadline() >= before + HOUR);
        interval.reset_after(Duration::MAX);
        assert!(poll_tick(&mut interval).is_pending());
    });
}

fn poll_tick(interval: &mut Interval) -> Poll<Instant> {
    interval.poll_tick(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn an_endless_burst_shares_the_worker() {
    let runtime = runtime();
    let task = runtime.spawn(async {
        // Always late: without a budget, the loop below would go on.
        let mut interval = interval(Duration::from_nanos(1));
        poll_fn(|cx| {
            let mut ticks = 0;
            while ticks < 1_000_000 && interval.poll_tick(cx).is_ready() {
                ticks += 1;
            }
            Poll::Ready(ticks)
        })
        .await
    });
    assert!(runtime.block_on(task).expect("no panic") < 1_000_000);
}
