//! The hidden doors for the package named `tokio`: sources, children and work that liten does not own.

use crate::support::guard::until;
use crate::support::loopback::{run, until_reported};
use liten::io::{Direction, Interest, Ready, Registered};
use liten::runtime::{Builder, Handle, is_inside};
use liten::task::spawn_unfailing;
use mio::net::UdpSocket;
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::Poll;

/// A socket that waits for data, and its entry with the driver.
fn socket() -> (UdpSocket, Registered) {
    let mut socket = UdpSocket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let registered =
        Registered::unassumed(&Handle::current(), &mut socket, mio::Interest::READABLE, None)
            .unwrap();
    (socket, registered)
}

fn send_to(socket: &UdpSocket) {
    let sender = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    sender.send_to(b"x", socket.local_addr().unwrap()).unwrap();
}

/// Tries to receive; counts the tries that reach the system.
fn try_recv(socket: &UdpSocket, registered: &Registered, tries: &AtomicUsize) -> io::Result<usize> {
    registered.try_io(Interest::READABLE, || {
        tries.fetch_add(1, Ordering::SeqCst);
        socket.recv(&mut [0; 8])
    })
}

#[test]
fn a_source_is_ready_for_nothing_until_that_is_assumed() {
    run(async {
        let (socket, registered) = socket();
        let tries = AtomicUsize::new(0);
        let blocked =
            |result: io::Result<usize>| result.unwrap_err().kind() == ErrorKind::WouldBlock;
        assert!(blocked(try_recv(&socket, &registered, &tries)));
        assert_eq!(tries.load(Ordering::SeqCst), 0);

        registered.assume(Ready::READABLE);
        assert!(blocked(try_recv(&socket, &registered, &tries)));
        assert_eq!(tries.load(Ordering::SeqCst), 1);
        // The first try has shown that the assumption was wrong.
        assert!(blocked(try_recv(&socket, &registered, &tries)));
        assert_eq!(tries.load(Ordering::SeqCst), 1);

        send_to(&socket);
        registered.wait(Interest::READABLE).await.unwrap();
        assert_eq!(try_recv(&socket, &registered, &tries).unwrap(), 1);
    });
}

#[test]
fn what_came_before_the_registration_is_reported() {
    run(async {
        let mut socket = UdpSocket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        send_to(&socket);
        let interest = mio::Interest::READABLE;
        let registered =
            Registered::unassumed(&Handle::current(), &mut socket, interest, None).unwrap();
        let event = registered.wait(Interest::READABLE).await.unwrap();
        assert!(event.ready.is_readable());
    });
}

#[test]
fn what_is_cleared_is_ready_again_with_the_next_event_and_an_old_event_clears_nothing() {
    run(async {
        let (socket, registered) = socket();
        let is_pending = async || {
            poll_fn(|cx| Poll::Ready(registered.poll_event(cx, Direction::Read).is_pending())).await
        };
        send_to(&socket);
        let first = registered.wait(Interest::READABLE).await.unwrap();
        registered.clear(first, Ready::READABLE);
        assert!(is_pending().await);

        send_to(&socket);
        until_reported().await;
        assert!(!is_pending().await);
        registered.clear(first, Ready::READABLE);
        assert!(!is_pending().await, "the event came after the one that was cleared");
    });
}

#[test]
fn the_end_of_the_runtime_leaves_work_to_be_done_that_must_be() {
    let runtime = Builder::new_multi_thread().max_blocking_threads(1).build().unwrap();
    let (release, released) = mpsc::channel::<()>();
    let occupied = runtime.spawn_blocking(move || released.recv());
    let done = Arc::new(AtomicUsize::new(0));
    let count = |number: usize| {
        let done = done.clone();
        move || done.fetch_add(number, Ordering::SeqCst)
    };
    assert!(!is_inside());
    let entered = runtime.enter();
    assert!(is_inside());
    let ordinary = runtime.spawn_blocking(count(1));
    let unfailing = spawn_unfailing(count(10)).unwrap();
    drop(entered);
    drop((ordinary, unfailing, occupied));
    // The one thread is let go after the end has begun: it is blocked until the sender is dropped.
    let metrics = runtime.metrics();
    runtime.shutdown_background();
    drop(release);
    until(|| metrics.num_blocking_threads() == 0);
    assert_eq!(done.load(Ordering::SeqCst), 10);
}

#[cfg(unix)]
#[test]
fn a_child_that_was_started_elsewhere_is_waited_for_killed_and_reaped() {
    use liten::process::Watched;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};

    run(async {
        let start =
            |text: &str| Command::new("sh").args(["-c", text]).stdin(Stdio::piped()).spawn();
        let mut ends = Watched::new(start("exit 3").unwrap()).unwrap();
        let status = poll_fn(|cx| ends.poll_wait(cx)).await.unwrap();
        assert_eq!(status.code(), Some(3));

        let mut waits = Watched::new(start("read line").unwrap()).unwrap();
        assert_eq!(waits.try_wait().unwrap(), None);
        waits.kill().unwrap();
        let status = poll_fn(|cx| waits.poll_wait(cx)).await.unwrap();
        assert_eq!(status.signal(), Some(9));

        // Its input ends with the drop of the pipe, and then it ends.
        let mut child = start("read line").unwrap();
        let input = child.stdin.take();
        let dropped = Watched::new(child).unwrap();
        let process = format!("/proc/{}", dropped.id());
        drop((dropped, input));
        #[cfg(target_os = "linux")]
        while std::path::Path::new(&process).exists() {
            liten::task::yield_now().await;
        }
        let _ = process;
    });
}

#[cfg(unix)]
mod connections {
    use super::*;
    use mio::net::UnixStream;
    use std::io::{Read, Write};
    use std::os::fd::AsRawFd;

    /// One end with its entry, and the other end.
    fn pair(is_readable: bool) -> (UnixStream, Registered, UnixStream) {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let descriptor = Some(ours.as_raw_fd());
        let registered =
            Registered::with_room(&Handle::current(), &mut ours, descriptor, is_readable).unwrap();
        (ours, registered, theirs)
    }

    async fn is_ready(registered: &Registered, direction: Direction) -> bool {
        poll_fn(|cx| Poll::Ready(registered.poll_event(cx, direction).is_ready())).await
    }

    #[test]
    fn a_connection_has_room_at_once_and_something_to_read_only_if_that_is_known() {
        run(async {
            for is_readable in [true, false] {
                let (_ours, registered, mut theirs) = pair(is_readable);
                assert!(is_ready(&registered, Direction::Write).await);
                assert_eq!(is_ready(&registered, Direction::Read).await, is_readable);
                theirs.write_all(b"x").unwrap();
                until_reported().await;
                assert!(is_ready(&registered, Direction::Read).await);
            }
        });
    }

    #[test]
    fn room_that_was_cleared_by_hand_is_reported_when_it_comes() {
        run(async {
            let (mut ours, registered, mut theirs) = pair(false);
            let before = registered.wait(Interest::WRITABLE).await.unwrap();
            let full = loop {
                if let Err(error) = ours.write(&[7; 4096]) {
                    break error;
                }
            };
            assert_eq!(full.kind(), ErrorKind::WouldBlock);
            registered.clear(before, Ready::WRITABLE);
            assert!(!is_ready(&registered, Direction::Write).await);
            while theirs.read(&mut [0; 4096]).is_ok() {}
            registered.wait(Interest::WRITABLE).await.unwrap();
        });
    }
}
