//! Sockets: one file for the native ones and for those of a component's host, which are to be the same.

use futures_lite::StreamExt;
use futures_lite::future::{or, poll_once, zip};
use liten::io::{AsyncReadExt, AsyncWriteExt, copy, stdout};
use liten::net::{TcpListener, TcpStream, UdpSocket, lookup_host};
use liten::task::coop::has_budget_remaining;
use liten::task::{JoinSet, consume_budget, unconstrained};
use liten::wasi::Reactor;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

/// Far more than any of these tests takes.
const LIMIT: Duration = Duration::from_secs(60);

const MEGABYTE: usize = 1 << 20;
/// No program listens on port 1; a port that was free a moment ago may be another test's.
const CLOSED: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 1);

/// Runs `test` to its end, or fails when it hangs; then no task may wait for the host any more.
///
/// The bound is asked first: a test whose wake was lost is not saved by that of the bound.
fn run<F: Future<Output = io::Result<()>>>(test: F) {
    liten::block_on(async {
        let bound = async {
            liten::time::sleep(LIMIT).await;
            panic!("it hangs");
        };
        or(bound, test).await.expect("it does not fail");
        no_task_waits();
    });
}

/// Natively there is no reactor, and nothing to ask.
#[track_caller]
fn no_task_waits() {
    if let Some(reactor) = Reactor::try_current() {
        assert!(reactor.is_empty(), "left behind: {reactor:?}");
    }
}

async fn listener() -> io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

async fn pair() -> io::Result<(TcpStream, TcpStream)> {
    let (listener, address) = listener().await?;
    let (client, server) = zip(TcpStream::connect(address), listener.accept()).await;
    Ok((client?, server?.0))
}

/// Bytes in which a lost or doubled piece shows.
fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|n| (n % 251) as u8).collect()
}

#[test]
fn a_megabyte_goes_both_ways_at_once() {
    run(async {
        let (listener, address) = listener().await?;
        let server = liten::spawn(async move {
            let (mut stream, _peer) = listener.accept().await?;
            let count = copy(&stream, &mut &stream).await?;
            stream.close().await?;
            io::Result::Ok(count)
        });
        let client = liten::spawn(async move {
            let (mut read, mut write) = TcpStream::connect(address).await?.into_split();
            let writer = liten::spawn(async move {
                write.write_all(&pattern(MEGABYTE)).await?;
                write.close().await
            });
            let mut received = Vec::new();
            read.read_to_end(&mut received).await?;
            writer.await.expect("the writer does not panic")?;
            io::Result::Ok(received)
        });
        let received = client.await.expect("the client does not panic")?;
        assert!(received == pattern(MEGABYTE), "{} bytes came back", received.len());
        assert_eq!(server.await.expect("the server does not panic")?, MEGABYTE as u64);
        Ok(())
    });
}

#[test]
fn many_connections_are_served_at_once() {
    const CLIENTS: usize = 100;
    run(async {
        let (listener, address) = listener().await?;
        let server = liten::spawn(async move {
            let mut connections = JoinSet::new();
            let mut incoming = listener.incoming().take(CLIENTS);
            while let Some(stream) = incoming.next().await {
                let stream = stream?;
                connections.spawn(async move { copy(&stream, &mut &stream).await });
            }
            while let Some(served) = connections.join_next().await {
                served.expect("no connection panics")?;
            }
            io::Result::Ok(())
        });
        let mut clients = JoinSet::new();
        for number in 0..CLIENTS {
            clients.spawn(async move {
                let mut stream = TcpStream::connect(address).await?;
                let mut answer = Vec::new();
                stream.write_all(&pattern(number)).await?;
                stream.close().await?;
                stream.read_to_end(&mut answer).await?;
                io::Result::Ok(answer == pattern(number))
            });
        }
        while let Some(client) = clients.join_next().await {
            assert!(client.expect("no client panics")?);
        }
        server.await.expect("the server does not panic")
    });
}

#[test]
fn two_tasks_accept_from_one_listener() {
    run(async {
        let (listener, address) = listener().await?;
        let listener = Arc::new(listener);
        let accept = |listener: Arc<TcpListener>| async move {
            listener.accept().await.map(|(_stream, peer)| peer)
        };
        let first = liten::spawn(accept(listener.clone()));
        let second = liten::spawn(accept(listener));
        liten::task::yield_now().await;
        let clients = [TcpStream::connect(address).await?, TcpStream::connect(address).await?];
        let mut expected = [clients[0].local_addr()?, clients[1].local_addr()?];
        let mut accepted =
            [first.await.expect("it does not panic")?, second.await.expect("it does not panic")?];
        expected.sort();
        accepted.sort();
        assert_eq!(accepted, expected);
        Ok(())
    });
}

