//! Closed sides that pass and closed sides that stay: a wait turns for no end that has passed, and an end
//! that stays is told to readers and writers that come later.

#![allow(unsafe_code)]

use crate::support::guard::guarded;
use crate::support::loopback::{bounded, poll_once, run, tcp_pair, until_reported};
use crate::support::process::alone;
use liten::io::{Async, AsyncReadExt, Fd, Interest};
use liten::net::{TcpStream, UdpSocket, UnixDatagram, UnixStream};
use socket2::{Domain, SockAddr, Socket, Type};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::pin::pin;

const BOTH: Interest = Interest::READABLE.add(Interest::WRITABLE);
/// More turns than events come in any of these tests.
const MANY: usize = 20;

fn would_block<T>() -> io::Result<T> {
    Err(ErrorKind::WouldBlock.into())
}

/// Waits for `interest` and tries `operation`, which would block each time, until there is nothing to wait
/// for any more. Returns the number of turns.
async fn turns<T: AsFd>(
    source: &Async<Fd<T>>,
    interest: Interest,
    mut operation: impl FnMut(&T) -> io::Result<()>,
) -> usize {
    let mut turns = 0;
    loop {
        let is_ready = poll_once(&mut pin!(source.ready(interest))).await.is_some();
        if !is_ready {
            until_reported().await;
            if poll_once(&mut pin!(source.ready(interest))).await.is_none() {
                return turns;
            }
        }
        turns += 1;
        assert!(turns < MANY, "{interest:?}: it turns for ever");
        let tried = source.try_io(interest, |fd| operation(fd.get_ref()));
        assert_eq!(tried.unwrap_err().kind(), ErrorKind::WouldBlock);
    }
}

fn unconnected(domain: Domain) -> Socket {
    let socket = Socket::new(domain, Type::STREAM, None).unwrap();
    socket.set_nonblocking(true).unwrap();
    socket
}

fn receive(socket: &Socket) -> io::Result<()> {
    socket.recv(&mut [std::mem::MaybeUninit::uninit(); 8]).map(drop)
}

fn accept(socket: &Socket) -> io::Result<()> {
    socket.accept().map(drop)
}

/// The system reports such a socket as hung up until it is connected, or listens.
#[test]
fn a_socket_that_is_connected_after_its_registration_is_waited_for() {
    run(async {
        for interest in [Interest::READABLE, BOTH] {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let ours = Async::new(Fd::new(unconnected(Domain::IPV4))).unwrap();
            until_reported().await;
            assert!(ours.ready(Interest::READABLE).await.unwrap().is_read_closed());
            let address = listener.local_addr().unwrap().into();
            let _in_progress = ours.get_ref().get_ref().connect(&address);
            let (mut theirs, _) = listener.accept().unwrap();
            turns(&ours, interest, receive).await;

            theirs.write_all(b"x").unwrap();
            bounded(ours.async_io(interest, |fd| receive(fd.get_ref()))).await.unwrap();
        }
    });
}

#[test]
fn a_socket_that_listens_after_its_registration_is_waited_for() {
    run(async {
        for interest in [Interest::READABLE, BOTH, Interest::PRIORITY] {
            let socket = unconnected(Domain::IPV4);
            socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()).unwrap();
            let ours = Async::new(Fd::new(socket)).unwrap();
            until_reported().await;
            ours.get_ref().get_ref().listen(8).unwrap();
            turns(&ours, interest, accept).await;
            let address = ours.get_ref().get_ref().local_addr().unwrap().as_socket().unwrap();
            let _client = std::net::TcpStream::connect(address).unwrap();
            let accepted = ours.async_io(Interest::READABLE, |fd| accept(fd.get_ref()));
            bounded(accepted).await.unwrap();
        }
    });
}

#[test]
fn a_unix_socket_that_is_connected_after_its_registration_is_waited_for() {
    run(async {
        let path = std::env::temp_dir().join(format!("liten-closed-{}", std::process::id()));
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let ours = Async::new(Fd::new(unconnected(Domain::UNIX))).unwrap();
        until_reported().await;
        ours.get_ref().get_ref().connect(&SockAddr::unix(&path).unwrap()).unwrap();
        let (theirs, _) = listener.accept().unwrap();
        turns(&ours, Interest::READABLE, receive).await;
        drop(theirs);
        let end = bounded(ours.ready(Interest::READABLE)).await.unwrap();
        assert!(end.is_read_closed());
        std::fs::remove_file(path).unwrap();
    });
}

/// A refused datagram is an error once, looks like a closed write side, and is neither any more afterwards.
#[test]
fn a_refused_datagram_closes_nothing() {
    // A process that another test starts has a copy of the closed socket until its exec.
    let test = "net::closed_sides::a_refused_datagram_closes_nothing";
    guarded(|| alone(test, || run(refusal())));
}

async fn refusal() {
    // An address of its own, so that no other test is given the port.
    let bind = || UdpSocket::bind("127.0.0.80:0");
    let gone = bind().await.unwrap().local_addr().unwrap();
    let ours = bind().await.unwrap();
    ours.connect(gone).await.unwrap();
    ours.send(b"x").await.unwrap();
    assert!(bounded(ours.ready(Interest::ERROR)).await.unwrap().is_error());
    let error = bounded(ours.recv(&mut [0; 8])).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    for interest in [Interest::READABLE, Interest::WRITABLE, BOTH, Interest::ERROR] {
        // Once is enough: what stays is found each time, and an event may still come.
        let mut waits = false;
        for _ in 0..MANY {
            waits = poll_once(&mut pin!(ours.ready(interest))).await.is_none();
            if waits {
                break;
            }
            drop(ours.try_io(interest, would_block::<()>));
        }
        assert!(waits, "{interest:?}");
    }
}

