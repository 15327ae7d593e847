//! Peers that break off, in every state that a connection may be in: each task that waits is told, none turns
//! in circles, and the next connection finds everything in order.

use crate::net::tcp::narrow_pair;
use crate::support::loopback::{bounded, poll_once, run, tcp_pair};
use crate::support::probe::{Count, Polls};
use liten::io::{AsyncReadExt, AsyncWriteExt, Interest};
use liten::net::{TcpListener, TcpStream};
use liten::task::JoinHandle;
use std::io::{Error, ErrorKind, Result};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

const ROUNDS: usize = 20;

/// What a wait for a socket may cost in polls: one to begin, one for the reset, and some slack for what is
/// reported with the registration.
const FEW_POLLS: usize = 5;

/// Closes the connection with a reset in place of an end.
fn reset(stream: TcpStream) {
    stream.set_linger(Some(Duration::ZERO)).unwrap();
    drop(stream);
}

/// Systems differ in the name that they give it, and a second operation meets the state after it.
#[track_caller]
fn assert_broken(error: &Error) {
    let kinds = [
        ErrorKind::ConnectionReset,
        ErrorKind::ConnectionAborted,
        ErrorKind::BrokenPipe,
        ErrorKind::NotConnected,
    ];
    assert!(kinds.contains(&error.kind()), "{error:?}");
}

/// A task whose polls are counted; returns when it has been polled.
async fn begun<T: Send + 'static>(
    future: impl Future<Output = T> + Send + 'static,
) -> (JoinHandle<T>, Count) {
    let (future, polls) = Polls::of(future);
    let task = liten::spawn(future);
    while polls.get() == 0 {
        liten::task::yield_now().await;
    }
    (task, polls)
}

#[track_caller]
fn assert_few(polls: &Count) {
    assert!(polls.get() <= FEW_POLLS, "{} polls for one event", polls.get());
}

#[test]
fn a_client_that_breaks_off_before_it_is_accepted_costs_itself_only() {
    run(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        for round in 0..ROUNDS {
            if round % 2 == 0 {
                // Known to have no connection: only events can tell.
                assert!(poll_once(&mut pin!(listener.accept())).await.is_none());
            }
            reset(TcpStream::connect(address).await.unwrap());
            let mut client = TcpStream::connect(address).await.unwrap();
            let mut attempts = 0;
            let mut server = loop {
                attempts += 1;
                match listener.accept().await {
                    Ok((stream, peer)) if peer == client.local_addr().unwrap() => break stream,
                    // Linux gives the dead connection away, and its error with the first read.
                    Ok((mut dead, _)) => match dead.read(&mut [0]).await {
                        Ok(length) => assert_eq!(length, 0),
                        Err(error) => assert_broken(&error),
                    },
                    Err(error) => assert_broken(&error),
                }
            };
            assert!(attempts <= 2, "{attempts} attempts for two connections");
            client.write_all(b"x").await.unwrap();
            assert_eq!(server.read(&mut [0; 8]).await.unwrap(), 1);
        }
    });
}

#[test]
fn clients_in_the_queue_of_a_listener_that_closes_are_told() {
    run(async {
        for _ in 0..ROUNDS {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            let (reading, polls) = begun(async move { client.read(&mut [0]).await }).await;
            drop(listener);
            assert_broken(&reading.await.unwrap().unwrap_err());
            assert_few(&polls);
        }
    });
}

/// The connection is there, and no task looks at it when the reset comes.
#[test]
fn a_reset_that_no_task_waits_for_is_not_lost() {
    run(async {
        for round in 0..ROUNDS {
            let (client, mut server) = tcp_pair().await;
            if round % 2 == 0 {
                assert!(server.try_read(&mut [0]).is_err());
            }
            reset(client);
            assert_broken(&server.read(&mut [0]).await.unwrap_err());
            // Whatever else is tried ends at once too.
            let _ = server.read(&mut [0]).await;
            assert_broken(&server.write(b"x").await.unwrap_err());
            server.readable().await.unwrap();
            server.writable().await.unwrap();
        }
    });
}

#[test]
fn a_reset_ends_a_read_that_waits() {
    run(async {
        for _ in 0..ROUNDS {
            let (client, mut server) = tcp_pair().await;
            let (reading, polls) = begun(async move { server.read(&mut [0]).await }).await;
            reset(client);
            assert_broken(&reading.await.unwrap().unwrap_err());
            assert_few(&polls);
        }
    });
}

/// Writes until the peer's buffers and the own ones are full, and then waits.
async fn write_for_ever(stream: Arc<TcpStream>) -> Error {
    loop {
        if let Err(error) = (&*stream).write_all(&[0; 1 << 16]).await {
            return error;
        }
    }
}

/// Waits until nothing more goes into `stream`.
async fn until_full(stream: &TcpStream) {
    while stream.try_write(&[0; 1024]).is_ok() {}
}

#[test]
fn a_reset_ends_a_write_that_waits() {
    run(async {
        for _ in 0..ROUNDS {
            let (server, client) = narrow_pair().await;
            until_full(&server).await;
            let (writing, polls) = begun(write_for_ever(Arc::new(server))).await;
            reset(client);
            assert_broken(&writing.await.unwrap());
            assert_few(&polls);
        }
    });
}

