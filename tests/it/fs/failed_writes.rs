//! Writes that fail on the pool, after they were accepted: what is said afterwards is true.
//!
//! A limit on the size of files takes the room, and gives it back. It is that of the process.

#![allow(unsafe_code)]

use super::{Folder, pool};
use crate::support::guard::guarded;
use crate::support::process::{alone, child, is_child};
use liten::fs::{File, OpenOptions};
use liten::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt, SeekFrom};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::io::ErrorKind;
use std::path::Path;
use std::pin::pin;
use std::process::Stdio;
use std::task::{Context, Poll, Waker};

/// Files may have so many bytes, and no more.
fn with_room(bytes: u64) {
    // SAFETY: no handler is installed, only the signal ignored.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    let (_, hard) = getrlimit(Resource::RLIMIT_FSIZE).unwrap();
    setrlimit(Resource::RLIMIT_FSIZE, bytes.min(hard), hard).unwrap();
}

fn run<F: Future>(test: &str, body: impl FnOnce(Folder) -> F) {
    let test = format!("fs::failed_writes::{test}");
    guarded(|| alone(&test, || drop(pool(2).block_on(body(Folder::new())))));
}

/// A file to which 1000 sevens were written, of which 100 had room, as a flush has said.
async fn torn(path: &Path, options: &OpenOptions) -> File {
    let mut file = options.open(path).await.unwrap();
    with_room(100);
    assert_eq!(file.write(&[7; 1000]).await.unwrap(), 1000);
    assert_eq!(file.flush().await.unwrap_err().kind(), ErrorKind::FileTooLarge);
    assert_eq!(std::fs::metadata(path).unwrap().len(), 100);
    file
}

fn read_write() -> OpenOptions {
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(true);
    options
}

#[test]
fn no_call_says_ok_while_bytes_are_not_written() {
    run("no_call_says_ok_while_bytes_are_not_written", |_| async {
        let mut full = File::options().write(true).open("/dev/full").await.unwrap();
        full.write_all(&[1; 1000]).await.unwrap();
        for _ in 0..3 {
            for result in [
                full.flush().await,
                full.sync_all().await,
                full.write(b"x").await.map(drop),
                full.sync_data().await,
                full.close().await,
            ] {
                assert_eq!(result.unwrap_err().kind(), ErrorKind::StorageFull);
            }
        }
    });
}

#[test]
fn bytes_that_are_left_are_an_error_of_a_flush_outside_a_runtime() {
    guarded(|| {
        let pool = pool(1);
        let mut full = pool.block_on(async {
            let mut full = File::options().write(true).open("/dev/full").await.unwrap();
            full.write_all(b"x").await.unwrap();
            assert_eq!(full.flush().await.unwrap_err().kind(), ErrorKind::StorageFull);
            full
        });
        let mut outside = pin!(full.flush());
        let polled = outside.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let Poll::Ready(Err(error)) = polled else { panic!("{polled:?}") };
        assert!(error.to_string().contains("flush the file in a runtime"), "{error}");
        let inside = pool.block_on(outside);
        assert_eq!(inside.unwrap_err().kind(), ErrorKind::StorageFull);
    });
}

#[test]
fn what_had_no_room_is_written_when_there_is_room() {
    run("what_had_no_room_is_written_when_there_is_room", |folder| async move {
        for case in 0..5 {
            let path = folder.join("file");
            let mut file = torn(&path, &read_write()).await;
            assert!(file.flush().await.is_err(), "there is no room yet");
            with_room(u64::MAX);
            let mut expected = vec![7; 1000];
            match case {
                0 => file.flush().await.unwrap(),
                1 => file.close().await.unwrap(),
                2 => file.sync_all().await.unwrap(),
                3 => file.sync_data().await.unwrap(),
                _ => {
                    file.write_all(b"next").await.unwrap();
                    file.flush().await.unwrap();
                    expected.extend(b"next");
                }
            }
            assert!(std::fs::read(&path).unwrap() == expected, "in case {case}");
            assert_eq!(file.stream_position().await.unwrap(), expected.len() as u64);
        }
    });
}

/// A flush that was given up goes on; what it comes to is told to the next one.
#[test]
fn what_a_flush_that_was_given_up_has_tried_is_told() {
    run("what_a_flush_that_was_given_up_has_tried_is_told", |folder| async move {
        let path = folder.join("file");
        let mut file = torn(&path, &read_write()).await;
        for _ in 0..3 {
            drop(crate::support::loopback::poll_once(&mut std::pin::pin!(file.flush())).await);
        }
        assert!(file.flush().await.is_err());
        with_room(u64::MAX);
        drop(crate::support::loopback::poll_once(&mut std::pin::pin!(file.flush())).await);
        file.flush().await.unwrap();
        assert!(std::fs::read(&path).unwrap() == [7; 1000]);
    });
}

