//! Channels for one value: what wakers and values that panic cost, where blocking is allowed, and what these
//! keep waiting.

use crate::support::guard::{guarded, workers};
use crate::support::probe::{Calls, Count, OnDrop};
use crate::tasks::panicking_wakers::{Fault, Faulty, caught};
use liten::runtime::LocalRuntime;
use liten::sync::oneshot::error::{RecvError, TryRecvError};
use liten::sync::oneshot::{Receiver, Sender, channel};
use liten::task::{block_in_place, yield_now};
use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;

fn poll<T>(receiver: &mut Receiver<T>, waker: &Waker) -> Poll<Result<T, RecvError>> {
    Pin::new(receiver).poll(&mut Context::from_waker(waker))
}

/// The errors, traits and bounds that programs written for tokio's channel count on.
#[test]
fn it_has_the_traits_that_tokios_has() {
    fn send_and_sync<T: Send + Sync + Unpin>() {}
    fn error<T: std::error::Error + Clone + PartialEq + Send + Sync>() {}
    // A value may be Send without being Sync.
    send_and_sync::<(Sender<std::cell::Cell<u8>>, Receiver<std::cell::Cell<u8>>)>();
    send_and_sync::<(Sender<std::marker::PhantomPinned>, Receiver<std::marker::PhantomPinned>)>();
    error::<RecvError>();
    error::<TryRecvError>();
    let (sender, receiver) = channel::<u8>();
    assert_eq!(format!("{sender:?}"), "Sender { is_closed: false, .. }");
    assert_eq!(format!("{receiver:?}"), "Receiver { is_terminated: false, is_empty: true, .. }");
}

/// Whatever a waker of the receiver does, the value comes, the sender does not panic, and the waker is given
/// back.
#[test]
fn a_faulty_waker_of_the_receiver_loses_nothing() {
    guarded(|| {
        for fault in [Fault::Clone, Fault::Wake, Fault::Drop] {
            for polled_before in [false, true] {
                let (sender, mut receiver) = channel();
                let (bell, good) = Calls::new();
                if polled_before {
                    assert!(poll(&mut receiver, &good).is_pending());
                }
                let (bad, _) = Faulty::waker(fault);
                let polled = caught(|| poll(&mut receiver, &bad).is_pending());
                assert_eq!(polled, (fault != Fault::Clone).then_some(true), "{fault:?}");
                sender.send(42).unwrap();
                let stays = fault == Fault::Clone && polled_before;
                assert_eq!(bell.get(), usize::from(stays), "{fault:?}");
                assert_eq!(poll(&mut receiver, &good), Poll::Ready(Ok(42)), "{fault:?}");
                drop((receiver, good));
                assert_eq!(Arc::strong_count(&bell), 1, "{fault:?}");
                let _ = caught(|| drop(bad));
            }
        }
    });
}

/// The same for the sender's: the receiver closes and goes as ever.
#[test]
fn a_faulty_waker_of_the_sender_loses_nothing() {
    guarded(|| {
        for fault in [Fault::Clone, Fault::Wake, Fault::Drop] {
            for closes in [false, true] {
                let (mut sender, mut receiver) = channel();
                let (bad, _) = Faulty::waker(fault);
                let (bell, good) = Calls::new();
                assert!(sender.poll_closed(&mut Context::from_waker(&good)).is_pending());
                let mut cx = Context::from_waker(&bad);
                let polled = caught(|| sender.poll_closed(&mut cx).is_pending());
                assert_eq!(polled, (fault != Fault::Clone).then_some(true), "{fault:?}");
                if closes {
                    receiver.close();
                    assert_eq!(receiver.try_recv(), Err(TryRecvError::Closed));
                }
                drop(receiver);
                assert_eq!(bell.get(), usize::from(fault == Fault::Clone), "{fault:?}");
                assert!(sender.is_closed());
                assert_eq!(sender.send(42), Err(42));
                drop(good);
                assert_eq!(Arc::strong_count(&bell), 1, "{fault:?}");
                let _ = caught(|| drop(bad));
            }
        }
    });
}

