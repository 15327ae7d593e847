//! Pipes, Unix sockets and copies of descriptors.

use std::fs::{self, Permissions};
use std::io::{ErrorKind, Read, Write, pipe};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::thread;
use std::time::Duration;

use liten_sim::check;

#[test]
fn a_pipe_carries_bytes_and_ends_with_its_writers() {
    check(30, |sim| {
        sim.client("program", || {
            let (mut reader, mut writer) = pipe().unwrap();
            let mut copy = writer.try_clone().unwrap();
            let writing = thread::spawn(move || {
                writer.write_all(&vec![1; 100_000]).unwrap();
                drop(writer);
                copy.write_all(&vec![2; 100_000]).unwrap();
            });
            let mut all = Vec::new();
            reader.read_to_end(&mut all).unwrap();
            writing.join().unwrap();
            assert_eq!((all.len(), all[99_999], all[100_000]), (200_000, 1, 2));
        });
    });
}

#[test]
fn writing_to_a_pipe_that_nobody_reads_is_an_error() {
    check(5, |sim| {
        sim.client("program", || {
            let (reader, mut writer) = pipe().unwrap();
            drop(reader);
            assert_eq!(writer.write(&[1]).unwrap_err().kind(), ErrorKind::BrokenPipe);
        });
    });
}

#[test]
fn unix_sockets_are_connected_in_pairs_and_by_name() {
    check(30, |sim| {
        sim.client("program", || {
            let (mut one, mut other) = UnixStream::pair().unwrap();
            one.write_all(b"hello").unwrap();
            drop(one);
            let mut text = String::new();
            other.read_to_string(&mut text).unwrap();
            assert_eq!(text, "hello");

            let name = std::env::temp_dir().join("liten-sim-never-made");
            assert_eq!(UnixStream::connect(&name).unwrap_err().kind(), ErrorKind::NotFound);
            let listener = UnixListener::bind(&name).unwrap();
            assert_eq!(UnixListener::bind(&name).unwrap_err().kind(), ErrorKind::AddrInUse);
            let client = thread::spawn({
                let name = name.clone();
                move || {
                    let mut stream = UnixStream::connect(name).unwrap();
                    stream.write_all(b"by name").unwrap();
                    stream.shutdown(std::net::Shutdown::Write).unwrap();
                    let mut answer = String::new();
                    stream.read_to_string(&mut answer).unwrap();
                    answer
                }
            });
            let (mut accepted, _) = listener.accept().unwrap();
            assert_eq!(accepted.local_addr().unwrap().as_pathname(), Some(name.as_path()));
            let mut text = String::new();
            accepted.read_to_string(&mut text).unwrap();
            accepted.write_all(text.as_bytes()).unwrap();
            drop(accepted);
            assert_eq!(client.join().unwrap(), "by name");
        });
    });
}

#[test]
fn the_path_of_a_socket_is_a_file_until_it_is_removed() {
    check(5, |sim| {
        let path = std::env::temp_dir().join("service.socket");
        let serve = move || {
            let _listener = UnixListener::bind(&path).unwrap();
            assert!(fs::metadata(&path).unwrap().file_type().is_socket());
            fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
            UnixStream::connect(&path).unwrap();
            thread::sleep(Duration::from_millis(50));
            // The other host may have removed its own meanwhile.
            fs::remove_file(&path).unwrap();
            assert!(UnixListener::bind(&path).is_ok(), "the path is free again");
            fs::remove_file(&path).unwrap();
            thread::sleep(Duration::from_millis(50));
            assert!(!path.exists());
        };
        // Each host has sockets of its own, also at the same path.
        sim.client("one", serve.clone());
        sim.client("other", serve);
    });
}

#[test]
fn a_path_whose_file_is_gone_can_be_bound_again() {
    check(5, |sim| {
        sim.client("program", || {
            let folder = std::env::temp_dir().join("folder");
            fs::create_dir(&folder).unwrap();
            let path = folder.join("socket");
            let _first = UnixListener::bind(&path).unwrap();
            fs::remove_dir_all(&folder).unwrap();
            assert_eq!(UnixStream::connect(&path).unwrap_err().kind(), ErrorKind::NotFound);
            fs::create_dir(&folder).unwrap();
            UnixListener::bind(&path).unwrap();
            assert_eq!(
                UnixStream::connect(&path).unwrap_err().kind(),
                ErrorKind::ConnectionRefused
            );
        });
    });
}

