//! The sockets of the standard library.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread;
use std::time::Duration;

use liten_sim::check;

fn echo() {
    let listener = TcpListener::bind("0.0.0.0:80").unwrap();
    for stream in listener.incoming() {
        thread::spawn(move || {
            let mut stream = stream.unwrap();
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).unwrap();
            stream.write_all(&bytes).unwrap();
        });
    }
}

#[test]
fn bytes_go_to_another_host_and_back() {
    check(50, |sim| {
        sim.host("server", echo);
        sim.set_loss(0.01);
        sim.client("client", || {
            thread::sleep(Duration::from_millis(100));
            for i in 1..10 {
                let mut stream = TcpStream::connect("server:80").unwrap();
                let sent = vec![i as u8; i * 50_000];
                stream.write_all(&sent).unwrap();
                stream.shutdown(Shutdown::Write).unwrap();
                let mut got = Vec::new();
                stream.read_to_end(&mut got).unwrap();
                assert_eq!(got, sent);
            }
        });
    });
}

#[test]
fn a_closed_port_refuses_and_a_read_times_out() {
    check(10, |sim| {
        sim.host("server", || {
            let listener = TcpListener::bind("0.0.0.0:80").unwrap();
            let _accepted = listener.accept().unwrap();
            thread::sleep(Duration::from_secs(60));
        });
        sim.client("client", || {
            let refused = TcpStream::connect("server:81").unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
            thread::sleep(Duration::from_millis(100));
            let mut stream = TcpStream::connect("server:80").unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
            assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
        });
    });
}

#[test]
fn datagrams_are_lost_and_doubled_but_never_changed() {
    check(20, |sim| {
        sim.host("server", || {
            let socket = UdpSocket::bind("0.0.0.0:53").unwrap();
            let mut bytes = [0; 2_000];
            loop {
                let (length, from) = socket.recv_from(&mut bytes).unwrap();
                socket.send_to(&bytes[..length], from).unwrap();
            }
        });
        sim.set_loss(0.2);
        sim.set_duplicates(0.5);
        sim.client("client", || {
            let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
            socket.connect("server:53").unwrap();
            socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
            let mut answers = [0; 100];
            for i in 0..100_u8 {
                socket.send(&[i; 500]).unwrap();
                let mut bytes = [0; 2_000];
                while let Ok(length) = socket.recv(&mut bytes) {
                    assert_eq!(length, 500);
                    answers[usize::from(bytes[0])] += 1;
                }
            }
            let (lost, doubled) = (answers.contains(&0), answers.iter().any(|count| *count > 1));
            assert!(lost && doubled, "{answers:?}");
        });
    });
}

#[test]
fn a_narrow_link_takes_its_time_and_a_held_one_loses_nothing() {
    check(10, |sim| {
        sim.host("server", echo);
        sim.set_bandwidth(100_000);
        sim.client("client", || {
            thread::sleep(Duration::from_millis(100));
            let begun = std::time::Instant::now();
            let mut stream = TcpStream::connect("server:80").unwrap();
            stream.write_all(&[7; 100_000]).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            let mut got = Vec::new();
            stream.read_to_end(&mut got).unwrap();
            assert_eq!(got, [7; 100_000]);
            // A second there, a second back, and the rest of the three for which nothing came.
            let lasted = begun.elapsed();
            assert!(lasted > Duration::from_secs(3), "{lasted:?}");
        });
        thread::sleep(Duration::from_millis(500));
        sim.hold("server", "client");
        thread::sleep(Duration::from_secs(3));
        sim.release("server", "client");
    });
}