/// The position is the user's, and the bytes go to their own.
#[test]
fn what_had_no_room_goes_to_its_place_wherever_the_position_is() {
    run("what_had_no_room_goes_to_its_place_wherever_the_position_is", |folder| async move {
        let path = folder.join("file");
        let mut file = torn(&path, &read_write()).await;
        assert_eq!(file.seek(SeekFrom::Start(10)).await.unwrap(), 10);
        assert!(file.flush().await.is_err(), "a seek changes nothing about that");
        let mut bytes = [0; 20];
        file.read_exact(&mut bytes).await.unwrap();
        assert_eq!(bytes, [7; 20]);
        with_room(u64::MAX);
        file.flush().await.unwrap();
        assert!(std::fs::read(&path).unwrap() == [7; 1000]);
        file.write_all(b"here").await.unwrap();
        file.flush().await.unwrap();
        let content = std::fs::read(&path).unwrap();
        assert_eq!((&content[30..34], content.len()), (&b"here"[..], 1000));
    });
}

#[test]
fn what_had_no_room_is_appended() {
    run("what_had_no_room_is_appended", |folder| async move {
        let path = folder.join("file");
        let mut options = File::options();
        options.read(true).append(true).create(true);
        let mut file = torn(&path, &options).await;
        with_room(u64::MAX);
        file.write_all(b"next").await.unwrap();
        file.flush().await.unwrap();
        assert!(std::fs::read(&path).unwrap() == [&[7; 1000][..], b"next"].concat());
    });
}

/// A program whose disk is full begins its file anew.
#[test]
fn what_is_cut_off_need_not_be_written_any_more() {
    run("what_is_cut_off_need_not_be_written_any_more", |folder| async move {
        let path = folder.join("file");
        for (length, room) in [(0, 100), (100, 100), (300, 300), (5_000, 5_000)] {
            let mut file = torn(&path, &read_write()).await;
            with_room(room);
            file.set_len(length).await.unwrap();
            file.flush().await.unwrap();
            let mut expected = vec![7; (length as usize).min(1000)];
            expected.resize(length as usize, 0);
            assert!(std::fs::read(&path).unwrap() == expected, "cut off at {length}");
            file.seek(SeekFrom::Start(0)).await.unwrap();
            file.write_all(b"anew").await.unwrap();
            file.flush().await.unwrap();
            assert_eq!(std::fs::read(&path).unwrap()[..4], *b"anew");
        }
    });
}

/// Each write tries the bytes again, and takes no more while it cannot write them.
#[test]
fn what_is_kept_does_not_grow() {
    run("what_is_kept_does_not_grow", |folder| async move {
        let path = folder.join("file");
        let mut file = torn(&path, &read_write()).await;
        for _ in 0..50 {
            assert!(file.write(&[8; 1000]).await.is_err());
        }
        with_room(u64::MAX);
        file.flush().await.unwrap();
        assert!(std::fs::read(&path).unwrap() == [7; 1000]);
    });
}

/// A stream that is a file: the limit takes its room, too.
#[test]
fn what_had_no_room_in_a_standard_stream_is_kept() {
    if is_child() {
        return pool(2).block_on(async {
            let mut error = liten::io::stderr();
            with_room(100);
            assert_eq!(error.write(&[7; 1000]).await.unwrap(), 1000);
            for _ in 0..2 {
                assert_eq!(error.flush().await.unwrap_err().kind(), ErrorKind::FileTooLarge);
                assert!(error.write(&[8; 10]).await.is_err(), "what is kept stays bounded");
            }
            with_room(u64::MAX);
            error.flush().await.unwrap();
            error.write_all(&[9; 10]).await.unwrap();
            error.flush().await.unwrap();
        });
    }
    guarded(|| {
        let folder = Folder::new();
        let path = folder.join("file");
        let test = "fs::failed_writes::what_had_no_room_in_a_standard_stream_is_kept";
        let mut command = child(test, &[]);
        command.stdout(Stdio::null()).stderr(std::fs::File::create(&path).unwrap());
        let status = command.status().unwrap();
        let written = std::fs::read(&path).unwrap();
        assert!(status.success(), "{}", String::from_utf8_lossy(&written));
        assert_eq!(written, [&[7; 1000][..], &[9; 10]].concat());
    });
}
