//! What the halves of the queue owe each other.

use super::*;
use crate::engine::wakers::tests::Flag;
use std::pin::Pin;
use std::task::Waker;

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
    let other = executor.shared().spawn_send(async {}, Location::caller());
    assert_eq!(executor.shared().queued_tasks().iter().sum::<usize>(), 2);
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

/// The last task is woken in the poll of one call, which runs it too: its push wakes none of the others.
#[test]
fn all_waits_for_completion_end() {
    let (left, mut polled, mut rang) = (Cell::new(None::<Waker>), false, false);
    let executor = LocalExecutor::new();
    executor.spawn(poll_fn(|cx| {
        left.set(Some(cx.waker().clone()));
        if std::mem::replace(&mut polled, true) { Poll::Ready(()) } else { Poll::Pending }
    }));
    let calls = [(); 3].map(|()| Flag::new());
    let poll = |future: Pin<&mut dyn Future<Output = ()>>, index: usize| {
        calls[index].0.take();
        future.poll(&mut Context::from_waker(&calls[index].1)).is_ready()
    };
    let is_woken = |index: usize| calls[index].0.is_set();
    let [mut first, mut second] = [(); 2].map(|()| Box::pin(executor.run_until_completion()));
    assert!(!poll(first.as_mut(), 1) && !poll(second.as_mut(), 2));
    assert!(!is_woken(1) && !is_woken(2));
    let mut runs = pin!(executor.run(poll_fn(|_| {
        if !std::mem::replace(&mut rang, true) {
            left.take().expect("polled once").wake();
        }
        Poll::<()>::Pending
    })));
    assert!(!poll(runs.as_mut(), 0));
    assert_eq!(executor.shared().alive_tasks(), 0);
    assert!(is_woken(1) && is_woken(2), "they sleep on");
    assert!(!poll(runs.as_mut(), 0));
    assert!(!is_woken(0), "it wakes itself although there is nothing to run");
    assert!(poll(first.as_mut(), 1) && poll(second.as_mut(), 2));
}

/// A wake by another thread during a poll makes a task ready; a task that wakes itself yields to it.
#[test]
fn a_task_that_is_woken_in_its_poll_runs_before_one_that_has_yielded() {
    let executor = LocalExecutor::new();
    let order = Rc::new(std::cell::RefCell::new(Vec::new()));
    let spawn = |name: char, wake: fn(&Waker)| {
        let order = order.clone();
        executor.spawn(poll_fn(move |cx| {
            order.borrow_mut().push(name);
            if order.borrow().iter().filter(|&&polled| polled == name).count() == 2 {
                return Poll::Ready(());
            }
            wake(cx.waker());
            Poll::Pending
        }))
    };
    let yields = spawn('y', Waker::wake_by_ref);
    let woken = spawn('w', |waker| {
        let waker = waker.clone();
        std::thread::spawn(move || waker.wake()).join().unwrap();
    });
    let both = async { (yields.await, woken.await) };
    let mut run = pin!(executor.run(both));
    let polls =
        (0..3).find(|_| run.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
    assert!(polls.is_some());
    assert_eq!(order.borrow()[..], ['y', 'w', 'w', 'y']);
}
