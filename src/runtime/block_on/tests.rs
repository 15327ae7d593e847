//! The habit of a root's thread, and where a thread may block for a message.

use super::*;
use crate::runtime::{Builder, LocalExecutor, LocalRuntime, Runtime};
use crate::task::block_in_place;
use std::future::{poll_fn, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;

const QUICK: Duration = Duration::from_micros(5);

/// Sleeps, all of this length, until the first one that begins with a yield.
fn sleeps_before_a_yield(habit: &mut Habit, length: Duration) -> Option<u32> {
    (0..1 << 16).find(|_| {
        let yields = habit.yields();
        if !yields {
            habit.slept(length);
        }
        yields
    })
}

#[test]
fn only_a_row_of_short_sleeps_makes_the_root_yield() {
    let mut habit = Habit::NONE;
    assert_eq!(sleeps_before_a_yield(&mut habit, SHORT), None);
    habit = Habit::NONE;
    assert_eq!(sleeps_before_a_yield(&mut habit, QUICK), Some(ENOUGH as u32));
    habit.yielded(true, QUICK);
    habit.slept(QUICK);
    assert_eq!(sleeps_before_a_yield(&mut habit, QUICK), Some(0), "it paid");
    habit.yielded(true, QUICK);
    habit.slept(SHORT);
    assert_eq!(sleeps_before_a_yield(&mut habit, QUICK), Some(ENOUGH as u32), "begins anew");
}

#[test]
fn a_yield_that_does_not_pay_is_paid_for_by_the_sleeps_that_follow() {
    let mut habit = Habit::NONE;
    let quick_or_slow = [(false, QUICK), (true, SHORT), (true, 3 * SHORT), (false, 60 * SHORT)];
    for (woken, taken) in quick_or_slow {
        sleeps_before_a_yield(&mut habit, QUICK);
        habit.yielded(woken, taken);
        habit.slept(taken);
        let sleeps = sleeps_before_a_yield(&mut habit, QUICK).expect("some time");
        assert!(SHARE * sleeps >= taken);
    }
    habit.yielded(false, Duration::MAX);
    assert_eq!(
        sleeps_before_a_yield(&mut habit, QUICK),
        None,
        "it would owe more than can be counted"
    );
}

/// Whether the door lets this thread block, and that a refusal says what to do.
fn may_wait() -> bool {
    match catch_unwind(|| wait_outside("blocking_recv", ready(42))) {
        Ok(output) => output == 42,
        Err(payload) => {
            let text = payload.downcast_ref::<String>().expect("formatted");
            assert!(text.contains("blocking_recv called in async code"), "{text}");
            assert!(text.contains("use .await, or call it in spawn_blocking"), "{text}");
            false
        }
    }
}

fn two_workers() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).build().expect("threads")
}

#[test]
fn a_plain_thread_waits_without_a_runtime() {
    assert!(may_wait());
    let (send, receive) = mpsc::channel();
    let waiting = std::thread::spawn(move || {
        let mut polls = 0;
        wait_outside(
            "it",
            poll_fn(|cx| {
                polls += 1;
                match polls {
                    1 => {
                        send.send(cx.waker().clone()).expect("received");
                        Poll::Pending
                    }
                    _ => Poll::Ready(polls),
                }
            }),
        )
    });
    receive.recv().expect("sent").wake();
    assert_eq!(waiting.join().expect("no panic"), 2);
}

#[test]
fn a_task_and_the_roots_of_every_runtime_must_not_wait() {
    let runtime = two_workers();
    let task = runtime.spawn(async { may_wait() });
    assert!(!runtime.block_on(task).expect("no panic"));
    assert!(!runtime.block_on(async { may_wait() }), "a root");
    let inner = runtime.handle().clone();
    assert!(!runtime.block_on(async { inner.block_on(async { may_wait() }) }), "a root in a root");
    let current = Builder::new_current_thread().build().expect("a poller");
    assert!(!current.block_on(async { may_wait() }), "a root without workers");
    assert!(!current.handle().block_on(async { may_wait() }), "one that only polls");
    let task = current.spawn(async { may_wait() });
    assert!(!current.block_on(task).expect("no panic"));
    let local = LocalRuntime::new().expect("a poller");
    assert!(!local.block_on(async { may_wait() }), "a root of a local runtime");
    assert!(
        !local
            .block_on(async { crate::task::spawn_local(async { may_wait() }).await })
            .expect("no panic")
    );
    assert!(may_wait(), "after all of it");
}

#[test]
fn a_local_executor_under_a_foreign_block_on_must_not_wait() {
    let executor = LocalExecutor::new();
    let task = executor.spawn(async { may_wait() });
    let mut run = pin!(executor.run(task));
    let mut cx = Context::from_waker(Waker::noop());
    let joined = loop {
        if let Poll::Ready(joined) = run.as_mut().poll(&mut cx) {
            break joined;
        }
    };
    assert!(!joined.expect("no panic"));
}

/// The future of a root is dropped before its thread counts as free.
#[test]
fn the_destructor_of_a_root_must_not_wait() {
    struct Asks<'a>(&'a Cell<Option<bool>>);
    impl Drop for Asks<'_> {
        fn drop(&mut self) {
            self.0.set(Some(may_wait()));
        }
    }
    let answer = Cell::new(None);
    let asks = Asks(&answer);
    two_workers().block_on(async move {
        let _asks = asks;
    });
    assert_eq!(answer.get(), Some(false));
}

/// A thread that drives a runtime without workers calls wakers between two polls. While one waits, what would
/// end the wait may be a task of this very runtime.
#[test]
fn a_waker_that_a_runtime_without_workers_calls_must_not_wait() {
    struct Asks(mpsc::Sender<bool>);
    impl Wake for Asks {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.send(may_wait()).expect("received");
        }
    }
    let (send, receive) = mpsc::channel();
    let waker = Waker::from(std::sync::Arc::new(Asks(send)));
    let local = LocalRuntime::new().expect("a poller");
    local.block_on(async {
        // On a busy machine a short time may be over before the poll.
        let mut length = Duration::from_millis(1);
        let timer = loop {
            let mut timer = Box::pin(crate::time::sleep(length));
            if timer.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
                break timer;
            }
            length *= 2;
        };
        crate::time::sleep_until(timer.deadline() + Duration::from_millis(1)).await;
    });
    assert!(!receive.recv().expect("called"));
}

#[test]
fn block_in_place_and_spawn_blocking_may_wait() {
    let runtime = two_workers();
    let task = runtime.spawn(async { (block_in_place(may_wait), may_wait()) });
    assert_eq!(runtime.block_on(task).expect("no panic"), (true, false));
    let root = async { (block_in_place(may_wait), may_wait()) };
    assert_eq!(runtime.block_on(root), (true, false), "in a root");
    let inner = runtime.handle().clone();
    let task =
        runtime.spawn(async move { block_in_place(|| inner.block_on(async { may_wait() })) });
    assert!(!runtime.block_on(task).expect("no panic"), "a root in place");
    assert!(runtime.block_on(runtime.spawn_blocking(may_wait)).expect("no panic"));
    let _entered = runtime.enter();
    assert!(may_wait(), "in a runtime, but polling nothing");
}

#[test]
fn a_root_that_panics_leaves_its_thread_free() {
    let root = AssertUnwindSafe(|| two_workers().block_on(async { panic!("in the root") }));
    assert!(catch_unwind(root).is_err());
    assert!(may_wait());
}
