//! The I/O traits and their extension methods over sockets that give and take what they like.

use crate::support::loopback::{pattern, run, tcp_pair};
use crate::support::probe::Polls;
use liten::future::StreamExt;
use liten::io::{
    self, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, BufWriter,
};
use liten::join;
use liten::net::TcpStream;
use std::io::{ErrorKind, IoSlice, Result, SeekFrom};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Gives and takes one byte at a time.
struct Dribble<S>(S);

impl<S: AsyncRead + Unpin> AsyncRead for Dribble<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<Result<usize>> {
        let length = buf.len().min(1);
        Pin::new(&mut self.0).poll_read(cx, &mut buf[..length])
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Dribble<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, &buf[..buf.len().min(1)])
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.0).poll_close(cx)
    }
}

#[test]
fn short_writes_go_on_where_they_stopped() {
    run(async {
        let (client, mut server) = tcp_pair().await;
        let data = pattern(5_000);
        let sent = data.clone();
        let writer = liten::spawn(async move {
            let mut client = Dribble(client);
            client.write_all(&sent).await.unwrap();
            client.close().await.unwrap();
        });
        let mut received = Vec::new();
        Dribble(&mut server).read_to_end(&mut received).await.unwrap();
        assert!(received == data, "the bytes differ");
        writer.await.unwrap();
    });
}

/// The delimiter may come late, in two parts of one read, at the very end, or not at all.
#[test]
fn lines_are_found_however_they_arrive() {
    run(async {
        let (mut client, server) = tcp_pair().await;
        let mut reader = BufReader::with_capacity(4, server);
        let mut line = String::new();
        let lines = async {
            for expected in ["one\n", "a longer one\n", "\n", "three\r\n"] {
                line.clear();
                reader.read_line(&mut line).await.unwrap();
                assert_eq!(line, expected);
            }
            let mut rest = Vec::new();
            assert_eq!(reader.read_until(b';', &mut rest).await.unwrap(), 5);
            assert_eq!(rest, b"semi;");
            rest.clear();
            assert_eq!(reader.read_until(b';', &mut rest).await.unwrap(), 6);
            assert_eq!(rest, b"no end", "the end of the stream ends it too");
            assert_eq!(reader.read_until(b';', &mut rest).await.unwrap(), 0);
        };
        let writes = async {
            for part in ["o", "ne", "\na longer", " one\n\nthr", "ee\r", "\nsemi", ";no end"] {
                client.write_all(part.as_bytes()).await.unwrap();
                // The other side sees each part by itself.
                for _ in 0..20 {
                    liten::task::yield_now().await;
                }
            }
            client.close().await.unwrap();
        };
        join!(lines, writes);
    });
}

#[test]
fn lines_are_a_stream() {
    run(async {
        let (client, server) = tcp_pair().await;
        let writer = liten::spawn(async move {
            let mut writer = BufWriter::new(client);
            for i in 0..1_000 {
                writer.write_all(format!("line {i}\n").as_bytes()).await.unwrap();
            }
            writer.close().await.unwrap();
        });
        let lines: Vec<_> = BufReader::new(server).lines().map(Result::unwrap).collect().await;
        assert_eq!(lines.len(), 1_000);
        assert!(lines.iter().enumerate().all(|(i, line)| *line == format!("line {i}")));
        writer.await.unwrap();
    });
}

