//! `Notify`, `Barrier` and `SetOnce` under wakers that misbehave, futures that are forgotten, and crowds.

use crate::support::guard::{guarded, until, workers};
use crate::support::probe::{Calls, Count};
use crate::tasks::panicking_wakers::{Fault, Faulty, caught};
use liten::sync::futures::{Notified, OwnedNotified};
use liten::sync::{Barrier, BarrierWaitResult, Notify, SetOnce, SetOnceError};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

fn idly<F: Future + ?Sized>(future: Pin<&mut F>) -> bool {
    future.poll(&mut Context::from_waker(Waker::noop())).is_ready()
}

#[test]
fn a_future_that_is_forgotten_is_leaked_and_harms_none() {
    guarded(|| {
        for _ in 0..100 {
            let notify = Notify::new();
            let mut forgotten = Box::pin(notify.notified());
            let (woken, waker) = Calls::new();
            let _ = forgotten.as_mut().poll(&mut Context::from_waker(&waker));
            std::mem::forget(forgotten);
            let mut waits = pin!(notify.notified());
            assert!(!idly(waits.as_mut()));
            notify.notify_one();
            assert_eq!(woken.get(), 1, "it stands first, for ever");
            let mut forgotten = Box::pin(notify.notified());
            assert!(!idly(forgotten.as_mut()));
            std::mem::forget(forgotten);
            notify.notify_last();
            notify.notify_one();
            assert!(idly(waits.as_mut()));
            let mut forgotten = Box::pin(notify.notified());
            assert!(!idly(forgotten.as_mut()));
            std::mem::forget(forgotten);
            // The list ends while it is linked.
        }
    });
}

#[derive(Debug, Clone, Copy)]
enum Call {
    One,
    Last,
    All,
}

#[test]
fn a_waker_that_panics_costs_no_other_a_notification() {
    guarded(|| {
        for fault in [Fault::Clone, Fault::Wake, Fault::Drop] {
            for call in [Call::One, Call::Last, Call::All] {
                let notify = Notify::new();
                let (woken, good) = Calls::new();
                let mut cx = Context::from_waker(&good);
                let mut before = pin!(notify.notified());
                assert!(before.as_mut().poll(&mut cx).is_pending());
                let (waker, _) = Faulty::waker(fault);
                let mut bad = Box::pin(notify.notified());
                let polled =
                    caught(|| bad.as_mut().poll(&mut Context::from_waker(&waker)).is_ready());
                assert_eq!(polled, (fault != Fault::Clone).then_some(false));
                std::mem::forget(waker);
                let mut after = pin!(notify.notified());
                assert!(after.as_mut().poll(&mut cx).is_pending());
                for _ in 0..3 {
                    match call {
                        Call::One => notify.notify_one(),
                        Call::Last => notify.notify_last(),
                        Call::All => notify.notify_waiters(),
                    }
                }
                assert_eq!(woken.get(), 2, "{fault:?}, {call:?}");
                assert!(idly(before) && idly(after));
                // In place of one whose waker was not cloned, a permit.
                let left = fault == Fault::Clone && !matches!(call, Call::All);
                assert_eq!(idly(pin!(notify.notified())), left, "{fault:?}, {call:?}");
            }
        }
    });
}

