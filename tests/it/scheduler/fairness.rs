//! Nothing starves: not for tasks that are always ready, pairs that wake each other, or sockets that
//! always have something.

use crate::support::guard::{guarded, workers};
use crate::support::loopback::{bounded, tcp_pair};
use crate::support::probe::Count;
use liten::future::join_all;
use liten::io::{AsyncReadExt, AsyncWriteExt};
use liten::net::UdpSocket;
use liten::runtime::{LocalRuntime, Runtime};
use liten::task::yield_now;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

/// Ends the busy tasks, also when the test panics: they would keep the runtime from being dropped.
#[derive(Clone, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

pub(crate) struct StopOnDrop(pub(crate) Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// A task that goes to the back of the queue for ever.
pub(crate) async fn yields(stop: Stop) {
    while !stop.is_set() {
        yield_now().await;
    }
}

/// A task that wakes itself in each poll.
pub(crate) async fn wakes_itself(stop: Stop) {
    poll_fn(|cx| {
        cx.waker().wake_by_ref();
        if stop.is_set() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

/// Two tasks that wake each other: one of them is always in the next slot.
pub(crate) async fn ping_pong(stop: Stop) {
    let (ping, mut pinged) = liten::sync::mpsc::channel::<()>(1);
    let (pong, mut ponged) = liten::sync::mpsc::channel::<()>(1);
    let other = liten::spawn(async move {
        while pinged.recv().await.is_some() && pong.send(()).await.is_ok() {}
    });
    while !stop.is_set() {
        ping.send(()).await.unwrap();
        ponged.recv().await.unwrap();
    }
    drop(ping);
    other.await.unwrap();
}

/// A task that starts another one and ends, for ever.
fn spawns(stop: Stop) {
    if !stop.is_set() {
        drop(liten::spawn(async move { spawns(stop) }));
    }
}

/// Everything that may come from outside, one after the other, so that each has to be noticed anew.
fn everything_else_goes_on(runtime: &Runtime) {
    // Through the injector.
    for _ in 0..20 {
        let handle = runtime.handle().clone();
        let task = std::thread::spawn(move || smol::block_on(handle.spawn(async { 42 })));
        assert_eq!(task.join().unwrap().unwrap(), 42);
    }
    // Through the root's queue, the wake channels, the timers and the poller.
    runtime.block_on(bounded(async {
        for _ in 0..20 {
            let (sender, receiver) = liten::sync::oneshot::channel();
            let task = liten::spawn(async move { receiver.await.unwrap() });
            yield_now().await;
            sender.send(()).unwrap();
            task.await.unwrap();
            liten::spawn(liten::time::sleep(Duration::from_millis(1))).await.unwrap();
        }
        let (mut client, mut server) = tcp_pair().await;
        let echo = liten::spawn(async move {
            let mut byte = [0];
            while server.read(&mut byte).await.unwrap() == 1 {
                server.write_all(&byte).await.unwrap();
            }
        });
        let asks = liten::spawn(async move {
            for _ in 0..20 {
                client.write_all(b"x").await.unwrap();
                client.read_exact(&mut [0]).await.unwrap();
            }
        });
        asks.await.unwrap();
        echo.await.unwrap();
    }));
}

#[test]
fn tasks_that_never_rest_starve_nothing() {
    guarded(|| {
        for kind in 0..4 {
            for count in [1, 2] {
                let runtime = workers(count);
                let stop = Stop::default();
                let _stop = StopOnDrop(stop.clone());
                for _ in 0..2 * count {
                    let stop = stop.clone();
                    drop(match kind {
                        0 => runtime.spawn(yields(stop)),
                        1 => runtime.spawn(wakes_itself(stop)),
                        2 => runtime.spawn(ping_pong(stop)),
                        _ => runtime.spawn(async { spawns(stop) }),
                    });
                }
                everything_else_goes_on(&runtime);
                drop(_stop);
                runtime.block_until_completion();
            }
        }
    });
}

#[test]
fn a_local_task_that_never_rests_starves_nothing() {
    guarded(|| {
        for kind in 0..3 {
            let runtime = LocalRuntime::new().unwrap();
            let stop = Stop::default();
            for _ in 0..100 {
                let stop = stop.clone();
                drop(match kind {
                    0 => runtime.spawn_local(yields(stop)),
                    1 => runtime.spawn_local(wakes_itself(stop)),
                    _ => runtime.spawn_local(async { spawns(stop) }),
                });
            }
            let handle = runtime.handle().clone();
            let foreign = std::thread::spawn(move || smol::block_on(handle.spawn(async { 42 })));
            runtime.block_on(async {
                let (mut client, mut server) = tcp_pair().await;
                let echo = liten::spawn(async move {
                    let mut byte = [0];
                    while server.read(&mut byte).await.unwrap() == 1 {
                        server.write_all(&byte).await.unwrap();
                    }
                });
                for _ in 0..20 {
                    client.write_all(b"x").await.unwrap();
                    client.read_exact(&mut [0]).await.unwrap();
                    liten::time::sleep(Duration::from_millis(1)).await;
                }
                drop(client);
                echo.await.unwrap();
                while !foreign.is_finished() {
                    yield_now().await;
                }
            });
            assert_eq!(foreign.join().unwrap().unwrap(), 42);
            stop.0.store(true, Ordering::Relaxed);
            runtime.block_until_completion();
        }
    });
}

/// Peeking takes nothing, so the socket has something for ever, and every operation succeeds at once.
#[test]
fn a_socket_that_always_has_something_starves_no_other() {
    guarded(|| {
        for count in [1, 2] {
            workers(count).block_on(bounded(async {
                let hot = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
                let sender = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
                sender.send_to(b"for ever", hot.local_addr().unwrap()).await.unwrap();
                let peeks = Count::default();
                let busy: Vec<_> = (0..count)
                    .map(|_| {
                        let (hot, peeks) = (Arc::clone(&hot), peeks.clone());
                        liten::spawn(async move {
                            loop {
                                hot.peek_from(&mut [0; 16]).await.unwrap();
                                peeks.add();
                            }
                        })
                    })
                    .collect();
                let others = (0..100).map(|_| {
                    let sender = Arc::clone(&sender);
                    liten::spawn(async move {
                        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
                        let address = socket.local_addr().unwrap();
                        for _ in 0..20 {
                            sender.send_to(b"x", address).await.unwrap();
                            assert_eq!(socket.recv(&mut [0; 16]).await.unwrap(), 1);
                        }
                    })
                });
                for other in join_all(others).await {
                    other.unwrap();
                }
                assert!(peeks.get() > 0);
                for task in busy {
                    task.abort();
                    assert!(task.await.unwrap_err().is_cancelled());
                }
            }));
        }
    });
}

/// More leaves in one task than one poll may complete.
#[test]
fn a_task_with_a_thousand_children_serves_them_all() {
    guarded(|| {
        let runtime = workers(1);
        let joined = runtime.spawn(async {
            let children = (0..1_000).map(|i| async move {
                let handle = liten::spawn(async move { i });
                liten::time::sleep(Duration::from_micros(i)).await;
                liten::task::consume_budget().await;
                handle.await.unwrap()
            });
            join_all(children).await.into_iter().sum::<u64>()
        });
        assert_eq!(runtime.block_on(joined).unwrap(), 499_500);
    });
}

/// However many tasks wait outside, a task that always has work is polled again after a bounded number of
/// them: a worker takes in no more than it can run between two looks.
#[test]
fn a_backlog_outside_is_taken_in_by_portions() {
    guarded(|| {
        const BACKLOG: usize = 50_000;
        /// Two batches of 512: what one look brings in, and what the look before it left in the queue.
        const MOST: usize = 1024;
        let runtime = workers(1);
        let polled = Count::default();
        let stop = Stop::default();
        let _stop = StopOnDrop(stop.clone());
        let (gate, closed) = std::sync::mpsc::channel::<()>();
        // The only worker is held up until the backlog is there.
        let held = runtime.spawn(async move { closed.recv().unwrap_err() });
        let local = runtime.spawn({
            let polled = polled.clone();
            async move {
                let (mut longest, mut before) = (0, polled.get());
                while polled.get() < BACKLOG {
                    yield_now().await;
                    longest = longest.max(polled.get() - before);
                    before = polled.get();
                }
                longest
            }
        });
        for _ in 0..BACKLOG {
            let polled = polled.clone();
            drop(runtime.spawn(async move { polled.add() }));
        }
        drop(gate);
        let longest = runtime.block_on(local).unwrap();
        runtime.block_on(held).unwrap();
        assert!(longest <= MOST, "{longest} tasks from outside between two polls");
    });
}
