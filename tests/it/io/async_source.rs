//! `Async`: remembered readiness counted in operations, waiting tasks, any descriptor, the end of the
//! runtime.

use crate::support::loopback::{poll_once, run, until_reported};
use liten::io::{Async, Interest};
use liten::runtime::Runtime;
use mio::event::Source;
use mio::net::UdpSocket;
use mio::{Registry, Token};
use std::cell::Cell;
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A socket that counts the receive calls that reach the operating system.
struct Counting {
    socket: UdpSocket,
    calls: AtomicUsize,
}

impl Counting {
    fn new() -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        Self { socket, calls: AtomicUsize::new(0) }
    }

    fn recv(&self) -> io::Result<usize> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.socket.recv(&mut [0; 64])
    }

    fn address(&self) -> SocketAddr {
        self.socket.local_addr().unwrap()
    }

    /// How many calls there were since the last time.
    fn take_calls(&self) -> usize {
        self.calls.swap(0, Ordering::SeqCst)
    }
}

impl Source for Counting {
    fn register(
        &mut self,
        registry: &Registry,
        token: Token,
        interests: mio::Interest,
    ) -> io::Result<()> {
        self.socket.register(registry, token, interests)
    }

    fn reregister(
        &mut self,
        registry: &Registry,
        token: Token,
        interests: mio::Interest,
    ) -> io::Result<()> {
        self.socket.reregister(registry, token, interests)
    }

    fn deregister(&mut self, registry: &Registry) -> io::Result<()> {
        self.socket.deregister(registry)
    }
}

fn source() -> Async<Counting> {
    Async::new(Counting::new()).unwrap()
}

fn sender() -> std::net::UdpSocket {
    std::net::UdpSocket::bind("127.0.0.1:0").unwrap()
}

async fn recv(source: &Async<Counting>) -> io::Result<usize> {
    source.async_io(Interest::READABLE, Counting::recv).await
}

/// Waits until the driver has reported `source` as readable, without touching the socket.
async fn reported(source: &Async<Counting>) {
    while source.try_io(Interest::READABLE, |_| Ok(())).is_err() {
        liten::task::yield_now().await;
    }
}

#[test]
fn a_source_known_to_be_empty_costs_no_call() {
    run(async {
        let sources: Vec<_> = (0..10).map(|_| source()).collect();
        let sender = sender();
        let calls = || sources.iter().map(|source| source.get_ref().take_calls()).sum::<usize>();
        // Each registration has an event, which would make a first try count for nothing.
        until_reported().await;
        let mut joined: Vec<_> = sources.iter().map(|source| Box::pin(recv(source))).collect();
        for waiting in &mut joined {
            assert!(poll_once(waiting).await.is_none());
        }
        assert_eq!(calls(), 10, "one try each while nothing is known");

        // One datagram: all ten are asked, one call takes the data and one more finds the socket empty
        // again.
        sender.send_to(b"x", sources[3].get_ref().address()).unwrap();
        reported(&sources[3]).await;
        for (index, waiting) in joined.iter_mut().enumerate() {
            assert_eq!(poll_once(waiting).await.is_some(), index == 3);
        }
        let mut again = pin!(recv(&sources[3]));
        assert!(poll_once(&mut again).await.is_none());
        assert_eq!(calls(), 2, "one call with the data, one that would block");

        for source in &sources {
            let tried = source.try_io(Interest::READABLE, Counting::recv);
            assert_eq!(tried.unwrap_err().kind(), ErrorKind::WouldBlock);
        }
        assert_eq!(calls(), 0, "nothing has come, and that is known");
    });
}

#[test]
fn only_would_block_makes_a_source_count_as_empty() {
    run(async {
        let source = source();
        let runs = Cell::new(0);
        for _ in 0..3 {
            let result: io::Result<()> = source
                .async_io(Interest::READABLE, |_| {
                    runs.set(runs.get() + 1);
                    Err(io::Error::other("no descriptors left"))
                })
                .await;
            assert_eq!(result.unwrap_err().kind(), ErrorKind::Other);
        }
        assert_eq!(runs.get(), 3);
    });
}