/// All that can wait for one stream, at the same time: the reset reaches each of them.
#[test]
fn a_reset_ends_everything_that_waits() {
    run(async {
        for _ in 0..ROUNDS {
            let (server, client) = narrow_pair().await;
            until_full(&server).await;
            let server = Arc::new(server);
            let shared = || Arc::clone(&server);
            let (write, write_polls) = begun(write_for_ever(shared())).await;
            let stream = shared();
            let (read, read_polls) =
                begun(async move { (&*stream).read(&mut [0]).await.map(drop) }).await;
            let stream = shared();
            let (peek, peek_polls) =
                begun(async move { stream.peek(&mut [0]).await.map(drop) }).await;
            let stream = shared();
            let (readable, readable_polls) = begun(async move { stream.readable().await }).await;
            let stream = shared();
            let (ready, ready_polls) =
                begun(async move { stream.ready(Interest::READABLE).await.map(drop) }).await;
            reset(client);
            assert_broken(&write.await.unwrap());
            // The error is told once; the next read finds the end.
            let mut told: Vec<Result<()>> = Vec::new();
            for waits in [read, peek, readable, ready] {
                told.push(waits.await.unwrap());
            }
            told.iter().filter_map(|result| result.as_ref().err()).for_each(assert_broken);
            assert!(told[2].is_ok() && told[3].is_ok(), "a broken stream is ready: {told:?}");
            for polls in [write_polls, read_polls, peek_polls, readable_polls, ready_polls] {
                assert_few(&polls);
            }
        }
    });
}

#[test]
fn a_reset_reaches_a_stream_that_is_half_closed() {
    run(async {
        for _ in 0..ROUNDS {
            // Closed by this side, which waits for the answer.
            let (client, mut server) = tcp_pair().await;
            server.close().await.unwrap();
            assert_eq!((&client).read(&mut [0]).await.unwrap(), 0);
            let (reading, polls) = begun(async move { server.read(&mut [0]).await }).await;
            reset(client);
            assert_broken(&reading.await.unwrap().unwrap_err());
            assert_few(&polls);

            // Closed by the other side, and this one has read the end.
            let (server, mut client) = narrow_pair().await;
            client.close().await.unwrap();
            assert_eq!((&server).read(&mut [0]).await.unwrap(), 0);
            until_full(&server).await;
            let (writing, polls) = begun(write_for_ever(Arc::new(server))).await;
            reset(client);
            assert_broken(&writing.await.unwrap());
            assert_few(&polls);
        }
    });
}

/// A listener whose queue is full answers nothing, so that the connection stays under way; one that is gone
/// refuses the next attempt, a second later.
#[cfg(target_os = "linux")]
#[test]
fn a_connection_under_way_is_refused_when_the_listener_goes() {
    run(async {
        let socket = liten::net::TcpSocket::new_v4().unwrap();
        // An address of its own, so that no other test is given the port.
        socket.bind("127.0.0.78:0".parse().unwrap()).unwrap();
        let listener = socket.listen(0).unwrap();
        let address = listener.local_addr().unwrap();
        // A queue of length 0 has room for one.
        let queued = TcpStream::connect(address).await.unwrap();
        let (given_up, _) = begun(TcpStream::connect(address)).await;
        let (connecting, polls) = begun(TcpStream::connect(address)).await;
        given_up.abort();
        assert!(given_up.await.unwrap_err().is_cancelled());
        assert!(!connecting.is_finished(), "the queue was not full");
        drop(listener);
        let error = connecting.await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        assert_few(&polls);
        assert_broken(&(&queued).read(&mut [0]).await.unwrap_err());
    });
}

/// A peer that goes with something unread is a reset for Unix sockets on Linux, and the end elsewhere.
#[cfg(unix)]
#[test]
fn a_unix_peer_that_leaves_something_unread_ends_everything_that_waits() {
    use liten::net::UnixStream;
    run(async {
        for _ in 0..ROUNDS {
            let (client, server) = UnixStream::pair().unwrap();
            while server.try_write(&[0; 1 << 16]).is_ok() {}
            let server = Arc::new(server);
            let (reads, writes) = (Arc::clone(&server), server);
            let (reading, read_polls) =
                begun(async move { (&*reads).read(&mut [0]).await.unwrap_or(0) }).await;
            let (writing, write_polls) =
                begun(async move { (&*writes).write_all(&[0; 1 << 16]).await }).await;
            drop(client);
            assert_eq!(reading.await.unwrap(), 0);
            assert_broken(&writing.await.unwrap().unwrap_err());
            assert_few(&read_polls);
            assert_few(&write_polls);
        }
    });
}

/// A peer that neither says nor reads anything, and does not go either: only the own patience ends that.
#[test]
fn a_peer_that_is_silent_costs_no_polls_and_a_timeout_ends_the_wait() {
    run(async {
        let (server, _silent) = narrow_pair().await;
        until_full(&server).await;
        let server = Arc::new(server);
        let patience = Duration::from_millis(20);
        let stream = Arc::clone(&server);
        let (reading, read_polls) = begun(liten::time::timeout(patience, async move {
            (&*stream).read(&mut [0]).await.map(drop)
        }))
        .await;
        let (writing, write_polls) =
            begun(liten::time::timeout(patience, write_for_ever(server))).await;
        assert!(bounded(reading).await.unwrap().is_err());
        assert!(bounded(writing).await.unwrap().is_err());
        assert_few(&read_polls);
        assert_few(&write_polls);
    });
}
