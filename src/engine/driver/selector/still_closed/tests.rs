//! Each kind of source, step by step, as the system reports it.

use super::still_closed;
use crate::engine::driver::readiness::{Direction, Ready};
use socket2::{Domain, SockAddr, Socket, Type};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::net::{Ipv4Addr, Shutdown, TcpListener, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

const NEITHER: [bool; 2] = [false, false];
const READ: [bool; 2] = [true, false];
const WRITE: [bool; 2] = [false, true];
const BOTH: [bool; 2] = [true, true];

/// The read side and the write side.
#[track_caller]
fn expect(source: &impl AsFd, what: &str, ends: [bool; 2]) {
    let said = still_closed(source.as_fd().as_raw_fd()).expect("the system says");
    let mut expected = Ready::EMPTY;
    for (has_ended, direction) in ends.into_iter().zip([Direction::Read, Direction::Write]) {
        if has_ended {
            expected |= direction.closed();
        }
    }
    assert_eq!(said.bits(), expected.bits(), "{what}: {said:?}");
}

fn nowhere() -> SockAddr {
    let gone = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    gone.local_addr().unwrap().into()
}

#[test]
fn a_tcp_socket() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    expect(&listener, "a listener", NEITHER);
    let ours = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    expect(&ours, "before it connects", NEITHER);
    ours.connect(&listener.local_addr().unwrap().into()).unwrap();
    let (theirs, _) = listener.accept().unwrap();
    expect(&ours, "connected", NEITHER);
    theirs.shutdown(Shutdown::Write).unwrap();
    while still_closed(ours.as_raw_fd()) == Some(Ready::EMPTY) {}
    expect(&ours, "the peer writes no more", READ);
    ours.shutdown(Shutdown::Write).unwrap();
    expect(&ours, "nor do we", BOTH);

    let refused = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    refused.set_nonblocking(true).unwrap();
    let _ = refused.connect(&nowhere());
    while still_closed(refused.as_raw_fd()) == Some(Ready::EMPTY) {}
    expect(&refused, "refused", BOTH);
}

#[test]
fn a_unix_socket() {
    for kind in [Type::STREAM, Type::SEQPACKET] {
        let ours = Socket::new(Domain::UNIX, kind, None).unwrap();
        expect(&ours, "before it connects", NEITHER);
        let (ours, theirs) = Socket::pair(Domain::UNIX, kind, None).unwrap();
        expect(&ours, "connected", NEITHER);
        theirs.shutdown(Shutdown::Write).unwrap();
        expect(&ours, "the peer writes no more", READ);
        drop(theirs);
        expect(&ours, "the peer is gone", BOTH);
    }
    let (ours, theirs) = Socket::pair(Domain::UNIX, Type::DGRAM, None).unwrap();
    expect(&ours, "datagrams", NEITHER);
    drop(theirs);
    expect(&ours, "the peer is gone, which ends no datagrams", NEITHER);
}

#[test]
fn a_udp_socket() {
    let ours = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    ours.connect(nowhere().as_socket().unwrap()).unwrap();
    ours.send(b"x").unwrap();
    expect(&ours, "refused", NEITHER);
    let ours = Socket::from(ours);
    ours.shutdown(Shutdown::Read).unwrap();
    expect(&ours, "reads would block, also after a shutdown", NEITHER);
    ours.shutdown(Shutdown::Both).unwrap();
    expect(&ours, "writes fail after a shutdown", WRITE);
}

fn pipe() -> (File, File) {
    let mut ends = [0; 2];
    // SAFETY: there is room for both, and nothing else owns them.
    let (read, write) = unsafe {
        assert_eq!(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK), 0);
        (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1]))
    };
    (read.into(), write.into())
}

#[test]
fn a_pipe() {
    let (read, mut write) = pipe();
    expect(&read, "a read end", NEITHER);
    expect(&write, "a write end", NEITHER);
    while write.write(&[0; 4096]).is_ok() {}
    drop(read);
    expect(&write, "full, without a reader", WRITE);
    let (read, write) = pipe();
    drop(write);
    expect(&read, "without a writer", READ);
}

#[test]
fn a_named_pipe_goes_on_with_the_next_writer() {
    let path = std::env::temp_dir().join(format!("liten-still-closed-{}", std::process::id()));
    let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: the name ends with a zero.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    let open = |options: &mut OpenOptions| options.custom_flags(libc::O_NONBLOCK).open(&path);
    let read = open(OpenOptions::new().read(true)).unwrap();
    expect(&read, "no writer yet", NEITHER);
    for _ in 0..2 {
        let write = open(OpenOptions::new().write(true)).unwrap();
        expect(&read, "a writer", NEITHER);
        drop(write);
        expect(&read, "the writer is gone", READ);
    }
    let write = open(OpenOptions::new().write(true)).unwrap();
    drop(read);
    expect(&write, "no reader", WRITE);
    let _read = open(OpenOptions::new().read(true)).unwrap();
    expect(&write, "a reader again", NEITHER);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_terminal() {
    let (mut ours, mut theirs) = (0, 0);
    let none = std::ptr::null_mut();
    // SAFETY: there is room for both, and nothing else owns them; no name and no mode are wanted.
    let (ours, theirs) = unsafe {
        let opened = libc::openpty(&raw mut ours, &raw mut theirs, none, none.cast(), none.cast());
        assert_eq!(opened, 0);
        (OwnedFd::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs))
    };
    let path = format!("/proc/self/fd/{}", theirs.as_raw_fd());
    let path = std::fs::read_link(path).unwrap();
    expect(&ours, "a terminal in use", NEITHER);
    drop(theirs);
    expect(&ours, "hung up", BOTH);
    let _theirs = OpenOptions::new().read(true).custom_flags(libc::O_NOCTTY).open(path).unwrap();
    expect(&ours, "in use again", NEITHER);
}

#[test]
fn what_is_no_descriptor_is_not_said_to_have_ended() {
    assert_eq!(still_closed(i32::MAX), None);
    let file = File::open("/proc/self/status").unwrap();
    expect(&file, "a file", NEITHER);
}
