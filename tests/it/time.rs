//! Time: never early, side by side, any duration, and nothing left of what was given up.

mod paused;

use crate::support::guard::{guarded, until, workers};
use crate::support::loopback::poll_once;
use crate::support::probe::{Calls, Count, poll_with};
use liten::future::{StreamExt, join_all};
use liten::runtime::{LocalRuntime, Runtime};
use liten::time::{
    Duration, Instant, Interval, MissedTickBehavior, interval, interval_at, sleep, sleep_until,
    timeout, timeout_at,
};
use std::future::{Future, pending, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::thread;

const MILLISECOND: Duration = Duration::from_millis(1);
const FOR_EVER: Duration = Duration::from_secs(100_000);

#[test]
fn no_sleep_ends_early() {
    async fn sleeps() {
        let tasks = (0..500u64).map(|i| {
            liten::spawn(async move {
                // From nothing to 40 ms, at moments that no clock's tick knows.
                let duration = Duration::from_nanos(i * i * 161);
                let start = Instant::now();
                let waiting = sleep(duration);
                let deadline = waiting.deadline();
                waiting.await;
                assert!(start.elapsed() >= duration && Instant::now() >= deadline);
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            task.await.unwrap();
        }
    }

    guarded(|| {
        workers(3).block_on(sleeps());
        LocalRuntime::new().unwrap().block_on(sleeps());
    });
}

/// On one thread, so that no driver fires the timer between the reset and the poll.
#[test]
fn a_reset_to_now_or_the_past_is_ready_at_the_next_poll() {
    LocalRuntime::new().unwrap().block_on(async {
        let start = Instant::now();
        for deadline in [start, Instant::now(), start.checked_sub(MILLISECOND).unwrap()] {
            let mut waiting = sleep(FOR_EVER);
            assert!(poll_once(&mut waiting).await.is_none());
            Pin::new(&mut waiting).reset(deadline);
            assert!(waiting.is_elapsed());
            assert!(poll_once(&mut waiting).await.is_some());
            let mut bounded = timeout(Duration::ZERO, &mut waiting);
            assert!(poll_once(&mut bounded).await.unwrap().is_ok(), "it has elapsed before");
        }

        let mut ticks = interval(FOR_EVER);
        ticks.tick().await;
        assert!(poll_once(&mut ticks.next()).await.is_none());
        ticks.reset_immediately();
        assert!(poll_once(&mut ticks.next()).await.is_some());

        // The deadline before has passed as well, but this thread has had no time to notice.
        let mut waiting = sleep(MILLISECOND);
        if poll_once(&mut waiting).await.is_none() {
            thread::sleep(3 * MILLISECOND);
            let later = waiting.deadline() + MILLISECOND;
            Pin::new(&mut waiting).reset(later);
            assert!(poll_once(&mut waiting).await.is_some());
        }
    });
}

/// A task that waits is polled again when the deadline has come that counts, and not before.
#[test]
fn a_reset_to_later_wakes_no_task_at_the_deadline_before() {
    async fn polls_of_one_wait() -> usize {
        let (mut waiting, mut polls) = (sleep(5 * MILLISECOND), 0);
        poll_fn(|cx| {
            polls += 1;
            if polls > 1 {
                return Pin::new(&mut waiting).poll(cx);
            }
            let before = waiting.deadline();
            // A poll that comes too late, or is interrupted for too long, finds the first deadline.
            let is_late = Pin::new(&mut waiting).poll(cx).is_ready() || {
                Pin::new(&mut waiting).reset(before + 30 * MILLISECOND);
                Instant::now() >= before
            };
            polls += usize::from(is_late) * TOO_LATE;
            if is_late { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        polls
    }
    const TOO_LATE: usize = 1_000;

    guarded(|| {
        workers(2).block_on(async {
            let tasks = (0..100).map(|_| liten::spawn(polls_of_one_wait()));
            for task in tasks.collect::<Vec<_>>() {
                let polls = task.await.unwrap();
                assert!(polls == 2 || polls > TOO_LATE, "{polls} polls");
            }
        });
    });
}

/// One after the other they would take more than three minutes.
#[test]
fn sleeps_pass_side_by_side() {
    guarded(|| {
        let start = Instant::now();
        let runtime = workers(1);
        // In one task.
        runtime.block_on(async { join_all((0..1_000).map(|_| sleep(100 * MILLISECOND))).await });
        // In many.
        runtime.block_on(async {
            let sleeps = (0..1_000).map(|_| liten::spawn(async { sleep(100 * MILLISECOND).await }));
            for sleep in sleeps.collect::<Vec<_>>() {
                sleep.await.unwrap();
            }
        });
        let elapsed = start.elapsed();
        assert!(elapsed >= 200 * MILLISECOND && elapsed < 50_000 * MILLISECOND, "{elapsed:?}");
    });
}

/// The last two lie around what a signed number of milliseconds can say, which poll and epoll take.
#[test]
fn long_and_endless_durations_are_just_not_over_yet() {
    guarded(|| {
        let day = Duration::from_secs(86_400);
        let border = Duration::from_millis(i32::MAX as u64);
        let durations = [
            Duration::MAX,
            Duration::from_secs(u64::MAX),
            36_500 * day,
            30 * 365 * day,
            25 * day,
            border,
            border + MILLISECOND,
        ];
        for runtime in [Some(workers(1)), None] {
            let test = async {
                let mut sleeps: Vec<_> = durations.into_iter().map(sleep).collect();
                for _ in 0..3 {
                    for sleep in &mut sleeps {
                        assert!(poll_once(sleep).await.is_none());
                        assert!(!sleep.is_elapsed());
                    }
                    // The poller sleeps with these deadlines before it, and is woken for the shorter one.
                    sleep(2 * MILLISECOND).await;
                }
                let mut long = std::pin::pin!(timeout(Duration::MAX, pending::<()>()));
                assert!(poll_once(&mut long).await.is_none());
                assert_eq!(timeout(Duration::MAX, async { 1 }).await, Ok(1));
            };
            match runtime {
                Some(runtime) => runtime.block_on(test),
                None => LocalRuntime::new().unwrap().block_on(test),
            }
        }
    });
}

/// Moments before the runtime was made, and at the end of what can be said.
#[test]
fn any_moment_and_any_period_will_do() {
    guarded(|| {
        let long_ago = Instant::now().checked_sub(5 * MILLISECOND).unwrap_or_else(Instant::now);
        let mut latest = Instant::now();
        for exponent in (0..64).rev() {
            latest = latest.checked_add(Duration::from_secs(1 << exponent)).unwrap_or(latest);
        }
        workers(1).block_on(async {
            assert!(poll_once(&mut sleep_until(long_ago)).await.is_some());
            let mut waiting = sleep_until(latest);
            assert!(poll_once(&mut waiting).await.is_none());
            Pin::new(&mut waiting).reset(long_ago);
            (&mut waiting).await;
            Pin::new(&mut waiting).reset(latest);
            assert!(poll_once(&mut waiting).await.is_none());

            let mut ticks = interval(Duration::MAX);
            ticks.tick().await;
            assert!(poll_once(&mut Box::pin(ticks.tick())).await.is_none());
            ticks.reset_after(Duration::MAX);
            ticks.reset_immediately();
            ticks.tick().await;
            let mut ticks = interval_at(latest, MILLISECOND);
            assert!(poll_once(&mut Box::pin(ticks.tick())).await.is_none());
            // A tick per nanosecond: all of them are missed, and they do not hold up the others.
            let mut ticks = interval(Duration::from_nanos(1));
            for _ in 0..1_000 {
                ticks.tick().await;
            }
            ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
            ticks.tick().await;
        });
    });
}

/// With nothing else to wake it, the runtime sleeps until the end of time, and is woken by a task.
#[test]
fn a_runtime_with_an_endless_sleep_alone_is_woken_by_others() {
    guarded(|| {
        let runtime = workers(1);
        let task = runtime.spawn(async { sleep(Duration::MAX).await });
        until(|| runtime.metrics().num_cold_tasks() == 1);
        thread::sleep(5 * MILLISECOND);
        assert_eq!(runtime.block_on(runtime.spawn(async { 42 })).unwrap(), 42);
        assert!(!task.is_finished());
    });
}

#[test]
fn no_time_at_all_is_ready_at_the_first_poll() {
    guarded(|| {
        workers(1).block_on(async {
            assert!(poll_once(&mut sleep(Duration::ZERO)).await.is_some());
            assert!(poll_once(&mut sleep_until(Instant::now())).await.is_some());
            let past = Instant::now().checked_sub(MILLISECOND).unwrap_or_else(Instant::now);
            assert!(poll_once(&mut sleep_until(past)).await.is_some());
            let over = timeout(Duration::ZERO, pending::<()>());
            assert!(poll_once(&mut std::pin::pin!(over)).await.unwrap().is_err());
            assert_eq!(timeout(Duration::ZERO, async { 1 }).await, Ok(1));
        });
    });
}

#[test]
fn a_reset_moves_the_deadline_either_way_and_revives() {
    guarded(|| {
        workers(1).block_on(async {
            let mut waiting = sleep(FOR_EVER);
            assert!(poll_once(&mut waiting).await.is_none());
            // Earlier, while a task waits; none polls it for that.
            let soon = Instant::now() + 5 * MILLISECOND;
            Pin::new(&mut waiting).reset(soon);
            (&mut waiting).await;
            assert!(Instant::now() >= soon);
            // Again, after it was over.
            let again = Instant::now() + 5 * MILLISECOND;
            Pin::new(&mut waiting).reset(again);
            (&mut waiting).await;
            assert!(Instant::now() >= again);
            // Later, again and again: the deadlines before must not count.
            for _ in 0..10 {
                let later = Instant::now() + 10 * MILLISECOND;
                Pin::new(&mut waiting).reset(later);
                let ready = poll_once(&mut waiting).await.is_some();
                assert!(!ready || Instant::now() >= later);
                sleep(2 * MILLISECOND).await;
            }
            let last = waiting.deadline();
            waiting.await;
            assert!(Instant::now() >= last);
        });
    });
}

#[test]
fn a_sleep_that_is_dropped_forgets_its_waker() {
    guarded(|| {
        let runtime = workers(1);
        let _entered = runtime.enter();
        for duration in [FOR_EVER, MILLISECOND] {
            let (calls, waker) = Calls::new();
            let mut sleeps: Vec<_> = (0..1_000).map(|_| sleep(duration)).collect();
            for sleep in &mut sleeps {
                let _ = poll_with(sleep, &waker);
            }
            drop((sleeps, waker));
            until(|| Arc::strong_count(&calls) == 1);
        }
    });
}

/// Timeouts that are not reached, one after the other, by many tasks at once.
#[test]
fn timers_that_are_given_up_leave_nothing_behind() {
    guarded(|| {
        let runtime = workers(2);
        let tasks: Vec<_> = (0..8)
            .map(|_| {
                runtime.spawn(async {
                    for i in 0..5_000u32 {
                        let mut waiting = sleep(FOR_EVER + i * MILLISECOND);
                        assert!(poll_once(&mut waiting).await.is_none());
                        timeout(FOR_EVER, async {}).await.unwrap();
                    }
                })
            })
            .collect();
        runtime.block_on(async {
            for task in tasks {
                task.await.unwrap();
            }
        });
        runtime.block_until_completion();
    });
}

#[test]
fn only_the_last_task_that_polls_a_sleep_is_woken() {
    guarded(|| {
        let runtime = workers(1);
        let _entered = runtime.enter();
        let ((first, first_waker), (second, second_waker)) = (Calls::new(), Calls::new());
        let mut waiting = sleep(FOR_EVER);
        for _ in 0..3 {
            assert!(poll_with(&mut waiting, &first_waker).is_pending());
            assert!(poll_with(&mut waiting, &second_waker).is_pending());
        }
        Pin::new(&mut waiting).reset(Instant::now() + MILLISECOND);
        until(|| second.get() > 0);
        assert!(poll_with(&mut waiting, &first_waker).is_ready());
        assert_eq!((first.get(), second.get()), (0, 1));
    });
}

/// A sleep belongs to the runtime it was made in, and may be waited for anywhere.
#[test]
fn a_sleep_may_move_to_another_runtime() {
    guarded(|| {
        let (owner, other) = (workers(1), workers(1));
        let waiting = {
            let _entered = owner.enter();
            sleep(5 * MILLISECOND)
        };
        let deadline = waiting.deadline();
        other.block_on(other.spawn(waiting)).unwrap();
        assert!(Instant::now() >= deadline);
        let _entered = owner.enter();
        smol::block_on(sleep(5 * MILLISECOND));
    });
}

#[test]
fn the_time_limit_ends_what_waits_and_not_what_is_ready() {
    guarded(|| {
        workers(1).block_on(async {
            let start = Instant::now();
            let error = timeout(5 * MILLISECOND, pending::<()>()).await.unwrap_err();
            assert!(start.elapsed() >= 5 * MILLISECOND);
            assert_eq!(std::io::Error::from(error).kind(), std::io::ErrorKind::TimedOut);
            assert_eq!(timeout(FOR_EVER, async { sleep(MILLISECOND).await }).await, Ok(()));
            let past = Instant::now();
            sleep(MILLISECOND).await;
            assert_eq!(timeout_at(past, async { 42 }).await, Ok(42), "the future comes first");
            // The future is dropped with the timeout, and survives it if it was only lent.
            let mut lent = Box::pin(sleep(FOR_EVER));
            assert!(timeout(MILLISECOND, &mut lent).await.is_err());
            lent.as_mut().reset(Instant::now() + MILLISECOND);
            lent.await;
        });
    });
}

/// The ticks of an interval whose task is busy for 3.5 periods after the first one: for each tick, how many
/// periods after the start it was planned.
async fn late_ticks(behavior: MissedTickBehavior) -> Vec<f64> {
    let period = 20 * MILLISECOND;
    let mut ticks: Interval = interval(period);
    ticks.set_missed_tick_behavior(behavior);
    let start = ticks.tick().await;
    thread::sleep(period * 7 / 2);
    let mut planned = vec![0.0];
    for _ in 0..6 {
        let due = ticks.tick().await;
        assert!(Instant::now() >= due, "a tick came early");
        planned.push((due - start).as_secs_f64() / period.as_secs_f64());
    }
    planned
}

/// The planned moments, if they are multiples of the period.
#[track_caller]
fn multiples(planned: &[f64]) -> Vec<u32> {
    assert!(planned.iter().all(|tick| (tick - tick.round()).abs() < 0.001), "{planned:?}");
    planned.iter().map(|tick| tick.round() as u32).collect()
}

#[test]
fn missed_ticks_come_at_once_or_later_or_not_at_all() {
    guarded(|| {
        let runtime = workers(1);
        // Every tick of the plan comes.
        let planned = runtime.block_on(late_ticks(MissedTickBehavior::Burst));
        assert_eq!(multiples(&planned), [0, 1, 2, 3, 4, 5, 6]);
        // Some are left out, the others keep to the plan.
        let planned = runtime.block_on(late_ticks(MissedTickBehavior::Skip));
        let planned = multiples(&planned);
        assert!(planned.windows(2).all(|pair| pair[0] < pair[1]) && planned[2] >= 4, "{planned:?}");
        // The plan is counted anew from the late tick.
        let planned = runtime.block_on(late_ticks(MissedTickBehavior::Delay));
        assert!(planned[2] >= 4.5, "{planned:?}");
        assert!(planned.windows(2).all(|pair| pair[1] - pair[0] > 0.999), "{planned:?}");
    });
}

#[test]
fn an_interval_begins_when_it_is_told_to() {
    guarded(|| {
        workers(1).block_on(async {
            let start = Instant::now() + 10 * MILLISECOND;
            let mut ticks = interval_at(start, 5 * MILLISECOND);
            assert_eq!(ticks.tick().await, start);
            assert!(Instant::now() >= start);
            let reset = Instant::now();
            ticks.reset_after(20 * MILLISECOND);
            ticks.tick().await;
            assert!(reset.elapsed() >= 20 * MILLISECOND);
            ticks.reset_immediately();
            ticks.tick().await;
            let planned: Vec<_> = ticks.take(3).collect().await;
            assert_eq!(planned.len(), 3);
        });
    });
}

#[test]
fn a_tick_that_loses_a_select_is_not_lost() {
    guarded(|| {
        workers(1).block_on(async {
            let start = Instant::now();
            let mut ticks = interval(10 * MILLISECOND);
            let mut taken = Vec::new();
            while taken.len() < 5 {
                liten::select! {
                    tick = ticks.tick() => taken.push(tick),
                    () = sleep(MILLISECOND) => {}
                }
            }
            let planned = (0..5).map(|i| taken[0] + i * 10 * MILLISECOND);
            assert_eq!(taken, planned.collect::<Vec<_>>());
            assert!(start.elapsed() >= 40 * MILLISECOND);
        });
    });
}

/// A clock that goes by tasks on all workers, made by hand from resets.
#[test]
fn resets_that_race_with_the_end_of_a_sleep_lose_nothing() {
    guarded(|| {
        let runtime: Runtime = workers(2);
        let done = Count::default();
        let tasks: Vec<_> = (0..20u64)
            .map(|i| {
                let done = done.clone();
                runtime.spawn(async move {
                    let mut waiting = sleep(Duration::from_micros(100 + i));
                    for _ in 0..50 {
                        let _ = poll_once(&mut waiting).await;
                        let deadline = Instant::now() + Duration::from_micros(i * 13);
                        Pin::new(&mut waiting).reset(deadline);
                        (&mut waiting).await;
                        assert!(Instant::now() >= deadline);
                        Pin::new(&mut waiting).reset(deadline + MILLISECOND);
                    }
                    done.add();
                })
            })
            .collect();
        runtime.block_on(async {
            for task in tasks {
                task.await.unwrap();
            }
        });
        assert_eq!(done.get(), 20);
    });
}
