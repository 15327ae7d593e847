//! The public side of the cooperative budget.

use super::budget;
use pin_project_lite::pin_project;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Counts one operation against the task's budget, and gives way to other tasks if the budget is used up.
///
/// liten's own sockets, timers and join handles do this by themselves. Call it in a loop that would
/// otherwise run for long without waiting for any of them. Unlike [`yield_now`](super::yield_now()) it
/// returns at once most of the time. Outside a task it always returns at once.
///
/// # Cancel safety
///
/// Dropping the future before it is done has no effect, except that the task may be polled once more than
/// necessary.
///
/// # Examples
///
/// ```
/// async fn sum(numbers: impl Iterator<Item = u64>) -> u64 {
///     let mut sum = 0;
///     for number in numbers {
///         sum += number;
///         liten::task::consume_budget().await;
///     }
///     sum
/// }
/// assert_eq!(liten::block_on(sum(1..=1000)), 500_500);
/// ```
pub async fn consume_budget() {
    poll_fn(budget::poll_proceed).await;
}

/// Wraps `future` so that it is polled without a budget.
///
/// The future then never gives way because it did much in one poll; if it always finds work, other tasks of
/// the same worker wait until another worker steals them. For a future that brings fairness of its own.
///
/// # Cancel safety
///
/// As cancel safe as `future`.
///
/// # Examples
///
/// ```
/// use liten::task::{consume_budget, unconstrained};
///
/// liten::block_on(unconstrained(async {
///     for _ in 0..1000 {
///         consume_budget().await; // never has to wait here
///     }
/// }));
/// ```
pub fn unconstrained<F>(future: F) -> Unconstrained<F> {
    Unconstrained { future }
}

pin_project! {
    /// The future returned by [`unconstrained`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Unconstrained<F> {
        #[pin]
        future: F,
    }
}

impl<F: Future> Future for Unconstrained<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let future = self.project().future;
        budget::unlimited(|| future.poll(cx))
    }
}

#[cfg(all(test, not(liten_shuttle)))]
mod tests {
    use super::{consume_budget, unconstrained};
    use crate::task::budget::INITIAL;
    use crate::task::current;
    use crate::task::id::TaskId;
    use std::cell::Cell;
    use std::pin::pin;
    use std::sync::Arc;
    use std::task::{Context, Poll, Wake, Waker};

    struct Ignore;

    impl Wake for Ignore {
        fn wake(self: Arc<Self>) {}
    }

    /// Polls `future` as a task until it is done; returns after how many polls.
    fn polls(future: impl Future<Output = ()>) -> usize {
        let waker = Waker::from(Arc::new(Ignore));
        let mut cx = Context::from_waker(&waker);
        let mut future = pin!(future);
        for polls in 1.. {
            let (poll, yielded) = current::enter(waker.data(), TaskId::next(), INITIAL, || {
                future.as_mut().poll(&mut cx)
            });
            match poll {
                Poll::Ready(()) => return polls,
                Poll::Pending => assert!(yielded),
            }
        }
        unreachable!()
    }

    #[test]
    fn a_loop_over_consume_budget_gives_way_every_128_rounds() {
        let rounds = Cell::new(0);
        let work = async {
            while rounds.get() < 1_000 {
                consume_budget().await;
                rounds.set(rounds.get() + 1);
            }
        };
        assert_eq!(polls(work), 1_000_usize.div_ceil(INITIAL.into()));
    }

    #[test]
    fn unconstrained_work_is_done_in_one_poll_and_leaves_the_budget_alone() {
        let work = async {
            unconstrained(async {
                for _ in 0..1_000 {
                    consume_budget().await;
                }
            })
            .await;
            for _ in 0..INITIAL {
                consume_budget().await;
            }
        };
        assert_eq!(polls(work), 1);
    }
}
