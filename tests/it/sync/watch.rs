//! `watch` between runtimes, in crowds, and with values and closures that misbehave.

use crate::support::guard::{guarded, workers};
use crate::support::probe::{Count, OnDrop};
use crate::tasks::panicking_wakers::{Fault, Faulty, caught};
use liten::sync::watch::{self, Receiver, Ref, Sender, error::RecvError, error::SendError};
use std::cell::Cell;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

fn idly<F: Future + ?Sized>(future: Pin<&mut F>) -> bool {
    future.poll(&mut Context::from_waker(Waker::noop())).is_ready()
}

#[test]
fn a_thousand_receivers_in_another_runtime_see_the_last_value() {
    guarded(|| {
        let (here, there) = (workers(2), workers(2));
        let (sender, receiver) = watch::channel(0);
        let tasks: Vec<_> = (0..1000)
            .map(|_| {
                let mut receiver = receiver.clone();
                there.spawn(async move {
                    let mut last = 0;
                    while receiver.changed().await.is_ok() {
                        let value = *receiver.borrow_and_update();
                        assert!(value > last, "{value} after {last}");
                        last = value;
                    }
                    last
                })
            })
            .collect();
        drop(receiver);
        here.block_on(async move {
            let also = sender.clone();
            for value in 1..=200 {
                (if value % 2 == 0 { &sender } else { &also }).send(value).unwrap();
                liten::task::yield_now().await;
            }
            drop((sender, also));
            for task in tasks {
                assert_eq!(task.await.unwrap(), 200);
            }
        });
    });
}

#[test]
fn the_last_of_a_thousand_receivers_is_waited_for() {
    guarded(|| {
        let runtime = workers(4);
        let (sender, receiver) = watch::channel(false);
        let ended = Count::default();
        for _ in 0..1000 {
            let (mut receiver, ended) = (receiver.clone(), ended.clone());
            drop(runtime.spawn(async move {
                receiver.wait_for(|stop| *stop).await.unwrap();
                ended.add();
                drop(receiver);
            }));
        }
        drop(receiver);
        runtime.block_on(async {
            sender.send(true).unwrap();
            sender.closed().await;
        });
        assert_eq!(ended.get(), 1000);
        assert_eq!(sender.receiver_count(), 0);
    });
}

/// Uses its channel when it is dropped.
struct Nosy(Option<Sender<Nosy>>, Count);

impl Drop for Nosy {
    fn drop(&mut self) {
        if let Some(sender) = self.0.take() {
            sender.send_modify(|_| ());
            drop(sender.borrow());
            self.1.add();
        }
    }
}

#[test]
fn an_old_value_is_dropped_outside_the_lock() {
    guarded(|| {
        let count = Count::default();
        let (sender, mut receiver) = watch::channel(Nosy(None, count.clone()));
        sender.send_modify(|value| value.0 = Some(sender.clone()));
        assert!(sender.send(Nosy(None, count.clone())).is_ok());
        assert_eq!(count.get(), 1);
        sender.send_modify(|value| value.0 = Some(sender.clone()));
        drop(sender.send_replace(Nosy(None, count.clone())));
        assert_eq!(count.get(), 2);
        assert!(receiver.borrow_and_update().has_changed());
    });
}

#[test]
fn a_closure_that_panics_harms_no_channel() {
    guarded(|| {
        let (sender, mut receiver) = watch::channel(vec![1]);
        let modify = |value: &mut Vec<_>| {
            value.push(2);
            panic!("a closure");
        };
        assert!(caught(|| sender.send_modify(modify)).is_none());
        assert!(!receiver.has_changed().unwrap(), "no receiver was told");
        assert_eq!(*receiver.borrow(), [1, 2]);
        let wait = caught(|| idly(pin!(receiver.wait_for(|_| panic!("a closure")))));
        assert!(wait.is_none());
        sender.send_modify(|value| value.push(3));
        assert_eq!(*receiver.borrow_and_update(), [1, 2, 3]);
    });
}

#[test]
fn a_waker_that_panics_costs_no_other_receiver_a_value() {
    guarded(|| {
        for fault in [Fault::Clone, Fault::Wake, Fault::Drop] {
            let (sender, receiver) = watch::channel(0);
            let mut receivers: Vec<_> = (0..20).map(|_| receiver.clone()).collect();
            let mut waiting: Vec<Pin<Box<_>>> =
                receivers.iter_mut().map(|one| Box::pin(one.changed())).collect();
            let (waker, _) = Faulty::waker(fault);
            for (at, one) in waiting.iter_mut().enumerate() {
                let waker = if at % 3 == 1 { &waker } else { Waker::noop() };
                let mut cx = Context::from_waker(waker);
                let polled = caught(|| one.as_mut().poll(&mut cx).is_ready());
                assert_eq!(polled, (at % 3 != 1 || fault != Fault::Clone).then_some(false));
            }
            std::mem::forget(waker);
            sender.send(1).unwrap();
            for (at, mut one) in waiting.into_iter().enumerate() {
                // An `async fn` cannot be polled after it has panicked.
                assert!((at % 3 == 1 && fault == Fault::Clone) || idly(one.as_mut()));
            }
            assert!(receivers.iter_mut().all(|one| *one.borrow_and_update() == 1));
        }
    });
}