#[test]
fn a_peer_that_goes_mid_way_is_an_end_to_the_reader_and_an_error_to_the_writer() {
    run(async {
        let (mut client, mut server) = pair().await?;
        client.write_all(b"half of it").await?;
        client.flush().await?;
        drop(client);
        let mut received = Vec::new();
        server.read_to_end(&mut received).await?;
        assert_eq!(received, b"half of it");
        assert_eq!(server.read(&mut [0; 8]).await?, 0);
        // The first write tells the peer's host that this side still writes; its answer ends the stream.
        let error = loop {
            if let Err(error) = server.write(&pattern(MEGABYTE)).await {
                break error;
            }
        };
        assert!(
            [ErrorKind::BrokenPipe, ErrorKind::ConnectionReset, ErrorKind::Other]
                .contains(&error.kind()),
            "{error:?}"
        );
        Ok(())
    });
}

#[test]
fn a_connection_that_is_reset_is_an_error_to_its_reader() {
    run(async {
        let (mut client, server) = pair().await?;
        let mut first = [0; 1];
        client.write_all(b"two").await?;
        client.flush().await?;
        (&server).read_exact(&mut first).await?;
        let reader = liten::spawn(async move { client.read(&mut [0; 8]).await });
        liten::task::yield_now().await;
        // With something unread the system resets the connection.
        drop(server);
        let error = reader.await.expect("it does not panic").expect_err("the connection is reset");
        assert!(
            [ErrorKind::ConnectionReset, ErrorKind::Other].contains(&error.kind()),
            "{error:?}"
        );
        no_task_waits();
        Ok(())
    });
}

#[test]
fn readiness_and_attempts_that_do_not_wait() {
    run(async {
        let (client, mut server) = pair().await?;
        let mut buf = [0; 8];
        assert_eq!(server.try_read(&mut buf).expect_err("nothing").kind(), ErrorKind::WouldBlock);
        client.writable().await?;
        let written = loop {
            match client.try_write(b"ready") {
                Err(error) if error.kind() == ErrorKind::WouldBlock => client.writable().await?,
                result => break result?,
            }
        };
        assert_eq!(written, 5);
        let read = loop {
            server.readable().await?;
            match server.try_read(&mut buf) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                result => break result?,
            }
        };
        assert_eq!(&buf[..read], b"ready");

        let (mut read, mut write) = TcpStream::split(&mut server);
        write.write_all(b"half").await?;
        drop(client);
        assert_eq!(read.peer_addr().is_ok(), write.peer_addr().is_ok());
        assert_eq!(read.read(&mut buf).await.unwrap_or(0), 0);
        let (read, write) = server.into_split();
        assert!(read.reunite(write).is_ok());
        Ok(())
    });
}

#[test]
fn a_closed_stream_reads_the_end_and_refuses_to_write() {
    run(async {
        let (mut client, server) = pair().await?;
        client.close().await?;
        client.close().await?;
        client.shutdown_std(Shutdown::Write)?;
        let error = client.write(b"late").await.expect_err("it is closed");
        assert_eq!(error.kind(), ErrorKind::BrokenPipe, "{error:?}");
        assert_eq!((&server).read(&mut [0; 8]).await?, 0);
        // The other direction is still open.
        (&server).write_all(b"answer").await?;
        drop(server);
        let mut answer = String::new();
        client.read_to_string(&mut answer).await?;
        assert_eq!(answer, "answer");
        Ok(())
    });
}

#[test]
fn dropping_the_writing_half_ends_the_stream() {
    run(async {
        let (client, mut server) = pair().await?;
        let (mut read, mut write) = client.into_split();
        write.write_all(b"question").await?;
        drop(write);
        let mut question = String::new();
        server.read_to_string(&mut question).await?;
        assert_eq!(question, "question");
        server.write_all(b"answer").await?;
        server.close().await?;
        let mut answer = String::new();
        read.read_to_string(&mut answer).await?;
        assert_eq!(answer, "answer");
        Ok(())
    });
}

#[test]
fn a_stream_that_is_dropped_full_still_delivers() {
    run(async {
        let (client, mut server) = pair().await?;
        let chunk = pattern(64 * 1024);
        let mut sent = 0;
        // No task reads yet, so that at last the host can take no more.
        while let Some(written) = poll_once((&client).write(&chunk)).await {
            sent += written?;
        }
        drop(client);
        let mut received = 0;
        let mut buf = vec![0; 64 * 1024];
        loop {
            match server.read(&mut buf).await? {
                0 => break,
                count => received += count,
            }
        }
        assert_eq!(received, sent);
        Ok(())
    });
}