#[test]
fn std_copies_out_of_a_pipe() {
    check(5, |sim| {
        sim.client("program", || {
            let (mut reader, mut writer) = pipe().unwrap();
            writer.write_all(b"bytes").unwrap();
            drop(writer);
            let path = std::env::temp_dir().join("copied");
            let mut file = std::fs::File::create(&path).unwrap();
            assert_eq!(std::io::copy(&mut reader, &mut file).unwrap(), 5);
            assert_eq!(std::fs::read(path).unwrap(), b"bytes");
        });
    });
}

#[test]
fn a_closed_copy_does_not_take_the_registration_of_its_successor() {
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
    use tokio::io::unix::AsyncFd;
    check(5, |sim| {
        sim.client("program", || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let (first, _other) = UnixStream::pair().unwrap();
                first.set_nonblocking(true).unwrap();
                // SAFETY: the copy is nobody else's.
                let copy = unsafe { OwnedFd::from_raw_fd(libc::dup(first.as_raw_fd())) };
                let number = first.as_raw_fd();
                // SAFETY: the socket's number stays its own until it is forgotten.
                let watched = unsafe { AsyncFd::register(first).unwrap() };
                // The number is free while the kernel still has the object, by its copy.
                std::mem::forget(watched);
                // SAFETY: it is not used any more.
                drop(unsafe { OwnedFd::from_raw_fd(number) });
                let (second, mut peer) = UnixStream::pair().unwrap();
                assert_eq!(second.as_raw_fd(), number);
                second.set_nonblocking(true).unwrap();
                // SAFETY: as above.
                let watched = unsafe { AsyncFd::register(second).unwrap() };
                drop(copy);
                peer.write_all(&[1]).unwrap();
                watched.readable().await.unwrap().retain_ready();
            });
        });
    });
}

#[test]
fn calls_by_their_numbers_are_those_by_their_names() {
    check(5, |sim| {
        sim.client("program", || {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let mut far = listener.accept().unwrap().0;
            let (mut address, mut length) = ([0_u8; 128], 128_u32);
            // SAFETY: the places have as many bytes as the calls are told.
            unsafe {
                let (into, room) = (address.as_mut_ptr(), &raw mut length);
                let fd = near.as_raw_fd();
                assert_eq!(libc::syscall(libc::SYS_getpeername, fd, into, room), 0);
                assert_eq!(libc::syscall(libc::SYS_write, fd, b"abc".as_ptr(), 3_usize), 3);
            }
            assert_eq!(length, 16);
            let mut got = [0; 3];
            far.read_exact(&mut got).unwrap();
            assert_eq!(&got, b"abc");
        });
    });
}

#[test]
fn unix_datagrams_keep_their_bounds_and_senders() {
    check(20, |sim| {
        sim.client("program", || {
            let folder = std::env::temp_dir();
            let (one, other) = (folder.join("one"), folder.join("other"));
            let receiver = UnixDatagram::bind(&one).unwrap();
            let sender = UnixDatagram::bind(&other).unwrap();
            assert_eq!(UnixListener::bind(&one).unwrap_err().kind(), ErrorKind::AddrInUse);
            assert_eq!(
                UnixStream::connect(&one).unwrap_err().raw_os_error(),
                Some(libc::EPROTOTYPE)
            );
            let sending = thread::spawn(move || {
                for i in 0..50_u8 {
                    sender.send_to(&vec![i; usize::from(i) + 1], &one).unwrap();
                }
            });
            for i in 0..50_u8 {
                let mut bytes = [0; 20];
                let (length, from) = receiver.recv_from(&mut bytes).unwrap();
                assert_eq!(length, 20.min(usize::from(i) + 1));
                assert!(bytes[..length].iter().all(|byte| *byte == i));
                assert_eq!(from.as_pathname(), Some(other.as_path()));
            }
            sending.join().unwrap();
        });
    });
}

