//! Unix sockets: streams by path, name and pair, datagrams, full queues.

use crate::support::guard::{guarded, workers};
use crate::support::loopback::{bounded, pattern, poll_once, run, takes_part_in_the_budget};
use liten::future::StreamExt;
use liten::io::{AsyncReadExt, AsyncWriteExt, Interest};
use liten::net::{UnixDatagram, UnixListener, UnixSocket, UnixStream};
#[cfg(target_os = "linux")]
use liten::runtime::Builder;
use liten::task::coop::{RestoreOnPending, poll_proceed};
#[cfg(target_os = "linux")]
use socket2::{Domain, SockAddr, Socket, Type};
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::net::Shutdown;
#[cfg(target_os = "linux")]
use std::os::unix::net;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

/// A path for a socket of this process; the file goes with it.
struct SocketPath(PathBuf);

impl SocketPath {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("liten-{}-{name}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        Self(path)
    }
}

impl AsRef<Path> for SocketPath {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl Drop for SocketPath {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn connecting_takes_part_in_the_budget() {
    run(async {
        let path = SocketPath::new("budget");
        let _listener = UnixListener::bind(&path).unwrap();
        assert!(takes_part_in_the_budget(UnixStream::connect(path.0.clone())).await);
        let socket = UnixSocket::new_stream().unwrap();
        assert!(takes_part_in_the_budget(socket.connect(path.0.clone())).await);
    });
}

/// What a poll has left of its budget after it has moved many bytes.
#[test]
fn a_transfer_of_many_bytes_costs_more_of_the_budget() {
    fn left() -> usize {
        let mut cx = Context::from_waker(Waker::noop());
        let ready =
            |_: &usize| poll_proceed(&mut cx).map(RestoreOnPending::made_progress).is_ready();
        (0..).take_while(ready).count()
    }
    run(async {
        let (mut writer, mut reader) = UnixStream::pair().unwrap();
        for bytes in [1, 2_047, 2_048, 20_000] {
            let left = liten::spawn(async move {
                let written = writer.write(&vec![7; bytes]).await.unwrap();
                let after_write = left();
                liten::task::yield_now().await;
                let read = reader.read(&mut vec![0; bytes]).await.unwrap();
                ((writer, reader), [(written, after_write), (read, left())])
            });
            let (pair, moved) = left.await.unwrap();
            (writer, reader) = pair;
            for (moved, left) in moved {
                assert_eq!((moved, left), (bytes, 127 - bytes / 2_048));
            }
        }
    });
}

#[test]
fn a_stream_connects_by_path() {
    run(async {
        let path = SocketPath::new("connect");
        let listener = UnixListener::bind(&path).unwrap();
        let mut client = UnixStream::connect(&path).await.unwrap();
        let (mut server, peer) = listener.accept().await.unwrap();
        assert!(peer.is_unnamed());
        assert_eq!(client.peer_addr().unwrap().as_pathname(), Some(path.as_ref()));
        assert_eq!(server.local_addr().unwrap().as_pathname(), Some(path.as_ref()));
        assert_eq!(listener.local_addr().unwrap().as_pathname(), Some(path.as_ref()));
        assert!(listener.take_error().unwrap().is_none());

        client.write_all(b"question").await.unwrap();
        client.close().await.unwrap();
        let mut received = String::new();
        server.read_to_string(&mut received).await.unwrap();
        assert_eq!(received, "question");
        server.write_all(b"answer").await.unwrap();
        drop(server);
        received.clear();
        client.read_to_string(&mut received).await.unwrap();
        assert_eq!(received, "answer");
    });
}

#[cfg(target_os = "linux")]
#[test]
fn abstract_addresses_need_no_file() {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::SocketAddr;
    run(async {
        let name = |kind: &str| {
            SocketAddr::from_abstract_name(format!("liten-{}-{kind}", std::process::id())).unwrap()
        };
        let listener = UnixListener::bind_addr(&name("stream")).unwrap();
        let client = UnixStream::connect_addr(&name("stream")).await.unwrap();
        let (server, _) = poll_fn(|cx| listener.poll_accept(cx)).await.unwrap();
        assert_eq!(client.try_write(b"x").unwrap(), 1);
        let mut server = server;
        assert_eq!(server.read(&mut [0; 8]).await.unwrap(), 1);

        let datagram = UnixDatagram::bind_addr(&name("datagram")).unwrap();
        assert_eq!(
            datagram.local_addr().unwrap().as_abstract_name(),
            name("datagram").as_abstract_name()
        );
    });
}

#[cfg(target_os = "linux")]
#[test]
fn a_path_that_begins_with_a_zero_byte_is_an_abstract_name_everywhere() {
    use std::os::linux::net::SocketAddrExt;
    run(async {
        let name = |kind: &str| format!("\0liten-{}-path-{kind}", std::process::id());
        let listener = UnixListener::bind(name("stream")).unwrap();
        let _client = UnixStream::connect(name("stream")).await.unwrap();
        listener.accept().await.unwrap();
        let other = UnixSocket::new_stream().unwrap();
        other.bind(name("other")).unwrap();
        let _other = other.connect(name("stream")).await.unwrap();
        let (accepted, _peer) = listener.accept().await.unwrap();
        let peer = accepted.peer_addr().unwrap();
        assert_eq!(peer.as_abstract_name(), Some(&name("other").as_bytes()[1..]));

        let datagram = UnixDatagram::bind(name("datagram")).unwrap();
        let sender = UnixDatagram::unbound().unwrap();
        let target = name("datagram");
        assert_eq!(sender.send_to(b"1", &target).await.unwrap(), 1);
        assert_eq!(sender.try_send_to(b"22", &target).unwrap(), 2);
        assert_eq!(poll_fn(|cx| sender.poll_send_to(cx, b"333", &target)).await.unwrap(), 3);
        sender.connect(&target).unwrap();
        assert_eq!(sender.send(b"4444").await.unwrap(), 4);
        for length in 1..=4 {
            assert_eq!(datagram.recv(&mut [0; 8]).await.unwrap(), length);
        }
    });
}

/// Tries until no listener is there: a process that another test starts has a copy of a closed socket until
/// its exec.
async fn until_refused<T>(attempt: impl AsyncFn() -> io::Result<T>) {
    loop {
        match attempt().await {
            Ok(_) => liten::task::yield_now().await,
            Err(error) => return assert_eq!(error.kind(), ErrorKind::ConnectionRefused),
        }
    }
}

#[test]
fn missing_taken_and_deserted_paths_are_errors() {
    run(async {
        let path = SocketPath::new("errors");
        assert_eq!(UnixStream::connect(&path).await.unwrap_err().kind(), ErrorKind::NotFound);
        let listener = UnixListener::bind(&path).unwrap();
        assert_eq!(UnixListener::bind(&path).unwrap_err().kind(), ErrorKind::AddrInUse);
        assert_eq!(UnixDatagram::bind(&path).unwrap_err().kind(), ErrorKind::AddrInUse);
        drop(listener);
        until_refused(async || UnixStream::connect(&path).await).await;
        let too_long = "x".repeat(300);
        assert_eq!(
            UnixStream::connect(&too_long).await.unwrap_err().kind(),
            ErrorKind::InvalidInput
        );
    });
}

#[test]
#[should_panic(expected = "outside a runtime")]
fn a_pair_outside_a_runtime_panics() {
    let _ = UnixStream::pair();
}

#[test]
#[should_panic(expected = "outside a runtime")]
fn connecting_polled_outside_a_runtime_panics() {
    let _ = pin!(UnixStream::connect("/nowhere")).poll(&mut Context::from_waker(Waker::noop()));
}

#[test]
fn connecting_needs_the_runtime_only_when_it_is_polled() {
    guarded(|| {
        let path = SocketPath::new("later");
        let connect = UnixStream::connect(&path);
        let runtime = workers(1);
        runtime.block_on(bounded(async {
            let listener = UnixListener::bind(&path).unwrap();
            let mut client = connect.await.unwrap();
            let address = listener.local_addr().unwrap();
            let _other = UnixStream::connect_addr(&address).await.unwrap();
            let (mut server, _) = listener.accept().await.unwrap();
            server.write_all(b"x").await.unwrap();
            client.read_exact(&mut [0]).await.unwrap();
        }));
    });
}

#[test]
fn a_client_may_have_an_address_of_its_own() {
    run(async {
        let (server, client) = (SocketPath::new("socket-server"), SocketPath::new("socket-client"));
        let socket = UnixSocket::new_stream().unwrap();
        socket.bind(&server).unwrap();
        assert_eq!(socket.bind(&client).unwrap_err().kind(), ErrorKind::InvalidInput);
        let listener = socket.listen(16).unwrap();
        let socket = UnixSocket::new_stream().unwrap();
        socket.bind(&client).unwrap();
        let mut stream = socket.connect(&server).await.unwrap();
        let (mut accepted, peer) = listener.accept().await.unwrap();
        assert_eq!(peer.as_pathname(), Some(client.as_ref()));
        stream.write_all(b"ping").await.unwrap();
        let mut received = [0; 4];
        accepted.read_exact(&mut received).await.unwrap();
        assert_eq!(&received, b"ping");
    });
}

#[test]
fn a_socket_becomes_what_it_was_made_for() {
    run(async {
        let path = SocketPath::new("socket-kinds");
        let receiver = UnixSocket::new_datagram().unwrap();
        receiver.bind(&path).unwrap();
        let receiver = receiver.datagram().unwrap();
        let sender = UnixSocket::new_datagram().unwrap().datagram().unwrap();
        sender.connect(&path).unwrap();
        sender.send(b"datagram").await.unwrap();
        let mut received = [0; 16];
        assert_eq!(receiver.recv(&mut received).await.unwrap(), 8);

        let stream = || UnixSocket::new_stream().unwrap();
        let datagram = || UnixSocket::new_datagram().unwrap();
        let errors = [
            datagram().listen(1).unwrap_err(),
            datagram().connect(&path).await.unwrap_err(),
            stream().datagram().unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        }
        let missing = stream().connect("/nowhere/to/be/found").await.unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
    });
}

/// Linux answers "try again" to a connect that finds the queue full, and has no event that says when.
/// Other systems refuse the connection.
#[cfg(target_os = "linux")]
#[test]
fn a_full_queue_of_connections_is_waited_for() {
    run(async {
        let path = SocketPath::new("queue");
        let socket = UnixSocket::new_stream().unwrap();
        socket.bind(&path).unwrap();
        let listener = socket.listen(1).unwrap();
        let mut clients = Vec::new();
        for _ in 0..8 {
            let connecting = UnixStream::connect(path.0.clone());
            clients.push(liten::spawn(async move { connecting.await.map(drop) }));
            let connecting = UnixSocket::new_stream().unwrap().connect(path.0.clone());
            clients.push(liten::spawn(async move { connecting.await.map(drop) }));
        }
        for _ in 0..16 {
            listener.accept().await.unwrap();
        }
        for client in clients {
            client.await.unwrap().unwrap();
        }
    });
}

/// A listener at `path` and as many connections as its queue takes: the next one has to wait.
#[cfg(target_os = "linux")]
fn full_queue(path: &SocketPath) -> (net::UnixListener, Vec<Socket>) {
    let address = SockAddr::unix(path).unwrap();
    let socket = || Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
    let listener = socket();
    listener.bind(&address).unwrap();
    listener.listen(1).unwrap();
    let mut queue = Vec::new();
    loop {
        let client = socket();
        client.set_nonblocking(true).unwrap();
        match client.connect(&address) {
            Ok(()) => queue.push(client),
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) => panic!("{error}"),
        }
    }
    listener.set_nonblocking(true).unwrap();
    (listener.into(), queue)
}

#[cfg(target_os = "linux")]
#[test]
fn a_connect_that_is_given_up_leaves_no_thread_and_no_connection() {
    guarded(|| {
        let path = SocketPath::new("given-up");
        let (listener, queue) = full_queue(&path);
        let runtime = Builder::new_multi_thread().max_blocking_threads(1).build().unwrap();
        runtime.block_on(async {
            for _ in 0..3 {
                let mut connecting = pin!(UnixStream::connect(&path));
                assert!(poll_once(&mut connecting).await.is_none(), "the queue is full");
                let mut connecting = pin!(UnixSocket::new_stream().unwrap().connect(&path));
                assert!(poll_once(&mut connecting).await.is_none(), "the queue is full");
            }
            // The only thread of the pool is free.
            liten::spawn_blocking(|| ()).await.unwrap();
        });
        drop(runtime);
        for _client in &queue {
            listener.accept().unwrap();
        }
        assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    });
}

#[cfg(target_os = "linux")]
#[test]
fn a_connect_that_waits_is_refused_when_the_listener_goes() {
    run(async {
        let path = SocketPath::new("goes");
        let (listener, _queue) = full_queue(&path);
        let mut connecting = pin!(UnixStream::connect(&path));
        assert!(poll_once(&mut connecting).await.is_none(), "the queue is full");
        drop(listener);
        assert_eq!(connecting.await.unwrap_err().kind(), ErrorKind::ConnectionRefused);
    });
}

#[cfg(target_os = "linux")]
#[test]
fn a_connect_that_waits_is_an_error_when_its_runtime_ends() {
    guarded(|| {
        let path = SocketPath::new("ends");
        let (_listener, _queue) = full_queue(&path);
        let mut connecting = pin!(UnixStream::connect(&path));
        let runtime = workers(1);
        assert!(runtime.block_on(poll_once(&mut connecting)).is_none(), "the queue is full");
        drop(runtime);
        let error = run(connecting).unwrap_err();
        assert!(error.to_string().contains("shut down"), "{error}");
    });
}

#[test]
fn two_mebibytes_go_each_way_at_once() {
    run(async {
        let (here, there) = UnixStream::pair().unwrap();
        let data = Arc::new(pattern(2 << 20));
        let mut tasks = Vec::new();
        for end in [here, there] {
            let (mut read, mut write) = end.into_split();
            let (sent, expected) = (Arc::clone(&data), Arc::clone(&data));
            tasks.push(liten::spawn(async move { write.write_all(&sent).await.unwrap() }));
            tasks.push(liten::spawn(async move {
                let mut received = Vec::new();
                read.read_to_end(&mut received).await.unwrap();
                assert!(received == *expected, "the bytes differ");
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
    });
}

#[test]
fn streams_try_shut_down_and_come_together_again() {
    run(async {
        let (here, there) = UnixStream::pair().unwrap();
        let mut buf = [0; 8];
        assert_eq!(there.try_read(&mut buf).unwrap_err().kind(), ErrorKind::WouldBlock);
        assert_eq!(here.try_write(b"abc").unwrap(), 3);
        there.readable().await.unwrap();
        let mut n = there.try_read(&mut buf);
        while n.is_err() {
            there.readable().await.unwrap();
            n = there.try_read(&mut buf);
        }
        assert_eq!(n.unwrap(), 3);
        assert!(there.ready(Interest::WRITABLE).await.unwrap().is_writable());
        assert!(there.take_error().unwrap().is_none());

        let (read, write) = here.into_split();
        let here = read.reunite(write).unwrap();
        here.shutdown_std(Shutdown::Write).unwrap();
        assert_eq!((&there).read(&mut buf).await.unwrap(), 0);
        (&there).write_all(b"back").await.unwrap();
        assert_eq!((&here).read(&mut buf).await.unwrap(), 4);
    });
}

#[test]
fn listeners_and_streams_come_from_std_and_go_back() {
    run(async {
        let path = SocketPath::new("std");
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let listener = UnixListener::from_std(listener).unwrap();
        {
            let mut waiting = pin!(listener.accept());
            assert!(poll_once(&mut waiting).await.is_none(), "a blocking listener");
        }
        let client = std::os::unix::net::UnixStream::connect(&path).unwrap();
        let client = UnixStream::from_std(client).unwrap();
        let mut incoming = listener.incoming();
        let server = incoming.next().await.unwrap().unwrap();
        drop(incoming);
        listener.into_std().unwrap();
        let client = client.into_std().unwrap();
        client.set_nonblocking(false).unwrap();
        std::io::Write::write_all(&mut &client, b"std").unwrap();
        assert_eq!((&server).read(&mut [0; 8]).await.unwrap(), 3);
    });
}

#[test]
fn datagrams_keep_their_bounds_and_senders() {
    run(async {
        let (here, there) = UnixDatagram::pair().unwrap();
        here.send(b"one").await.unwrap();
        assert_eq!(here.try_send(b"22").unwrap(), 2);
        assert_eq!(poll_fn(|cx| here.poll_send(cx, b"three")).await.unwrap(), 5);
        let mut buf = [0; 4];
        assert_eq!(there.recv(&mut buf).await.unwrap(), 3);
        assert_eq!(there.try_recv(&mut buf).unwrap(), 2);
        assert_eq!(poll_fn(|cx| there.poll_recv(cx, &mut buf)).await.unwrap(), 4, "cut off");
        assert_eq!(there.try_recv(&mut buf).unwrap_err().kind(), ErrorKind::WouldBlock);

        let (path, peer_path) = (SocketPath::new("datagram"), SocketPath::new("datagram-peer"));
        let socket = UnixDatagram::bind(&path).unwrap();
        let peer = UnixDatagram::bind(&peer_path).unwrap();
        peer.send_to(b"1", &path).await.unwrap();
        peer.try_send_to(b"22", &path).unwrap();
        poll_fn(|cx| peer.poll_send_to(cx, b"333", &path)).await.unwrap();
        let (n, from) = socket.recv_from(&mut buf).await.unwrap();
        assert_eq!((n, from.as_pathname()), (1, Some(peer_path.as_ref())));
        assert_eq!(socket.try_recv_from(&mut buf).unwrap().0, 2);
        assert_eq!(poll_fn(|cx| socket.poll_recv_from(cx, &mut buf)).await.unwrap().0, 3);

        let unbound = UnixDatagram::unbound().unwrap();
        assert!(unbound.send(b"x").await.is_err(), "sent without a peer");
        unbound.connect(&path).unwrap();
        assert_eq!(unbound.peer_addr().unwrap().as_pathname(), Some(path.as_ref()));
        unbound.send(b"4444").await.unwrap();
        let (n, from) = socket.recv_from(&mut buf).await.unwrap();
        assert!(n == 4 && from.is_unnamed());

        let std_socket = socket.into_std().unwrap();
        let socket = UnixDatagram::from_std(std_socket).unwrap();
        unbound.send(b"5").await.unwrap();
        assert_eq!(socket.recv(&mut buf).await.unwrap(), 1);
        drop(socket);
        until_refused(async || peer.send_to(b"x", &path).await).await;
    });
}

#[test]
fn a_datagram_socket_that_is_shut_down_sends_no_more() {
    run(async {
        let (here, _there) = UnixDatagram::pair().unwrap();
        here.shutdown(Shutdown::Write).unwrap();
        assert_eq!(here.send(b"x").await.unwrap_err().kind(), ErrorKind::BrokenPipe);
    });
}

/// Other systems return an error when the queue is full.
#[cfg(target_os = "linux")]
#[test]
fn a_sender_waits_while_the_queue_of_its_peer_is_full() {
    run(async {
        let (here, there) = UnixDatagram::pair().unwrap();
        let sender = liten::spawn(async move {
            for number in 0..2000_u32 {
                here.send(&number.to_le_bytes()).await.unwrap();
            }
        });
        for number in 0..2000_u32 {
            let mut buf = [0; 4];
            there.recv(&mut buf).await.unwrap();
            assert_eq!(u32::from_le_bytes(buf), number);
        }
        sender.await.unwrap();
    });
}

#[cfg(target_os = "linux")]
#[test]
fn senders_without_a_peer_wait_for_a_queue_that_others_have_filled() {
    run(async {
        let path = SocketPath::new("crowd");
        let receiver = UnixDatagram::bind(&path).unwrap();
        // A sender is stopped by its own buffer first: only a fresh one tells that the queue is full.
        let mut crowd = Vec::new();
        let late = loop {
            let fresh = UnixDatagram::unbound().unwrap();
            if fresh.try_send_to(b"noise", &path).is_err() {
                break fresh;
            }
            while fresh.try_send_to(b"noise", &path).is_ok() {}
            crowd.push(fresh);
        };
        let to = path.0.clone();
        let sender = liten::spawn(async move { late.send_to(b"late", &to).await.unwrap() });
        liten::time::sleep(std::time::Duration::from_millis(20)).await;
        let mut buf = [0; 8];
        loop {
            let n = receiver.recv(&mut buf).await.unwrap();
            if &buf[..n] == b"late" {
                break;
            }
        }
        assert_eq!(sender.await.unwrap(), 4);
    });
}

#[test]
fn both_ends_tell_the_user_at_the_other() {
    run(async {
        let path = SocketPath::new("credentials");
        let listener = UnixListener::bind(&path).unwrap();
        let client = UnixStream::connect(&path).await.unwrap();
        let (server, _) = listener.accept().await.unwrap();
        let owner = std::fs::metadata(&path).unwrap();
        let own = (nix::unistd::geteuid().as_raw(), nix::unistd::getegid().as_raw());
        for end in [&client, &server] {
            let peer = end.peer_cred().unwrap();
            assert_eq!((peer.uid(), peer.gid()), own);
            assert_eq!(peer.uid(), std::os::unix::fs::MetadataExt::uid(&owner));
            if cfg!(any(target_os = "linux", target_vendor = "apple")) {
                assert_eq!(peer.pid(), i32::try_from(std::process::id()).ok());
            }
        }
        assert_eq!(client.peer_cred().unwrap(), server.peer_cred().unwrap());
    });
}