/// The stream goes in the very poll that has used the task's budget up, when nothing may wait any more.
#[test]
fn a_stream_that_is_dropped_full_by_a_busy_task_still_delivers() {
    run(async {
        let (mut here, mut there) = pair().await?;
        let sent = liten::spawn(async move {
            let piece = pattern(64 * 1024);
            let mut count = 0;
            while let Some(written) = poll_once(unconstrained(here.write(&piece))).await {
                count += written?;
            }
            while has_budget_remaining() {
                consume_budget().await;
            }
            drop(here);
            io::Result::Ok(count)
        });
        let mut received = Vec::new();
        let read = there.read_to_end(&mut received).await?;
        assert_eq!(read, sent.await.expect("the writer does not panic")?);
        Ok(())
    });
}

#[test]
fn a_stream_that_is_always_readable_starves_no_task() {
    run(async {
        let (mut here, there) = pair().await?;
        here.write_all(b"never read").await?;
        let rounds = liten::spawn(async move {
            loop {
                there.readable().await?;
                there.writable().await?;
            }
        });
        liten::time::sleep(Duration::from_millis(1)).await;
        rounds.abort();
        let ended: Result<io::Result<()>, _> = rounds.await;
        assert!(ended.expect_err("it has no end").is_cancelled());
        Ok(())
    });
}

/// Natively the operating system keeps them, and does not tell.
#[cfg(target_family = "wasm")]
#[test]
fn closing_tells_that_bytes_were_lost() {
    run(async {
        let (mut here, there) = pair().await?;
        let piece = pattern(64 * 1024);
        while let Some(written) = poll_once(here.write(&piece)).await {
            written?;
        }
        drop(there);
        // The host tells once what happened, and from then on that the stream is closed.
        let told = loop {
            if let Err(error) = here.write(&piece).await {
                break error;
            }
        };
        let again = here.close().await.expect_err("the peer is gone and has read nothing");
        assert_eq!(again.kind(), ErrorKind::BrokenPipe, "after {told}: {again}");
        Ok(())
    });
}

/// What waits in one runtime goes on there, although another one has used the socket in between.
#[cfg(target_family = "wasm")]
#[test]
fn two_runtimes_may_use_one_socket_by_turns() {
    use liten::runtime::LocalRuntime;
    use liten::task::yield_now;

    let (first, second) = (LocalRuntime::new().unwrap(), LocalRuntime::new().unwrap());
    let (here, there) = first.block_on(async {
        let here = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
        (here, UdpSocket::bind("127.0.0.1:0").await.unwrap())
    });
    let address = here.local_addr().unwrap();
    let waits = first.spawn_local({
        let here = here.clone();
        async move {
            let mut buf = [0; 8];
            here.recv_from(&mut buf).await.map(|(count, _)| count)
        }
    });
    first.block_on(async {
        for _ in 0..3 {
            yield_now().await;
        }
    });
    second.block_on(async {
        let mut buf = [0; 8];
        let late = liten::time::timeout(Duration::from_millis(5), here.recv_from(&mut buf));
        assert!(late.await.is_err(), "no peer has sent anything");
    });
    let received = first.block_on(async move {
        there.send_to(b"ping", address).await.unwrap();
        waits.await.expect("the task does not panic")
    });
    assert_eq!(received.unwrap(), 4);
}

