use super::{Elapsed, timeout, timeout_at};
use crate::engine::task::budget;
use crate::runtime::{Builder, Runtime};
use crate::task::yield_now;
use crate::time::{Duration, Instant, sleep};
use std::future::{pending, poll_fn, ready};
use std::io;
use std::rc::Rc;
use std::task::Poll;

const MS: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3_600);
/// A guard against hanging, never the expected time.
const LONG: Duration = Duration::from_secs(20);

fn runtime() -> Runtime {
    Runtime::new().expect("a runtime")
}

#[test]
fn a_timeout_returns_what_comes_first() {
    runtime().block_on(async {
        assert_eq!(
            timeout(LONG, async {
                sleep(MS).await;
                7
            })
            .await,
            Ok(7)
        );
        let start = Instant::now();
        assert!(timeout(5 * MS, sleep(HOUR)).await.is_err());
        assert!((5 * MS..LONG).contains(&start.elapsed()));
        let deadline = Instant::now() + MS;
        assert!(timeout_at(deadline, pending::<()>()).await.is_err());
        assert!(Instant::now() >= deadline);
        // Ready and too late: the output is not thrown away.
        assert_eq!(timeout_at(deadline, ready('x')).await, Ok('x'));
        // Anything that becomes a future.
        assert_eq!(timeout(LONG, Box::pin(async { 1 })).await, Ok(1));
    });
}

#[test]
fn a_timeout_gives_its_future_back() {
    runtime().block_on(async {
        let value = Rc::new(());
        let mut limited = timeout(HOUR, ready(value.clone()));
        let _: &std::future::Ready<_> = limited.get_ref();
        *limited.get_mut() = ready(value.clone());
        assert_eq!(limited.into_inner().await, value);
        // Borrowed, the future survives its time limit.
        let mut slow = sleep(10 * MS);
        assert!(timeout(MS, &mut slow).await.is_err() || slow.is_elapsed());
        slow.await;
    });
}

/// A clock that stands still jumps to the next deadline when all wait.
#[test]
fn a_duration_beyond_the_clock_is_no_limit() {
    let runtime = Builder::new_current_thread().start_paused(true).build().expect("a runtime");
    runtime.block_on(async {
        let unlimited = timeout(Duration::MAX, async {
            sleep(HOUR * 24 * 365 * 200).await;
            'x'
        });
        assert_eq!(unlimited.await, Ok('x'));
    });
    // It needs no runtime.
    assert_eq!(smol::block_on(timeout(Duration::MAX, yield_now())), Ok(()));
}

/// A future that always uses up the whole budget and comes back for more must still time out.
#[test]
fn a_greedy_future_times_out() {
    runtime().block_on(async {
        let greedy = poll_fn(|cx| {
            for _ in 0..10_000 {
                if budget::poll_proceed(cx).is_pending() {
                    return Poll::<()>::Pending;
                }
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        });
        assert!(timeout(5 * MS, greedy).await.is_err());
    });
}

#[test]
fn elapsed_is_an_error_and_an_io_error() {
    let elapsed: Elapsed =
        runtime().block_on(async { timeout(MS, pending::<()>()).await }).unwrap_err();
    let boxed: Box<dyn std::error::Error + Send + Sync> = Box::new(elapsed);
    assert_eq!(boxed.to_string(), "the time limit was reached");
    let error = io::Error::from(elapsed);
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert!(error.get_ref().is_some_and(|inner| inner.is::<Elapsed>()));
}
