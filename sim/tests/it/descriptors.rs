//! Pipes, Unix sockets and copies of descriptors.

use std::io::{ErrorKind, Read, Write, pipe};
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread;

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
