use super::{Sleep, sleep};
use crate::runtime::Runtime;
use crate::time::{Duration, Instant};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

const MS: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3_600);
/// A guard against hanging, never the expected time.
const LONG: Duration = Duration::from_secs(20);

fn runtime() -> Runtime {
    Runtime::new().expect("a runtime")
}

#[test]
fn a_sleep_ends_after_its_deadline() {
    runtime().block_on(async {
        for delay in [MS / 3, MS, 2 * MS, 30 * MS] {
            let start = Instant::now();
            let mut sleep = sleep(delay);
            assert!(sleep.deadline() >= start + delay);
            (&mut sleep).await;
            assert!(Instant::now() >= sleep.deadline());
            assert!(sleep.is_elapsed());
            // Ready for good.
            (&mut sleep).await;
            assert!(start.elapsed() < LONG);
        }
    });
}

#[test]
fn a_sleep_belongs_to_the_runtime_it_was_made_in() {
    let runtime = runtime();
    let sleep = {
        let _entered = runtime.enter();
        sleep(2 * MS)
    };
    let start = Instant::now();
    // Polled inside another runtime, it is still fired by the driver of the first.
    self::runtime().block_on(sleep);
    assert!(start.elapsed() < LONG);
}

#[test]
fn a_sleep_made_outside_belongs_to_the_runtime_that_polls_it_first() {
    let start = Instant::now();
    let mut sleep = sleep(2 * MS);
    assert!(sleep.deadline() >= start + 2 * MS);
    Pin::new(&mut sleep).reset(start + 3 * MS);
    assert_eq!(sleep.deadline(), start + 3 * MS);
    let runtime = runtime();
    runtime.block_on(poll_fn(|cx| {
        // The deadline may have passed already; either way it is bound now.
        let _ = Pin::new(&mut sleep).poll(cx);
        Poll::Ready(())
    }));
    self::runtime().block_on(&mut sleep);
    assert!((3 * MS..LONG).contains(&start.elapsed()));
}

#[test]
fn a_timer_is_no_larger_for_being_bound_late() {
    assert_eq!(size_of::<Sleep>(), size_of::<crate::engine::driver::timers::TimerEntry>());
}

#[test]
fn sleeps_run_side_by_side() {
    let start = Instant::now();
    runtime().block_on(async {
        let mut sleeps: Vec<Sleep> = (0..1_000).map(|n| sleep(50 * MS + MS * n / 100)).collect();
        poll_fn(|cx| {
            sleeps.retain_mut(|sleep| Pin::new(sleep).poll(cx).is_pending());
            if sleeps.is_empty() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    });
    assert!((50 * MS..LONG).contains(&start.elapsed()));
}

#[test]
fn a_reset_sleep_waits_for_the_new_deadline() {
    runtime().block_on(async {
        let start = Instant::now();
        let mut sleep = sleep(HOUR);
        let mut cx = Context::from_waker(Waker::noop());
        assert!(Pin::new(&mut sleep).poll(&mut cx).is_pending());
        Pin::new(&mut sleep).reset(start + 5 * MS);
        assert_eq!(sleep.deadline(), start + 5 * MS);
        (&mut sleep).await;
        assert!((5 * MS..LONG).contains(&start.elapsed()));

        // After it has fired, too.
        let again = Instant::now() + 5 * MS;
        Pin::new(&mut sleep).reset(again);
        assert!(!sleep.is_elapsed() || Instant::now() >= again);
        (&mut sleep).await;
        assert!(Instant::now() >= again);
    });
}

/// A task that waits is woken by the new deadline, although no task has polled the sleep after the reset.
#[test]
fn a_reset_needs_no_poll() {
    runtime().block_on(async {
        let mut sleep = sleep(HOUR);
        let mut polls = 0;
        poll_fn(|cx| {
            polls += 1;
            if polls == 1 {
                assert!(Pin::new(&mut sleep).poll(cx).is_pending());
                Pin::new(&mut sleep).reset(Instant::now() + MS);
                return Poll::Pending;
            }
            Pin::new(&mut sleep).poll(cx)
        })
        .await;
    });
}