/// A replaced waker whose destructor panics does not panic in the poll that replaces it.
#[test]
fn a_waker_that_panics_when_it_is_replaced_is_replaced() {
    guarded(|| {
        let (sender, mut receiver) = channel();
        let (bad, _) = Faulty::waker(Fault::Drop);
        assert!(poll(&mut receiver, &bad).is_pending());
        let (bell, good) = Calls::new();
        assert!(poll(&mut receiver, &good).is_pending());
        sender.send(1).unwrap();
        assert_eq!(bell.get(), 1);
        assert_eq!(poll(&mut receiver, &good), Poll::Ready(Ok(1)));
        let _ = caught(|| drop(bad));
    });
}

struct PanicsOnDrop(Count);

impl Drop for PanicsOnDrop {
    fn drop(&mut self) {
        self.0.add();
        if !thread::panicking() {
            resume_unwind(Box::new("a value"));
        }
    }
}

/// It reaches the receiver that drops it, once, and leaves the channel in order.
#[test]
fn a_value_whose_destructor_panics_is_dropped_once() {
    guarded(|| {
        let count = Count::default();
        let (sender, receiver) = channel();
        sender.send(PanicsOnDrop(count.clone())).unwrap_or_else(|_| panic!("it is there"));
        assert!(caught(|| drop(receiver)).is_none());
        assert_eq!(count.get(), 1);

        let (sender, receiver) = channel();
        drop(receiver);
        let back = sender.send(PanicsOnDrop(count.clone()));
        assert_eq!(count.get(), 1, "it came back, and was not dropped");
        assert!(caught(|| drop(back)).is_none());
        assert_eq!(count.get(), 2);

        // In a task, the panic is the task's.
        let runtime = workers(1);
        let (sender, receiver) = channel();
        sender.send(PanicsOnDrop(count.clone())).unwrap_or_else(|_| panic!("it is there"));
        let task = runtime.spawn(async move { drop(receiver) });
        assert!(runtime.block_on(task).unwrap_err().is_panic());
        assert_eq!(count.get(), 3);
        assert_eq!(runtime.block_on(runtime.spawn(async { 1 })).unwrap(), 1);
    });
}

/// However the two ends race, a value is received or comes back, and is dropped once.
#[test]
fn values_are_dropped_once_in_every_race() {
    const ROUNDS: usize = 2_000;
    guarded(|| {
        let runtime = workers(2);
        let (made, dropped) = (Count::default(), Count::default());
        let outcomes: [Count; 2] = Default::default();
        runtime.block_on(async {
            for round in 0..ROUNDS {
                let (sender, mut receiver) = channel();
                let value = OnDrop(dropped.clone());
                made.add();
                let sending = liten::spawn(async move { sender.send(value).is_ok() });
                let receiving = liten::spawn(async move {
                    match round % 4 {
                        0 => receiver.await.is_ok(),
                        1 => {
                            yield_now().await;
                            receiver.close();
                            receiver.try_recv().is_ok()
                        }
                        2 => {
                            let first = poll(&mut receiver, Waker::noop()).is_ready();
                            drop(receiver);
                            first
                        }
                        _ => poll_fn(|cx| Poll::Ready(Pin::new(&mut receiver).poll(cx)))
                            .await
                            .is_ready(),
                    }
                });
                let (sent, received) = (sending.await.unwrap(), receiving.await.unwrap());
                assert!(sent || !received);
                outcomes[usize::from(received)].add();
            }
        });
        assert_eq!((made.get(), dropped.get()), (ROUNDS, ROUNDS));
        assert!(outcomes[1].get() >= ROUNDS / 4, "those that only wait receive");
    });
}

/// Between runtimes of several kinds, and without any.
/// Uses a channel that it has kept, and a new one, at the end of its thread.
struct AtTheEnd(RefCell<Option<(Sender<OnDrop>, Receiver<OnDrop>)>>, Count);

impl Drop for AtTheEnd {
    fn drop(&mut self) {
        let (sender, mut receiver) = self.0.take().expect("the thread has left one");
        assert!(sender.send(OnDrop(self.1.clone())).is_ok());
        assert!(receiver.try_recv().is_ok());
        let (sender, receiver) = channel();
        assert!(sender.send(OnDrop(self.1.clone())).is_ok());
        drop(receiver);
    }
}

