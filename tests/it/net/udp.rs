//! UDP: both ways of use, waiting tasks, sizes, refusals, options, multicast.

use crate::support::guard::{guarded, workers};
use crate::support::loopback::{bounded, poll_once, run, udp_pair};
use crate::support::probe::Polls;
#[cfg(target_os = "linux")]
use crate::support::process::alone;
use liten::net::UdpSocket;
use std::future::poll_fn;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

#[test]
fn datagrams_go_to_whom_they_are_sent() {
    run(async {
        let server = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let clients = [
            UdpSocket::bind("127.0.0.1:0").await.unwrap(),
            UdpSocket::bind("127.0.0.1:0").await.unwrap(),
        ];
        let mut buf = [0; 32];
        for (name, client) in ["first", "second"].iter().zip(&clients) {
            let sent = client.send_to(name.as_bytes(), server.local_addr().unwrap()).await.unwrap();
            assert_eq!(sent, name.len());
            let (n, peer) = server.recv_from(&mut buf).await.unwrap();
            assert_eq!(&buf[..n], name.as_bytes());
            assert_eq!(peer, client.local_addr().unwrap());
            server.send_to(&buf[..n], peer).await.unwrap();
            let (n, peer) = client.recv_from(&mut buf).await.unwrap();
            assert_eq!(&buf[..n], name.as_bytes());
            assert_eq!(peer, server.local_addr().unwrap());
        }
    });
}

#[test]
fn a_connected_socket_hears_its_peer_only() {
    run(async {
        let (first, second) = udp_pair().await;
        assert_eq!(first.peer_addr().unwrap(), second.local_addr().unwrap());
        let stranger = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        assert_eq!(stranger.peer_addr().unwrap_err().kind(), ErrorKind::NotConnected);
        stranger.send_to(b"stranger", first.local_addr().unwrap()).await.unwrap();
        second.send(b"peer").await.unwrap();
        let mut buf = [0; 32];
        let n = first.recv(&mut buf).await.unwrap();
        assert_eq!(&buf[..n], b"peer");
    });
}

#[test]
fn polling_and_trying_do_the_same() {
    run(async {
        let (first, second) = udp_pair().await;
        let address = second.local_addr().unwrap();
        let from = first.local_addr().unwrap();
        let mut buf = [0; 8];
        assert_eq!(second.try_recv(&mut buf).unwrap_err().kind(), ErrorKind::WouldBlock);
        assert_eq!(second.try_recv_from(&mut buf).unwrap_err().kind(), ErrorKind::WouldBlock);
        assert_eq!(second.try_peek(&mut buf).unwrap_err().kind(), ErrorKind::WouldBlock);

        assert_eq!(poll_fn(|cx| first.poll_send(cx, b"1")).await.unwrap(), 1);
        assert_eq!(first.try_send(b"22").unwrap(), 2);
        assert_eq!(poll_fn(|cx| second.poll_peek(cx, &mut buf)).await.unwrap(), 1);
        assert_eq!(poll_fn(|cx| second.poll_peek_from(cx, &mut buf)).await.unwrap(), (1, from));
        assert_eq!(second.try_peek(&mut buf).unwrap(), 1);
        assert_eq!(second.try_peek_from(&mut buf).unwrap(), (1, from));
        assert_eq!(second.peek(&mut buf).await.unwrap(), 1);
        assert_eq!(second.peek_from(&mut buf).await.unwrap(), (1, from));
        assert_eq!(poll_fn(|cx| second.poll_recv(cx, &mut buf)).await.unwrap(), 1);
        assert_eq!(poll_fn(|cx| second.poll_recv_from(cx, &mut buf)).await.unwrap(), (2, from));

        let third = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        second.connect(third.local_addr().unwrap()).await.unwrap();
        assert_eq!(poll_fn(|cx| third.poll_send_to(cx, b"333", address)).await.unwrap(), 3);
        assert_eq!(third.try_send_to(b"4444", address).unwrap(), 4);
        second.readable().await.unwrap();
        assert_eq!(second.recv(&mut buf).await.unwrap(), 3);
        // It may be on its way still.
        assert_eq!(second.peek(&mut buf).await.unwrap(), 4);
        assert_eq!(second.try_recv(&mut buf).unwrap(), 4);
    });
}

#[test]
fn two_tasks_that_wait_on_one_socket_are_both_woken() {
    run(async {
        let (first, second) = udp_pair().await;
        let second = Arc::new(second);
        let mut tasks = Vec::new();
        for _ in 0..2 {
            let socket = Arc::clone(&second);
            tasks.push(liten::spawn(async move {
                let mut byte = [0];
                socket.recv(&mut byte).await.unwrap();
                byte[0]
            }));
        }
        let both = second.clone();
        let watcher = liten::spawn(async move { both.readable().await.unwrap() });
        first.send(&[1]).await.unwrap();
        first.send(&[2]).await.unwrap();
        watcher.await.unwrap();
        let mut received = Vec::new();
        for task in tasks {
            received.push(task.await.unwrap());
        }
        received.sort();
        assert_eq!(received, [1, 2]);
    });
}

