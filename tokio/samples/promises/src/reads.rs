//! What a read of fewer bytes than there was room for tells.

use crate::current_thread;
use rustix::io::retry_on_intr;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::pipe::{PipeFlags, pipe_with};
use std::fs::File;
use std::io::{ErrorKind, IoSlice, Write};
use std::mem::MaybeUninit;
use std::net;
use std::os::fd::AsFd;
use std::os::unix;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, Interest};
use tokio::net::unix::pipe;
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;

pub(crate) fn keep_all() {
    an_echo_over_tcp_costs_one_read();
    what_lies_behind_a_passed_descriptor_is_read();
    the_second_packet_of_a_pipe_is_read();
}

/// The read that would find nothing is left out: after a short read a TCP connection counts as drained.
///
/// `try_io` calls its function only if the connection counts as ready. Some of many echoes may be followed by
/// an event that tells nothing new.
fn an_echo_over_tcp_costs_one_read() {
    const ECHOES: u32 = 40;
    let listener = net::TcpListener::bind("127.0.0.1:0").expect("a listener");
    let address = listener.local_addr().expect("an address");
    let more_reads = current_thread().block_on(async {
        let mut stream = TcpStream::connect(address).await.expect("a connection");
        let (mut peer, _) = listener.accept().expect("a connection");
        let mut more_reads = 0;
        for _ in 0..ECHOES {
            peer.write_all(b"echo").expect("the peer can write");
            assert_eq!(stream.read(&mut [0; 64]).await.expect("it can be read"), 4);
            let read = stream.try_io(Interest::READABLE, || {
                more_reads += 1;
                Err::<(), _>(ErrorKind::WouldBlock.into())
            });
            assert_eq!(read.expect_err("nothing is left").kind(), ErrorKind::WouldBlock);
        }
        more_reads
    });
    assert!(more_reads < ECHOES / 4, "{more_reads} reads too many for {ECHOES} echoes");
}

/// Returns what two reads bring, each with more room than that. The second one has to need no further event.
async fn two_reads(mut source: impl AsyncRead + Unpin) -> [String; 2] {
    let mut buffer = [0; 64];
    let mut texts = [const { String::new() }; 2];
    for text in &mut texts {
        let read = timeout(Duration::from_secs(20), source.read(&mut buffer)).await;
        let length = read.expect("what is left is never read").expect("it can be read");
        *text = String::from_utf8(buffer[..length].to_vec()).expect("it is text");
    }
    texts
}

/// A read ends where a descriptor was passed along, with more to come. Does not hold on tokio, which takes
/// the short read for the end of what is there, and then waits for an event.
fn what_lies_behind_a_passed_descriptor_is_read() {
    let (ours, theirs) = unix::net::UnixStream::pair().expect("two sockets");
    let passed = [theirs.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut along = SendAncillaryBuffer::new(&mut space);
    assert!(along.push(SendAncillaryMessage::ScmRights(&passed)));
    let text = [IoSlice::new(b"one")];
    retry_on_intr(|| sendmsg(&theirs, &text, &mut along, SendFlags::empty())).expect("it is sent");
    (&theirs).write_all(b"two").expect("it is sent");
    ours.set_nonblocking(true).expect("a socket can be nonblocking");
    let texts = current_thread()
        .block_on(async { two_reads(UnixStream::from_std(ours).expect("it can be polled")).await });
    assert_eq!(texts, ["one", "two"]);
}

/// A pipe in packet mode gives a packet per read, with more to come. Does not hold on tokio, either.
fn the_second_packet_of_a_pipe_is_read() {
    let (reader, writer) = pipe_with(PipeFlags::DIRECT).expect("a pipe");
    let writer = File::from(writer);
    for text in ["one", "two"] {
        (&writer).write_all(text.as_bytes()).expect("it is written");
    }
    let texts = current_thread().block_on(async {
        two_reads(pipe::Receiver::from_owned_fd(reader).expect("it can be polled")).await
    });
    drop(writer);
    assert_eq!(texts, ["one", "two"]);
}
