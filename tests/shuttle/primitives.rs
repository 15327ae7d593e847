//! Locks and channels between more threads than loom can hold, of which some give up waiting.

use super::explorer::explore;
use super::tested_runtime::{MOST_WORKERS, TestedRuntime, below, beside, join, rounds};
use crate::engine::sync_shim::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::engine::sync_shim::thread;
use crate::runtime::block_on::wait_outside;
use crate::sync::broadcast::error::{RecvError, TryRecvError};
use crate::sync::{Notify, RwLock, Semaphore, broadcast, mpsc, watch};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Blocks the thread until `future` is ready.
fn wait<F: Future>(future: F) -> F::Output {
    wait_outside("a scenario", future)
}

/// Polls `future` until it is ready, but at most `polls` times, and drops it. Other threads run in between.
fn give_up_after<F: Future>(polls: usize, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    for _ in 0..polls {
        let poll = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        if let Poll::Ready(output) = poll {
            return Some(output);
        }
        thread::yield_now();
    }
    None
}

/// Waits for `make()`, after it has given up waiting for another one, or at once.
fn wait_at_last<F: Future>(make: impl Fn() -> F) -> F::Output {
    match give_up_after(below(3), make()) {
        Some(output) => output,
        None => wait(make()),
    }
}

/// The number of a producer, and of its message.
type Message = (usize, usize);

/// Sends in one of the ways there are. Returns whether the channel took the message.
fn send(sender: &mpsc::Sender<Message>, message: Message) -> bool {
    match below(3) {
        0 => wait_at_last(|| sender.reserve()).is_ok_and(|permit| {
            permit.send(message);
            true
        }),
        // Room that is reserved and given back. The producer may leave after that.
        1 => {
            drop(wait(sender.reserve()));
            below(2) == 0 && wait(sender.send(message)).is_ok()
        }
        _ => match sender.try_send(message) {
            Ok(()) => true,
            Err(mpsc::error::TrySendError::Full(message)) => wait(sender.send(message)).is_ok(),
            Err(mpsc::error::TrySendError::Closed(_)) => false,
        },
    }
}

/// What the channel has taken comes, in the order of each producer; the close reaches all of them.
#[test]
fn messages_of_four_producers_come_or_are_refused() {
    const EACH: usize = 3;
    explore(|| {
        let (sender, mut receiver) = mpsc::channel(1 + below(3));
        let producers = [0, 1, 2, 3].map(|producer| {
            let sender = sender.clone();
            beside(move || {
                (0..EACH).take_while(|&number| send(&sender, (producer, number))).count()
            })
        });
        // If it is kept, the close is the only end; if not, there may be no close.
        let kept = Some(sender).filter(|_| below(2) == 0);
        let (mut came, mut looks, close_after) = ([0; 4], 0, below(4 * EACH + 4));
        loop {
            if looks == close_after {
                receiver.close();
            }
            looks += 1;
            let message = match give_up_after(below(3), receiver.recv()) {
                Some(message) => message,
                None if kept.is_some() && looks <= close_after => continue,
                None => wait(receiver.recv()),
            };
            let Some((producer, number)) = message else { break };
            assert_eq!(number, came[producer], "the order of producer {producer}");
            came[producer] += 1;
        }
        let sent = producers.map(|producer| producer.join().expect("no panic"));
        assert_eq!(sent, came);
        drop(kept);
    });
}

type Shared = (Message, Arc<()>);

/// The messages that a receiver got, and how many it has missed.
type Heard = (Vec<Message>, u64);

/// Receives until there were `most` messages, those that were missed among them.
fn hear(receiver: &mut broadcast::Receiver<Shared>, most: usize) -> Heard {
    let (mut got, mut missed) = (Vec::new(), 0);
    while got.len() as u64 + missed < most as u64 {
        let received = match below(3) {
            0 => match receiver.try_recv() {
                Ok(shared) => Ok(shared),
                Err(TryRecvError::Lagged(count)) => Err(RecvError::Lagged(count)),
                Err(TryRecvError::Closed) => Err(RecvError::Closed),
                Err(TryRecvError::Empty) => wait(receiver.recv()),
            },
            polls => match give_up_after(polls - 1, receiver.recv()) {
                Some(received) => received,
                None => wait(receiver.recv()),
            },
        };
        match received {
            Ok((message, _)) => got.push(message),
            Err(RecvError::Lagged(count)) => missed += count,
            Err(RecvError::Closed) => break,
        }
    }
    (got, missed)
}

