//! Vectored I/O with more buffers than one system call takes: Linux uses 1,024 of them and leaves the rest,
//! so that a transfer is short although there is more to read, or more room.

use crate::support::loopback::{pattern, run, tcp_pair};
use liten::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use std::io::{IoSlice, IoSliceMut};

/// Of one byte each, so that all of them together fit into any kernel buffer.
const BUFFERS: usize = 3_000;

async fn send(sink: &mut (impl AsyncWrite + Unpin), data: &[u8]) {
    let mut sent = 0;
    while sent < data.len() {
        let bufs: Vec<IoSlice<'_>> = data[sent..].chunks(1).map(IoSlice::new).collect();
        sent += sink.write_vectored(&bufs).await.unwrap();
    }
}

async fn receive(source: &mut (impl AsyncRead + Unpin), length: usize) -> Vec<u8> {
    let mut data = vec![0; length];
    let mut received = 0;
    while received < length {
        let mut bufs: Vec<_> = data[received..].chunks_mut(1).map(IoSliceMut::new).collect();
        received += source.read_vectored(&mut bufs).await.unwrap();
    }
    data
}

/// All is sent before the first byte is received, and both ends stay open: no event comes in between.
async fn through(mut sink: impl AsyncWrite + Unpin, mut source: impl AsyncRead + Unpin) {
    let data = pattern(BUFFERS);
    send(&mut sink, &data).await;
    assert!(receive(&mut source, BUFFERS).await == data, "the bytes differ");
}

#[test]
fn more_buffers_than_one_call_takes_go_through_tcp() {
    run(async {
        let (client, server) = tcp_pair().await;
        through(client, server).await;
    });
}

#[test]
fn a_tcp_stream_is_read_into_more_buffers_than_one_call_takes() {
    run(async {
        let (mut client, mut server) = tcp_pair().await;
        let data = pattern(BUFFERS);
        client.write_all(&data).await.unwrap();
        // Known to be all there, so that nothing more is announced.
        let mut seen = vec![0; BUFFERS];
        while server.peek(&mut seen).await.unwrap() < BUFFERS {}
        assert!(receive(&mut server, BUFFERS).await == data, "the bytes differ");
    });
}

#[cfg(unix)]
#[test]
fn more_buffers_than_one_call_takes_go_through_unix_streams() {
    run(async {
        let (here, there) = liten::net::UnixStream::pair().unwrap();
        through(here, there).await;
    });
}

#[cfg(unix)]
#[test]
fn more_buffers_than_one_call_takes_go_through_pipes() {
    run(async {
        let (sender, receiver) = liten::net::unix::pipe::pipe().unwrap();
        through(sender, receiver).await;
    });
}
