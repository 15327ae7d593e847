//! Channels with many senders and one receiver: order, ends, cancelling, blocking, and bad input.

use crate::support::guard::{guarded, until, workers};
use crate::support::probe::{Calls, Count, OnDrop};
use liten::future::join_all;
use liten::runtime::LocalRuntime;
use liten::sync::mpsc::error::{SendTimeoutError, TryRecvError, TrySendError};
use liten::sync::mpsc::{Receiver, Sender, channel, unbounded_channel};
use liten::task::yield_now;
use liten::time::{Duration, timeout};
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::thread;

/// Counts how often `future` is polled.
async fn counted<F: Future>(polls: Count, future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|cx| {
        polls.add();
        future.as_mut().poll(cx)
    })
    .await
}

fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

const EACH: usize = 2_500;

/// Takes everything; each sender's messages have to come in order.
async fn all_in_order(mut receiver: Receiver<(usize, usize)>, senders: usize) {
    let mut next = vec![0; senders];
    while let Some((sender, number)) = receiver.recv().await {
        assert_eq!(number, next[sender]);
        next[sender] += 1;
    }
    assert_eq!(next, vec![EACH; senders]);
}

async fn send_all(sender: Sender<(usize, usize)>, part: usize) {
    for number in 0..EACH {
        sender.send((part, number)).await.unwrap();
    }
}

#[test]
fn messages_of_one_sender_arrive_in_order_and_once() {
    guarded(|| {
        let runtime = workers(3);
        for capacity in [1, 7, 64, 100_000] {
            let (sender, receiver) = channel(capacity);
            let receiving = runtime.spawn(all_in_order(receiver, 8));
            let sending: Vec<_> =
                (0..8).map(|part| runtime.spawn(send_all(sender.clone(), part))).collect();
            drop(sender);
            runtime.block_on(async {
                join_all(sending).await.into_iter().for_each(Result::unwrap);
                receiving.await.unwrap();
            });
        }
    });
}

#[test]
fn unbounded_channels_deliver_everything_in_order() {
    guarded(|| {
        let runtime = workers(3);
        let (sender, mut receiver) = unbounded_channel();
        let sending = (0..4).map(|part| {
            let sender = sender.clone();
            runtime.spawn(async move {
                for number in 0..EACH {
                    sender.send((part, number)).unwrap();
                    if number % 100 == 0 {
                        yield_now().await;
                    }
                }
            })
        });
        let sending: Vec<_> = sending.collect();
        drop(sender);
        runtime.block_on(async {
            let (mut next, mut buffer) = (vec![0; 4], Vec::new());
            while receiver.recv_many(&mut buffer, 300).await > 0 {
                for (sender, number) in buffer.drain(..) {
                    assert_eq!(number, next[sender]);
                    next[sender] += 1;
                }
            }
            assert_eq!(next, vec![EACH; 4]);
            join_all(sending).await.into_iter().for_each(Result::unwrap);
        });
    });
}

#[test]
fn tasks_of_two_runtimes_and_a_local_one_share_a_channel() {
    guarded(|| {
        let (one, two) = (workers(1), workers(2));
        let (sender, receiver) = channel(2);
        let sending = [one.spawn(send_all(sender.clone(), 0)), two.spawn(send_all(sender, 1))];
        LocalRuntime::new().unwrap().block_on(async {
            liten::task::spawn_local(all_in_order(receiver, 2)).await.unwrap();
        });
        one.block_on(join_all(sending)).into_iter().for_each(Result::unwrap);
    });
}