#[test]
fn a_wait_for_a_datagram_ends_when_the_socket_is_shut_down() {
    check(10, |sim| {
        sim.client("client", || {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.connect(socket.local_addr().unwrap()).unwrap();
            let waiting = socket.try_clone().unwrap();
            let waiting = thread::spawn(move || waiting.recv(&mut [0; 8]).unwrap());
            thread::sleep(Duration::from_millis(10));
            // SAFETY: the call takes no pointers.
            unsafe { libc::shutdown(socket.as_raw_fd(), libc::SHUT_RD) };
            assert_eq!(waiting.join().unwrap(), 0);
            socket.set_nonblocking(true).unwrap();
            assert_eq!(socket.recv(&mut [0; 8]).unwrap_err().kind(), ErrorKind::WouldBlock);
        });
    });
}

#[test]
fn an_accepted_socket_has_the_options_of_its_listener() {
    check(5, |sim| {
        sim.client("client", || {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let fd = listener.as_raw_fd();
            let (on, time) = (1_i32, libc::timeval { tv_sec: 2, tv_usec: 0 });
            let linger = libc::linger { l_onoff: 1, l_linger: 0 };
            // SAFETY: each option has a value of this type.
            unsafe {
                set(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, &on);
                set(fd, libc::SOL_SOCKET, libc::SO_RCVTIMEO, &time);
                set(fd, libc::SOL_SOCKET, libc::SO_LINGER, &linger);
            }
            let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (mut far, _) = listener.accept().unwrap();
            assert!(far.nodelay().unwrap());
            assert_eq!(far.read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
            drop(far);
            assert_eq!(near.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
        });
    });
}

/// # Safety
///
/// The option has values of this type.
unsafe fn set<T>(fd: RawFd, level: i32, name: i32, value: &T) {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: as above.
    let result = unsafe { libc::setsockopt(fd, level, name, (&raw const *value).cast(), length) };
    assert_eq!(result, 0);
}

#[test]
fn a_call_that_wants_all_bytes_waits_for_the_last() {
    check(10, |sim| {
        sim.client("client", || {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (far, _) = listener.accept().unwrap();
            let sending = thread::spawn(move || {
                for _ in 0..2 {
                    near.write_all(b"abc").unwrap();
                    thread::sleep(Duration::from_millis(10));
                }
            });
            let mut bytes = [0_u8; 6];
            for expected in [6, 0] {
                let place = bytes.as_mut_ptr().cast();
                // SAFETY: the place has six bytes.
                let got = unsafe { libc::recv(far.as_raw_fd(), place, 6, libc::MSG_WAITALL) };
                assert_eq!(got, expected);
            }
            assert_eq!(&bytes, b"abcabc");
            sending.join().unwrap();
        });
    });
}

#[test]
fn the_peer_of_a_unix_socket_is_the_process_of_the_host() {
    check(2, |sim| {
        sim.client("program", || {
            let path = std::env::temp_dir().join("who");
            let listener = UnixListener::bind(&path).unwrap();
            let near = UnixStream::connect(&path).unwrap();
            let (far, _) = listener.accept().unwrap();
            for end in [near, far] {
                let mut found = libc::ucred { pid: 0, uid: 0, gid: 0 };
                let mut length = size_of::<libc::ucred>() as libc::socklen_t;
                let (level, name) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
                let place = (&raw mut found).cast();
                // SAFETY: the option has this type.
                let result = unsafe {
                    libc::getsockopt(end.as_raw_fd(), level, name, place, &raw mut length)
                };
                // SAFETY: the calls take no arguments.
                let own = unsafe { (libc::geteuid(), libc::getegid()) };
                let process = std::process::id() as libc::pid_t;
                assert_eq!(result, 0);
                assert_eq!((found.pid, (found.uid, found.gid)), (process, own));
            }
        });
    });
}

#[test]
fn datagrams_to_the_own_host_keep_their_order() {
    check(50, |sim| {
        sim.client("client", || {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.connect(socket.local_addr().unwrap()).unwrap();
            for i in 0..20 {
                socket.send(&[i]).unwrap();
            }
            for i in 0..20 {
                let mut byte = [0];
                socket.recv(&mut byte).unwrap();
                assert_eq!(byte[0], i);
            }
        });
    });
}
