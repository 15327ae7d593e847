//! What was made for no particular runtime: combinators of other crates, other executors, futures made by
//! hand.

use crate::support::guard::{guarded, until, workers};
use crate::support::loopback::{poll_once, tcp_pair};
use crate::support::probe::{Bell, Calls, Count, poll_with};
use futures_concurrency::prelude::*;
use liten::future::StreamExt;
use liten::io::{Async, AsyncReadExt, AsyncWriteExt};
use liten::net::{TcpListener, TcpStream, UdpSocket};
use liten::runtime::{Handle, LocalRuntime, Runtime};
use liten::time::{Duration, Instant, sleep};
use std::future::{Future, poll_fn};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker, ready};

const MILLISECOND: Duration = Duration::from_millis(1);

async fn after(delay: u32, value: u32) -> u32 {
    sleep(delay * MILLISECOND).await;
    value
}

/// Structured concurrency, without a single spawn.
async fn joins_races_and_groups() {
    assert_eq!((after(2, 1), after(1, 2)).join().await, (1, 2));
    assert_eq!([after(3, 1), after(1, 2), after(2, 3)].join().await, [1, 2, 3]);
    let many: Vec<_> = (0..200).map(|i| after(i % 5, i)).collect();
    assert_eq!(many.join().await.iter().sum::<u32>(), 19_900);
    assert_eq!((after(1, 1), after(100_000_000, 2)).race().await, 1);
    let fails = async { Err::<u32, io::Error>(ErrorKind::Other.into()) };
    let works = async { io::Result::Ok(after(1, 7).await) };
    assert_eq!((fails, works).race_ok().await.unwrap(), 7);

    let mut group = futures_concurrency::future::FutureGroup::new();
    for i in 0..100 {
        group.insert(after(i % 7, i));
    }
    let mut sum = 0;
    while let Some(value) = group.next().await {
        sum += value;
    }
    assert_eq!(sum, 4_950);

    let tick = |period: u32| liten::time::interval(period * MILLISECOND).take(5);
    let mut merged = (tick(1), tick(2)).merge();
    let mut ticks = 0;
    while merged.next().await.is_some() {
        ticks += 1;
    }
    assert_eq!(ticks, 10);
}

#[test]
fn joins_races_and_groups_of_another_crate_work() {
    guarded(|| {
        workers(2).block_on(joins_races_and_groups());
        let runtime = workers(1);
        runtime.block_on(runtime.spawn(joins_races_and_groups())).unwrap();
        LocalRuntime::new().unwrap().block_on(joins_races_and_groups());
    });
}

/// Two requests at once, made by one future.
#[test]
fn two_requests_of_one_future_wait_side_by_side() {
    async fn request(address: SocketAddr, delay: u8) -> io::Result<u8> {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(&[delay]).await?;
        let mut answer = [0];
        stream.read_exact(&mut answer).await?;
        Ok(answer[0])
    }

    guarded(|| {
        let runtime = workers(1);
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            // Answers only when both have asked.
            let server = async {
                let (mut one, _) = listener.accept().await?;
                let (mut two, _) = listener.accept().await?;
                for stream in [&mut one, &mut two] {
                    let mut byte = [0];
                    stream.read_exact(&mut byte).await?;
                    stream.write_all(&byte).await?;
                }
                io::Result::Ok(())
            };
            let (one, two, served) =
                (request(address, 1), request(address, 2), server).join().await;
            assert_eq!((one.unwrap(), two.unwrap()), (1, 2));
            served.unwrap();
        });
    });
}

/// The future is made by a closure that is given the runtime, and may borrow from around it.
fn block_on_with<'a, F: Future + 'a>(
    runtime: &Runtime,
    make: impl FnOnce(Handle) -> F,
) -> F::Output {
    runtime.block_on(make(runtime.handle().clone()))
}

#[test]
fn a_closure_may_make_the_root() {
    guarded(|| {
        let (runtime, words) = (workers(1), vec!["borrowed", "not cloned"]);
        let mut lengths = Vec::new();
        let sum = block_on_with(&runtime, async |handle| {
            for word in &words {
                lengths.push(handle.spawn(async { word_length(word) }).await);
            }
            handle.spawn(async { 42 }).await.unwrap()
        });
        assert_eq!((sum, lengths.len()), (42, 2));
    });
}