#[test]
fn foreign_executors_and_threads_use_channels_without_a_runtime() {
    guarded(|| {
        let (sender, receiver) = channel(3);
        let sending: Vec<_> = (0..2)
            .map(|part| {
                let sender = sender.clone();
                thread::spawn(move || {
                    for number in 0..EACH {
                        sender.blocking_send((part, number)).unwrap();
                    }
                })
            })
            .collect();
        drop(sender);
        smol::block_on(all_in_order(receiver, 2));
        sending.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn a_channel_without_room_or_with_too_much_is_refused() {
    for buffer in [0, usize::MAX / 8 + 1, usize::MAX] {
        assert!(catch_unwind(|| channel::<()>(buffer)).is_err(), "{buffer}");
    }
    let (sender, receiver) = channel::<()>(usize::MAX / 8);
    assert_eq!((sender.capacity(), receiver.max_capacity()), (usize::MAX / 8, usize::MAX / 8));
    assert!(matches!(sender.try_reserve_many(usize::MAX), Err(TrySendError::Full(()))));
    assert!(matches!(poll(pin!(sender.reserve_many(usize::MAX))), Poll::Ready(Err(_))));
}

#[test]
fn permits_outlive_the_close_and_the_receiver_waits_for_them() {
    guarded(|| {
        let runtime = workers(2);
        runtime.block_on(async {
            let (sender, mut receiver) = channel(4);
            let mut permits = sender.reserve_many(3).await.unwrap();
            let owned = sender.clone().reserve_owned().await.unwrap();
            receiver.close();
            assert_eq!(sender.try_send(0), Err(TrySendError::Closed(0)));
            assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
            let receiving = liten::spawn(async move {
                let got = [receiver.recv().await, receiver.recv().await, receiver.recv().await];
                (got, receiver.try_recv())
            });
            permits.next().unwrap().send(1);
            yield_now().await;
            drop(permits);
            yield_now().await;
            drop(owned.send(2));
            let ended = (([Some(1), Some(2), None]), Err(TryRecvError::Disconnected));
            assert_eq!(receiving.await.unwrap(), ended);
        });
    });
}

/// A permit that owns its sender is a sender: the channel has not ended before it is used or dropped.
#[test]
fn the_last_sender_may_be_inside_a_permit() {
    for sends in [false, true] {
        let (sender, mut receiver) = channel(1);
        let permit = sender.try_reserve_owned().unwrap_or_else(|_| panic!("there is room"));
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
        let (woken, waker) = Calls::new();
        let mut cx = Context::from_waker(&waker);
        assert!(receiver.poll_recv(&mut cx).is_pending());
        assert_eq!((receiver.sender_strong_count(), woken.get()), (1, 0));
        let sent = if sends {
            let sender = permit.send(7);
            assert_eq!((woken.get(), receiver.poll_recv(&mut cx)), (1, Poll::Ready(Some(7))));
            assert!(receiver.poll_recv(&mut cx).is_pending());
            drop(sender);
            1
        } else {
            drop(permit);
            0
        };
        assert_eq!(woken.get(), sent + 1, "the end");
        assert_eq!(receiver.poll_recv(&mut cx), Poll::Ready(None));
    }
}

#[test]
fn a_receiver_with_a_million_messages_drops_each_once() {
    guarded(|| {
        let dropped = Count::default();
        let (sender, mut receiver) = unbounded_channel();
        for _ in 0..1_000_000 {
            sender.send(OnDrop(dropped.clone())).unwrap_or_else(|_| unreachable!());
        }
        // Some are in the receiver's own queue then.
        drop(receiver.try_recv());
        assert_eq!(dropped.get(), 1);
        thread::Builder::new()
            .stack_size(64 * 1024)
            .spawn(|| drop(receiver))
            .unwrap()
            .join()
            .unwrap();
        assert_eq!(dropped.get(), 1_000_000);
        assert!(sender.send(OnDrop(dropped.clone())).is_err());
    });
}

/// Panics when it is dropped, if it is told to.
struct PanicsOnDrop(bool, Count);

impl Drop for PanicsOnDrop {
    fn drop(&mut self) {
        self.1.add();
        assert!(!self.0, "a destructor that panics");
    }
}

#[test]
fn a_destructor_that_panics_does_not_keep_the_other_messages() {
    guarded(|| {
        for armed in [0, 1, 299, 300, 999] {
            let dropped = Count::default();
            let (sender, mut receiver) = channel(1_000);
            for number in 0..300 {
                sender
                    .try_send(PanicsOnDrop(number == armed, dropped.clone()))
                    .unwrap_or_else(|_| panic!());
            }
            std::mem::forget(receiver.try_recv());
            for number in 300..1_000 {
                sender
                    .try_send(PanicsOnDrop(number == armed, dropped.clone()))
                    .unwrap_or_else(|_| panic!());
            }
            let drops = catch_unwind(AssertUnwindSafe(|| drop(receiver)));
            assert_eq!(drops.is_err(), armed > 0);
            assert_eq!(dropped.get(), 999);
            assert!(sender.is_closed());
        }
    });
}

/// Values are dropped outside of the lock, so their destructors may use the channel.
#[test]
fn a_destructor_may_use_the_channel() {
    struct Sends(Sender<Self>);
    impl Drop for Sends {
        fn drop(&mut self) {
            assert!(self.0.is_closed());
            assert!(self.0.try_reserve().is_err());
            assert_eq!(self.0.strong_count(), 3);
        }
    }
    guarded(|| {
        let (sender, receiver) = channel(3);
        let (first, second) = (Sends(sender.clone()), Sends(sender.clone()));
        assert!(sender.try_send(first).is_ok());
        // The count is looked at before this one goes.
        drop(receiver);
        drop(sender);
        std::mem::forget(second);
    });
}

#[test]
fn what_is_given_up_loses_neither_messages_nor_room() {
    guarded(|| {
        let runtime = workers(2);
        runtime.block_on(async {
            let (sender, mut receiver) = channel(1);
            assert!(poll(pin!(receiver.recv())).is_pending());
            sender.send(1).await.unwrap();
            {
                let mut waits = Box::pin(sender.reserve());
                assert!(poll(waits.as_mut()).is_pending());
                let mut behind = Box::pin(sender.send(2));
                assert!(poll(behind.as_mut()).is_pending());
                // The room goes to the first, which gives up, and then to the second.
                assert_eq!(receiver.recv().await, Some(1));
                drop(waits);
                assert!(matches!(poll(behind.as_mut()), Poll::Ready(Ok(()))));
            }
            assert_eq!(receiver.recv().await, Some(2));
            assert_eq!((sender.capacity(), receiver.len()), (1, 0));
        });
    });
}

#[test]
fn sending_with_a_timeout_gives_the_message_back() {
    guarded(|| {
        let runtime = workers(1);
        runtime.block_on(async {
            let (sender, mut receiver) = channel(1);
            let soon = Duration::from_millis(2);
            assert_eq!(sender.send_timeout(1, soon).await, Ok(()));
            assert_eq!(sender.send_timeout(2, soon).await, Err(SendTimeoutError::Timeout(2)));
            assert_eq!(receiver.recv().await, Some(1));
            assert_eq!(sender.send_timeout(3, soon).await, Ok(()));
            receiver.close();
            assert_eq!(sender.send_timeout(4, soon).await, Err(SendTimeoutError::Closed(4)));
        });
    });
}

#[test]
fn blocking_halves_are_refused_in_tasks_and_roots() {
    guarded(|| {
        let runtime = workers(1);
        let refused = || {
            let (sender, mut receiver) = channel(2);
            let mut buffer = Vec::new();
            let calls: [&mut dyn FnMut(); 3] = [
                &mut || assert!(sender.blocking_send(1).is_ok()),
                &mut || assert_eq!(receiver.blocking_recv(), Some(1)),
                &mut || {
                    let (_sender, mut other) = unbounded_channel::<u8>();
                    other.blocking_recv_many(&mut buffer, 1);
                },
            ];
            calls.map(|call| {
                let panic = catch_unwind(AssertUnwindSafe(call)).unwrap_err();
                panic.downcast_ref::<String>().unwrap().clone()
            })
        };
        let root = runtime.block_on(async { refused() });
        let task = runtime.block_on(runtime.spawn(async move { refused() })).unwrap();
        for (word, said) in
            ["blocking_send", "blocking_recv", "blocking_recv_many"].iter().zip(&root)
        {
            assert!(said.contains(&format!("{word} called in async code")), "{said}");
        }
        assert_eq!(root, task);
        let (sender, mut receiver) = channel(1);
        let job = runtime.spawn_blocking(move || sender.blocking_send(7));
        assert_eq!(runtime.block_on(receiver.recv()), Some(7));
        runtime.block_on(job).unwrap().unwrap();
    });
}

#[test]
fn weak_senders_race_with_the_last_drop() {
    guarded(|| {
        for _ in 0..500 {
            let (sender, mut receiver) = unbounded_channel();
            let weak = sender.downgrade();
            let upgrading = thread::spawn(move || match weak.upgrade() {
                Some(sender) => sender.send(()).is_ok(),
                None => false,
            });
            drop(sender);
            let got = receiver.blocking_recv();
            assert_eq!(upgrading.join().unwrap(), got.is_some());
        }
    });
}

#[test]
fn waiting_for_the_end_wakes_every_sender() {
    guarded(|| {
        let runtime = workers(2);
        let (sender, receiver) = channel::<()>(1);
        let waiting = Count::default();
        let tasks: Vec<_> = (0..100)
            .map(|_| {
                let (sender, waiting) = (sender.clone(), waiting.clone());
                runtime.spawn(async move {
                    let mut closed = pin!(sender.closed());
                    assert!(timeout(Duration::ZERO, closed.as_mut()).await.is_err());
                    waiting.add();
                    closed.await;
                })
            })
            .collect();
        until(|| waiting.get() == 100);
        drop(receiver);
        runtime.block_on(join_all(tasks)).into_iter().for_each(Result::unwrap);
    });
}

/// A receiver that always finds a message yields to other tasks, as tokio's: 128 messages per poll.
#[test]
fn receiving_takes_part_in_the_budget() {
    guarded(|| {
        let runtime = workers(1);
        let (sender, mut receiver) = unbounded_channel();
        (0..1_280).for_each(|number| sender.send(number).unwrap());
        let polls = Count::default();
        let receives = async move { while receiver.recv().await != Some(1_279) {} };
        runtime.block_on(runtime.spawn(counted(polls.clone(), receives))).unwrap();
        assert_eq!(polls.get(), 10);
    });
}

/// A task that waits for a message is polled when one comes, and once for many.
#[test]
fn a_receiver_woken_by_many_is_polled_once() {
    guarded(|| {
        let runtime = workers(1);
        let (sender, mut receiver) = unbounded_channel();
        let (polls, received) = (Count::default(), Count::default());
        let told = received.clone();
        let receives = async move {
            let mut buffer = Vec::new();
            while receiver.recv_many(&mut buffer, 1_000).await > 0 {
                told.add();
            }
        };
        let task = runtime.spawn(counted(polls.clone(), receives));
        until(|| polls.get() == 1);
        // The only worker sends all of them before it polls the receiver.
        let sends = runtime.spawn(async move {
            (0..50).for_each(|number| sender.send(number).unwrap());
            sender
        });
        let sender = runtime.block_on(sends).unwrap();
        until(|| received.get() == 1);
        assert_eq!(polls.get(), 2);
        drop(sender);
        runtime.block_on(task).unwrap();
        assert_eq!(polls.get(), 3);
    });
}