/// Each of these is always ready, so only the budget lets the other task run.
#[test]
fn what_is_ready_at_once_starves_no_task() {
    guarded(|| {
        let runtime = workers(1);
        for way in 0..3 {
            let stop = Arc::new(AtomicBool::new(false));
            let (sender, mut receiver) = watch::channel(0);
            if way == 2 {
                // Of another channel: this one is closed.
                receiver = watch::channel(0).1;
            }
            let stops = stop.clone();
            let busy = runtime.spawn(async move {
                while !stops.load(Ordering::Relaxed) {
                    receiver.mark_changed();
                    match way {
                        0 => receiver.changed().await.unwrap(),
                        1 => drop(receiver.wait_for(|_| true).await.unwrap()),
                        _ => sender.closed().await,
                    }
                }
            });
            runtime.block_on(async {
                let other = liten::spawn(async move { stop.store(true, Ordering::Relaxed) });
                other.await.unwrap();
                busy.await.unwrap();
            });
        }
    });
}

#[test]
fn halves_tell_whose_they_are() {
    let (sender, receiver) = watch::channel(1);
    let (other, stranger) = watch::channel(1);
    let more = sender.clone();
    assert!(sender.same_channel(&more) && !sender.same_channel(&other));
    assert!(receiver.same_channel(&receiver.clone()) && !receiver.same_channel(&stranger));
    assert_eq!((sender.sender_count(), sender.receiver_count()), (2, 1));
    drop((more, sender));
    assert!(receiver.is_closed());
    let error = receiver.has_changed().unwrap_err();
    assert_eq!(
        (error.to_string(), format!("{error:?}")),
        ("channel closed".into(), "RecvError(())".into())
    );
    assert_eq!(*receiver.borrow(), 1, "the last value stays");
    let error = Sender::<u8>::default().send(2).unwrap_err();
    assert_eq!(
        (error.to_string(), format!("{error:?}")),
        ("channel closed".into(), "SendError { .. }".into())
    );
    assert_eq!(error, SendError(2));
}

#[test]
fn halves_may_go_to_another_thread_and_borrowed_values_may_not() {
    fn check<T: Send + Sync>() {}
    fn unwinds<T: std::panic::UnwindSafe + std::panic::RefUnwindSafe>() {}
    fn sends<T: Send>(_: impl FnOnce(Receiver<u8>, Sender<u8>) -> T) {}
    fn shares<T: Sync>() {}
    check::<(Sender<u8>, Receiver<u8>, SendError<u8>, RecvError)>();
    unwinds::<(Sender<u8>, Receiver<u8>)>();
    shares::<Ref<'_, u8>>();
    sends(|mut receiver, sender| async move {
        receiver.changed().await.unwrap();
        drop(receiver.wait_for(|value| *value == 1).await);
        sender.closed().await;
    });
}

/// Sends until `readers` return.
fn beside_a_sender(sender: &Sender<u64>, readers: impl FnOnce()) {
    let stopped = Count::default();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut number = 0;
            while stopped.get() == 0 {
                number += 1;
                sender.send_replace(number);
            }
        });
        let _stops = OnDrop(stopped.clone());
        readers();
    });
}

/// In some of the rounds the sender has begun to wait between the two.
#[test]
fn a_second_borrow_does_not_wait_for_the_sender() {
    guarded(|| {
        let (sender, mut receiver) = watch::channel(0);
        let (other, also) = (receiver.clone(), sender.clone());
        beside_a_sender(&sender, || {
            // On a busy machine each of them takes long.
            let begun = Instant::now();
            let is_time = |round: &u32| *round < 300 || begun.elapsed() < Duration::from_secs(20);
            for round in (0..3_000).take_while(is_time) {
                let first = other.borrow();
                // Time for the sender to begin to wait.
                std::thread::yield_now();
                let second = match round % 4 {
                    0 => *other.borrow(),
                    1 => *receiver.borrow_and_update(),
                    2 => *also.borrow(),
                    _ => {
                        let seen = Cell::new(0);
                        assert!(idly(pin!(receiver.wait_for(|value| {
                            assert_eq!(*value, *other.borrow());
                            seen.set(*value);
                            true
                        }))));
                        seen.get()
                    }
                };
                assert_eq!(*first, second, "no sender has replaced it");
            }
        });
    });
}

/// A thread that holds a value waits for another one that borrows it.
#[test]
fn a_borrow_on_another_thread_does_not_wait_for_the_sender() {
    guarded(|| {
        let (sender, receiver) = watch::channel(0);
        beside_a_sender(&sender, || {
            for _ in 0..300 {
                let first = receiver.borrow();
                let other = receiver.clone();
                let borrows = std::thread::spawn(move || *other.borrow());
                assert_eq!(*first, borrows.join().unwrap());
            }
        });
    });
}

/// They never leave it alone, and hold it for longer than a borrow waits behind a sender at first.
#[test]
fn readers_that_take_turns_keep_no_sender_out() {
    const READERS: u64 = 4;
    guarded(|| {
        let (sender, receiver) = watch::channel(0_u64);
        let (stopped, rounds) = (Count::default(), AtomicU64::new(0));
        std::thread::scope(|scope| {
            let _stops = OnDrop(stopped.clone());
            for _ in 0..READERS {
                scope.spawn(|| {
                    while stopped.get() == 0 {
                        let value = receiver.borrow();
                        std::thread::sleep(Duration::from_millis(1));
                        drop(value);
                        rounds.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            for number in 1..=30 {
                let wait = || {
                    let before = rounds.load(Ordering::Relaxed);
                    sender.send(number).unwrap();
                    rounds.load(Ordering::Relaxed) - before
                };
                // The system may not let this thread run for long: then once more.
                let mut waits = (0..10).map(|_| wait());
                assert!(waits.any(|waited| waited < 100 * READERS), "of value {number}");
            }
        });
    });
}