#[test]
fn a_stream_that_ends_too_soon_is_an_error() {
    run(async {
        let (mut client, mut server) = tcp_pair().await;
        client.write_all(b"half").await.unwrap();
        drop(client);
        let error = server.read_exact(&mut [0; 8]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    });
}

#[test]
fn ten_mebibytes_are_read_to_the_end() {
    run(async {
        let (mut client, mut server) = tcp_pair().await;
        let data = Arc::new(pattern(10 << 20));
        let sent = Arc::clone(&data);
        let writer = liten::spawn(async move {
            client.write_all(&sent).await.unwrap();
            client.close().await.unwrap();
        });
        let mut received = Vec::new();
        assert_eq!(server.read_to_end(&mut received).await.unwrap(), data.len());
        assert!(received == *data, "the bytes differ");
        writer.await.unwrap();
    });
}

/// One task copies what comes back to where it came from, over the two halves of one stream.
#[test]
fn a_stream_is_copied_onto_itself() {
    run(async {
        let (client, server) = tcp_pair().await;
        let echo = liten::spawn(async move {
            let (reader, mut writer) = server.into_split();
            let copied = io::copy(reader, &mut writer).await.unwrap();
            writer.close().await.unwrap();
            copied
        });
        let data = pattern(300_000);
        let (sent, received) = exchange(client, &data).await;
        assert_eq!(sent, data.len());
        assert!(received == data, "the bytes differ");
        assert_eq!(echo.await.unwrap(), data.len() as u64);
    });
}

/// Writes and reads at the same time, through one shared reference each.
async fn exchange(stream: TcpStream, data: &[u8]) -> (usize, Vec<u8>) {
    let (mut writer, mut reader) = (&stream, &stream);
    let mut received = Vec::new();
    let writes = async {
        writer.write_all(data).await.unwrap();
        writer.close().await.unwrap();
        data.len()
    };
    let (sent, read) = join!(writes, reader.read_to_end(&mut received));
    read.unwrap();
    (sent, received)
}

/// Sockets that are opened and closed again and again: neither descriptors nor memory pile up.
#[cfg(target_os = "linux")]
#[test]
fn a_hundred_thousand_sockets_come_and_go() {
    use crate::support::guard::within;
    use crate::support::process::memory;
    use liten::net::UdpSocket;
    use std::time::Duration;

    within(Duration::from_secs(150), || {
        crate::support::process::alone(
            "io::extension_methods::a_hundred_thousand_sockets_come_and_go",
            || {
                let runtime = crate::support::guard::workers(2);
                runtime.block_on(async {
                    let mut before = None;
                    for round in 0..100_000 {
                        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
                        let mut buf = [0; 8];
                        let receiving = socket.recv(&mut buf);
                        // A task waits for it, sometimes in vain and sometimes not, when it goes.
                        let mut receiving = Box::pin(receiving);
                        assert!(
                            crate::support::loopback::poll_once(&mut receiving).await.is_none()
                        );
                        if round % 4 == 0 {
                            let address = socket.local_addr().unwrap();
                            socket.send_to(b"x", address).await.unwrap();
                        }
                        if round == 10_000 {
                            before = Some((crate::support::process::descriptors(), memory()));
                        }
                    }
                    // The socket of round 10,000 was open.
                    let (descriptors, bytes) = before.unwrap();
                    // The runtime may be reading a file at the moment.
                    crate::support::guard::until(|| {
                        crate::support::process::descriptors() < descriptors
                    });
                    assert!(memory() < bytes + (4 << 20), "{} bytes more", memory() - bytes);
                });
            },
        );
    });
}

#[test]
fn a_duplex_stream_carries_all_bytes_both_ways_through_little_room() {
    run(async {
        let (near, far) = io::duplex(7);
        let (mut far_reader, mut far_writer) = far.split();
        let echo = liten::spawn(async move {
            let count = io::copy(&mut far_reader, &mut far_writer).await.unwrap();
            far_writer.close().await.unwrap();
            count
        });
        let (mut reader, mut writer) = near.split();
        let data = pattern(10_000);
        let sent = data.clone();
        let writing = liten::spawn(async move {
            writer.write_all(&sent).await.unwrap();
            writer.close().await.unwrap();
        });
        let mut received = Vec::new();
        reader.read_to_end(&mut received).await.unwrap();
        writing.await.unwrap();
        assert!(received == data, "the bytes differ");
        assert_eq!(echo.await.unwrap(), 10_000);
    });
}

#[test]
fn a_duplex_stream_whose_peer_is_gone_ends_and_breaks_as_a_socket_does() {
    run(async {
        let (mut near, mut far) = io::duplex(16);
        far.write_all(b"last").await.unwrap();
        drop(far);
        let mut rest = String::new();
        near.read_to_string(&mut rest).await.unwrap();
        assert_eq!(rest, "last");
        assert_eq!(near.write(b"x").await.unwrap_err().kind(), ErrorKind::BrokenPipe);

        // A writer that waits for room learns it too.
        let (mut near, far) = io::duplex(1);
        near.write_all(b"x").await.unwrap();
        let waiting = liten::spawn(async move { near.write_all(b"y").await });
        liten::task::yield_now().await;
        drop(far);
        assert_eq!(waiting.await.unwrap().unwrap_err().kind(), ErrorKind::BrokenPipe);

        let (mut near, _far) = io::duplex(1);
        near.close().await.unwrap();
        assert_eq!(near.write(b"x").await.unwrap_err().kind(), ErrorKind::BrokenPipe);
        assert_eq!(near.write(b"").await.unwrap_err().kind(), ErrorKind::BrokenPipe);
    });
}

#[test]
fn a_proxy_counts_both_directions_and_passes_on_a_half_close() {
    run(async {
        let (mut client, mut inbound) = tcp_pair().await;
        let (mut outbound, mut server) = tcp_pair().await;
        let proxy = liten::spawn(async move {
            io::copy_bidirectional(&mut inbound, &mut outbound).await.unwrap()
        });
        let data = pattern(300_000);
        let sent = data.clone();
        let (got, answer) = join!(
            async {
                let mut got = Vec::new();
                server.read_to_end(&mut got).await.unwrap();
                // The client has closed its side, and still hears the answer.
                server.write_all(b"thanks").await.unwrap();
                server.close().await.unwrap();
                got
            },
            async {
                client.write_all(&sent).await.unwrap();
                client.close().await.unwrap();
                let mut answer = String::new();
                client.read_to_string(&mut answer).await.unwrap();
                answer
            }
        );
        assert!(got == data, "the bytes differ");
        assert_eq!(answer, "thanks");
        assert_eq!(proxy.await.unwrap(), (300_000, 6));
    });
}

/// A stream that never reads anything and whose writes fail.
struct Refuses;

impl AsyncRead for Refuses {
    fn poll_read(
        self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        _buf: &mut [u8],
    ) -> Poll<Result<usize>> {
        Poll::Pending
    }
}

impl AsyncWrite for Refuses {
    fn poll_write(self: Pin<&mut Self>, _cx: &mut Context<'_>, _buf: &[u8]) -> Poll<Result<usize>> {
        Poll::Ready(Err(ErrorKind::PermissionDenied.into()))
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[test]
fn a_proxy_returns_the_first_error_although_the_other_direction_is_silent() {
    run(async {
        let (mut client, mut inbound) = io::duplex(64);
        client.write_all(b"x").await.unwrap();
        let error = io::copy_bidirectional(&mut inbound, &mut Refuses).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    });
}

/// Runs `work` as a task on one worker; returns how often it was polled.
fn polls_of(work: impl Future<Output = ()> + Send + 'static) -> usize {
    let (work, polls) = Polls::of(work);
    let runtime = crate::support::guard::workers(1);
    runtime.block_on(runtime.spawn(work)).unwrap();
    polls.get()
}

#[test]
fn a_duplex_stream_that_never_has_to_wait_yields() {
    crate::support::guard::guarded(|| {
        let polls = polls_of(async {
            let (mut near, mut far) = io::duplex(1);
            for round in 0..=u8::MAX {
                for _ in 0..1_000 {
                    let mut byte = [0];
                    near.write_all(&[round]).await.unwrap();
                    far.read_exact(&mut byte).await.unwrap();
                    assert_eq!(byte, [round]);
                }
            }
        });
        assert_eq!(polls, 2 * 256 * 1_000 / 128);
    });
}

#[test]
fn readers_and_writers_with_nothing_behind_them_yield() {
    const ROUNDS: usize = 10_000;
    const POLLS: usize = ROUNDS.div_ceil(128);

    crate::support::guard::guarded(|| {
        let polls = polls_of(async {
            for _ in 0..ROUNDS {
                let mut buffer = [0; 3];
                assert_eq!(io::repeat(7).read(&mut buffer).await.unwrap(), 3);
                assert_eq!(buffer, [7; 3]);
            }
        });
        assert_eq!(polls, POLLS, "repeat");
        let polls = polls_of(async {
            for _ in 0..ROUNDS {
                assert_eq!(io::sink().write(b"gone").await.unwrap(), 4);
            }
        });
        assert_eq!(polls, POLLS, "sink, written to");
        let polls = polls_of(async {
            for _ in 0..ROUNDS {
                io::sink().flush().await.unwrap();
            }
        });
        assert_eq!(polls, POLLS, "sink, flushed");
        let polls = polls_of(async {
            for _ in 0..ROUNDS {
                assert_eq!(io::empty().read(&mut [0]).await.unwrap(), 0);
            }
        });
        assert_eq!(polls, POLLS, "empty, read");
        let polls = polls_of(async {
            for _ in 0..ROUNDS {
                assert_eq!(io::empty().read_line(&mut String::new()).await.unwrap(), 0);
            }
        });
        assert_eq!(polls, POLLS, "empty, read by lines");
    });
}

/// Through both families of traits.
#[test]
fn readers_and_writers_with_nothing_behind_them_do_what_they_say() {
    run(async {
        let mut empty = io::empty();
        assert_eq!(io::AsyncSeekExt::seek(&mut empty, SeekFrom::Start(9)).await.unwrap(), 0);
        assert_eq!(empty.write(b"gone").await.unwrap(), 4);
        let pieces = [IoSlice::new(b"one"), IoSlice::new(b"two")];
        assert_eq!(io::sink().write_vectored(&pieces).await.unwrap(), 6);
        io::sink().close().await.unwrap();
        let mut read = Vec::new();
        let limited = tokio::io::AsyncReadExt::take(io::repeat(b'x'), 3);
        let mut both = tokio::io::AsyncReadExt::chain(empty, limited);
        tokio::io::AsyncReadExt::read_to_end(&mut both, &mut read).await.unwrap();
        assert_eq!(read, b"xxx");
        assert_eq!(tokio::io::copy(&mut &read[..], &mut io::sink()).await.unwrap(), 3);
        assert!(tokio::io::AsyncWrite::is_write_vectored(&io::sink()));
        let names = format!("{:?} {:?} {:?}", io::empty(), io::repeat(1), io::sink());
        assert_eq!(names, "Empty { .. } Repeat { byte: 1 } Sink { .. }");
    });
}

#[test]
fn an_endless_copy_in_memory_can_be_timed_out() {
    crate::support::guard::guarded(|| {
        let runtime = crate::support::guard::workers(1);
        let endless = async {
            let copy = async { io::copy(io::repeat(0), &mut io::sink()).await };
            liten::time::timeout(liten::time::Duration::from_millis(5), copy).await
        };
        assert!(runtime.block_on(runtime.spawn(endless)).unwrap().is_err());
    });
}