#[test]
fn a_waker_whose_destructor_panics_may_be_replaced_and_left() {
    guarded(|| {
        let notify = Notify::new();
        let (waker, _) = Faulty::waker(Fault::Drop);
        let mut replaced = Box::pin(notify.notified());
        assert!(replaced.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        assert!(!idly(replaced.as_mut()));
        let mut left = Box::pin(notify.notified());
        assert!(left.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        drop(left);
        std::mem::forget(waker);
        notify.notify_one();
        assert!(idly(replaced.as_mut()));
        assert!(!idly(pin!(notify.notified())));
    });
}

/// Uses the `Notify` that calls it, and again when it is dropped.
struct Returning {
    notify: Arc<Notify>,
    calls: Count,
}

impl Returning {
    fn come_back(&self) {
        if self.calls.add() > 4 {
            return;
        }
        self.notify.notify_waiters();
        let mut waits = Box::pin(self.notify.notified());
        assert!(!idly(waits.as_mut()));
        self.notify.notify_last();
        // Passes its notification on.
        drop(waits);
        assert!(idly(pin!(self.notify.notified())));
    }
}

impl Wake for Returning {
    fn wake(self: Arc<Self>) {
        self.come_back();
    }
}

impl Drop for Returning {
    fn drop(&mut self) {
        self.come_back();
    }
}

#[test]
fn a_waker_may_use_the_notify_that_calls_it() {
    guarded(|| {
        let all: [fn(&Notify); 3] =
            [Notify::notify_one, Notify::notify_last, Notify::notify_waiters];
        for call in all {
            let notify = Arc::new(Notify::new());
            let waits = || {
                let calls = Count::default();
                let waker = Waker::from(Arc::new(Returning {
                    notify: notify.clone(),
                    calls: calls.clone(),
                }));
                let mut waits = Box::pin(notify.clone().notified_owned());
                assert!(waits.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
                (waits, calls)
            };
            let (mut called, calls) = waits();
            call(&notify);
            assert!(idly(called.as_mut()));
            assert_eq!(calls.get(), 2, "called, and dropped");
            // Dropped with the future, and replaced by another one.
            let (dropped, calls) = waits();
            drop(dropped);
            assert_eq!(calls.get(), 1);
            let (mut replaced, calls) = waits();
            idly(replaced.as_mut());
            assert_eq!(calls.get(), 1);
        }
    });
}

#[test]
fn a_thousand_are_notified_while_others_join() {
    guarded(|| {
        let runtime = workers(4);
        let (notify, stop) = (Arc::new(Notify::new()), Arc::new(AtomicBool::new(false)));
        let joined = Count::default();
        let others: Vec<_> = (0..16)
            .map(|_| {
                let (notify, stop) = (notify.clone(), stop.clone());
                runtime.spawn(async move {
                    while !stop.load(Ordering::Relaxed) {
                        let mut gives_up = Box::pin(notify.notified());
                        gives_up.as_mut().enable();
                        drop(gives_up);
                        notify.notified().await;
                    }
                })
            })
            .collect();
        for _ in 0..20 {
            let waiting: Vec<_> = (0..1000)
                .map(|_| {
                    let (waits, joined) = (notify.clone().notified_owned(), joined.clone());
                    runtime.spawn(async move {
                        let mut waits = pin!(waits);
                        if !waits.as_mut().enable() {
                            joined.add();
                        }
                        waits.await;
                    })
                })
                .collect();
            // A bound, not all: those that are late are reached all the same.
            until(|| joined.get() > 0);
            notify.notify_waiters();
            runtime.block_on(async {
                for task in waiting {
                    task.await.unwrap();
                }
            });
        }
        stop.store(true, Ordering::Relaxed);
        runtime.block_on(async {
            for task in others {
                while !task.is_finished() {
                    notify.notify_waiters();
                    liten::task::yield_now().await;
                }
                task.await.unwrap();
            }
        });
        assert!(!idly(pin!(notify.notified())), "no permit is left");
    });
}

/// Each of many notifications for one reaches a task of the other runtime, also those that a task gives back
/// by giving up.
#[test]
fn notifications_go_from_one_runtime_to_another() {
    guarded(|| {
        let (here, there) = (workers(2), workers(2));
        let notify = Arc::new(Notify::new());
        let (asked, done) = (Arc::new(Notify::new()), Count::default());
        let task = {
            let (notify, asked, done) = (notify.clone(), asked.clone(), done.clone());
            there.spawn(async move {
                for _ in 0..10_000 {
                    let mut gives_up = Box::pin(notify.notified());
                    gives_up.as_mut().enable();
                    asked.notify_one();
                    drop(gives_up);
                    notify.notified().await;
                    done.add();
                }
            })
        };
        here.block_on(async {
            for _ in 0..10_000 {
                asked.notified().await;
                notify.notify_one();
            }
            task.await.unwrap();
        });
        assert_eq!(done.get(), 10_000);
    });
}

#[test]
fn what_is_made_of_them_may_go_to_another_thread() {
    fn check<T: Send + Sync>() {}
    fn unwinds<T: std::panic::UnwindSafe + std::panic::RefUnwindSafe>() {}
    check::<(Notify, Notified<'_>, OwnedNotified, Barrier, BarrierWaitResult)>();
    check::<(SetOnce<u8>, SetOnceError<u8>)>();
    unwinds::<(Notify, Barrier, SetOnce<u8>)>();
}

#[test]
fn each_group_of_a_barrier_has_one_leader() {
    guarded(|| {
        let runtime = workers(4);
        let (barrier, leaders) = (Arc::new(Barrier::new(50)), Count::default());
        let tasks: Vec<_> = (0..50)
            .map(|_| {
                let (barrier, leaders) = (barrier.clone(), leaders.clone());
                runtime.spawn(async move {
                    for round in 0..200 {
                        assert!(leaders.get() <= round + 1, "a round ahead");
                        if barrier.wait().await.is_leader() {
                            leaders.add();
                        }
                        // The others of its group lead none of theirs twice.
                        assert!(leaders.get() <= round + 2);
                    }
                })
            })
            .collect();
        runtime.block_on(async {
            for task in tasks {
                task.await.unwrap();
            }
        });
        assert_eq!(leaders.get(), 200);
    });
}

#[test]
fn a_barrier_counts_a_future_that_has_arrived_and_is_gone() {
    guarded(|| {
        for count in [0, 1] {
            assert!(liten::block_on(Barrier::new(count).wait()).is_leader());
        }
        let barrier = Barrier::new(3);
        let mut gives_up = Box::pin(barrier.wait());
        assert!(!idly(gives_up.as_mut()));
        drop(gives_up);
        let never_polled = barrier.wait();
        drop(never_polled);
        let (woken, good) = Calls::new();
        let mut waits = pin!(barrier.wait());
        assert!(waits.as_mut().poll(&mut Context::from_waker(&good)).is_pending());
        assert!(liten::block_on(barrier.wait()).is_leader());
        assert_eq!(woken.get(), 1);
        let Poll::Ready(result) = waits.poll(&mut Context::from_waker(&good)) else {
            panic!("the group is complete");
        };
        assert!(!result.is_leader());
    });
}

#[test]
fn a_waker_that_panics_keeps_no_task_at_the_barrier() {
    guarded(|| {
        for fault in [Fault::Wake, Fault::Drop] {
            let barrier = Barrier::new(4);
            let (woken, good) = Calls::new();
            let (waker, _) = Faulty::waker(fault);
            let mut all = [(); 3].map(|()| Box::pin(barrier.wait()));
            for (at, wait) in all.iter_mut().enumerate() {
                let waker = if at == 1 { &waker } else { &good };
                assert!(wait.as_mut().poll(&mut Context::from_waker(waker)).is_pending());
            }
            std::mem::forget(waker);
            assert!(liten::block_on(barrier.wait()).is_leader());
            assert_eq!(woken.get(), 2);
            assert!(all.iter_mut().all(|wait| idly(wait.as_mut())));
        }
    });
}

#[test]
fn one_of_many_values_is_set_and_all_waiters_see_it() {
    guarded(|| {
        let runtime = workers(4);
        for _ in 0..100 {
            let once = Arc::new(SetOnce::new());
            let waiting: Vec<_> = (0..20)
                .map(|_| {
                    let once = once.clone();
                    runtime.spawn(async move { *once.wait().await })
                })
                .collect();
            let set: Vec<_> = (0..3)
                .map(|value| {
                    let once = once.clone();
                    runtime.spawn(async move { once.set(value) })
                })
                .collect();
            runtime.block_on(async {
                let mut refused = Vec::new();
                for task in set {
                    refused.extend(task.await.unwrap().err().map(|SetOnceError(value)| value));
                }
                assert_eq!(refused.len(), 2);
                for task in waiting {
                    assert!(!refused.contains(&task.await.unwrap()));
                }
            });
        }
    });
}

#[test]
fn a_value_that_was_given_is_as_one_that_was_set() {
    static GIVEN: SetOnce<String> = SetOnce::const_new_with(String::new());
    assert_eq!(GIVEN.set("other".to_owned()), Err(SetOnceError("other".to_owned())));
    assert_eq!(liten::block_on(GIVEN.wait()), "");
    let set = SetOnce::default();
    assert!(set.set(String::new()).is_ok());
    assert_eq!(set, GIVEN);
    assert_eq!(set.clone(), SetOnce::from(String::new()));
    assert_eq!(
        format!("{set:?} {:?}", SetOnce::<u8>::new()),
        "SetOnce { value: Some(\"\") } SetOnce { value: None }"
    );
    assert_eq!(SetOnce::new_with(Some(1)).into_inner(), Some(1));
    assert_eq!(SetOnce::<u8>::new_with(None).into_inner(), None);
    assert_eq!(SetOnceError(1).to_string(), "SetOnceError");
}