#[test]
fn a_unix_datagram_socket_goes_on_after_its_peer_is_gone() {
    run(async {
        let (ours, theirs) = UnixDatagram::pair().unwrap();
        drop(theirs);
        until_reported().await;
        let mut waits = false;
        for _ in 0..MANY {
            waits = poll_once(&mut pin!(ours.readable())).await.is_none();
            if waits {
                break;
            }
            drop(ours.try_recv(&mut [0; 8]));
        }
        assert!(waits);
    });
}

/// The end of one writer is no end for a reader that waits for the next one.
#[test]
fn a_named_pipe_is_read_from_one_writer_after_the_other() {
    run(async {
        let path = std::env::temp_dir().join(format!("liten-closed-fifo-{}", std::process::id()));
        let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: the name ends with a zero.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        let open = |options: &mut OpenOptions| options.custom_flags(libc::O_NONBLOCK).open(&path);
        let read = open(OpenOptions::new().read(true)).unwrap();
        let ours = Async::with_interest(Fd::new(read), Interest::READABLE).unwrap();
        let read = |mut file: &File| file.read(&mut [0; 8]);
        for _ in 0..3 {
            let mut write = open(OpenOptions::new().write(true)).unwrap();
            turns(&ours, Interest::READABLE, |file| read(file).map(drop)).await;
            write.write_all(b"word").unwrap();
            let word = ours.async_io(Interest::READABLE, |fd| read(fd.get_ref()));
            assert_eq!(bounded(word).await.unwrap(), 4);
            drop(write);
            // As often as the reader asks.
            for _ in 0..3 {
                let end = ours.async_io(Interest::READABLE, |fd| read(fd.get_ref()));
                assert_eq!(bounded(end).await.unwrap(), 0);
                until_reported().await;
            }
        }
        std::fs::remove_file(path).unwrap();
    });
}

fn fill(ours: &UnixStream) {
    while ours.try_write(&[0; 4096]).is_ok() {}
}

/// Waits until the end of what the peer sends has been reported.
async fn until_closed(ours: &UnixStream) {
    while !bounded(ours.ready(Interest::READABLE)).await.unwrap().is_read_closed() {
        until_reported().await;
    }
}

/// An operation waits for both directions, tries to write, and finds no room: that says nothing about the
/// end, which readers wait for.
#[test]
fn an_end_survives_a_write_that_finds_no_room() {
    run(async {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        fill(&ours);
        let theirs = theirs.into_std().unwrap();
        theirs.shutdown(std::net::Shutdown::Write).unwrap();
        until_closed(&ours).await;
        for _ in 0..3 {
            let tried = ours.try_io(BOTH, would_block::<()>);
            assert_eq!(tried.unwrap_err().kind(), ErrorKind::WouldBlock);
        }
        let mut tries = 0;
        let both = ours.async_io(BOTH, || {
            tries += 1;
            assert!(tries < MANY, "it turns for ever");
            would_block::<()>()
        });
        assert!(poll_once(&mut pin!(both)).await.is_none());
        assert_eq!(bounded(ours.read(&mut [0; 8])).await.unwrap(), 0);
        drop(theirs);
    });
}

/// The wait for both directions goes on when there is room.
#[test]
fn an_operation_beside_an_end_goes_on_with_the_next_event() {
    run(async {
        let (ours, theirs) = UnixStream::pair().unwrap();
        fill(&ours);
        let mut theirs = theirs.into_std().unwrap();
        theirs.shutdown(std::net::Shutdown::Write).unwrap();
        until_closed(&ours).await;
        let mut tries = 0;
        let mut writes = pin!(ours.async_io(BOTH, || {
            tries += 1;
            assert!(tries < MANY, "it turns for ever");
            io::Write::write(&mut &File::from(ours.as_fd().try_clone_to_owned()?), b"x")
        }));
        assert!(poll_once(&mut writes).await.is_none());
        theirs.set_nonblocking(true).unwrap();
        while theirs.read(&mut [0; 4096]).is_ok() {}
        assert_eq!(bounded(writes).await.unwrap(), 1);
    });
}

/// What is for urgent data would block at the end, too: the task is told of the end, and waits then.
#[test]
fn a_wait_for_urgent_data_does_not_turn_at_the_end() {
    guarded(|| {
        run(async {
            let (mut ours, theirs) = tcp_pair().await;
            drop(theirs);
            assert!(bounded(ours.ready(Interest::PRIORITY)).await.unwrap().is_read_closed());
            let mut tries = 0;
            let mut urgent = |ours: &TcpStream| {
                ours.try_io(Interest::PRIORITY, || {
                    tries += 1;
                    assert!(tries < MANY, "it turns for ever");
                    would_block::<()>()
                })
            };
            for _ in 0..2 * MANY {
                drop(urgent(&ours));
            }
            let waits = ours.async_io(Interest::PRIORITY, would_block::<()>);
            assert!(poll_once(&mut pin!(waits)).await.is_none());
            assert_eq!(bounded(ours.read(&mut [0; 8])).await.unwrap(), 0, "a reader sees it");
        });
    });
}