#[test]
fn a_reader_is_not_woken_by_the_writer_of_the_same_socket() {
    run(async {
        let (first, second) = udp_pair().await;
        let second = Arc::new(second);
        let socket = Arc::clone(&second);
        let (reading, count) = Polls::of(async move { socket.recv(&mut [0; 8]).await.unwrap() });
        let reader = liten::spawn(reading);
        while count.get() == 0 {
            liten::task::yield_now().await;
        }
        for _ in 0..100 {
            second.send(b"other way").await.unwrap();
            second.writable().await.unwrap();
            first.recv(&mut [0; 16]).await.unwrap();
        }
        first.send(b"x").await.unwrap();
        assert_eq!(reader.await.unwrap(), 1);
        // Once to begin, once for the datagram, and some slack for writability reported with the
        // registration.
        let polls = count.get();
        assert!(polls <= 4, "the reader was polled {polls} times for one datagram");
    });
}

#[test]
fn what_does_not_fit_is_cut_off() {
    run(async {
        let (first, second) = udp_pair().await;
        first.send(b"0123456789").await.unwrap();
        first.send(b"next").await.unwrap();
        let mut buf = [0; 4];
        if cfg!(windows) {
            assert!(second.recv(&mut buf).await.is_err());
        } else {
            assert_eq!(second.recv(&mut buf).await.unwrap(), 4);
        }
        assert_eq!(second.recv(&mut buf).await.unwrap(), 4);
        assert_eq!(&buf, b"next");
        // An empty datagram is one, not an end.
        first.send(b"").await.unwrap();
        assert_eq!(second.recv(&mut buf).await.unwrap(), 0);
    });
}

#[test]
fn a_datagram_that_is_too_large_is_refused_and_the_socket_goes_on() {
    run(async {
        let (first, second) = udp_pair().await;
        let error = first.send(&[0; 70_000]).await.unwrap_err();
        assert!(error.raw_os_error().is_some(), "{error}");
        assert_ne!(error.kind(), ErrorKind::WouldBlock);
        assert!(first.send_to(&[0; 70_000], second.local_addr().unwrap()).await.is_err());
        first.send(b"ok").await.unwrap();
        assert_eq!(second.recv(&mut [0; 8]).await.unwrap(), 2);
    });
}

/// Linux reports the refusal of an earlier datagram; other systems may swallow it.
#[cfg(target_os = "linux")]
#[test]
fn a_refusal_is_reported_once_and_the_socket_goes_on() {
    // A process that another test starts has a copy of the closed socket until its exec.
    let test = "net::udp::a_refusal_is_reported_once_and_the_socket_goes_on";
    guarded(|| alone(test, || run(refusal())));
}

#[cfg(target_os = "linux")]
async fn refusal() {
    // An address of its own, so that no other test is given the port.
    let gone = UdpSocket::bind("127.0.0.77:0").await.unwrap();
    let address = gone.local_addr().unwrap();
    drop(gone);
    let socket = UdpSocket::bind("127.0.0.77:0").await.unwrap();
    socket.connect(address).await.unwrap();
    let mut buf = [0; 8];
    // A reader is told, too, that waits already.
    socket.send(b"anybody?").await.unwrap();
    let error = socket.recv(&mut buf).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    // After the error it waits again, and it is really woken: the error leaves no readiness behind that
    // lies.
    {
        let mut waiting = pin!(socket.recv(&mut buf));
        assert!(poll_once(&mut waiting).await.is_none());
        assert!(poll_once(&mut waiting).await.is_none());
    }
    assert!(
        socket.try_io(liten::io::Interest::READABLE, || Ok(())).is_err(),
        "an old error counts as readable"
    );
    let back = UdpSocket::bind(address).await.unwrap();
    back.send_to(b"here", socket.local_addr().unwrap()).await.unwrap();
    assert_eq!(socket.recv(&mut buf).await.unwrap(), 4);
}