/// A receiver that stays gets each message or is told of it, whichever others leave and come.
#[test]
fn a_broadcast_reaches_all_that_stay() {
    const EACH: usize = 3;
    explore(|| {
        let (sender, first) = broadcast::channel(1 + below(2));
        let (token, leaves) = (Arc::new(()), below(4));
        let staying = [first, sender.subscribe()].map(|mut receiver| {
            beside(move || {
                let heard = hear(&mut receiver, 2 * EACH);
                (heard, receiver)
            })
        });
        let leaving = {
            let mut receiver = sender.subscribe();
            beside(move || {
                let _late = receiver.resubscribe();
                hear(&mut receiver, leaves);
            })
        };
        let senders = [0, 1].map(|number| {
            let (sender, token) = (sender.clone(), token.clone());
            beside(move || {
                for count in 0..EACH {
                    let receivers = sender.send(((number, count), token.clone()));
                    assert!(receivers.is_ok_and(|count| (2..=4).contains(&count)));
                }
            })
        });
        for thread in staying {
            let ((got, missed), mut receiver) = thread.join().expect("no panic");
            assert_eq!(got.len() as u64 + missed, 2 * EACH as u64);
            for number in [0, 1] {
                let own = got.iter().filter(|message| message.0 == number);
                assert!(own.is_sorted(), "the order of sender {number}: {got:?}");
            }
            assert_eq!(receiver.try_recv().err(), Some(TryRecvError::Empty));
        }
        for sender in senders {
            sender.join().expect("no panic");
        }
        leaving.join().expect("no panic");
        assert_eq!((sender.len(), Arc::strong_count(&token)), (0, 1), "a message is kept");
    });
}

/// The end comes to the receivers that wait, and to those that come to it later.
#[test]
fn the_last_sender_ends_a_broadcast() {
    explore(|| {
        let (sender, first) = broadcast::channel(2);
        let receivers = [first, sender.subscribe(), sender.subscribe()].map(|mut receiver| {
            beside(move || {
                let (got, missed) = hear(&mut receiver, usize::MAX);
                got.len() as u64 + missed
            })
        });
        let weak = sender.downgrade();
        let senders = [0, 1].map(|number| {
            let sender = sender.clone();
            beside(move || drop(sender.send(((number, 0), Arc::new(())))))
        });
        let late = beside(move || {
            let sent = weak.upgrade().map(|sender| sender.send(((2, 0), Arc::new(()))));
            u64::from(sent.is_some())
        });
        drop(sender);
        for sender in senders {
            sender.join().expect("no panic");
        }
        let sent = 2 + late.join().expect("no panic");
        for receiver in receivers {
            assert_eq!(receiver.join().expect("no panic"), sent);
        }
    });
}

/// A receiver misses no change and sees the last value, whichever waits it and others give up.
#[test]
fn threads_see_the_last_value_of_a_watch() {
    const EACH: usize = 2;
    explore(|| {
        let (sender, first) = watch::channel(0);
        let threads = [(); 3].map(|()| {
            let mut receiver = first.clone();
            beside(move || {
                let mut seen = *receiver.borrow_and_update();
                loop {
                    let changed = match give_up_after(below(3), receiver.changed()) {
                        Some(changed) => changed,
                        None => wait(receiver.changed()),
                    };
                    if changed.is_err() {
                        return seen;
                    }
                    let value = *receiver.borrow_and_update();
                    assert!(value > seen, "{value} after {seen} is no change");
                    seen = value;
                }
            })
        });
        let waits = {
            let mut receiver = first.clone();
            let until = below(2 * EACH + 1);
            beside(move || {
                let fits = |value: &usize| *value >= until;
                drop(give_up_after(below(3), receiver.wait_for(fits)));
                assert!(*wait(receiver.wait_for(fits)).expect("it comes") >= until);
            })
        };
        let senders = [(); 2].map(|()| {
            let sender = sender.clone();
            beside(move || (0..EACH).for_each(|_| sender.send_modify(|value| *value += 1)))
        });
        drop((sender, first));
        for thread in threads {
            assert_eq!(thread.join().expect("no panic"), 2 * EACH);
        }
        waits.join().expect("no panic");
        for sender in senders {
            sender.join().expect("no panic");
        }
    });
}

/// How many are in a lock at the moment.
#[derive(Default)]
struct Inside {
    readers: AtomicUsize,
    writing: AtomicBool,
}

impl Inside {
    fn read(&self) {
        self.readers.fetch_add(1, Ordering::SeqCst);
        assert!(!self.writing.load(Ordering::SeqCst), "a reader beside a writer");
        self.readers.fetch_sub(1, Ordering::SeqCst);
    }

    fn write(&self) {
        assert!(!self.writing.swap(true, Ordering::SeqCst), "two writers");
        assert_eq!(self.readers.load(Ordering::SeqCst), 0, "a writer beside a reader");
        self.writing.store(false, Ordering::SeqCst);
    }
}

/// Each of several threads comes to the lock, whichever others give up waiting for it.
#[test]
fn threads_read_and_write_what_a_lock_guards() {
    explore(|| {
        let lock = Arc::new(RwLock::with_max_readers(Inside::default(), 1 + below(3) as u32));
        let threads = [(); 4].map(|()| {
            let lock = lock.clone();
            beside(move || {
                for _ in 0..2 {
                    match below(3) {
                        0 => wait_at_last(|| lock.read()).read(),
                        1 => wait_at_last(|| lock.write()).write(),
                        _ => {
                            let guard = wait_at_last(|| lock.clone().write_owned());
                            guard.write();
                            guard.downgrade().read();
                        }
                    }
                }
            })
        });
        for thread in threads {
            thread.join().expect("no panic");
        }
        assert!(lock.try_write().is_ok(), "a permit is lost");
    });
}

