//! Wakers whose own code does more than wake: one that comes back to what it is being left with, one that
//! shares its data with a task's, one whose destructor panics long after it was left.

#![allow(unsafe_code)]

use crate::support::guard::{guarded, workers};
use crate::tasks::panicking_wakers::{Fault, Faulty, caught, empty_socket, peeked, readable};
use liten::task::{CancellationToken, LocalExecutor, TaskTracker, consume_budget, yield_now};
use liten::time::{Duration, sleep};
use std::future::{Future, pending, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

/// Calls its function each time it is cloned.
struct Calling(Box<dyn Fn() + Send + Sync>);

/// Not a constant: that may have several addresses, and wakers are compared by the address of their table.
static CALLING: RawWakerVTable =
    RawWakerVTable::new(Calling::clone, Calling::drop, |_| (), Calling::drop);

impl Calling {
    fn waker(on_clone: impl Fn() + Send + Sync + 'static) -> Waker {
        let data = Arc::into_raw(Arc::new(Self(Box::new(on_clone))));
        // SAFETY: the functions below keep the count of the `Arc` that `data` comes from, and what is in it
        // may be used from any thread.
        unsafe { Waker::from_raw(RawWaker::new(data.cast(), &CALLING)) }
    }

    /// # Safety
    ///
    /// Here and below: as `RawWakerVTable` says.
    unsafe fn clone(data: *const ()) -> RawWaker {
        // SAFETY: a waker exists, so its reference is counted.
        unsafe { (*data.cast::<Self>()).0() };
        // SAFETY: as above; the new waker's reference is counted here.
        unsafe { Arc::increment_strong_count(data.cast::<Self>()) };
        RawWaker::new(data, &CALLING)
    }

    /// # Safety
    ///
    /// See `clone`.
    unsafe fn drop(data: *const ()) {
        // SAFETY: the waker's reference goes with this call.
        drop(unsafe { Arc::from_raw(data.cast::<Self>()) });
    }
}

fn idly<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn a_waker_may_use_the_socket_that_it_is_left_with() {
    guarded(|| {
        let runtime = workers(1);
        let (_other, socket) = empty_socket(&runtime);
        for wait in [peeked, readable] {
            // With a waker of its own, and in the place of another one.
            for polled_before in [false, true] {
                let mut leaf = wait(&socket);
                if polled_before {
                    assert!(idly(leaf.as_mut()).is_pending());
                }
                let (theirs, calls) = (socket.clone(), Arc::new(AtomicUsize::new(0)));
                let counted = calls.clone();
                let waker = Calling::waker(move || {
                    counted.fetch_add(1, Ordering::SeqCst);
                    assert!(idly(wait(&theirs).as_mut()).is_pending());
                });
                assert!(leaf.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
                assert!(calls.load(Ordering::SeqCst) > 0, "it was not left");
            }
        }
    });
}

/// A waker, and how often it has been cloned.
fn counting() -> (Waker, impl Fn() -> usize) {
    let clones = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&clones);
    let waker = Calling::waker(move || {
        counted.fetch_add(1, Ordering::SeqCst);
    });
    (waker, move || clones.load(Ordering::SeqCst))
}

type Leaf<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Everything that keeps a waker from one poll to the next, polled by a task that stays the same, then by
/// another one.
#[test]
fn a_waker_is_cloned_only_when_it_has_changed() {
    const POLLS: usize = 1_000;
    guarded(|| {
        let runtime = workers(1);
        let _entered = runtime.enter();
        let (_other, socket) = empty_socket(&runtime);
        let (token, tracker) = (CancellationToken::new(), TaskTracker::new());
        let _tracked = tracker.token();
        let task = runtime.spawn(pending::<()>());
        let executor = LocalExecutor::new();
        let forever = Duration::from_secs(86_400);
        let leaves: [(&str, Leaf<'_>); 7] = [
            ("a task", Box::pin(async { task.await.unwrap() })),
            ("a sleep", Box::pin(sleep(forever))),
            ("a socket, as a poll", peeked(&socket)),
            ("a socket, as a future", readable(&socket)),
            ("a token", Box::pin(token.cancelled())),
            ("a tracker", Box::pin(tracker.wait())),
            ("an executor", Box::pin(executor.run(pending()))),
        ];
        let mut wrong = Vec::new();
        for (what, mut leaf) in leaves {
            for task in ["first", "second"] {
                let (waker, clones) = counting();
                let mut poll = || leaf.as_mut().poll(&mut Context::from_waker(&waker));
                assert!(poll().is_pending(), "{what}");
                let kept = clones();
                assert!(kept > 0, "{what}: the {task} task's waker is not kept");
                assert!((0..POLLS).all(|_| poll().is_pending()), "{what}");
                if clones() != kept {
                    wrong
                        .push(format!("{what}, {task} task: {} in {POLLS} polls", clones() - kept));
                }
            }
        }
        assert!(wrong.is_empty(), "clones: {wrong:#?}");
    });
}

/// How often wakers with this table have been woken, whatever their data.
static WAKES: AtomicUsize = AtomicUsize::new(0);

static BORROWED: RawWakerVTable =
    RawWakerVTable::new(|data| RawWaker::new(data, &BORROWED), count, count, |_| ());

fn count(_: *const ()) {
    WAKES.fetch_add(1, Ordering::SeqCst);
}

/// A combinator may put its own functions around the data of the waker that it was given. It has to be woken,
/// or it would not know which child wants to be polled.
#[test]
fn a_waker_with_the_data_of_a_task_is_woken_all_the_same() {
    guarded(|| {
        let runtime = workers(1);
        let waits = async {
            poll_fn(|cx| {
                // SAFETY: the functions of the table follow no pointer.
                let other = unsafe { Waker::from_raw(RawWaker::new(cx.waker().data(), &BORROWED)) };
                let mut cx = Context::from_waker(&other);
                let before = WAKES.load(Ordering::SeqCst);
                assert!(pin!(yield_now()).poll(&mut cx).is_pending());
                assert_eq!(WAKES.load(Ordering::SeqCst), before + 1, "yielded");
                while pin!(consume_budget()).poll(&mut cx).is_ready() {}
                assert_eq!(WAKES.load(Ordering::SeqCst), before + 2, "at the end of the budget");
                Poll::Ready(())
            })
            .await;
        };
        runtime.block_on(runtime.spawn(waits)).unwrap();
    });
}

/// Polls `future` with wakers whose destructors panic, then with one that does not, and drops it.
fn leave_panicking_wakers(what: &str, mut future: Pin<Box<dyn Future<Output = ()> + '_>>) {
    for _ in 0..2 {
        let (waker, _) = Faulty::waker(Fault::Drop);
        let polled = caught(|| future.as_mut().poll(&mut Context::from_waker(&waker)));
        assert_eq!(polled, Some(Poll::Pending), "{what}: one was replaced");
        caught(|| drop(waker));
    }
    assert_eq!(caught(|| idly(future.as_mut())), Some(Poll::Pending), "{what}: the last");
    let (waker, _) = Faulty::waker(Fault::Drop);
    assert_eq!(future.as_mut().poll(&mut Context::from_waker(&waker)), Poll::Pending);
    caught(|| drop(waker));
    assert!(caught(|| drop(future)).is_some(), "{what}: dropped with its future");
}

/// The caller of a poll has not made the waker that an earlier poll has left.
#[test]
fn a_wait_for_tasks_does_not_suffer_from_a_waker_left_before() {
    guarded(|| {
        let (token, tracker) = (CancellationToken::new(), TaskTracker::new());
        leave_panicking_wakers("a token", Box::pin(token.cancelled()));
        leave_panicking_wakers("a tracker", Box::pin(tracker.wait()));
        let executor = LocalExecutor::new();
        let task = executor.spawn(pending::<()>());
        leave_panicking_wakers("an executor", Box::pin(executor.run(pending())));
        assert!(!task.is_finished());
    });
}
