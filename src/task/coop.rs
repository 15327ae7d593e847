//! The cooperative budget, for futures of one's own: asking, spending, doing without.
//!
//! Each poll of a task begins with a budget of operations, 128 at the time of writing. Sockets, timers, join
//! handles, channels and locks of this crate take one each when they are ready, and streams one more for each
//! 2 KiB that they move. When none is left they return `Pending`, and the task yields to others, as by
//! [`yield_now`](super::yield_now()). A leaf future from elsewhere takes part by [`cooperative`] or
//! [`poll_proceed`].

use crate::engine::task::budget;
use pin_project_lite::pin_project;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Counts one operation against the task's budget, and yields to other tasks if the budget is used up.
///
/// liten's own sockets, timers, join handles, channels and locks do this by themselves; cursors and slices do
/// not. Call it in a loop that would otherwise run for long without waiting for any of the former. Unlike
/// [`yield_now`](super::yield_now()) it returns at once most of the time. Outside a task it always returns at
/// once.
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

/// Returns whether the task may complete another operation in this poll; `true` outside a task.
///
/// # Examples
///
/// ```
/// assert!(liten::task::coop::has_budget_remaining());
/// ```
pub fn has_budget_remaining() -> bool {
    budget::is_left()
}

/// Takes one operation from the task's budget, or returns `Pending` and asks for another poll if none is
/// left.
///
/// For leaf futures that are written by hand: called first in `poll`. The operation is given back when the
/// returned value is dropped, unless it is told that the future [made
/// progress](RestoreOnPending::made_progress).
///
/// # Examples
///
/// ```
/// use liten::task::coop::poll_proceed;
/// use std::task::{Context, Poll, ready};
///
/// fn poll_read(cx: &mut Context<'_>, poll_source: impl Fn(&mut Context<'_>) -> Poll<u8>) -> Poll<u8> {
///     let proceed = ready!(poll_proceed(cx));
///     let byte = ready!(poll_source(cx));
///     proceed.made_progress();
///     Poll::Ready(byte)
/// }
/// # let polled = liten::block_on(std::future::poll_fn(|cx| poll_read(cx, |_| Poll::Ready(1))));
/// # assert_eq!(polled, 1);
/// ```
pub fn poll_proceed(cx: &mut Context<'_>) -> Poll<RestoreOnPending> {
    budget::poll_proceed(cx).map(|()| RestoreOnPending { gives_back: true, thread: PhantomData })
}

/// Gives an operation back to the budget when it is dropped; made by [`poll_proceed`].
#[derive(Debug)]
#[must_use = "dropped at once, it gives the operation back"]
pub struct RestoreOnPending {
    gives_back: bool,
    /// The budget is that of this thread's poll.
    thread: PhantomData<*const ()>,
}

impl RestoreOnPending {
    /// Says that the operation was done: it is not given back.
    pub fn made_progress(mut self) {
        self.gives_back = false;
    }
}

impl Drop for RestoreOnPending {
    fn drop(&mut self) {
        if self.gives_back {
            budget::refund();
        }
    }
}

/// Wraps `future` so that it takes part in the budget as one operation: it costs one when it is ready, and is
/// not polled when none is left.
///
/// # Cancel safety
///
/// As cancel safe as `future`.
///
/// # Examples
///
/// ```
/// use liten::task::coop::cooperative;
///
/// # liten::block_on(async {
/// // A future that knows nothing of the budget.
/// let foreign = std::future::ready(1);
/// assert_eq!(cooperative(foreign).await, 1);
/// # });
/// ```
pub fn cooperative<F: Future>(future: F) -> Coop<F> {
    Coop { future }
}

pin_project! {
    /// The future returned by [`cooperative`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Coop<F> {
        #[pin]
        future: F,
    }
}

impl<F: Future> Future for Coop<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let future = self.project().future;
        budget::poll_leaf(cx, |cx| future.poll(cx))
    }
}

/// Wraps `future` so that it is polled without a budget.
///
/// The future then never yields because it did much in one poll; if it always finds work, other tasks of
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
        // A trace asks each leaf, by the budget.
        if budget::is_traced() { future.poll(cx) } else { budget::unlimited(|| future.poll(cx)) }
    }
}

/// Returns whether the budget was used up in this poll, and an operation has had to wait for that. For the
/// package named `tokio`.
#[doc(hidden)]
pub fn was_refused() -> bool {
    budget::was_refused()
}

/// Runs `f`, in which each future that counts against the budget calls `leaf` first, and goes on only if that
/// is ready. For the package named `tokio`.
#[doc(hidden)]
pub fn traced<R>(leaf: fn(&mut Context<'_>) -> Poll<()>, f: impl FnOnce() -> R) -> R {
    budget::traced(leaf, f)
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::{consume_budget, cooperative, has_budget_remaining, poll_proceed, unconstrained};
    use crate::engine::task::TaskId;
    use crate::engine::task::budget::INITIAL;
    use crate::engine::task::waker::tests::{enter_poll, of_a_task};
    use std::cell::Cell;
    use std::pin::pin;
    use std::task::{Context, Poll};

    /// Polls `future` as a task until it is done; returns after how many polls.
    fn polls(future: impl Future<Output = ()>) -> usize {
        let waker = of_a_task();
        let mut cx = Context::from_waker(&waker);
        let mut future = pin!(future);
        for polls in 1.. {
            let entered = enter_poll(&waker, TaskId::next(), INITIAL);
            match future.as_mut().poll(&mut cx) {
                Poll::Ready(()) => return polls,
                Poll::Pending => assert!(entered.has_yielded()),
            }
        }
        unreachable!()
    }

    #[test]
    fn a_loop_over_consume_budget_yields_every_128_rounds() {
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
    fn ready_futures_yield_when_they_are_cooperative() {
        let work = async {
            for _ in 0..1_000 {
                cooperative(std::future::ready(())).await;
            }
        };
        assert_eq!(polls(work), 1_000_usize.div_ceil(INITIAL.into()));
    }

    #[test]
    fn what_made_no_progress_costs_nothing() {
        let spent = Cell::new(0);
        let work = async {
            for _ in 0..1_000 {
                let proceed = std::future::poll_fn(poll_proceed).await;
                drop(proceed);
                assert!(has_budget_remaining());
            }
            while has_budget_remaining() {
                std::future::poll_fn(poll_proceed).await.made_progress();
                spent.set(spent.get() + 1);
            }
        };
        assert_eq!(polls(work), 1);
        assert_eq!(spent.get(), usize::from(INITIAL));
        assert!(has_budget_remaining(), "outside a task");
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
