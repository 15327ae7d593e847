//! What only a system with threads can do: wakes that come from elsewhere while the host blocks.
#![cfg(not(target_family = "wasm"))]

use component::guard::guarded;
use futures_concurrency::prelude::*;
use futures_lite::future::{pending, poll_fn};
use liten::wasi::{NativeHost, Reactor, block_on};
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;

#[test]
fn a_wake_from_another_thread_ends_a_block_with_nothing_waited_for() {
    guarded(|| {
        for _ in 0..1_000 {
            let (send, receive) = mpsc::channel::<Waker>();
            let flag = Arc::new(AtomicBool::new(false));
            let seen = flag.clone();
            let other = thread::spawn(move || {
                let waker = receive.recv().expect("one comes");
                flag.store(true, Ordering::Relaxed);
                waker.wake();
            });
            block_on(|_| {
                poll_fn(|cx| {
                    if seen.load(Ordering::Relaxed) {
                        return Poll::Ready(());
                    }
                    // The thread may be gone if this is the second poll.
                    let _ = send.send(cx.waker().clone());
                    Poll::Pending
                })
            });
            other.join().expect("no panic");
        }
    });
}

#[test]
fn a_wake_from_another_thread_ends_a_block_in_the_middle_of_a_wait() {
    guarded(|| {
        block_on(|reactor| async move {
            let (pollable, _event) = reactor.host().event();
            let (send, receive) = oneshot();
            let other = thread::spawn(move || send.send());
            (reactor.wait_for(pollable), receive).race().await;
            other.join().expect("no panic");
            assert!(reactor.is_empty());
        });
    });
}

/// A thread ends, or panics, and takes the last waker with it: the root could wait for ever.
#[test]
#[should_panic(expected = "deadlock")]
fn a_last_waker_that_goes_without_a_wake_is_a_deadlock() {
    guarded(|| {
        let mut other = None;
        block_on(|_| {
            poll_fn(|cx| {
                let waker = cx.waker().clone();
                other.get_or_insert_with(|| thread::spawn(move || drop(waker)));
                Poll::<()>::Pending
            })
        });
    });
}

/// As long as a thread could wake it, it is none.
#[test]
fn a_waker_that_is_alive_somewhere_is_waited_for() {
    guarded(|| {
        let (go, wait) = mpsc::channel::<()>();
        let mut other = None;
        let mut polls = 0;
        block_on(|_| {
            poll_fn(|cx| {
                polls += 1;
                if polls == 3 {
                    return Poll::Ready(());
                }
                let (first, second) = (cx.waker().clone(), cx.waker().clone());
                if let Some(thread) = other.take() {
                    let thread: thread::JoinHandle<()> = thread;
                    thread.join().expect("no panic");
                }
                let late = polls == 2;
                other = Some(thread::spawn(move || {
                    drop(first);
                    thread::sleep(Duration::from_millis(if late { 20 } else { 0 }));
                    second.wake();
                }));
                Poll::Pending
            })
        });
        drop((go, wait));
        other.expect("the second one").join().expect("no panic");
    });
}

#[test]
fn events_set_by_many_threads_all_arrive() {
    guarded(|| {
        const THREADS: usize = 8;
        const ROUNDS: usize = 200;
        block_on(|reactor| async move {
            let mut threads = Vec::new();
            let mut rounds: Vec<_> = Vec::new();
            for _ in 0..THREADS {
                let (pollables, events): (Vec<_>, Vec<_>) =
                    (0..ROUNDS).map(|_| reactor.host().event()).unzip();
                threads.push(thread::spawn(move || events.iter().for_each(|event| event.set())));
                let reactor = &reactor;
                rounds.push(async move {
                    for pollable in pollables {
                        reactor.wait_for(pollable).await;
                    }
                });
            }
            rounds.join().await;
            threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
            assert!(reactor.is_empty());
        });
    });
}