#[test]
fn an_interrupted_operation_is_repeated() {
    run(async {
        let source = source();
        let mut runs = 0;
        let result = source
            .async_io(Interest::READABLE, |_| {
                runs += 1;
                if runs < 3 { Err(ErrorKind::Interrupted.into()) } else { Ok(runs) }
            })
            .await;
        assert_eq!(result.unwrap(), 3);
    });
}

#[test]
fn an_event_before_any_task_waits_is_remembered() {
    run(async {
        let source = source();
        assert!(poll_once(&mut pin!(recv(&source))).await.is_none());
        sender().send_to(b"early", source.get_ref().address()).unwrap();
        reported(&source).await;
        source.get_ref().take_calls();
        assert!(poll_once(&mut pin!(source.readable())).await.is_some());
        assert_eq!(recv(&source).await.unwrap(), 5);
        assert_eq!(source.get_ref().take_calls(), 1);
    });
}

/// Not on Windows: there mio asks for the next event only when the socket itself says that it would block.
#[cfg(unix)]
#[test]
fn an_event_during_the_operation_is_not_forgotten() {
    run(async {
        let source = source();
        assert!(poll_once(&mut pin!(recv(&source))).await.is_none());
        let (sender, address) = (sender(), source.get_ref().address());
        sender.send_to(b"first", address).unwrap();
        let mut runs = 0;
        let received = source
            .async_io(Interest::READABLE, |counting| {
                runs += 1;
                if runs == 1 {
                    // A lie, and meanwhile something comes: this must lead to another run.
                    sender.send_to(b"second", address).unwrap();
                    return Err(ErrorKind::WouldBlock.into());
                }
                counting.recv()
            })
            .await;
        assert_eq!(received.unwrap(), 5);
        assert_eq!(runs, 2);
    });
}

#[test]
fn all_tasks_that_wait_are_woken() {
    run(async {
        const TASKS: usize = 50;
        let source = Arc::new(source());
        assert!(poll_once(&mut pin!(recv(&source))).await.is_none());
        let waiting = Arc::new(AtomicUsize::new(0));
        let mut tasks = Vec::new();
        for index in 0..TASKS {
            let (source, waiting) = (Arc::clone(&source), Arc::clone(&waiting));
            tasks.push(liten::spawn(async move {
                let mut counted = false;
                let mut count = || {
                    if !std::mem::replace(&mut counted, true) {
                        waiting.fetch_add(1, Ordering::SeqCst);
                    }
                };
                // Both ways of waiting, side by side.
                if index % 2 == 0 {
                    let mut readable = pin!(source.readable());
                    poll_fn(|cx| {
                        let polled = readable.as_mut().poll(cx);
                        count();
                        polled
                    })
                    .await
                    .unwrap();
                } else {
                    poll_fn(|cx| {
                        let polled = source.poll_read_ready(cx);
                        count();
                        polled
                    })
                    .await
                    .unwrap();
                }
            }));
        }
        while waiting.load(Ordering::SeqCst) < TASKS {
            liten::task::yield_now().await;
        }
        sender().send_to(b"x", source.get_ref().address()).unwrap();
        for task in tasks {
            task.await.unwrap();
        }
    });
}

#[test]
fn waiting_and_giving_up_takes_nothing() {
    run(async {
        let (source, sender) = (source(), sender());
        for round in 1..=20 {
            for _ in 0..round {
                assert!(poll_once(&mut pin!(recv(&source))).await.is_none());
                assert!(poll_once(&mut pin!(source.readable())).await.is_none());
            }
            sender.send_to(&vec![0; round], source.get_ref().address()).unwrap();
            source.readable().await.unwrap();
            assert_eq!(recv(&source).await.unwrap(), round);
        }
    });
}

