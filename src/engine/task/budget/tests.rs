use super::*;
use crate::engine::task::TaskId;
use crate::engine::task::waker::tests::{enter_poll, of_a_task};
use crate::engine::wakers::tests::Count;
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Waker;

/// One poll of a task: `f` gets the task's context. Returns its output and whether the task yielded.
fn poll_of_a_task<R>(f: impl FnOnce(&mut Context<'_>) -> R) -> (R, bool) {
    let waker = of_a_task();
    let mut cx = Context::from_waker(&waker);
    let entered = enter_poll(&waker, TaskId::next(), INITIAL);
    (f(&mut cx), entered.has_yielded())
}

async fn unit() {
    poll_fn(poll_proceed).await;
}

#[test]
fn outside_a_task_it_is_unlimited() {
    let mut cx = Context::from_waker(Waker::noop());
    assert!((0..10_000).all(|_| poll_proceed(&mut cx).is_ready()));
}

#[test]
fn a_task_gets_128_operations_per_poll_and_then_yields() {
    for _ in 0..2 {
        let (granted, yielded) =
            poll_of_a_task(|cx| (0..).take_while(|_| poll_proceed(cx).is_ready()).count());
        assert_eq!(granted, usize::from(INITIAL));
        assert!(yielded, "a refusal asks for another poll");
    }
}

#[test]
fn what_is_left_is_not_a_yield() {
    let (granted, yielded) = poll_of_a_task(|cx| (0..INITIAL).all(|_| poll_proceed(cx).is_ready()));
    assert!(granted && !yielded);
}

#[test]
fn waiting_costs_nothing() {
    let (_, yielded) = poll_of_a_task(|cx| {
        for _ in 0..10_000 {
            assert!(poll_leaf(cx, |_| Poll::<()>::Pending).is_pending());
        }
        assert!((0..INITIAL).all(|_| poll_leaf(cx, |_| Poll::Ready(())).is_ready()));
        assert!(poll_leaf(cx, |_| -> Poll<()> { unreachable!("no unit is left") }).is_pending());
    });
    assert!(yielded);
}

#[test]
fn a_refund_never_makes_more_than_a_full_budget() {
    let (granted, _) = poll_of_a_task(|cx| {
        refund();
        (0..).take_while(|_| poll_proceed(cx).is_ready()).count()
    });
    assert_eq!(granted, usize::from(INITIAL));
    assert_eq!(give_back(UNLIMITED), UNLIMITED);
    assert_eq!(give_back(-5), 1);
}

#[test]
fn unlimited_is_undone_also_by_a_panic() {
    let (granted, _) = poll_of_a_task(|cx| {
        unlimited(|| assert!((0..1_000).all(|_| poll_proceed(cx).is_ready())));
        let panicking = AssertUnwindSafe(|| unlimited(|| panic!("inside")));
        assert!(catch_unwind(panicking).is_err());
        (0..).take_while(|_| poll_proceed(cx).is_ready()).count()
    });
    assert_eq!(granted, usize::from(INITIAL));
}

#[test]
fn a_future_beside_the_tasks_may_have_a_budget_too() {
    let (count, waker) = Count::new();
    let mut cx = Context::from_waker(&waker);
    let budget = full();
    let granted = (0..).take_while(|_| poll_proceed(&mut cx).is_ready()).count();
    drop(budget);
    assert_eq!(granted, usize::from(INITIAL));
    assert_eq!(count.get(), 1, "without a task the waker is woken");
}

/// A combinator with wakers of its own must not get round the budget: it stops soon after the first refusal.
#[test]
fn a_set_of_ready_children_is_not_emptied_in_one_poll() {
    let mut set: FuturesUnordered<_> = (0..10_000).map(|_| unit()).collect();
    let (done, _) =
        poll_of_a_task(|cx| (0..).take_while(|_| set.poll_next_unpin(cx).is_ready()).count());
    assert_eq!(done, usize::from(INITIAL));
}

/// A map of streams asks each of them once, and so does a merge, with a waker for each.
#[test]
fn children_that_are_asked_once_each_get_nothing_in_a_poll_without_budget() {
    for own in [true, false] {
        let (granted, yielded) = poll_of_a_task(|cx| {
            while poll_proceed(cx).is_ready() {}
            let (_, waker) = Count::new();
            let mut other = Context::from_waker(&waker);
            let mut ask = || if own { poll_proceed(cx) } else { poll_proceed(&mut other) };
            (0..500).filter(|_| ask().is_ready()).count()
        });
        assert_eq!((granted, yielded), (0, true));
    }
}

/// An executor inside the poll, as `futures::executor::block_on` is: polls again whenever it was woken.
#[test]
fn a_foreign_executor_inside_a_poll_gets_through() {
    let (count, waker) = Count::new();
    poll_of_a_task(|_| {
        let mut work = pin!(async {
            for _ in 0..1_000 {
                unit().await;
            }
        });
        let mut polls = 0;
        while work.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
            polls += 1;
            let woken = count.get();
            assert_eq!(woken, polls, "each refusal wakes the waker it was given");
        }
    });
}

/// Outside a task nothing is counted, and a leaf is asked all the same.
#[test]
fn a_traced_leaf_calls_what_was_told() {
    let mut cx = Context::from_waker(Waker::noop());
    super::traced(
        |_| Poll::Pending,
        || {
            for _ in 0..100 {
                assert!(poll_proceed(&mut cx).is_pending());
            }
            assert!(super::is_left());
        },
    );
    super::traced(|_| Poll::Ready(()), || assert!(poll_proceed(&mut cx).is_ready()));
    assert!(poll_proceed(&mut cx).is_ready());
}

/// What is left after an operation that costs so many more is granted, and the operation itself always is.
#[test]
fn a_large_operation_costs_more_than_one() {
    for (units, left) in [(0, 127), (1, 126), (126, 1), (127, 0), (128, 0), (usize::MAX, 0)] {
        let (granted, yielded) = poll_of_a_task(|cx| {
            assert!(poll_proceed(cx).is_ready());
            charge(units);
            (0..).take_while(|_| poll_proceed(cx).is_ready()).count()
        });
        assert_eq!((granted, yielded), (left, true), "{units}");
    }
    charge(1);
    assert_eq!(current::budget(), UNLIMITED);
    poll_of_a_task(|cx| {
        while poll_proceed(cx).is_ready() {}
        charge(1);
        let refused = (0..).take_while(|_| poll_proceed(cx).is_pending()).count();
        assert_eq!(refused, REFUSALS as usize - 1, "a refusal is counted as one");
        while poll_proceed(cx).is_ready() {}
        let mut other = Context::from_waker(Waker::noop());
        let refused = (0..).take_while(|_| poll_proceed(&mut other).is_pending()).count();
        assert!((500..=512).contains(&refused), "{refused}");
    });
}
