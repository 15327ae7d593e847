//! What the halves of the queue owe each other.

use super::*;

/// Its task wakes itself in each poll, so that the own half is never empty.
#[test]
fn a_task_from_elsewhere_runs_beside_one_that_always_wakes_itself() {
    let executor = LocalExecutor::new();
    let busy = executor.spawn(poll_fn(|cx| {
        cx.waker().wake_by_ref();
        Poll::<()>::Pending
    }));
    let mut run = Box::pin(executor.run(std::future::pending::<()>()));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(run.as_mut().poll(&mut cx).is_pending());
    let other = executor.shared().spawn_send(async {});
    assert_eq!(executor.shared().queued_tasks(), 2);
    assert!(run.as_mut().poll(&mut cx).is_pending());
    assert!(other.is_finished());
    assert!(!busy.is_finished());
}

/// An executor inside of another one's task: each task goes back to its own.
#[test]
fn a_wake_inside_another_executor_reaches_the_task_s_own() {
    let (outer, inner) = (LocalExecutor::new(), LocalExecutor::new());
    let left = Rc::new(Cell::new(None::<Waker>));
    let waiting = outer.spawn({
        let (left, mut polled) = (left.clone(), false);
        poll_fn(move |cx| {
            left.set(Some(cx.waker().clone()));
            if std::mem::replace(&mut polled, true) { Poll::Ready(()) } else { Poll::Pending }
        })
    });
    let waking = outer.spawn(async move {
        let wake = async move { left.take().into_iter().for_each(Waker::wake) };
        inner.run(inner.spawn(wake)).await
    });
    let both = async { (waiting.await, waking.await) };
    let mut run = pin!(outer.run(both));
    let mut cx = Context::from_waker(Waker::noop());
    let polls = (0..3).find(|_| run.as_mut().poll(&mut cx).is_ready());
    assert!(polls.is_some());
}
