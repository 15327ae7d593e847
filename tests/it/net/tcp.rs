//! TCP: connecting, moving bytes both ways, ends, halves, options, errors.

use crate::support::guard::{guarded, workers};
use crate::support::loopback::{
    bounded, pattern, poll_once, run, takes_part_in_the_budget, tcp_pair,
};
use liten::future::StreamExt;
use liten::io::{AsyncReadExt, AsyncWriteExt, Interest};
use liten::net::{TcpListener, TcpSocket, TcpStream, tcp};
use std::future::poll_fn;
use std::io::{ErrorKind, IoSlice, IoSliceMut};
use std::net::Shutdown;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

const MIB: usize = 1 << 20;

/// A pair with small kernel buffers, so that large writes come to a stop again and again.
pub(crate) async fn narrow_pair() -> (TcpStream, TcpStream) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(16_384).unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(8).unwrap();
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_send_buffer_size(16_384).unwrap();
    let client = socket.connect(listener.local_addr().unwrap()).await.unwrap();
    (client, listener.accept().await.unwrap().0)
}

#[test]
fn ten_mebibytes_arrive_through_narrow_buffers() {
    run(async {
        let (mut client, mut server) = narrow_pair().await;
        let sent = pattern(10 * MIB);
        let expected = sent.clone();
        let writer = liten::spawn(async move {
            client.write_all(&sent).await.unwrap();
            client.close().await.unwrap();
        });
        let mut received = Vec::new();
        let mut buf = vec![0; 40_009];
        loop {
            match server.read(&mut buf).await.unwrap() {
                0 => break,
                n => received.extend_from_slice(&buf[..n]),
            }
        }
        assert!(received == expected, "the bytes differ");
        writer.await.unwrap();
    });
}