#[test]
fn wakers_may_outlive_the_reactor_on_other_threads() {
    guarded(|| {
        let (send, receive) = mpsc::channel::<Waker>();
        let other = thread::spawn(move || receive.into_iter().for_each(Waker::wake));
        for _ in 0..100 {
            let reactor = Reactor::with_host(NativeHost::new());
            let mut sent = false;
            reactor.block_on(poll_fn(|cx| {
                send.send(cx.waker().clone()).expect("the thread is there");
                if std::mem::replace(&mut sent, true) { Poll::Ready(()) } else { Poll::Pending }
            }));
        }
        drop(send);
        other.join().expect("no panic");
    });
}

/// A turn of an executor of another make ends when the host is interrupted.
#[test]
fn an_interrupt_ends_a_turn() {
    guarded(|| {
        let reactor = Reactor::with_host(NativeHost::new());
        let mut wait = pin!(reactor.wait_for(reactor.host().event().0));
        let mut cx = std::task::Context::from_waker(Waker::noop());
        assert!(wait.as_mut().poll(&mut cx).is_pending());
        let interrupter =
            liten::wasi::Host::interrupter(reactor.host()).expect("there are threads");
        interrupter.wake_by_ref();
        assert_eq!(reactor.turn(None), 0, "one that came before");
        let other = thread::spawn(move || interrupter.wake());
        assert_eq!(reactor.turn(None), 0);
        other.join().expect("no panic");
        assert_eq!(reactor.len(), 1);
    });
}

#[test]
fn two_threads_run_a_block_on_each_and_wake_each_other() {
    guarded(|| {
        const ROUNDS: usize = 500;
        let shared: Arc<[Mutex<Option<Waker>>; 2]> = Arc::default();
        let turn = Arc::new(AtomicUsize::new(0));
        let player = |me: usize| {
            let (shared, turn) = (shared.clone(), turn.clone());
            move || {
                block_on(|_| {
                    poll_fn(|cx| {
                        loop {
                            *shared[me].lock().expect("no panic") = Some(cx.waker().clone());
                            let now = turn.load(Ordering::SeqCst);
                            if now >= 2 * ROUNDS {
                                return Poll::Ready(());
                            }
                            if now % 2 != me {
                                return Poll::Pending;
                            }
                            turn.store(now + 1, Ordering::SeqCst);
                            let peer = shared[1 - me].lock().expect("no panic").take();
                            peer.into_iter().for_each(Waker::wake);
                        }
                    })
                });
            }
        };
        let other = thread::spawn(player(1));
        player(0)();
        other.join().expect("no panic");
    });
}

/// A runtime with workers beside it: what they finish wakes the root here.
#[test]
fn a_root_waits_for_what_another_runtime_does() {
    guarded(|| {
        let runtime = liten::runtime::Runtime::new().expect("a runtime");
        let _entered = runtime.enter();
        let sum = block_on(|reactor| async move {
            let task = liten::spawn(async {
                liten::time::sleep(Duration::from_millis(5)).await;
                40
            });
            let (pollable, event) = reactor.host().event();
            liten::spawn(async move { event.set() });
            reactor.wait_for(pollable).await;
            task.await.expect("no panic") + 2
        });
        assert_eq!(sum, 42);
        // A root that nothing can wake is one here too.
        let stuck = std::panic::catch_unwind(|| block_on(|_| pending::<()>()));
        assert!(stuck.is_err());
    });
}

struct Sender(Arc<Slot>);
struct Receiver(Arc<Slot>);
#[derive(Default)]
struct Slot {
    sent: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

/// One message without contents.
fn oneshot() -> (Sender, Receiver) {
    let slot = Arc::<Slot>::default();
    (Sender(slot.clone()), Receiver(slot))
}

impl Sender {
    fn send(self) {
        self.0.sent.store(true, Ordering::SeqCst);
        let waker = self.0.waker.lock().expect("no panic").take();
        waker.into_iter().for_each(Waker::wake);
    }
}

impl Future for Receiver {
    type Output = ();

    fn poll(self: std::pin::Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> Poll<()> {
        *self.0.waker.lock().expect("no panic") = Some(cx.waker().clone());
        if self.0.sent.load(Ordering::SeqCst) { Poll::Ready(()) } else { Poll::Pending }
    }
}
