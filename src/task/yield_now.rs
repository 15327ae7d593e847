//! Yielding to other tasks.

use crate::engine::task::waker;
use std::future::poll_fn;
use std::task::Poll;

/// Lets other tasks run, then goes on.
///
/// The task is polled again after others that are ready, by this worker or by one that steals it. How many
/// others may run before is bounded, see [fairness](crate::task#fairness). There is no promise about their
/// order. Outside a task, and under executors that are not liten's, this wakes the waker it is polled with
/// and returns `Pending` once.
///
/// # Cancel safety
///
/// Dropping the future before it is done has no effect, except that the task may be polled once more than
/// necessary.
///
/// # Examples
///
/// ```
/// liten::block_on(async {
///     for part in 0..3 {
///         // ... a long computation, one part at a time ...
///         # let _ = part;
///         liten::task::yield_now().await;
///     }
/// });
/// ```
pub async fn yield_now() {
    let mut asked = false;
    poll_fn(|cx| {
        if asked {
            return Poll::Ready(());
        }
        asked = true;
        waker::yield_to(cx.waker());
        Poll::Pending
    })
    .await;
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::yield_now;
    use crate::engine::task::TaskId;
    use crate::engine::task::budget::INITIAL;
    use crate::engine::task::waker::tests::{enter_poll, of_a_task};
    use crate::engine::wakers::tests::Count;
    use futures_util::stream::{FuturesUnordered, StreamExt};
    use std::pin::{Pin, pin};
    use std::task::{Context, Poll, Waker};

    fn poll<F: Future>(future: Pin<&mut F>, waker: &Waker, own: &Waker) -> (Poll<F::Output>, bool) {
        let entered = enter_poll(own, TaskId::next(), INITIAL);
        (future.poll(&mut Context::from_waker(waker)), entered.has_yielded())
    }

    #[test]
    fn pending_once_through_the_flag() {
        let own = of_a_task();
        let mut future = pin!(yield_now());
        assert_eq!(poll(future.as_mut(), &own, &own), (Poll::Pending, true));
        assert_eq!(poll(future.as_mut(), &own, &own), (Poll::Ready(()), false));
    }

    #[test]
    fn a_foreign_waker_inside_a_task_is_woken() {
        let own = of_a_task();
        let (count, foreign) = Count::new();
        let mut future = pin!(yield_now());
        assert_eq!(poll(future.as_mut(), &foreign, &own), (Poll::Pending, false));
        assert_eq!(count.get(), 1);
        assert_eq!(poll(future.as_mut(), &foreign, &own), (Poll::Ready(()), false));
    }

    #[test]
    fn outside_a_task_the_waker_is_woken() {
        let (count, waker) = Count::new();
        let mut cx = Context::from_waker(&waker);
        let mut future = pin!(yield_now());
        assert_eq!(future.as_mut().poll(&mut cx), Poll::Pending);
        assert_eq!(count.get(), 1);
        assert_eq!(future.as_mut().poll(&mut cx), Poll::Ready(()));
    }

    /// Children of a set have wakers of their own: a flag alone would requeue the task and leave the child
    /// asleep.
    #[test]
    fn children_of_a_set_all_finish() {
        let (own, (count, given)) = (of_a_task(), Count::new());
        let mut set: FuturesUnordered<_> = (0..10).map(|_| yield_now()).collect();
        let (mut done, mut turns) = (0, 0);
        while done < 10 {
            let mut next = set.next();
            let (polled, yielded) = poll(Pin::new(&mut next), &given, &own);
            match polled {
                Poll::Ready(item) => done += usize::from(item.is_some()),
                Poll::Pending => assert!(yielded || count.take() > 0),
            }
            turns += 1;
            assert!(turns < 1_000, "a child sleeps on");
        }
    }
}