#[test]
fn a_taken_address_is_in_use() {
    run(async {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let error = UdpSocket::bind(socket.local_addr().unwrap()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        let none: &[SocketAddr] = &[];
        assert_eq!(socket.send_to(b"x", none).await.unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(socket.connect(none).await.unwrap_err().kind(), ErrorKind::InvalidInput);
    });
}

#[test]
#[should_panic(expected = "outside a runtime")]
fn binding_polled_outside_a_runtime_panics() {
    let _ = pin!(UdpSocket::bind("127.0.0.1:0")).poll(&mut Context::from_waker(Waker::noop()));
}

#[test]
fn binding_needs_the_runtime_only_when_it_is_polled() {
    guarded(|| {
        let bind = UdpSocket::bind("127.0.0.1:0");
        let runtime = workers(1);
        let socket = runtime.block_on(bind).unwrap();
        runtime.block_on(bounded(async {
            socket.connect(socket.local_addr().unwrap()).await.unwrap();
            socket.send(b"x").await.unwrap();
            assert_eq!(socket.recv(&mut [0; 8]).await.unwrap(), 1);
        }));
    });
}

#[test]
fn a_socket_comes_from_std_and_goes_back() {
    run(async {
        let std_socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let socket = UdpSocket::from_std(std_socket).unwrap();
        {
            let mut buf = [0; 8];
            let mut waiting = pin!(socket.recv(&mut buf));
            assert!(poll_once(&mut waiting).await.is_none(), "a blocking socket");
        }
        let address = socket.local_addr().unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        sender.send_to(b"x", address).await.unwrap();
        assert_eq!(socket.recv(&mut [0; 8]).await.unwrap(), 1);
        let std_socket = socket.into_std().unwrap();
        assert_eq!(std_socket.local_addr().unwrap(), address);
        let again = UdpSocket::from_std(std_socket).unwrap();
        sender.send_to(b"xy", address).await.unwrap();
        assert_eq!(again.recv(&mut [0; 8]).await.unwrap(), 2);
    });
}

#[test]
fn options_are_kept() {
    run(async {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        for on in [true, false] {
            socket.set_broadcast(on).unwrap();
            assert_eq!(socket.broadcast().unwrap(), on);
            socket.set_multicast_loop_v4(on).unwrap();
            assert_eq!(socket.multicast_loop_v4().unwrap(), on);
        }
        socket.set_ttl(42).unwrap();
        assert_eq!(socket.ttl().unwrap(), 42);
        socket.set_multicast_ttl_v4(3).unwrap();
        assert_eq!(socket.multicast_ttl_v4().unwrap(), 3);
        assert!(socket.take_error().unwrap().is_none());
        let group = Ipv4Addr::new(127, 0, 0, 1);
        assert!(
            socket.join_multicast_v4(&group, &Ipv4Addr::UNSPECIFIED).is_err(),
            "that is no group"
        );
        // A machine without IPv6 has nothing to test here.
        if let Ok(socket) = UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).await {
            socket.set_multicast_loop_v6(false).unwrap();
            assert!(!socket.multicast_loop_v6().unwrap());
        }
    });
}

#[cfg(target_os = "linux")]
#[test]
fn a_multicast_datagram_reaches_the_group_over_loopback() {
    run(async {
        let group = Ipv4Addr::new(239, 255, 77, 78);
        let member = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).await.unwrap();
        let port = member.local_addr().unwrap().port();
        member.join_multicast_v4(&group, &Ipv4Addr::LOCALHOST).unwrap();

        let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        sender.set_multicast_loop_v4(true).unwrap();
        socket2::SockRef::from(&sender).set_multicast_if_v4(&Ipv4Addr::LOCALHOST).unwrap();
        sender.send_to(b"all", (group, port)).await.unwrap();
        let mut buf = [0; 8];
        let (n, peer) = member.recv_from(&mut buf).await.unwrap();
        assert_eq!((&buf[..n], peer), (&b"all"[..], sender.local_addr().unwrap()));

        member.leave_multicast_v4(&group, &Ipv4Addr::LOCALHOST).unwrap();
        assert!(member.leave_multicast_v4(&group, &Ipv4Addr::LOCALHOST).is_err(), "left twice");
    });
}

#[test]
fn the_sender_of_a_datagram_can_be_asked_for_beforehand() {
    run(async {
        let (first, second) = udp_pair().await;
        let sender = first.local_addr().unwrap();
        assert_eq!(second.try_peek_sender().unwrap_err().kind(), ErrorKind::WouldBlock);
        {
            let mut asking = pin!(second.peek_sender());
            assert!(poll_once(&mut asking).await.is_none());
            first.send(b"hello").await.unwrap();
            assert_eq!(asking.await.unwrap(), sender);
        }
        assert_eq!(second.try_peek_sender().unwrap(), sender);
        assert_eq!(poll_fn(|cx| second.poll_peek_sender(cx)).await.unwrap(), sender);
        // It is still there, whole.
        let mut buf = [0; 8];
        assert_eq!(second.recv(&mut buf).await.unwrap(), 5);
    });
}