#[test]
fn interest_in_both_directions_tells_which_one_is_ready() {
    run(async {
        let source = source();
        let both = Interest::READABLE | Interest::WRITABLE;
        assert!(poll_once(&mut pin!(recv(&source))).await.is_none());
        let ready = source.ready(both).await.unwrap();
        assert!(ready.is_writable() && !ready.is_readable(), "{ready:?}");
        poll_fn(|cx| source.poll_write_ready(cx)).await.unwrap();

        sender().send_to(b"x", source.get_ref().address()).unwrap();
        reported(&source).await;
        let ready = source.ready(both).await.unwrap();
        assert!(ready.is_writable() && ready.is_readable(), "{ready:?}");
    });
}

#[test]
fn one_direction_can_be_registered_alone() {
    run(async {
        let source = Async::with_interest(Counting::new(), Interest::READABLE).unwrap();
        sender().send_to(b"abc", source.get_ref().address()).unwrap();
        assert_eq!(recv(&source).await.unwrap(), 3);
    });
}

#[test]
fn a_source_that_was_taken_out_can_be_registered_again() {
    run(async {
        let mut source = source();
        source.get_mut().calls = AtomicUsize::new(7);
        let counting = source.into_inner().unwrap();
        assert_eq!(counting.take_calls(), 7);
        let source = Async::new(counting).unwrap();
        sender().send_to(b"again", source.get_ref().address()).unwrap();
        assert_eq!(recv(&source).await.unwrap(), 5);
    });
}

#[test]
#[should_panic(expected = "outside a runtime")]
fn a_source_outside_a_runtime_panics() {
    let _ = Async::new(Counting::new());
}

#[test]
fn a_source_that_outlives_its_runtime_returns_errors() {
    let runtime = Runtime::new().unwrap();
    let source = runtime.block_on(async {
        let source = source();
        assert!(poll_once(&mut pin!(recv(&source))).await.is_none());
        source
    });
    drop(runtime);
    run(async {
        assert!(recv(&source).await.is_err());
        assert!(source.readable().await.is_err());
        assert!(poll_fn(|cx| source.poll_read_ready(cx)).await.is_err());
    });
    // Dropping it, or taking the socket out of a driver that is gone, is in order.
    source.into_inner().unwrap();
}

#[test]
fn a_task_that_waits_is_told_when_the_runtime_of_its_source_ends() {
    let owner = Runtime::new().unwrap();
    let source = Arc::new(owner.block_on(async { source() }));
    run(async {
        let waiting = Arc::new(AtomicUsize::new(0));
        let (theirs, polled) = (Arc::clone(&source), Arc::clone(&waiting));
        let task = liten::spawn(async move {
            let mut waiting = pin!(recv(&theirs));
            poll_fn(|cx| {
                let result = waiting.as_mut().poll(cx);
                polled.fetch_add(1, Ordering::SeqCst);
                result
            })
            .await
        });
        while waiting.load(Ordering::SeqCst) == 0 {
            liten::task::yield_now().await;
        }
        liten::spawn_blocking(move || drop(owner)).await.unwrap();
        assert!(task.await.unwrap().is_err());
    });
}

#[cfg(unix)]
mod descriptors {
    use super::*;
    use liten::io::{AsyncReadExt, AsyncWriteExt, Fd};
    use std::os::fd::{AsFd, AsRawFd};
    use std::os::unix::net::UnixStream;
    use std::sync::Mutex;

    fn pair() -> (Async<Fd<UnixStream>>, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        (Async::new(Fd::new(ours)).unwrap(), theirs)
    }