fn word_length(word: &'static str) -> usize {
    word.len()
}

/// Sockets and timers belong to the runtime that was entered; which thread polls them is another matter.
#[test]
fn other_executors_wait_for_sockets_and_timers() {
    async fn talk() {
        let (mut client, mut server) = tcp_pair().await;
        for i in 0..50u8 {
            client.write_all(&[i]).await.unwrap();
            let mut byte = [0];
            server.read_exact(&mut byte).await.unwrap();
            assert_eq!(byte[0], i);
        }
        sleep(MILLISECOND).await;
    }

    guarded(|| {
        let runtime = workers(1);
        let _entered = runtime.enter();
        smol::block_on(talk());
        smol::block_on(async { (talk(), talk(), talk()).join().await });
        let tokio = tokio::runtime::Builder::new_current_thread().build().unwrap();
        tokio.block_on(talk());
        // Inside a task of ours, where the task's budget must not bring a foreign executor to a stop.
        let task = runtime.spawn(async {
            smol::block_on(async {
                for _ in 0..1_000 {
                    liten::task::consume_budget().await;
                }
            });
        });
        runtime.block_on(task).unwrap();
    });
}

/// Things made elsewhere are waited for here.
#[test]
fn sockets_and_timers_of_other_runtimes_work_inside() {
    guarded(|| {
        let runtime = workers(1);
        let task = runtime.spawn(async {
            smol::Timer::after(MILLISECOND).await;
            let listener = smol::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let client = smol::net::TcpStream::connect(address);
            let (client, server) = (client, listener.accept()).join().await;
            let (mut client, (mut server, _)) = (client.unwrap(), server.unwrap());
            client.write_all(b"x").await.unwrap();
            server.read_exact(&mut [0]).await.unwrap();
        });
        runtime.block_on(task).unwrap();
    });
}

/// A future without a runtime's help: an operating system thread completes it.
#[test]
fn a_future_made_of_a_thread_works() {
    struct Rendezvous(Arc<Mutex<(bool, Option<Waker>)>>);

    impl Future for Rendezvous {
        type Output = ();

        fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
            let mut shared = self.0.lock().unwrap();
            if shared.0 {
                return Poll::Ready(());
            }
            shared.1 = Some(cx.waker().clone());
            Poll::Pending
        }
    }

    guarded(|| {
        let runtime = workers(1);
        for _ in 0..100 {
            let shared = Arc::new(Mutex::new((false, None::<Waker>)));
            let theirs = Arc::clone(&shared);
            let thread = std::thread::spawn(move || {
                until(|| theirs.lock().unwrap().1.is_some());
                let mut shared = theirs.lock().unwrap();
                shared.0 = true;
                let waker = shared.1.take();
                drop(shared);
                waker.unwrap().wake();
            });
            runtime.block_on(Rendezvous(shared));
            thread.join().unwrap();
        }
    });
}

/// A datagram, received by a future that registers its socket only when it is polled for the first time. It
/// stands on nothing but `Async`.
struct Datagram {
    bound: Option<mio::net::UdpSocket>,
    source: Option<Async<mio::net::UdpSocket>>,
}

