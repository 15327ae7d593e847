//! Urgent data and errors: waited for, fetched and forgotten apart from the data beside them.

use crate::support::guard::guarded;
use crate::support::loopback::{poll_once, run, tcp_pair, until_reported};
use crate::support::process::alone;
use liten::io::{Async, AsyncWriteExt, Fd, Interest};
use liten::net::{TcpStream, UdpSocket};
use socket2::SockRef;
use std::io::{self, ErrorKind};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::pin::pin;

/// Takes the urgent byte. That there is none is an error of its own kind on Linux.
fn take_urgent(socket: &impl AsFd) -> io::Result<usize> {
    match SockRef::from(socket).recv_out_of_band(&mut [MaybeUninit::new(0)]) {
        Err(error) if error.kind() == ErrorKind::InvalidInput => Err(ErrorKind::WouldBlock.into()),
        result => result,
    }
}

fn send_urgent(stream: &TcpStream) {
    assert_eq!(SockRef::from(stream).send_out_of_band(b"!").unwrap(), 1);
}

fn take_error(socket: &UdpSocket) -> io::Result<io::Error> {
    socket.take_error()?.ok_or_else(|| ErrorKind::WouldBlock.into())
}

#[test]
fn urgent_data_is_waited_for_and_leaves_other_data_readable() {
    run(async {
        let (mut client, server) = tcp_pair().await;
        client.write_all(b"abc").await.unwrap();
        server.readable().await.unwrap();
        {
            let mut waiting = pin!(server.ready(Interest::PRIORITY));
            assert!(poll_once(&mut waiting).await.is_none(), "nothing urgent has come");
            send_urgent(&client);
            assert!(waiting.await.unwrap().is_priority());
        }
        let fetch = || take_urgent(&server);
        assert_eq!(server.async_io(Interest::PRIORITY, fetch).await.unwrap(), 1);
        let nothing = server.try_io(Interest::PRIORITY, fetch).unwrap_err();
        assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
        assert!(poll_once(&mut pin!(server.ready(Interest::PRIORITY))).await.is_none());
        // Nothing more is announced: what was readable has to be known still.
        assert_eq!(server.try_read(&mut [0; 8]).unwrap(), 3);
    });
}

#[test]
fn a_reader_that_finds_nothing_takes_no_news_of_urgent_data() {
    run(async {
        let (client, server) = tcp_pair().await;
        send_urgent(&client);
        server.ready(Interest::PRIORITY).await.unwrap();
        until_reported().await;
        let nothing = server.try_read(&mut [0; 8]).unwrap_err();
        assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
        let known = poll_once(&mut pin!(server.ready(Interest::PRIORITY))).await;
        assert!(known.expect("it was reported").unwrap().is_priority());
    });
}

#[test]
fn the_end_of_the_stream_ends_a_wait_for_urgent_data() {
    run(async {
        let (client, server) = tcp_pair().await;
        let mut waiting = pin!(server.ready(Interest::PRIORITY));
        assert!(poll_once(&mut waiting).await.is_none(), "nothing urgent has come");
        drop(client);
        assert!(waiting.await.unwrap().is_read_closed());
    });
}

#[test]
fn any_descriptor_can_be_registered_for_urgent_data_alone() {
    run(async {
        let (mut client, server) = tcp_pair().await;
        let source = Fd::new(server.into_std().unwrap());
        let source = Async::with_interest(source, Interest::PRIORITY).unwrap();
        client.write_all(b"abc").await.unwrap();
        send_urgent(&client);
        let fetch = |fd: &Fd<_>| take_urgent(fd.get_ref());
        assert_eq!(source.async_io(Interest::PRIORITY, fetch).await.unwrap(), 1);
    });
}

#[test]
fn an_error_is_waited_for_and_leaves_data_readable() {
    // A process that another test starts has a copy of the closed socket until its exec.
    let test = "net::urgent_data::an_error_is_waited_for_and_leaves_data_readable";
    guarded(|| alone(test, || run(error_beside_data())));
}

async fn error_beside_data() {
    // An address of its own, so that no other test is given the port.
    let bind = || UdpSocket::bind("127.0.0.79:0");
    let (near, far) = (bind().await.unwrap(), bind().await.unwrap());
    near.connect(far.local_addr().unwrap()).await.unwrap();
    far.connect(near.local_addr().unwrap()).await.unwrap();
    far.send(b"data").await.unwrap();
    near.readable().await.unwrap();
    let mut waiting = pin!(near.ready(Interest::ERROR));
    assert!(poll_once(&mut waiting).await.is_none(), "nothing has failed");
    drop(far);
    // No socket is there to receive it, which the system reports.
    near.send(b"lost").await.unwrap();
    assert!(waiting.await.unwrap().is_error());
    let error = near.try_io(Interest::ERROR, || take_error(&near)).unwrap();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    let nothing = near.try_io(Interest::ERROR, || take_error(&near)).unwrap_err();
    assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
    assert!(poll_once(&mut pin!(near.ready(Interest::ERROR))).await.is_none());
    assert_eq!(near.try_recv(&mut [0; 8]).unwrap(), 4);
}