#[test]
fn a_pair_of_unix_datagram_sockets_waits_for_room_and_refuses_when_one_is_gone() {
    check(20, |sim| {
        sim.client("program", || {
            let (near, far) = UnixDatagram::pair().unwrap();
            let copy = near.try_clone().unwrap();
            let sending = thread::spawn(move || {
                for i in 0..1_000_u32 {
                    copy.send(&i.to_le_bytes()).unwrap();
                }
            });
            for i in 0..1_000_u32 {
                let mut bytes = [0; 4];
                assert_eq!(far.recv(&mut bytes).unwrap(), 4);
                assert_eq!(u32::from_le_bytes(bytes), i);
            }
            sending.join().unwrap();
            drop(far);
            assert_eq!(near.send(b"x").unwrap_err().kind(), ErrorKind::ConnectionRefused);
            assert_eq!(near.send(b"x").unwrap_err().kind(), ErrorKind::NotConnected);
        });
    });
}

#[test]
fn a_path_of_a_closed_unix_socket_refuses_until_it_is_removed() {
    check(10, |sim| {
        sim.client("program", || {
            let path = std::env::temp_dir().join("deserted");
            assert_eq!(UnixStream::connect(&path).unwrap_err().kind(), ErrorKind::NotFound);
            drop(UnixListener::bind(&path).unwrap());
            let refused = UnixStream::connect(&path).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
            assert_eq!(UnixListener::bind(&path).unwrap_err().kind(), ErrorKind::AddrInUse);
            std::fs::remove_file(&path).unwrap();
            let _listener = UnixListener::bind(&path).unwrap();
        });
    });
}

#[test]
fn a_unix_stream_that_is_closed_with_unread_bytes_is_reset() {
    check(10, |sim| {
        sim.client("program", || {
            let (mut near, mut far) = UnixStream::pair().unwrap();
            near.write_all(b"unread").unwrap();
            far.write_all(b"last").unwrap();
            drop(far);
            let mut bytes = [0; 8];
            assert_eq!(near.read(&mut bytes).unwrap(), 4);
            assert_eq!(near.read(&mut bytes).unwrap_err().kind(), ErrorKind::ConnectionReset);
            assert_eq!(near.read(&mut bytes).unwrap(), 0);
            assert_eq!(near.write(b"x").unwrap_err().kind(), ErrorKind::BrokenPipe);
        });
    });
}

#[test]
fn a_unix_stream_that_both_sides_have_ended_is_hung_up() {
    check(5, |sim| {
        sim.client("program", || {
            let (near, far) = UnixStream::pair().unwrap();
            let hung_up = |fd: &UnixStream| {
                let mut asked = libc::pollfd { fd: fd.as_raw_fd(), events: 0, revents: 0 };
                // SAFETY: there is one entry.
                unsafe { libc::poll(&raw mut asked, 1, 0) };
                asked.revents & libc::POLLHUP != 0
            };
            near.shutdown(Shutdown::Write).unwrap();
            assert!(!hung_up(&near) && !hung_up(&far));
            far.shutdown(Shutdown::Write).unwrap();
            assert!(hung_up(&near) && hung_up(&far));
        });
    });
}

#[test]
fn packets_of_a_connection_keep_their_bounds() {
    check(10, |sim| {
        sim.client("program", || {
            let mut fds = [0; 2];
            let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
            // SAFETY: there is room for two descriptors, which are then ours.
            let (near, far) = unsafe {
                assert_eq!(libc::socketpair(libc::AF_UNIX, kind, 0, fds.as_mut_ptr()), 0);
                (OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1]))
            };
            // A stream of std asks the system as any socket does.
            let (mut near, mut far) = (UnixStream::from(near), UnixStream::from(far));
            let sending = thread::spawn(move || {
                for i in 0..200 {
                    assert_eq!(near.write(&vec![i; 1_000]).unwrap(), 1_000);
                }
            });
            for i in 0..200 {
                let mut bytes = [0; 2_000];
                let room = if i % 2 == 0 { 10 } else { 2_000 };
                assert_eq!(far.read(&mut bytes[..room]).unwrap(), room.min(1_000));
                assert_eq!(bytes[0], i);
            }
            sending.join().unwrap();
            assert_eq!(far.read(&mut [0; 8]).unwrap(), 0);
        });
    });
}