#[test]
fn one_task_reads_while_another_writes_the_same_stream() {
    run(async {
        let (client, server) = narrow_pair().await;
        let (client, server) = (Arc::new(client), Arc::new(server));
        let data = pattern(MIB);
        let mut tasks = Vec::new();
        for end in [client, server] {
            let (write, read, data) = (Arc::clone(&end), end, data.clone());
            let expected = data.clone();
            tasks.push(liten::spawn(async move {
                (&*write).write_all(&data).await.unwrap();
                (&*write).close().await.unwrap();
            }));
            tasks.push(liten::spawn(async move {
                let mut received = Vec::new();
                (&*read).read_to_end(&mut received).await.unwrap();
                assert!(received == expected, "the bytes differ");
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
    });
}

#[test]
fn two_tasks_accept_from_one_listener() {
    run(async {
        let listener = Arc::new(TcpListener::bind("127.0.0.1:0").await.unwrap());
        let accept = |listener: Arc<TcpListener>| {
            liten::spawn(async move { listener.accept().await.unwrap().1 })
        };
        let tasks = [accept(Arc::clone(&listener)), accept(Arc::clone(&listener))];
        let first = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let second = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let mut accepted = Vec::new();
        for task in tasks {
            accepted.push(task.await.unwrap());
        }
        accepted.sort();
        let mut connected = [first.local_addr().unwrap(), second.local_addr().unwrap()];
        connected.sort();
        assert_eq!(accepted, connected);
    });
}

#[test]
fn an_event_before_any_task_waits_is_remembered() {
    run(async {
        let (mut client, server) = tcp_pair().await;
        let mut buf = [0; 8];
        assert_eq!(server.try_read(&mut buf).unwrap_err().kind(), ErrorKind::WouldBlock);
        client.write_all(b"early").await.unwrap();
        // No task waits while the event comes; the answer comes back only after it has been reported.
        while !is_reported(&server) {
            liten::task::yield_now().await;
        }
        server.readable().await.unwrap();
        assert_eq!(server.try_read(&mut buf).unwrap(), 5);
    });
}

/// Whether the driver has reported something to read.
fn is_reported(stream: &TcpStream) -> bool {
    stream.try_io(Interest::READABLE, || Ok(())).is_ok()
}

#[test]
fn an_address_without_a_listener_is_connection_refused() {
    run(async {
        // Bound, so that no other test is given the port, but not listening.
        let deaf = TcpSocket::new_v4().unwrap();
        deaf.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = deaf.local_addr().unwrap();
        let error = TcpStream::connect(address).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        assert!(error.raw_os_error().is_some(), "the OS code is lost");

        let socket = TcpSocket::new_v4().unwrap();
        let error = socket.connect(address).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    });
}

#[test]
fn every_address_is_tried() {
    run(async {
        let deaf = TcpSocket::new_v4().unwrap();
        deaf.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let refuses = deaf.local_addr().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let accepts = listener.local_addr().unwrap();
        let stream = TcpStream::connect(&[refuses, accepts][..]).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), accepts);

        let other =
            TcpListener::bind(&[accepts, "127.0.0.1:0".parse().unwrap()][..]).await.unwrap();
        assert_ne!(other.local_addr().unwrap(), accepts);

        let error = TcpStream::connect(&[][..]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    });
}

#[test]
fn a_connection_that_is_there_at_once_takes_part_in_the_budget() {
    run(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        assert!(takes_part_in_the_budget(TcpStream::connect(address)).await);
    });
}

#[test]
fn a_taken_address_is_in_use() {
    run(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let error = TcpListener::bind(listener.local_addr().unwrap()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        assert!(error.raw_os_error().is_some(), "the OS code is lost");
    });
}

/// As with tokio: what is made outside a runtime works in the one that polls it.
#[test]
fn binding_and_connecting_need_the_runtime_only_when_they_are_polled() {
    guarded(|| {
        let runtime = workers(1);
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let mut client = runtime.block_on(TcpStream::connect(address)).unwrap();
        let connect = TcpSocket::new_v4().unwrap().connect(address);
        runtime.block_on(connect).unwrap();
        let bind = TcpListener::bind("127.0.0.1:0");
        let spawned = runtime.spawn(bind);
        runtime.block_on(bounded(async {
            let (mut server, _) = listener.accept().await.unwrap();
            server.write_all(b"x").await.unwrap();
            client.read_exact(&mut [0]).await.unwrap();
            spawned.await.unwrap().unwrap();
        }));
    });
}

/// Nor is the runtime in which the future was made the one that it uses.
#[test]
fn a_socket_belongs_to_the_runtime_that_polls_its_making() {
    guarded(|| {
        let (first, second) = (workers(1), workers(1));
        let bind = {
            let _entered = first.enter();
            TcpListener::bind("127.0.0.1:0")
        };
        let listener = second.block_on(bind).unwrap();
        drop(first);
        second.block_on(bounded(async {
            let address = listener.local_addr().unwrap();
            let client = TcpStream::connect(address).await.unwrap();
            assert_eq!(listener.accept().await.unwrap().1, client.local_addr().unwrap());
        }));
    });
}

#[test]
fn sockets_and_halves_can_be_sent_and_shared() {
    fn shared<T: Send + Sync + Unpin + 'static>() {}
    shared::<TcpListener>();
    shared::<TcpStream>();
    shared::<TcpSocket>();
    shared::<tcp::OwnedReadHalf>();
    shared::<tcp::OwnedWriteHalf>();
    shared::<tcp::ReuniteError>();
    shared::<liten::net::UdpSocket>();
}

#[test]
fn the_end_stays_the_end() {
    run(async {
        let (client, mut server) = tcp_pair().await;
        drop(client);
        for _ in 0..3 {
            assert_eq!(server.read(&mut [0; 8]).await.unwrap(), 0);
        }
    });
}

#[test]
fn data_and_end_that_come_together_are_both_read() {
    run(async {
        for _ in 0..50 {
            let (mut client, mut server) = tcp_pair().await;
            client.write_all(b"last words").await.unwrap();
            drop(client);
            // The read is short; the end that came with it must not be forgotten.
            let mut received = Vec::new();
            server.read_to_end(&mut received).await.unwrap();
            assert_eq!(received, b"last words");
        }
    });
}

#[test]
fn a_reset_is_an_error_and_closing_after_it_is_not() {
    run(async {
        let (client, mut server) = tcp_pair().await;
        client.set_linger(Some(Duration::ZERO)).unwrap();
        drop(client);
        let error = server.read(&mut [0; 8]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        server.close().await.unwrap();
        server.shutdown_std(Shutdown::Both).unwrap();
        assert!(server.write(b"x").await.is_err());
    });
}

#[test]
fn closing_ends_one_direction_only() {
    run(async {
        let (mut client, mut server) = tcp_pair().await;
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
        assert!(client.write(b"more").await.is_err(), "writing after closing");
    });
}

#[test]
fn dropping_the_owned_writing_half_ends_the_stream() {
    run(async {
        let (client, mut server) = tcp_pair().await;
        let (mut read, mut write) = client.into_split();
        write.write_all(b"x").await.unwrap();
        drop(write);
        let mut received = Vec::new();
        server.read_to_end(&mut received).await.unwrap();
        assert_eq!(received, b"x");
        server.write_all(b"still open").await.unwrap();
        assert_eq!(read.read(&mut [0; 16]).await.unwrap(), 10);
    });
}

#[test]
fn a_forgotten_writing_half_keeps_the_stream_open() {
    run(async {
        let (client, server) = tcp_pair().await;
        let (read, write) = client.into_split();
        write.forget();
        let mut buf = [0; 8];
        {
            let mut server = &server;
            let mut waiting = pin!(server.read(&mut buf));
            assert!(poll_once(&mut waiting).await.is_none(), "the stream has ended");
        }
        drop(read);
        assert_eq!((&server).read(&mut buf).await.unwrap(), 0);
    });
}

#[test]
fn halves_come_together_again_only_with_their_own() {
    run(async {
        let (first, mut first_peer) = tcp_pair().await;
        let (second, _second_peer) = tcp_pair().await;
        let address = first.local_addr().unwrap();
        let (read, write) = first.into_split();
        let (other_read, other_write) = second.into_split();
        assert!(read.is_pair_of(&write) && !read.is_pair_of(&other_write));

        let error: tcp::ReuniteError = read.reunite(other_write).unwrap_err();
        let (read, other_write) = (error.0, error.1);
        let mut first = write.reunite(read).unwrap();
        assert_eq!(first.local_addr().unwrap(), address);
        other_read.reunite(other_write).unwrap();

        // Coming together is no end: the peer can still be written to.
        first.write_all(b"ok").await.unwrap();
        assert_eq!(first_peer.read(&mut [0; 8]).await.unwrap(), 2);
    });
}

#[test]
fn borrowed_halves_work_at_the_same_time() {
    run(async {
        let (mut client, server) = narrow_pair().await;
        let data = pattern(MIB);
        let echo =
            liten::spawn(async move { liten::io::copy(&server, &mut &server).await.unwrap() });
        let (mut read, mut write) = TcpStream::split(&mut client);
        assert_eq!(read.peer_addr().unwrap(), write.peer_addr().unwrap());
        let mut received = vec![0; data.len()];
        let (written, filled) =
            liten::join!(write.write_all(&data), read.read_exact(&mut received));
        written.unwrap();
        filled.unwrap();
        assert!(received == data, "the bytes differ");
        drop(client);
        assert_eq!(echo.await.unwrap(), MIB as u64);
    });
}

#[test]
fn peeking_takes_nothing() {
    run(async {
        let (mut client, mut server) = tcp_pair().await;
        client.write_all(b"abc").await.unwrap();
        let mut buf = [0; 2];
        for _ in 0..2 {
            assert_eq!(server.peek(&mut buf).await.unwrap(), 2);
            assert_eq!(&buf, b"ab");
        }
        assert_eq!(poll_fn(|cx| server.poll_peek(cx, &mut buf)).await.unwrap(), 2);
        let mut all = [0; 3];
        server.read_exact(&mut all).await.unwrap();
        assert_eq!(&all, b"abc");
    });
}

#[test]
fn vectored_reads_and_writes_use_every_buffer() {
    run(async {
        let (mut client, mut server) = tcp_pair().await;
        let written =
            client.write_vectored(&[IoSlice::new(b"one"), IoSlice::new(b"two")]).await.unwrap();
        assert_eq!(written, 6);
        let (mut first, mut second) = ([0; 2], [0; 4]);
        let mut bufs = [IoSliceMut::new(&mut first), IoSliceMut::new(&mut second)];
        assert_eq!(server.read_vectored(&mut bufs).await.unwrap(), 6);
        assert_eq!((&first, &second), (b"on", b"etwo"));
        assert_eq!(client.try_write_vectored(&[IoSlice::new(b"x")]).unwrap(), 1);
        server.readable().await.unwrap();
        let mut bufs = [IoSliceMut::new(&mut first)];
        while let Err(error) = server.try_read_vectored(&mut bufs) {
            assert_eq!(error.kind(), ErrorKind::WouldBlock);
            server.readable().await.unwrap();
        }
        assert_eq!(first[0], b'x');
    });
}

#[test]
fn trying_never_waits() {
    run(async {
        let (client, server) = narrow_pair().await;
        assert_eq!(server.try_read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::WouldBlock);
        let chunk = [0; 4096];
        let mut written = 0;
        let error = loop {
            match client.try_write(&chunk) {
                Ok(n) => written += n,
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
        // The reader makes room, which the driver reports.
        let mut received = vec![0; written];
        (&server).read_exact(&mut received).await.unwrap();
        let ready = client.ready(Interest::WRITABLE).await.unwrap();
        assert!(ready.is_writable());
        (&client).write_all(b"again").await.unwrap();
    });
}

#[test]
fn a_task_that_is_aborted_while_it_reads_closes_its_stream() {
    run(async {
        let (client, mut server) = tcp_pair().await;
        let (read, write) = client.into_split();
        let reader = liten::spawn(async move {
            let mut read = read;
            read.read(&mut [0; 8]).await
        });
        liten::task::yield_now().await;
        // The other half goes while the reader waits: the peer reads the end, the reader goes on waiting.
        drop(write);
        assert_eq!(server.read(&mut [0; 8]).await.unwrap(), 0);
        reader.abort();
        assert!(reader.await.is_err());
        // Both halves are gone now, so writing to the peer fails sooner or later.
        while server.write(&[0; 1024]).await.is_ok() {
            liten::task::yield_now().await;
        }
    });
}

#[test]
fn a_dropped_read_takes_nothing() {
    run(async {
        let (mut client, mut server) = tcp_pair().await;
        for round in 0..100_u8 {
            {
                let mut buf = [0; 8];
                let mut abandoned = pin!(server.read(&mut buf));
                assert!(poll_once(&mut abandoned).await.is_none());
            }
            client.write_all(&[round]).await.unwrap();
            let mut byte = [0];
            server.read_exact(&mut byte).await.unwrap();
            assert_eq!(byte, [round]);
        }
    });
}

#[test]
fn a_stream_comes_from_std_and_goes_back() {
    run(async {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let listener = TcpListener::from_std(listener).unwrap();
        let mut client = TcpStream::from_std(client).unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        // Both are blocking in std: if that were kept, this would hold up the thread for ever.
        {
            let mut buf = [0; 8];
            let mut waiting = pin!(client.read(&mut buf));
            assert!(poll_once(&mut waiting).await.is_none());
        }
        client.write_all(b"there").await.unwrap();
        let mut buf = [0; 5];
        server.read_exact(&mut buf).await.unwrap();

        let client = client.into_std().unwrap();
        let listener = listener.into_std().unwrap();
        assert_eq!(client.peer_addr().unwrap(), listener.local_addr().unwrap());
        server.write_all(b"and back").await.unwrap();
        client.set_nonblocking(false).unwrap();
        let mut buf = [0; 8];
        std::io::Read::read_exact(&mut &client, &mut buf).unwrap();
        assert_eq!(&buf, b"and back");
        // It can be registered again.
        let mut client = TcpStream::from_std(client).unwrap();
        server.write_all(b"!").await.unwrap();
        assert_eq!(client.read(&mut buf).await.unwrap(), 1);
    });
}

#[test]
fn options_are_kept() {
    run(async {
        let (client, _server) = tcp_pair().await;
        for on in [true, false] {
            client.set_nodelay(on).unwrap();
            assert_eq!(client.nodelay().unwrap(), on);
        }
        client.set_ttl(42).unwrap();
        assert_eq!(client.ttl().unwrap(), 42);
        assert_eq!(client.linger().unwrap(), None);
        client.set_linger(Some(Duration::from_secs(1))).unwrap();
        assert_eq!(client.linger().unwrap(), Some(Duration::from_secs(1)));
        client.set_linger(None).unwrap();
        assert!(client.take_error().unwrap().is_none());

        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.set_ttl(43).unwrap();
        assert_eq!(listener.ttl().unwrap(), 43);
    });
}

#[test]
fn a_socket_keeps_its_options_when_it_connects() {
    run(async {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_reuseaddr(true).unwrap();
        socket.set_keepalive(true).unwrap();
        socket.set_nodelay(true).unwrap();
        socket.set_linger(Some(Duration::from_secs(2))).unwrap();
        socket.set_send_buffer_size(20_000).unwrap();
        socket.set_recv_buffer_size(30_000).unwrap();
        assert!(
            socket.reuseaddr().unwrap() && socket.keepalive().unwrap() && socket.nodelay().unwrap()
        );
        assert_eq!(socket.linger().unwrap(), Some(Duration::from_secs(2)));
        assert!(socket.send_buffer_size().unwrap() >= 20_000);
        assert!(socket.recv_buffer_size().unwrap() >= 30_000);
        assert!(socket.take_error().unwrap().is_none());
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let local = socket.local_addr().unwrap();

        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = socket.connect(listener.local_addr().unwrap()).await.unwrap();
        assert_eq!(stream.local_addr().unwrap(), local);
        assert!(stream.nodelay().unwrap());
        assert_eq!(stream.linger().unwrap(), Some(Duration::from_secs(2)));
        stream.set_linger(None).unwrap();
    });
}

#[cfg(unix)]
#[test]
fn two_sockets_share_a_port_if_both_ask_for_it() {
    run(async {
        let share = |address: &str| {
            let socket = TcpSocket::new_v4().unwrap();
            socket.set_reuseport(true).unwrap();
            assert!(socket.reuseport().unwrap());
            socket.bind(address.parse().unwrap()).unwrap();
            socket.listen(8).unwrap()
        };
        let first = share("127.0.0.1:0");
        let second = share(&first.local_addr().unwrap().to_string());
        assert_eq!(first.local_addr().unwrap(), second.local_addr().unwrap());
    });
}

#[test]
fn incoming_connections_are_a_stream() {
    run(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let clients = liten::spawn(async move {
            let mut clients = Vec::new();
            for _ in 0..20 {
                clients.push(TcpStream::connect(address).await.unwrap());
            }
            clients
        });
        let mut incoming = listener.incoming();
        for _ in 0..20 {
            incoming.next().await.unwrap().unwrap();
        }
        assert_eq!(clients.await.unwrap().len(), 20);
    });
}

#[test]
fn sockets_that_come_and_go_do_not_meet_each_others_events() {
    run(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        for round in 0..500_u32 {
            let mut client = TcpStream::connect(address).await.unwrap();
            let (mut server, _) = listener.accept().await.unwrap();
            client.write_all(&round.to_le_bytes()).await.unwrap();
            let mut buf = [0; 4];
            server.read_exact(&mut buf).await.unwrap();
            assert_eq!(u32::from_le_bytes(buf), round);
        }
    });
}

#[test]
fn a_timeout_ends_an_operation_that_is_always_ready() {
    run(async {
        let (mut client, server) = tcp_pair().await;
        client.write_all(b"x").await.unwrap();
        // Peeking never blocks, so only the budget of the task lets the timer be looked at.
        let greedy = async {
            loop {
                server.peek(&mut [0; 1]).await.unwrap();
            }
        };
        let outcome: Result<(), _> = liten::time::timeout(Duration::from_millis(10), greedy).await;
        assert!(outcome.is_err());
    });
}

/// Linux stops a read at the urgent mark: the read is short, but more is there, and no event will say so.
#[cfg(target_os = "linux")]
#[test]
fn what_follows_urgent_data_is_not_overlooked() {
    run(async {
        for _ in 0..20 {
            let (client, mut server) = tcp_pair().await;
            // Known to be empty, so that what follows is announced by events alone.
            assert!(server.try_read(&mut [0; 8]).is_err());
            let mut sender = &client;
            sender.write_all(b"abc").await.unwrap();
            socket2::SockRef::from(&client).send_out_of_band(b"!").unwrap();
            sender.write_all(b"def").await.unwrap();
            let mut received = Vec::new();
            let mut buf = [0; 64];
            while received.len() < 6 {
                let n = server.read(&mut buf).await.unwrap();
                received.extend_from_slice(&buf[..n]);
            }
            assert_eq!(received, b"abcdef");
        }
    });
}

/// Runs in a process of its own, whose limit on open files it may use up.
#[cfg(unix)]
#[test]
fn a_listener_survives_a_lack_of_descriptors() {
    const INSIDE: &str = "LITEN_TEST_FEW_DESCRIPTORS";
    if std::env::var_os(INSIDE).is_some() {
        return accept_without_descriptors();
    }
    let status = std::process::Command::new("sh")
        .args(["-c", "ulimit -n 64 && exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "net::tcp::a_listener_survives_a_lack_of_descriptors"])
        .env(INSIDE, "1")
        .env("LITEN_WORKER_THREADS", "1")
        .status()
        .unwrap();
    assert!(status.success());
}

#[cfg(unix)]
fn accept_without_descriptors() {
    const EMFILE: i32 = 24;
    run(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        {
            // Known to have no connection: from here on only the event can tell.
            let mut waiting = pin!(listener.accept());
            assert!(poll_once(&mut waiting).await.is_none());
        }
        let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut hoard = Vec::new();
        while let Ok(file) = std::fs::File::open("/dev/null") {
            hoard.push(file);
        }
        for _ in 0..3 {
            let error = listener.accept().await.unwrap_err();
            assert_eq!(error.raw_os_error(), Some(EMFILE));
        }
        drop(hoard);
        // No new event announces the connection; the listener must not have forgotten the old one.
        let (_server, peer) = listener.accept().await.unwrap();
        assert_eq!(peer, client.local_addr().unwrap());
    });
}
