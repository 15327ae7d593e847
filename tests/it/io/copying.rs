//! `copy`, `copy_buf` and `copy_bidirectional`: what has been read does not stay in a writer that buffers
//! while the reader has nothing more, and everything else that copying promises.

use crate::support::loopback::{pattern, poll_once, run};
use liten::io::{
    self, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, BufWriter, DuplexStream,
    duplex,
};
use liten::task::JoinHandle;
use std::io::{ErrorKind, Result};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

async fn hear(stream: &mut (impl AsyncRead + Unpin), expected: &[u8]) {
    let mut heard = vec![0; expected.len()];
    stream.read_exact(&mut heard).await.unwrap();
    assert_eq!(heard, expected);
}

/// Each word that goes in comes out before the next one, and the copy ends with the input.
async fn pass_words(
    mut near: DuplexStream,
    mut far: DuplexStream,
    copying: JoinHandle<Result<u64>>,
) {
    for word in [b"one", b"two"] {
        near.write_all(word).await.unwrap();
        hear(&mut far, word).await;
    }
    drop(near);
    assert_eq!(copying.await.unwrap().unwrap(), 6);
}

#[test]
fn a_copy_into_a_buffered_writer_arrives_while_the_reader_is_idle() {
    run(async {
        let (near, from) = duplex(64);
        let (to, far) = duplex(64);
        let copying = liten::spawn(async move { io::copy(from, &mut BufWriter::new(to)).await });
        pass_words(near, far, copying).await;
    });
}

#[test]
fn a_buffered_copy_into_a_buffered_writer_arrives_while_the_reader_is_idle() {
    run(async {
        let (near, from) = duplex(64);
        let (to, far) = duplex(64);
        let copying = liten::spawn(async move {
            io::copy_buf(BufReader::new(from), &mut BufWriter::new(to)).await
        });
        pass_words(near, far, copying).await;
    });
}

#[test]
fn a_proxy_into_a_buffered_stream_passes_on_what_it_has_while_both_sides_wait() {
    run(async {
        let (mut client, mut inbound) = duplex(64);
        let (outbound, mut server) = duplex(64);
        let proxy = liten::spawn(async move {
            io::copy_bidirectional(&mut inbound, &mut BufWriter::new(outbound)).await
        });
        client.write_all(b"question").await.unwrap();
        hear(&mut server, b"question").await;
        server.write_all(b"answer").await.unwrap();
        hear(&mut client, b"answer").await;
        drop((client, server));
        assert_eq!(proxy.await.unwrap().unwrap(), (8, 6));
    });
}

/// Writes into memory and counts flushes, of which each is pending at first.
#[derive(Default)]
struct Slow {
    written: Vec<u8>,
    flushes: usize,
    is_flushing: bool,
}

impl AsyncWrite for Slow {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<Result<usize>> {
        let length = buf.len().min(5);
        self.written.extend_from_slice(&buf[..length]);
        Poll::Ready(Ok(length))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        self.is_flushing ^= true;
        if self.is_flushing {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.flushes += 1;
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        self.poll_flush(cx)
    }
}

#[test]
fn a_copy_flushes_once_per_idle_time_and_once_at_the_end() {
    run(async {
        let (mut near, from) = duplex(64);
        let mut slow = Slow::default();
        {
            let mut copying = pin!(io::copy(from, &mut slow));
            for word in [b"first word".as_slice(), b"second word"] {
                near.write_all(word).await.unwrap();
                for _ in 0..5 {
                    assert!(poll_once(&mut copying).await.is_none(), "the reader has not ended");
                }
            }
            near.close().await.unwrap();
            assert_eq!(copying.await.unwrap(), 21);
        }
        assert_eq!(slow.written, b"first wordsecond word");
        assert_eq!(slow.flushes, 3);
    });
}

#[test]
fn a_copy_that_has_written_nothing_flushes_nothing_while_it_waits() {
    run(async {
        let (near, from) = duplex(64);
        let mut slow = Slow::default();
        {
            let mut copying = pin!(io::copy(from, &mut slow));
            assert!(poll_once(&mut copying).await.is_none(), "the reader has not ended");
        }
        assert!(slow.flushes == 0 && !slow.is_flushing);
        drop(near);
    });
}

#[test]
fn a_copy_moves_any_amount_and_reports_the_first_error() {
    struct Full;

    impl AsyncWrite for Full {
        fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<Result<usize>> {
            Poll::Ready(Ok(0))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    run(async {
        let data = pattern(100_003);
        let mut copied = Vec::new();
        assert_eq!(io::copy(&data[..], &mut copied).await.unwrap(), 100_003);
        assert!(copied == data, "the bytes differ");
        assert_eq!(io::copy(io::empty(), &mut Full).await.unwrap(), 0);
        let error = io::copy(&data[..], &mut Full).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WriteZero);
    });
}