/// Nothing ever comes, and one task after the other gives up.
#[test]
fn tasks_that_gave_up_are_forgotten() {
    #[derive(Default)]
    struct Gone(AtomicBool);
    impl Wake for Gone {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    run(async {
        let socket = UdpSocket::bind("127.0.0.1:0").await?;
        let mut gone = Vec::new();
        for _ in 0..1000 {
            let task = Arc::new(Gone::default());
            gone.push(Arc::downgrade(&task));
            let waker = Waker::from(task);
            let mut buf = [0; 8];
            let receive = pin!(socket.recv_from(&mut buf));
            assert!(receive.poll(&mut Context::from_waker(&waker)).is_pending());
        }
        let kept = gone.iter().filter(|task| task.strong_count() > 0).count();
        // All were kept if nothing looked; how seldom one looks is not the point.
        assert!(kept < gone.len() / 2, "{kept} wakers of tasks that are gone");
        Ok(())
    });
}

#[test]
fn a_dropped_read_loses_nothing() {
    run(async {
        let (mut client, mut server) = pair().await?;
        assert!(poll_once(server.read(&mut [0; 777])).await.is_none());
        let writer = liten::spawn(async move {
            for piece in pattern(MEGABYTE).chunks(1000) {
                client.write_all(piece).await?;
                liten::task::yield_now().await;
            }
            client.close().await
        });
        let mut received = Vec::new();
        let mut buf = [0; 777];
        loop {
            let count = match poll_once(server.read(&mut buf)).await {
                Some(count) => count?,
                // Polled, registered, dropped; the next one takes its place.
                None => server.read(&mut buf).await?,
            };
            if count == 0 {
                break;
            }
            received.extend_from_slice(&buf[..count]);
        }
        writer.await.expect("the writer does not panic")?;
        assert!(received == pattern(MEGABYTE), "{} bytes came", received.len());
        Ok(())
    });
}

#[test]
fn a_read_that_is_given_up_for_another_leaves_no_task_waiting() {
    run(async {
        let (mut client, mut server) = pair().await?;
        for _ in 0..3 {
            let read = async { server.read(&mut [0; 8]).await.map(Some) };
            let pause = async {
                liten::time::sleep(Duration::from_millis(5)).await;
                Ok(None)
            };
            assert_eq!(or(read, pause).await?, None);
        }
        client.write_all(b"now").await?;
        let mut buf = [0; 3];
        server.read_exact(&mut buf).await?;
        assert_eq!(&buf, b"now");
        drop((client, server));
        no_task_waits();
        Ok(())
    });
}

#[test]
fn a_refused_connection_says_so() {
    run(async {
        let error = TcpStream::connect(CLOSED).await.expect_err("no program listens");
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused, "{error:?}");
        no_task_waits();
        Ok(())
    });
}

#[test]
fn errors_of_the_host_leave_nothing_behind() {
    run(async {
        let (_listener, taken) = listener().await?;
        let error = TcpListener::bind(taken).await.expect_err("it is taken");
        assert_eq!(error.kind(), ErrorKind::AddrInUse, "{error:?}");
        // An address for documentation: no machine has it.
        let foreign = (Ipv4Addr::new(192, 0, 2, 1), 0);
        let error = TcpListener::bind(foreign).await.expect_err("it is not ours");
        assert_eq!(error.kind(), ErrorKind::AddrNotAvailable, "{error:?}");
        let error = UdpSocket::bind(foreign).await.expect_err("it is not ours");
        assert_eq!(error.kind(), ErrorKind::AddrNotAvailable, "{error:?}");
        let error = TcpStream::connect(&[][..]).await.expect_err("there is no address");
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error:?}");
        // The second address is tried when the first one fails.
        let (_second, open) = listener().await?;
        assert_eq!(TcpStream::connect(&[CLOSED, open][..]).await?.peer_addr()?, open);
        no_task_waits();
        Ok(())
    });
}

#[test]
fn a_listener_can_be_dropped_while_a_task_accepts() {
    run(async {
        let (listener, address) = listener().await?;
        let accepting = liten::spawn(async move { listener.accept().await.map(drop) });
        liten::task::yield_now().await;
        accepting.abort();
        assert!(accepting.await.expect_err("it was cancelled").is_cancelled());
        let error = TcpStream::connect(address).await.expect_err("no program listens any more");
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused, "{error:?}");
        no_task_waits();
        Ok(())
    });
}

#[test]
fn options_and_addresses_are_those_of_the_socket() {
    run(async {
        let (listener, address) = listener().await?;
        let (client, server) = zip(TcpStream::connect(address), listener.accept()).await;
        let (client, (server, peer)) = (client?, server?);
        assert_eq!(client.peer_addr()?, address);
        assert_eq!(server.local_addr()?, address);
        assert_eq!(client.local_addr()?, peer);
        assert_eq!(server.peer_addr()?, peer);
        client.set_ttl(42)?;
        assert_eq!(client.ttl()?, 42);
        assert!(client.set_ttl(0).is_err());
        assert!(client.set_ttl(70_000).is_err());
        listener.set_ttl(43)?;
        assert_eq!(listener.ttl()?, 43);
        assert!(format!("{client:?} {listener:?}").contains("TcpListener"));
        Ok(())
    });
}