impl Future for Datagram {
    type Output = io::Result<Vec<u8>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(socket) = self.bound.take() {
            self.source = Some(Async::new(socket)?);
        }
        let source = self.source.as_ref().expect("registered above");
        loop {
            ready!(source.poll_read_ready(cx))?;
            let mut buf = vec![0; 16];
            match source.try_io(liten::io::Interest::READABLE, |socket| socket.recv(&mut buf)) {
                Ok(length) => {
                    buf.truncate(length);
                    return Poll::Ready(Ok(buf));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

#[test]
fn a_future_made_by_hand_registers_when_it_is_polled() {
    guarded(|| {
        let runtime = workers(2);
        runtime.block_on(async {
            let socket = mio::net::UdpSocket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
            let address = socket.local_addr().unwrap();
            let mut datagram = Datagram { bound: Some(socket), source: None };
            assert!(poll_once(&mut datagram).await.is_none());
            let task = liten::spawn(datagram);
            let sender = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            sender.send_to(b"by hand", address).await.unwrap();
            assert_eq!(task.await.unwrap().unwrap(), b"by hand");
            // The same, in line.
            let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            sender.send_to(b"in line", socket.local_addr().unwrap()).await.unwrap();
            let mut buf = [0; 16];
            let (length, from) = poll_fn(|cx| socket.poll_recv_from(cx, &mut buf)).await.unwrap();
            assert_eq!((&buf[..length], from), (&b"in line"[..], sender.local_addr().unwrap()));
        });
    });
}

/// A waker that uses the runtime while it is called: it drops sleeps and spawns, so what calls it must
/// hold no lock.
#[test]
fn a_waker_may_use_the_runtime_that_calls_it() {
    struct Busy {
        handle: Handle,
        calls: Count,
        sleeps: Mutex<Vec<liten::time::Sleep>>,
        bell: Bell,
    }

    impl Wake for Busy {
        fn wake(self: Arc<Self>) {
            self.wake_by_ref();
        }

        fn wake_by_ref(self: &Arc<Self>) {
            let _entered = self.handle.enter();
            let mut another = sleep(100_000 * MILLISECOND);
            let (_, waker) = Calls::new();
            assert!(poll_with(&mut another, &waker).is_pending());
            self.sleeps.lock().unwrap().pop();
            drop(another);
            drop(liten::spawn(async {}));
            self.bell.ring();
            self.calls.add();
        }
    }

    guarded(|| {
        let runtime = workers(1);
        let _entered = runtime.enter();
        let (calls, bell) = (Count::default(), Bell::default());
        for round in 1..=50 {
            let mut sleeps: Vec<_> = (0..10).map(|_| sleep(100_000 * MILLISECOND)).collect();
            for sleep in &mut sleeps {
                assert!(poll_with(sleep, &Calls::new().1).is_pending());
            }
            let busy = Arc::new(Busy {
                handle: runtime.handle().clone(),
                calls: calls.clone(),
                sleeps: Mutex::new(sleeps),
                bell: bell.clone(),
            });
            let waker = Waker::from(Arc::clone(&busy));
            // Called by the driver, and by a worker that completes a task.
            let mut timer = sleep(100_000 * MILLISECOND);
            assert!(poll_with(&mut timer, &waker).is_pending());
            Pin::new(&mut timer).reset(Instant::now() + MILLISECOND / 4);
            let waits = Bell::default();
            let rings = waits.clone();
            let mut task = runtime.spawn(async move { waits.wait().await });
            assert!(poll_with(&mut task, &waker).is_pending());
            rings.ring();
            until(|| calls.get() == 2 * round);
            assert!(poll_with(&mut timer, &waker).is_ready());
        }
        assert!(bell.is_rung());
        runtime.block_until_completion();
    });
}

/// Only the child whose turn it is is polled, if the set gives its children wakers of their own.
#[test]
fn a_set_polls_the_woken_child_only() {
    guarded(|| {
        let runtime = workers(1);
        runtime.block_on(async {
            let polls = Count::default();
            let bells: Vec<Bell> = (0..10).map(|_| Bell::default()).collect();
            let mut set = liten::future::FuturesUnordered::new();
            for bell in &bells {
                let polls = polls.clone();
                set.push(async move {
                    let mut waiting = std::pin::pin!(bell.wait());
                    poll_fn(|cx| {
                        polls.add();
                        waiting.as_mut().poll(cx)
                    })
                    .await;
                });
            }
            assert!(poll_once(&mut set.next()).await.is_none());
            assert_eq!(polls.get(), 10);
            bells[3].ring();
            set.next().await.unwrap();
            assert_eq!(polls.get(), 11);

            // A plain join polls all of its children for each wake.
            let polls = Count::default();
            let bells: Vec<Bell> = (0..10).map(|_| Bell::default()).collect();
            let children = bells.iter().map(|bell| {
                let polls = polls.clone();
                let mut waiting = Box::pin(bell.wait());
                poll_fn(move |cx| {
                    polls.add();
                    waiting.as_mut().poll(cx)
                })
            });
            let mut joined = Box::pin(liten::future::join_all(children));
            assert!(poll_once(&mut joined).await.is_none());
            bells[3].ring();
            assert!(poll_once(&mut joined).await.is_none());
            assert_eq!(polls.get(), 20);
        });
    });
}