    #[test]
    fn any_descriptor_is_read_and_written() {
        run(async {
            let (mut ours, theirs) = pair();
            assert_eq!(ours.as_raw_fd(), ours.get_ref().get_ref().as_raw_fd());
            assert_eq!(ours.as_fd().as_raw_fd(), ours.as_raw_fd());
            let echo =
                liten::spawn_blocking(move || std::io::copy(&mut &theirs, &mut &theirs).unwrap());
            let data = crate::support::loopback::pattern(100_000);
            let mut received = vec![0; data.len()];
            {
                // The shared reference reads and writes too.
                let (mut reader, mut writer) = (&ours, &ours);
                let both = liten::join!(writer.write_all(&data), reader.read_exact(&mut received));
                both.0.unwrap();
                both.1.unwrap();
            }
            assert!(received == data, "the bytes differ");
            ours.flush().await.unwrap();
            let fd = ours.into_inner().unwrap();
            fd.get_ref().shutdown(std::net::Shutdown::Write).unwrap();
            assert_eq!(echo.await.unwrap(), 100_000);
            drop(fd.into_inner());
        });
    }

    /// Known to have no room, so that an operation that waits for room is pending.
    fn fill(ours: &Async<Fd<UnixStream>>) {
        let write = |fd: &Fd<UnixStream>| std::io::Write::write(&mut fd.get_ref(), &[7; 4096]);
        while ours.try_io(Interest::WRITABLE, write).is_ok() {}
    }

    #[test]
    fn flushing_and_closing_need_no_room() {
        run(async {
            let (mut ours, _theirs) = pair();
            fill(&ours);
            assert!(poll_once(&mut ours.flush()).await.unwrap().is_ok());
            assert!(poll_once(&mut ours.close()).await.unwrap().is_ok());

            // Registered for reading only: room would never be reported.
            let (ours, _theirs) = UnixStream::pair().unwrap();
            ours.set_nonblocking(true).unwrap();
            let mut ours = Async::with_interest(Fd::new(ours), Interest::READABLE).unwrap();
            assert!(poll_once(&mut ours.flush()).await.unwrap().is_ok());
        });
    }

    /// Keeps what is written until it is flushed.
    struct Kept {
        stream: UnixStream,
        kept: Mutex<Vec<u8>>,
    }

    impl AsFd for Kept {
        fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
            self.stream.as_fd()
        }
    }

    impl std::io::Write for &Kept {
        fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
            self.kept.lock().unwrap().extend_from_slice(buf);
            Ok(buf.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            let mut kept = self.kept.lock().unwrap();
            while !kept.is_empty() {
                let written = (&self.stream).write(&kept)?;
                kept.drain(..written);
            }
            Ok(())
        }
    }

    #[test]
    fn a_flush_that_needs_room_waits_for_it() {
        run(async {
            let (stream, mut theirs) = UnixStream::pair().unwrap();
            stream.set_nonblocking(true).unwrap();
            let kept = Mutex::default();
            let mut ours = Async::new(Fd::new(Kept { stream, kept })).unwrap();
            let data = crate::support::loopback::pattern(1 << 20);
            ours.write_all(&data).await.unwrap();
            assert!(poll_once(&mut ours.flush()).await.is_none(), "more than there is room for");
            let mut received = vec![0; data.len()];
            let reader = liten::spawn_blocking(move || {
                std::io::Read::read_exact(&mut theirs, &mut received).unwrap();
                received
            });
            ours.flush().await.unwrap();
            assert!(reader.await.unwrap() == data, "the bytes differ");
        });
    }

    #[test]
    fn a_short_read_of_an_unknown_source_proves_nothing() {
        run(async {
            let (ours, theirs) = pair();
            std::io::Write::write_all(&mut &theirs, b"abcdef").unwrap();
            // Reads less than it was asked for, as a terminal or inotify does, although more is there.
            let mut received = Vec::new();
            let mut buf = [0; 64];
            while received.len() < 6 {
                let read = ours.async_io(Interest::READABLE, |fd| {
                    std::io::Read::read(&mut fd.get_ref(), &mut buf[..2])
                });
                let n = read.await.unwrap();
                received.extend_from_slice(&buf[..n]);
            }
            assert_eq!(received, b"abcdef");
        });
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_regular_file_cannot_be_polled() {
        run(async {
            let file = std::fs::File::open("/proc/self/exe").unwrap();
            let error = Async::new(Fd::new(file)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::PermissionDenied);
        });
    }
}