#[test]
fn a_host_name_leads_to_a_listener() {
    run(async {
        let (_listener, address) = listener().await?;
        for found in lookup_host(("localhost", address.port())).await? {
            assert!(found.ip().is_loopback() && found.port() == address.port(), "{found}");
        }
        let stream = TcpStream::connect(format!("localhost:{}", address.port())).await?;
        assert_eq!(stream.peer_addr()?, address);
        assert!(lookup_host("no port").await.is_err());
        // Too long for a name, so no server has to be asked.
        let error = lookup_host(("a".repeat(300), 80)).await.map(drop).expect_err("it is no name");
        assert!(error.to_string().contains("aaa") || error.raw_os_error().is_some(), "{error:?}");
        no_task_waits();
        Ok(())
    });
}

#[test]
fn datagrams_are_echoed() {
    run(async {
        let server = UdpSocket::bind("127.0.0.1:0").await?;
        let address = server.local_addr()?;
        let echo = liten::spawn(async move {
            let mut buf = [0; 2048];
            for _ in 0..20 {
                let (count, peer) = server.recv_from(&mut buf).await?;
                server.send_to(&buf[..count], peer).await?;
            }
            io::Result::Ok(())
        });
        let client = UdpSocket::bind("127.0.0.1:0").await?;
        let mut buf = [0; 2048];
        for length in 0..10 {
            assert_eq!(client.send_to(&pattern(length * 100), address).await?, length * 100);
            let (count, peer) = client.recv_from(&mut buf).await?;
            assert_eq!((&buf[..count], peer), (&pattern(length * 100)[..], address));
        }
        client.connect(address).await?;
        assert_eq!(client.peer_addr()?, address);
        for length in 1..=10 {
            assert_eq!(client.send(&pattern(length)).await?, length);
            // What does not fit is cut off.
            let count = client.recv(&mut buf[..5]).await?;
            assert_eq!(&buf[..count], &pattern(length.min(5))[..]);
        }
        echo.await.expect("the server does not panic")
    });
}

#[test]
fn a_datagram_has_to_have_somewhere_to_go_and_to_fit() {
    run(async {
        let socket = UdpSocket::bind("127.0.0.1:0").await?;
        assert_eq!(socket.peer_addr().expect_err("there is none").kind(), ErrorKind::NotConnected);
        assert!(socket.send(b"to whom?").await.is_err());
        let target = UdpSocket::bind("127.0.0.1:0").await?;
        assert!(socket.send_to(&pattern(100_000), target.local_addr()?).await.is_err());
        assert_eq!(
            socket.try_recv(&mut [0; 8]).expect_err("nothing").kind(),
            ErrorKind::WouldBlock
        );
        socket.set_ttl(42)?;
        assert_eq!(socket.ttl()?, 42);
        // It is as good as before.
        socket.send_to(b"fits", target.local_addr()?).await?;
        assert_eq!(target.recv(&mut [0; 8]).await?, 4);
        no_task_waits();
        Ok(())
    });
}

#[test]
fn a_task_that_waits_for_a_datagram_goes_on_when_the_peer_is_changed() {
    run(async {
        let socket = Arc::new(UdpSocket::bind("127.0.0.1:0").await?);
        let peers = [UdpSocket::bind("127.0.0.1:0").await?, UdpSocket::bind("127.0.0.1:0").await?];
        let waiting = socket.clone();
        let receiver = liten::spawn(async move {
            let mut buf = [0; 8];
            let (count, peer) = waiting.recv_from(&mut buf).await?;
            io::Result::Ok((buf[..count].to_vec(), peer))
        });
        liten::task::yield_now().await;
        for peer in &peers {
            socket.connect(peer.local_addr()?).await?;
        }
        peers[0].send_to(b"old", socket.local_addr()?).await?;
        peers[1].send_to(b"new", socket.local_addr()?).await?;
        let (text, from) = receiver.await.expect("it does not panic")?;
        assert_eq!((&text[..], from), (&b"new"[..], peers[1].local_addr()?));
        Ok(())
    });
}

#[test]
fn standard_output_takes_what_is_written() {
    run(async {
        let mut out = stdout();
        out.write_all(b"written by a test\n").await?;
        out.flush().await?;
        out.close().await
    });
}

/// Natively a socket belongs to the runtime that made it; here there is no other thread to belong to.
#[cfg(target_family = "wasm")]
#[test]
fn a_socket_may_outlive_its_runtime() {
    let (mut client, mut server) = liten::block_on(async {
        let (client, mut server) = pair().await.unwrap();
        assert!(poll_once(server.read(&mut [0; 8])).await.is_none());
        (client, server)
    });
    run(async {
        let mut buf = [0; 4];
        // The reader is first, so that it has to wait.
        let (read, written) = zip(server.read_exact(&mut buf), client.write_all(b"next")).await;
        written?;
        read?;
        assert_eq!(&buf, b"next");
        drop((client, server));
        Ok(())
    });
}