/// Each thread keeps memory of channels for later ones, and loses that at its end before one of these
/// thread-locals is dropped, or after it.
#[test]
fn channels_work_while_a_thread_ends() {
    static DROPPED: Mutex<Option<Count>> = Mutex::new(None);
    fn end() -> AtTheEnd {
        let dropped = DROPPED.lock().unwrap().clone();
        AtTheEnd(RefCell::new(None), dropped.expect("the test has left it"))
    }
    thread_local! {
        static FIRST: AtTheEnd = end();
        static LAST: AtTheEnd = end();
    }
    let dropped = Count::default();
    *DROPPED.lock().unwrap() = Some(dropped.clone());
    let thread = thread::spawn(|| {
        FIRST.with(|_| ());
        let channels = [channel(), channel()];
        LAST.with(|_| ());
        for (place, channel) in [&FIRST, &LAST].into_iter().zip(channels) {
            place.with(|place| place.0.replace(Some(channel)));
        }
    });
    thread.join().unwrap();
    assert_eq!(dropped.get(), 4);
}

#[test]
fn it_works_across_runtimes_and_without_one() {
    guarded(|| {
        let (one, local) = (workers(1), LocalRuntime::new().unwrap());
        let (there, request) = channel();
        let (back, answer) = channel();
        let task = one.spawn(async move {
            let number: u32 = request.await.unwrap();
            back.send(number + 1).unwrap();
        });
        let asked = local.block_on(async {
            there.send(41).unwrap();
            answer.await.unwrap()
        });
        assert_eq!(asked, 42);
        one.block_on(task).unwrap();

        let (sender, receiver) = channel();
        let thread = thread::spawn(move || receiver.blocking_recv());
        sender.send("without").unwrap();
        assert_eq!(thread.join().unwrap(), Ok("without"));
        let (sender, receiver) = channel::<()>();
        let thread = thread::spawn(move || receiver.blocking_recv());
        drop(sender);
        assert!(thread.join().unwrap().is_err());
    });
}

#[test]
fn blocking_in_place_and_on_the_pool_is_allowed() {
    guarded(|| {
        let runtime = workers(2);
        let answer = runtime.block_on(async {
            let (sender, receiver) = channel();
            let pool = liten::spawn_blocking(move || receiver.blocking_recv().unwrap());
            let (relay, last) = channel();
            let task =
                liten::spawn(async move { block_in_place(|| last.blocking_recv().unwrap()) });
            sender.send(1).unwrap();
            relay.send(pool.await.unwrap() + 1).unwrap();
            task.await.unwrap()
        });
        assert_eq!(answer, 2);
    });
}

/// Counts how often its future is polled.
async fn polls<F: Future>(future: F) -> usize {
    let mut future = std::pin::pin!(future);
    let mut count = 0;
    poll_fn(|cx| {
        count += 1;
        future.as_mut().poll(cx).map(drop)
    })
    .await;
    count
}

/// A task that finds values and ends always there yields after as many as anywhere else.
#[test]
fn what_is_ready_costs_a_unit_of_the_budget() {
    guarded(|| {
        let runtime = workers(1);
        let receives = runtime.spawn(polls(async {
            for number in 0..1_280 {
                let (sender, receiver) = channel();
                sender.send(number).unwrap();
                assert_eq!(receiver.await, Ok(number));
            }
        }));
        let closed = runtime.spawn(polls(async {
            let (mut sender, receiver) = channel::<()>();
            drop(receiver);
            for _ in 0..1_280 {
                sender.closed().await;
            }
        }));
        let asked = runtime.spawn(polls(async {
            for _ in 0..1_280 {
                let (_sender, mut receiver) = channel::<()>();
                assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
            }
        }));
        // The last poll of 128 finds the budget used up, and nothing left to do.
        assert_eq!(runtime.block_on(receives).unwrap(), 10);
        assert_eq!(runtime.block_on(closed).unwrap(), 10);
        assert_eq!(runtime.block_on(asked).unwrap(), 1, "trying is free, as in tokio");
    });
}