/// There are never more permits out than there are, none is lost, and the close reaches all that wait.
#[test]
fn threads_share_the_permits_of_a_semaphore() {
    const PERMITS: usize = 3;
    explore(|| {
        let shared = Arc::new((Semaphore::new(PERMITS), AtomicUsize::new(0)));
        let threads = [(); 4].map(|()| {
            let shared = shared.clone();
            beside(move || {
                let (semaphore, out) = &*shared;
                for _ in 0..2 {
                    let count = below(PERMITS + 1);
                    let acquired = wait_at_last(|| semaphore.acquire_many(count as u32));
                    let Ok(mut permit) = acquired else { return };
                    assert!(out.fetch_add(count, Ordering::SeqCst) + count <= PERMITS);
                    if let Some(part) = permit.split(count / 2) {
                        out.fetch_sub(count / 2, Ordering::SeqCst);
                        drop(part);
                        out.fetch_sub(count - count / 2, Ordering::SeqCst);
                    }
                    drop(permit);
                }
            })
        });
        if below(2) == 0 {
            thread::yield_now();
            shared.0.close();
        }
        for thread in threads {
            thread.join().expect("no panic");
        }
        assert_eq!(shared.0.available_permits(), PERMITS);
    });
}

/// Work, and a `Notify` that tells of it.
#[derive(Default)]
struct Work {
    left: AtomicUsize,
    done: AtomicUsize,
    told: Notify,
}

const WORK: usize = 4;

impl Work {
    fn add(&self) {
        self.left.fetch_add(1, Ordering::SeqCst);
        if below(2) == 0 {
            self.told.notify_one();
        } else {
            self.told.notify_last();
        }
    }

    /// Does one part if there is one. With the last part all are told of the end.
    fn do_one(&self) -> bool {
        let less = |left: usize| left.checked_sub(1);
        let taken = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok();
        if taken && self.done.fetch_add(1, Ordering::SeqCst) + 1 == WORK {
            self.told.notify_waiters();
        }
        taken
    }

    /// Works to the end, or, if `may_leave`, until it gives up waiting.
    fn work(&self, may_leave: bool) {
        loop {
            // Made before the questions, so that it is reached by a call that comes after them.
            let told = self.told.notified();
            if self.do_one() {
                continue;
            }
            if self.done.load(Ordering::SeqCst) == WORK {
                return;
            }
            // What a future that gives up was told goes to another one, or stays as a permit.
            if may_leave && below(2) == 0 {
                if give_up_after(1 + below(2), told).is_none() {
                    return;
                }
            } else {
                wait(told);
            }
        }
    }
}

/// No part of the work is left while one waits, whichever others leave; and none waits after the end.
#[test]
fn threads_do_all_work_though_some_leave() {
    explore(|| {
        let work = Arc::new(Work::default());
        let threads = [false, true, true, true].map(|may_leave| {
            let work = work.clone();
            beside(move || work.work(may_leave))
        });
        let adds = {
            let work = work.clone();
            beside(move || (0..WORK / 2).for_each(|_| work.add()))
        };
        for _ in 0..WORK / 2 {
            work.add();
            if below(2) == 0 {
                // Says no more than that it is time to look.
                work.told.notify_waiters();
            }
        }
        adds.join().expect("no panic");
        for thread in threads {
            thread.join().expect("no panic");
        }
        assert_eq!(work.left.load(Ordering::SeqCst), 0);
    });
}

/// Tasks of a runtime, of which some are aborted while they wait for the lock, are handed it, or hold it.
#[test]
fn a_lock_survives_the_tasks_that_are_aborted() {
    explore(|| {
        let tested = TestedRuntime::new(1 + below(MOST_WORKERS));
        let (spawner, lock) = (tested.spawner(), Arc::new(RwLock::new(Inside::default())));
        let tasks: Vec<_> = (0..5)
            .map(|number| {
                let lock = lock.clone();
                spawner.spawn(async move {
                    if number % 2 == 0 {
                        let guard = lock.write().await;
                        rounds(1).await;
                        guard.write();
                    } else {
                        let guard = lock.read().await;
                        rounds(1).await;
                        guard.read();
                    }
                })
            })
            .collect();
        let aborts = [tasks[below(3)].abort_handle(), tasks[3].abort_handle()];
        let foreign = beside(move || aborts.iter().for_each(|task| task.abort()));
        wait(lock.write()).write();
        tested.block_on(async {
            for (number, task) in tasks.into_iter().enumerate() {
                assert!(join(task).await || number < 4, "no task has aborted task {number}");
            }
        });
        foreign.join().expect("no panic");
        assert!(lock.try_write().is_ok(), "a permit is lost");
        drop(spawner);
        tested.end();
    });
}
